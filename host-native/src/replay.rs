//! `convengine replay`: runs a stored conversation again from its journals.

use std::path::Path;
use std::sync::Arc;

use convengine_core::Stage;
use convengine_core::config::Config;
use convengine_core::config::flow::imported;
use convengine_core::json::diff;
use convengine_core::pack::Pack;
use convengine_core::turn::{Journal, Notice, NoticeBody, Outcome, Rescued, Turn, TurnError, state_hash};
use serde_json::{Number, Value, json};

use crate::audit::meta;
use crate::exit::Failure;
use crate::settings::Settings;
use crate::store::Pool;
use crate::store::audit::AuditRow;
use crate::store::turn::StoredTurn;
use crate::store::{self, audit, config, turn};
use crate::{clock, import, recorded};

/// Members that say how long something took: two runs never agree on them.
const DURATIONS: [&str; 3] = ["at", "durationMs", "totalMs"];

/// Runs the command.
///
/// # Errors
/// Exit code 1 at the first divergence, or when the conversation or its configuration is not there.
pub async fn command(settings: &Settings, conversation: &str, pack: Option<&Path>) -> Result<(), Failure> {
    let other = pack.map(import::read).transpose()?;
    let unusable = |it: sqlx::Error| store::unusable(&settings.database, &it);
    let (pool, id, turns) = recorded::stored(settings, conversation).await?;
    let other = other.map(|it| compiled(&it, &turns)).transpose()?.map(Arc::new);
    let mut audit_rows = audit::of_conversation(&pool, &id).await.map_err(unusable)?;
    // What users say of answers stands among the rows of turns and belongs to none.
    audit_rows.retain(|it| ![Stage::McpUserFeedback.name(), Stage::SemanticFailureRecorded.name()].contains(&it.stage.as_str()));
    // It was stored for readers of the table, and is no part of what a turn tells.
    meta::strip(&mut audit_rows);
    let bare = audit_rows.is_empty();
    let mut audit_rows = audit_rows.as_slice();
    for stored in &turns {
        if stored.is_given_up() {
            given_up(stored, &mut audit_rows);
            continue;
        }
        let (journal, recorded) = journal_of(&pool, stored).await?;
        match &other {
            Some(other) => what_if(stored.number, &journal, &recorded, other)?,
            None => compare(stored, &journal, &recorded, &mut audit_rows, About { plain: pool.is_shared(), bare })?,
        }
    }
    match (other, audit_rows.first()) {
        (Some(_), _) => println!("no difference"),
        (None, None) => println!("{} turns equal", turns.len()),
        (None, Some(row)) => return Err(not_right(format!("audit row {} {} is of no turn", row.audit_id, row.stage))),
    }
    Ok(())
}

fn not_right(line: String) -> Failure {
    Failure::not_right(vec![line])
}

/// What a pack has for a conversation: the document of its assistant, or for one of no assistant its tables.
fn compiled(pack: &Pack, turns: &[StoredTurn]) -> Result<Config, Failure> {
    let assistant = turns.iter().find_map(|it| {
        let event = turn::decompress(&it.journal).ok()?.input.event.flow?;
        event.get("assistant")?.as_str().map(str::to_owned)
    });
    let Some(assistant) = assistant else { return Ok(Config::compile(&pack.tables, &pack.settings).0) };
    let documents = pack.documents.iter().cloned().map(imported);
    let document = documents.into_iter().find(|it| it.get("id").and_then(Value::as_str) == Some(assistant.as_str()));
    let none = || not_right(format!("the session is of the assistant '{assistant}': give a file with its document"));
    Config::of_flow(&document.ok_or_else(none)?).map_err(|it| not_right(format!("the document of '{assistant}' cannot be read: {it}")))
}

/// What is known of the audit rows of a conversation.
#[derive(Clone, Copy)]
struct About {
    /// Whether only what PostgreSQL's own type of JSON keeps is compared.
    plain: bool,
    /// Whether there are none: they have gone by their age.
    bare: bool,
}

/// A turn that was run again.
struct Again {
    outcome: Outcome,
    notices: Vec<Notice>,
    /// What it has asked, which a journal of the mode DERIVED does not keep.
    journal: Journal,
}

