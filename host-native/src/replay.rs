//! `convengine replay`: replays a stored conversation from its journals and compares the results.

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

/// Members with times and durations, which differ between runs.
const DURATIONS: [&str; 3] = ["at", "durationMs", "totalMs"];

/// Runs the command.
///
/// # Errors
/// Returns exit code 1 at the first difference, or when the conversation or its configuration is missing; 3 when the database cannot be
/// used.
pub async fn command(settings: &Settings, conversation: &str, pack: Option<&Path>) -> Result<(), Failure> {
    let other = pack.map(import::read).transpose()?;
    let unusable = |it: sqlx::Error| store::unusable(&settings.database, &it);
    let (pool, id, turns) = recorded::stored(settings, conversation).await?;
    let other = other.map(|it| compiled(&it, &turns)).transpose()?.map(Arc::new);
    let mut audit_rows = audit::of_conversation(&pool, &id).await.map_err(unusable)?;
    // Feedback rows do not belong to a turn.
    audit_rows.retain(|it| ![Stage::McpUserFeedback.name(), Stage::SemanticFailureRecorded.name()].contains(&it.stage.as_str()));
    // `_meta` is not part of the published notices.
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
        (None, Some(row)) => return Err(not_right(format!("audit row {} {} does not belong to any turn", row.audit_id, row.stage))),
    }
    Ok(())
}

fn not_right(line: String) -> Failure {
    Failure::not_right(vec![line])
}

/// Compiles a pack for a conversation: the document of its assistant, or the tables if it has none.
fn compiled(pack: &Pack, turns: &[StoredTurn]) -> Result<Config, Failure> {
    let assistant = turns.iter().find_map(|it| {
        let event = turn::decompress(&it.journal).ok()?.input.event.flow?;
        event.get("assistant")?.as_str().map(str::to_owned)
    });
    let Some(assistant) = assistant else { return Ok(Config::compile(&pack.tables, &pack.settings).0) };
    let documents = pack.documents.iter().cloned().map(imported);
    let document = documents.into_iter().find(|it| it.get("id").and_then(Value::as_str) == Some(assistant.as_str()));
    let none = || not_right(format!("the pack has no document of assistant '{assistant}'; use a file that contains it"));
    Config::of_flow(&document.ok_or_else(none)?).map_err(|it| not_right(format!("cannot compile the document of '{assistant}': {it}")))
}

/// How to compare audit rows.
#[derive(Clone, Copy)]
struct About {
    /// Whether to compare only what PostgreSQL's `jsonb` preserves.
    plain: bool,
    /// Whether there are no audit rows, because retention deleted them.
    bare: bool,
}

/// A replayed turn.
struct Again {
    outcome: Outcome,
    notices: Vec<Notice>,
    /// The replayed journal, with the requests that a journal in DERIVED mode omits.
    journal: Journal,
}

async fn journal_of(pool: &Pool, stored: &StoredTurn) -> Result<(Journal, Arc<Config>), Failure> {
    let number = stored.number;
    let journal = turn::decompress(&stored.journal).map_err(|it| not_right(format!("turn {number}: cannot read the journal: {it}")))?;
    let body = config::snapshot(pool, &stored.config_hash).await;
    let body = body.map_err(|it| Failure::service(format!("cannot read the snapshot of turn {number}: {it}")))?;
    let Some(body) = body else {
        return Err(not_right(format!("turn {number}: configuration {} is not in the database", stored.config_hash)));
    };
    Ok((journal, Arc::new(Config::from_source(&body).0)))
}

/// Skips a lost turn without an outcome, and its audit rows.
fn given_up(stored: &StoredTurn, audit_rows: &mut &[AuditRow]) {
    println!("turn {} was lost and cannot be replayed", stored.number);
    let last = Stage::TurnCancelled.name();
    let end = audit_rows.iter().position(|it| it.stage == last && it.payload_json.contains(&stored.turn_id));
    // Also skip the failure row that follows.
    *audit_rows = end.and_then(|it| audit_rows.get(it + 2..)).unwrap_or(audit_rows);
}

