//! Runs turns without any I/O, for tools that count instructions and allocations, and prints the bytes that the turns store.
//!
//! `turns PACK TIMES MODE` runs the pack's conversation TIMES times. MODE is `core` (the core only), `audit` (with the audit rows as JSON
//! text), `rows` (with all rows) or `bytes` (with all rows and their sizes). PACK is a file, `rows:N` (a generated configuration of N rows),
//! `walk:N` (a flow whose second turn walks through N nodes) or `chain:N` (a chain whose first turn executes N steps).
//!
//! `turns PACK TIMES MODE TURN` runs one turn of a long conversation TIMES times.

use std::hint::black_box;
use std::path::Path;

use anyhow::{Result, bail};
use convengine_core::turn::NoticeBody;
use convengine_storage::rows::Rows;
use convengine_storage::turn::compress;
use convengine_storage::turn_rows::{Table, TurnRows};
use convengine_tests::effect_free::{EffectFreePack, EndedTurn};
use convengine_tests::synthetic;
use convengine_turns::rows;
use serde_json::json;

#[derive(Default)]
struct Sums {
    turns: usize,
    audit_rows: usize,
    audit_bytes: usize,
    journal_bytes: usize,
    stored_bytes: usize,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (pack, times, mode, turn) = match arguments.as_slice() {
        [pack, times, mode] => (pack, times, mode, None),
        [pack, times, mode, turn] => (pack, times, mode, Some(turn)),
        _ => bail!("usage: turns PACK|rows:N|walk:N|chain:N TIMES core|audit|rows|bytes [TURN]"),
    };
    let conversation = match pack.split_once(':') {
        Some(("rows", rows)) => EffectFreePack::from_pack(&synthetic::pack(rows.parse()?)?)?,
        Some(("chain", steps)) => EffectFreePack::from_pack(&synthetic::note_chain(steps.parse()?)?)?,
        Some(("walk", nodes)) => EffectFreePack::from_pack(&synthetic::walk_flow(nodes.parse()?)?)?,
        _ => EffectFreePack::open(Path::new(pack))?,
    };
    let count: fn(&mut Sums, &EndedTurn) -> Result<()> = match mode.as_str() {
        "core" => |_, _| Ok(()),
        "audit" => render_audit,
        "rows" => |_, ended| render_rows(ended).map(|_| ()),
        "bytes" => count_bytes,
        other => bail!("unknown mode '{other}': use core, audit, rows or bytes"),
    };
    let mut sums = Sums::default();
    let mut visit = |ended: &EndedTurn| {
        sums.turns += 1;
        count(&mut sums, ended)
    };
    let times = times.parse()?;
    match turn {
        Some(turn) => conversation.play_turn(turn.parse()?, times, visit)?,
        None => (0..times).try_for_each(|_| conversation.play(&mut visit))?,
    }
    let Sums { turns, audit_rows, audit_bytes, journal_bytes, stored_bytes } = sums;
    let sums = json!({
        "turns": turns, "audit_rows": audit_rows, "audit_bytes": audit_bytes, "journal_bytes": journal_bytes,
        "stored_bytes": stored_bytes,
    });
    println!("{sums}");
    Ok(())
}

fn render_audit(_: &mut Sums, ended: &EndedTurn) -> Result<()> {
    let mut rows = TurnRows::default();
    rows.add_audit(&ended.outcome.conversation_id, &ended.notices, 0);
    black_box(rows);
    Ok(())
}

fn render_rows(ended: &EndedTurn) -> Result<TurnRows> {
    Ok(black_box(rows::render_turn(&ended.turn, &ended.outcome, &ended.notices, 0, rows::RowContext::default())?))
}

fn count_bytes(sums: &mut Sums, ended: &EndedTurn) -> Result<()> {
    let rows = render_rows(ended)?;
    sums.audit_rows += ended.notices.iter().filter(|notice| matches!(notice.body, NoticeBody::Audit { .. })).count();
    sums.audit_bytes += rows.find(Table::Audit).map_or(0, Rows::byte_count);
    sums.journal_bytes += compress(ended.turn.journal())?.len();
    sums.stored_bytes += rows.tables().map(|it| it.1.byte_count()).sum::<usize>();
    Ok(())
}