async fn journal_of(pool: &Pool, stored: &StoredTurn) -> Result<(Journal, Arc<Config>), Failure> {
    let number = stored.number;
    let journal = turn::decompress(&stored.journal).map_err(|it| not_right(format!("turn {number}: the journal cannot be read: {it}")))?;
    let body = config::snapshot(pool, &stored.config_hash).await;
    let body = body.map_err(|it| Failure::service(format!("the snapshot of turn {number} cannot be read: {it}")))?;
    let Some(body) = body else {
        return Err(not_right(format!("turn {number}: its configuration {} is not in the database", stored.config_hash)));
    };
    Ok((journal, Arc::new(Config::from_source(&body).0)))
}

/// Passes over a turn without an end, and over its audit rows.
fn given_up(stored: &StoredTurn, audit_rows: &mut &[AuditRow]) {
    println!("turn {} was lost: nothing of it can be run again", stored.number);
    let last = Stage::TurnCancelled.name();
    let end = audit_rows.iter().position(|it| it.stage == last && it.payload_json.contains(&stored.turn_id));
    // Behind it the failure that the client was told.
    *audit_rows = end.and_then(|it| audit_rows.get(it + 2..)).unwrap_or(audit_rows);
}

/// Fails with the first stored audit row that the turn does not make again; takes the turn's rows off the front.
fn compare(
    stored: &StoredTurn,
    journal: &Journal,
    config: &Arc<Config>,
    audit_rows: &mut &[AuditRow],
    about: About,
) -> Result<(), Failure> {
    let number = stored.number;
    let ran = if stored.status == "lost" { rescue(journal, config) } else { run(journal, config) };
    let again = ran.map_err(|it| not_right(format!("turn {number} differs: {it}")))?;
    let hash = state_hash(&again.outcome, &again.notices);
    // Rows that are not stored have nothing to be compared with; of a turn that was taken over the first may be.
    let told = match about.bare || is_swept(stored, audit_rows) {
        true => 0,
        false => stored.audit_id.map_or(usize::MAX, |_| usize::try_from(stored.audited).unwrap_or(0)),
    };
    let derived: Vec<(&str, &Value)> = again.notices.iter().take(told).filter_map(audit_of).collect();
    // A conversation may have begun before there were journals.
    let started = clock::iso_text(journal.input.at);
    let older = audit_rows.iter().take_while(|it| number == 1 && it.created_at < started).count();
    let of_turn = &audit_rows[older..];
    let (of_turn, later) = of_turn.split_at(derived.len().min(of_turn.len()));
    *audit_rows = later;
    let found = first_difference(of_turn, &derived, about.plain);
    if hash == stored.state_hash && found.is_empty() {
        println!("turn {number} equal sha256 {hash}");
        return Ok(());
    }
    let mut lines = match hash == stored.state_hash {
        true => vec![format!("turn {number} differs from its audit rows: sha256 {hash}")],
        false => vec![format!("turn {number} differs: sha256 {hash}, stored {}", stored.state_hash)],
    };
    if found.is_empty() {
        lines.push("the audit rows are equal: the session, the rows written or the progress messages differ".to_owned());
    }
    lines.extend(found);
    Err(Failure::not_right(lines))
}

/// Whether the rows of a turn have gone by their age: those that are left begin behind it.
fn is_swept(stored: &StoredTurn, audit_rows: &[AuditRow]) -> bool {
    let end = clock::iso_text(stored.created_at.saturating_add(stored.total_ms.max(0)));
    audit_rows.first().is_some_and(|it| it.created_at > end)
}

fn first_difference(stored: &[AuditRow], derived: &[(&str, &Value)], plain: bool) -> Vec<String> {
    for (row, (stage, payload)) in stored.iter().zip(derived) {
        if row.stage == *stage && row.payload_json == payload.to_string() {
            continue;
        }
        let payload_stored = serde_json::from_str(&row.payload_json).unwrap_or_else(|_| Value::from(row.payload_json.as_str()));
        let left = json!({"stage": row.stage, "payload": payload_stored});
        let right = json!({"stage": stage, "payload": payload});
        let found = if plain { leaves(&kept(left), &kept(right)) } else { leaves(&left, &right) };
        if !found.is_empty() {
            return std::iter::once(format!("audit row {} {}", row.audit_id, row.stage)).chain(found).collect();
        }
    }
    derived.get(stored.len()).map(|(stage, _)| format!("the audit row {stage} is missing")).into_iter().collect()
}