/// Replays a turn and compares its state hash and audit rows. Removes the turn's rows from the front of `audit_rows`.
///
/// # Errors
/// Returns exit code 1 with the first difference.
fn compare(
    stored: &StoredTurn,
    journal: &Journal,
    config: &Arc<Config>,
    audit_rows: &mut &[AuditRow],
    options: About,
) -> Result<(), Failure> {
    let number = stored.number;
    let result = if stored.status == "lost" { rescue(journal, config) } else { run(journal, config) };
    let replayed = result.map_err(|it| not_right(format!("turn {number} differs: {it}")))?;
    let hash = state_hash(&replayed.outcome, &replayed.notices);
    // Only stored rows are compared; a recovered turn may have stored its first rows only.
    let compared_notices = match options.bare || is_swept(stored, audit_rows) {
        true => 0,
        false => stored.audit_id.map_or(usize::MAX, |_| usize::try_from(stored.audited).unwrap_or(0)),
    };
    let derived: Vec<(&str, &Value)> = replayed.notices.iter().take(compared_notices).filter_map(audit_of).collect();
    // A conversation may have started before journals existed.
    let started = clock::iso_text(journal.input.at);
    let older = audit_rows.iter().take_while(|it| number == 1 && it.created_at < started).count();
    let of_turn = &audit_rows[older..];
    let (of_turn, later) = of_turn.split_at(derived.len().min(of_turn.len()));
    *audit_rows = later;
    let differences = first_difference(of_turn, &derived, options.plain);
    if hash == stored.state_hash && differences.is_empty() {
        println!("turn {number} equal sha256 {hash}");
        return Ok(());
    }
    let mut lines = match hash == stored.state_hash {
        true => vec![format!("turn {number} differs from its audit rows: sha256 {hash}")],
        false => vec![format!("turn {number} differs: sha256 {hash}, stored {}", stored.state_hash)],
    };
    if differences.is_empty() {
        lines.push("the audit rows are equal: the session, the rows written or the progress messages differ".to_owned());
    }
    lines.extend(differences);
    Err(Failure::not_right(lines))
}

/// Returns whether retention deleted the rows of a turn: the remaining rows are newer.
fn is_swept(stored: &StoredTurn, audit_rows: &[AuditRow]) -> bool {
    let ended_at = clock::iso_text(stored.created_at.saturating_add(stored.total_ms.max(0)));
    audit_rows.first().is_some_and(|it| it.created_at > ended_at)
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

/// Normalizes a value as a `jsonb` column does: without NUL, and with integral floats as integers.
fn kept(value: Value) -> Value {
    match value {
        Value::String(text) => text.replace('\0', "\u{fffd}").into(),
        Value::Number(number) => whole(&number).map_or(Value::Number(number), Value::from),
        Value::Array(items) => items.into_iter().map(kept).collect(),
        Value::Object(map) => map.into_iter().map(|(key, it)| (key.replace('\0', "\u{fffd}"), kept(it))).collect(),
        Value::Null | Value::Bool(_) => value,
    }
}

/// Returns an integral float as an integer.
fn whole(number: &Number) -> Option<i64> {
    let digits = number.as_f64().filter(|it| number.is_f64() && it.fract() == 0.0)?;
    format!("{digits:.0}").parse().ok()
}

fn run(journal: &Journal, config: &Arc<Config>) -> Result<Again, TurnError> {
    let (turn, slice) = Turn::restore(journal.clone(), Arc::clone(config))?;
    let outcome = slice.end.ok_or(TurnError::Stalled)?;
    Ok(Again { outcome, notices: slice.notices, journal: turn.journal().clone() })
}

/// Replays a lost turn, which diverges from its journal: the notices up to that point and the outcome must be equal.
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

/// Replays a turn on another configuration.
///
/// # Errors
/// Returns exit code 1 with the first difference.
fn what_if(number: u32, journal: &Journal, recorded: &Arc<Config>, other: &Arc<Config>) -> Result<(), Failure> {
    let before = run(journal, recorded).map_err(|it| not_right(format!("cannot replay turn {number} on its own configuration: {it}")))?;
    // Replay the regenerated journal, which has all requests.
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

/// Returns the differing leaves, ignoring sequence numbers, times and durations.
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
