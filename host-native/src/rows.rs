//! Renders the rows of a turn.

use std::collections::BTreeMap;

use convengine_core::turn::{Map, Millis, Notice, NoticeBody, Outcome, Turn, Write, state_hash};
use serde_json::Value;

use crate::audit::meta;
use crate::clock;
use crate::spend::cost;
use crate::store::turn::compress;
use crate::store::turn_rows::{SessionRow, TurnRow, TurnRows};

/// What is known of a turn's row beside the turn.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// `closed` or `lost`.
    pub status: &'a str,
    /// Who runs it.
    pub owner: &'a str,
    /// The client's name for the message.
    pub key: Option<&'a str>,
    /// Whether its row is there, because it has waited for effects.
    pub begun: bool,
    /// How many notices, from the first, have their audit rows stored.
    pub audited: usize,
    /// Whether the other audit rows, and the log of model calls, are left to be derived.
    pub derived: bool,
    /// Whose assistants they are.
    pub workspace: &'a str,
    /// The session at each notice, where audit rows are stored with it.
    pub metas: Option<&'a BTreeMap<u32, Map>>,
}

impl Default for About<'_> {
    fn default() -> Self {
        About { status: "closed", owner: "", key: None, begun: false, audited: 0, derived: false, workspace: "", metas: None }
    }
}

/// The rows of a turn that has ended; `total_ms` is how long it took so far.
///
/// # Errors
/// When the journal cannot be serialised.
pub fn of_turn(turn: &Turn, outcome: &Outcome, notices: &[Notice], total_ms: Millis, about: About<'_>) -> std::io::Result<TurnRows> {
    let journal = turn.journal();
    let conversation = journal.input.conversation.as_str();
    let untold = notices.get(about.audited..).unwrap_or_default();
    let kept = if about.derived { count(untold) } else { 0 };
    let mut rows = TurnRows::default();
    let mut reset = false;
    for write in &outcome.writes {
        match write {
            Write::Conversation(row) => rows.conversation(row),
            Write::History(row) => rows.history(conversation, row),
            // Whoever derives the audit rows of a turn derives its calls.
            Write::LlmCall(_) if kept > 0 => {}
            Write::Flow { state } => of_session(&mut rows, turn, state, about.workspace),
            Write::LlmCall(row) => rows.llm_call(conversation, row),
            Write::Memory(row) => rows.memory(conversation, row),
            Write::Reset => reset = true,
        }
    }
    let text = if kept > 0 && !journal.entries.is_empty() { compress(&journal.lean())? } else { compress(journal)? };
    let hash = state_hash(outcome, notices);
    let fault = outcome.fault.as_ref().map(|it| it.code.as_str());
    let row = TurnRow { status: about.status, state_hash: &hash, reset, fault, total_ms, kept, ..turn_row(turn, &text, about) };
    if about.begun {
        rows.close(&row);
    } else {
        rows.turn(&row);
    }
    if reset && !outcome.writes.iter().any(|it| matches!(it, Write::Memory(_))) {
        rows.forget(conversation);
    }
    if !about.derived {
        match about.metas {
            Some(metas) => rows.audit(conversation, &meta::within(&journal.input, untold, metas), total_ms),
            None => rows.audit(conversation, untold, total_ms),
        }
    }
    Ok(rows)
}

/// What a turn leaves of an assistant's session, and what it has used.
fn of_session(rows: &mut TurnRows, turn: &Turn, state: &Value, workspace: &str) {
    let journal = turn.journal();
    let input = &journal.input;
    let event = input.event.flow.as_deref();
    let text = |key: &str| event.and_then(|it| it.get(key)?.as_str());
    let at = turn.now();
    let assistant = text("assistant").unwrap_or_default();
    if input.session.turns == 0 {
        // What is kept of conversations, and for how long, is kept of sessions.
        rows.created(&input.conversation, input.at);
    }
    rows.session(&SessionRow {
        session: &input.conversation,
        assistant,
        deployment: text("deployment"),
        version: event.and_then(|it| it.get("version")?.as_i64()),
        snapshot: state.get("snapshot").and_then(Value::as_str).unwrap_or_default(),
        state,
        at,
    });
    let micros: u64 = journal.entries.iter().map(|it| cost(&it.outcome)).sum();
    if micros > 0 {
        // A millionth of a unit of money is a hundred millionths of its cent.
        rows.usage(workspace, "llm", at, micros.saturating_mul(100), assistant);
    }
}

/// How many audit rows notices make.
fn count(notices: &[Notice]) -> u32 {
    let count = notices.iter().filter(|it| matches!(it.body, NoticeBody::Audit { .. })).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The turn's own row while it is open; the journal is compressed already.
pub fn turn_row<'r>(turn: &'r Turn, journal: &'r [u8], about: About<'r>) -> TurnRow<'r> {
    let of = turn.journal();
    TurnRow {
        turn_id: &of.input.turn,
        conversation_id: &of.input.conversation,
        number: of.input.session.turns + 1,
        status: "open",
        protocol: of.header.protocol,
        engine: &of.header.engine,
        config_hash: &of.header.config,
        journal,
        state_hash: "",
        reset: false,
        fault: None,
        created_at: of.input.at,
        closed_at: clock::now(),
        total_ms: 0,
        owner: about.owner,
        lease_ms: None,
        message_key: about.key,
        kept: 0,
    }
}