/// What a column of type `jsonb` keeps: no character of number 0, and whole numbers without a sign that they were fractions.
fn kept(value: Value) -> Value {
    match value {
        Value::String(text) => text.replace('\0', "\u{fffd}").into(),
        Value::Number(number) => whole(&number).map_or(Value::Number(number), Value::from),
        Value::Array(items) => items.into_iter().map(kept).collect(),
        Value::Object(map) => map.into_iter().map(|(key, it)| (key.replace('\0', "\u{fffd}"), kept(it))).collect(),
        Value::Null | Value::Bool(_) => value,
    }
}

/// A fraction that is a whole number.
fn whole(number: &Number) -> Option<i64> {
    let digits = number.as_f64().filter(|it| number.is_f64() && it.fract() == 0.0)?;
    format!("{digits:.0}").parse().ok()
}

fn run(journal: &Journal, config: &Arc<Config>) -> Result<Again, TurnError> {
    let (turn, slice) = Turn::restore(journal.clone(), Arc::clone(config))?;
    let outcome = slice.end.ok_or(TurnError::Stalled)?;
    Ok(Again { outcome, notices: slice.notices, journal: turn.journal().clone() })
}

/// A turn that was lost diverges from its journal: what was told up to there, and its end, are equal.
fn rescue(journal: &Journal, config: &Arc<Config>) -> Result<Again, TurnError> {
    let Rescued { turn, slice, diverged } = Turn::rescue(journal, Arc::clone(config))?;
    let outcome = slice.end.ok_or(diverged.unwrap_or(TurnError::Stalled))?;
    Ok(Again { outcome, notices: slice.notices, journal: turn.journal().clone() })
}

fn audit_of(notice: &Notice) -> Option<(&str, &Value)> {
    match &notice.body {
        NoticeBody::Audit { stage, payload } => Some((stage, payload)),
        NoticeBody::Verbose(_) | NoticeBody::Message { .. } => None,
    }
}

/// Fails with the first point at which another configuration takes the turn elsewhere.
fn what_if(number: u32, journal: &Journal, recorded: &Arc<Config>, other: &Arc<Config>) -> Result<(), Failure> {
    let before = run(journal, recorded).map_err(|it| not_right(format!("turn {number} cannot be replayed as it was: {it}")))?;
    // Only what the first run has asked again can be shown beside what the other configuration asks.
    let mut journal = before.journal.clone();
    journal.input.program = other.program();
    let after = run(&journal, other).map_err(|it| not_right(format!("turn {number}: {it}")))?;
    let count = before.notices.len().max(after.notices.len());
    for index in 0..count {
        let side = |notices: &[Notice]| notices.get(index).map_or(Value::Null, |it| json!(it));
        let (left, right) = (side(&before.notices), side(&after.notices));
        let found = leaves(&left, &right);
        if !found.is_empty() {
            let stage = before.notices.get(index).or(after.notices.get(index)).map(stage).unwrap_or_default();
            return Err(Failure::not_right(std::iter::once(format!("turn {number} notice {index} {stage}")).chain(found).collect()));
        }
    }
    let found = leaves(&before.outcome.response(), &after.outcome.response());
    if found.is_empty() {
        return Ok(());
    }
    Err(Failure::not_right(std::iter::once(format!("turn {number} answer")).chain(found).collect()))
}

fn stage(notice: &Notice) -> &str {
    match &notice.body {
        NoticeBody::Audit { stage, .. } => stage,
        NoticeBody::Verbose(verbose) => &verbose.determinant,
        NoticeBody::Message { .. } => "MESSAGE",
    }
}

/// The leaves that differ, without numbers, times and durations.
fn leaves(left: &Value, right: &Value) -> Vec<String> {
    let is_timing = |it: &Value| it.get("stage").is_some_and(|stage| stage == "PIPELINE_TIMING");
    if is_timing(left) && is_timing(right) {
        return Vec::new();
    }
    let counts = |it: &diff::Difference| it.field != "seq" && !DURATIONS.contains(&it.field.rsplit('.').next().unwrap_or_default());
    diff::leaves(left, right).iter().filter(|it| counts(it)).map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_jsonb_keeps_is_compared() {
        let written = json!({"a\u{0}": [1e16, 2.0, 0.5, -0.0, 1e300, "x\u{0}"], "b": null});
        let read = json!({"b": null, "a\u{fffd}": [10_000_000_000_000_000_i64, 2.0, 0.5, 0.0, 1e300, "x\u{fffd}"]});
        assert_eq!(kept(written), kept(read));
        assert_ne!(kept(json!([2])), kept(json!([2.5])));
    }
}
