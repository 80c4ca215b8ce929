//! What holds for every pack and talk in the core: played in one piece, saved after every completion, and canceled wherever it waits.

use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result, anyhow, bail, ensure};
use convengine_core::config::Config;
use convengine_core::turn::{self, CancelReason, Journal, Outcome, Turn, state_hash};
use convengine_player::{CorePlayer, KnownDifferences, Suspend, play_core};
use serde_json::{Value, json};

use crate::{Case, known_differences};

static EXPLAINED: LazyLock<Result<KnownDifferences>> = LazyLock::new(known_differences);

/// Requires every turn to be as expected.
///
/// # Errors
/// If one is not.
pub fn check_expectations(case: &Case) -> Result<()> {
    let explained = EXPLAINED.as_ref().map_err(|error| anyhow!("{error:#}"))?;
    let report = play_core(&case.pack, Suspend::Never, explained);
    ensure!(report.has_passed(), "{report:#?}");
    Ok(())
}

/// Requires a turn that is saved as JSON after every completion, and restored, to end the same.
///
/// # Errors
/// If one does not.
pub fn check_suspension(case: &Case) -> Result<()> {
    let mut whole = CorePlayer::new(&case.pack, Suspend::Never);
    let mut saved = CorePlayer::new(&case.pack, Suspend::Always);
    for turn in 0..case.pack.turns.len() {
        let a = whole.play(turn).with_context(|| format!("turn {turn}"))?;
        let b = saved.play(turn).with_context(|| format!("turn {turn}, saved"))?;
        ensure!((&a.hash, &a.state_hash) == (&b.hash, &b.state_hash), "turn {turn}: {:?} is not {:?}", b.played, a.played);
        ensure!(a.journal == b.journal, "turn {turn}: {:#?} is not {:#?}", b.journal, a.journal);
    }
    Ok(())
}

/// Cancels each turn wherever it waits and replays the resulting journal; requires the turn to fail and the conversation to stay usable.
///
/// # Errors
/// If it does not.
pub fn check_cancellation(case: &Case) -> Result<()> {
    let mut player = CorePlayer::new(&case.pack, Suspend::Never);
    for number in 0..case.pack.turns.len() {
        let whole = player.play(number)?;
        for answered in 0..whole.journal.entries.len() {
            let mut journal = whole.journal.clone();
            journal.entries.truncate(answered);
            let why = if answered.is_multiple_of(2) { CancelReason::Timeout } else { CancelReason::Lost };
            let canceled = cancel_and_replay(journal, &player.config, why).and_then(|outcome| {
                if case.is_flow() {
                    check_flow(&outcome, &player.config, why)
                } else {
                    check_writes(&outcome, &whole.journal, answered, why)
                }
            });
            canceled.with_context(|| format!("turn {number} after {answered} answers"))?;
        }
    }
    Ok(())
}

/// Resumes a turn at the end of its journal, cancels it, and replays the new journal from its JSON.
fn cancel_and_replay(journal: Journal, config: &Arc<Config>, why: CancelReason) -> Result<Outcome> {
    let (mut turn, before) = Turn::restore(journal, Arc::clone(config))?;
    ensure!(before.end.is_none() && !before.effects.is_empty(), "it does not wait");
    let slice = turn.cancel(why, turn.now() + 7)?;
    ensure!(slice.effects.is_empty() && turn.has_ended(), "it goes on");
    ensure!(turn.cancel(why, 0)? == turn::Slice::default(), "it can be canceled twice");
    let notices: Vec<_> = before.notices.into_iter().chain(slice.notices).collect();
    ensure!(notices.iter().zip(0..).all(|(it, seq)| it.seq == seq), "the notices have gaps");
    let outcome = slice.end.context("no outcome")?;
    let saved = serde_json::to_string(turn.journal())?;
    let (again, replayed) = Turn::restore(serde_json::from_str(&saved)?, Arc::clone(config))?;
    ensure!(again.has_ended() && replayed.effects.is_empty(), "the replay goes on");
    ensure!(again.journal() == turn.journal(), "the replay has another journal");
    ensure!(replayed.notices == notices, "the replay has other notices");
    let end = replayed.end.context("the replay has no outcome")?;
    ensure!(state_hash(&end, &replayed.notices) == state_hash(&outcome, &notices) && end == outcome, "{end:#?} is not {outcome:#?}");
    Ok(outcome)
}

/// Of the conversation only its creation, a reset, a block and an action that was carried out survive; of everything else, only the log of
/// model calls.
fn check_writes(outcome: &Outcome, whole: &Journal, answered: usize, why: CancelReason) -> Result<()> {
    let code = if why == CancelReason::Timeout { "TURN_TIMEOUT" } else { "TURN_LOST" };
    let fault = outcome.fault.as_ref().context("no fault")?;
    ensure!(fault.code.as_str() == code && fault.recoverable, "{fault:?}");
    ensure!(outcome.payload.is_none() && outcome.context.is_none(), "it answers: {outcome:#?}");
    let loaded = whole.input.session.conversation.as_ref();
    let was_reset = outcome.writes.iter().any(|it| matches!(it, turn::Write::Reset));
    let mut carried_out = false;
    let mut calls = 0;
    for write in &outcome.writes {
        match write {
            turn::Write::Conversation(row) => {
                let created = loaded.is_none() && row.last_user_text.is_none() && row.last_assistant.is_none();
                carried_out = loaded.is_some_and(|loaded| closes_action(loaded, row));
                ensure!(created || was_reset || carried_out || row.status == "BLOCKED", "{row:?}");
            }
            turn::Write::LlmCall(_) => calls += 1,
            turn::Write::Reset => {}
            turn::Write::History(_) | turn::Write::Memory(_) | turn::Write::Session { .. } => bail!("it writes {write:?}"),
        }
    }
    let is_call = |entry: &&turn::JournalEntry| entry.request.as_ref().is_some_and(|request| request["kind"] == "llm");
    let paid = whole.entries.iter().take(answered).filter(is_call).count();
    ensure!(calls == paid, "{paid} model calls were paid for, and {calls} are logged");
    if let Some(row) = loaded.filter(|_| !was_reset && !carried_out) {
        ensure!((&outcome.session.context, &outcome.session.params) == (&row.context, &row.params), "the session has changed");
    }
    Ok(())
}

/// Whether a row is the one before, but for a pending action that was carried out and is no longer named: what a failed turn may store.
pub fn closes_action(before: &turn::ConversationRow, after: &turn::ConversationRow) -> bool {
    let without_action = |row: &turn::ConversationRow| {
        let mut row = turn::ConversationRow { updated_at: 0, ..row.clone() };
        Arc::make_mut(&mut row.context).shift_remove("pending_action_runtime");
        Arc::make_mut(&mut row.params).retain(|key, _| !["pending_action_key", "pending_action_task"].contains(&key.as_str()));
        row
    };
    let is_carried_out = after.context.get("pending_action_runtime").is_some_and(|it| it["status"] == "EXECUTED");
    is_carried_out && without_action(before) == without_action(after)
}

/// The session of a flow is at its root and waits for a message, except with a person; the attempt of a run that was being made has failed.
fn check_flow(outcome: &Outcome, config: &Config, why: CancelReason) -> Result<()> {
    let reply = outcome.flow.as_deref().cloned().unwrap_or_default();
    let reason = if why == CancelReason::Timeout { "turn_timeout" } else { "turn_lost" };
    if config.chain().is_some() {
        return check_run(&reply["run"], reason);
    }
    ensure!(reply["debug"]["stop_reason"] == reason, "{reply:#}");
    ensure!(reply["messages"].as_array().is_some_and(|it| !it.is_empty()), "{reply:#}");
    // A message that did not reach the desk leaves the conversation with the person.
    if reply["status"] == "handed_off" {
        ensure!(reply["awaiting"]["kind"] == "handoff", "{reply:#}");
        return Ok(());
    }
    ensure!(reply["status"] == "awaiting_input" && reply["awaiting"].is_null(), "{reply:#}");
    let root = config.flow().map(|flow| flow.document.root.as_str()).unwrap_or_default();
    ensure!(outcome.state.split('/').next() == Some(root), "it is at {}", outcome.state);
    Ok(())
}

/// The attempt that was being made has failed, and the run ends or continues by itself.
fn check_run(run: &Value, reason: &str) -> Result<()> {
    let attempts = ["primary_trace", "branch_trace"].map(|name| run[name].as_array().cloned().unwrap_or_default()).concat();
    let failed = attempts.iter().filter(|attempt| attempt["status"] == "failed" && attempt["error"]["code"] == reason).count();
    ensure!(failed == 1 && !attempts.iter().any(|it| it["status"] == "waiting"), "{:#}", json!(attempts));
    match run["status"].as_str() {
        Some("failed") => ensure!(run["error"]["code"] == reason, "{run:#}"),
        Some("sleeping") => ensure!(run["wake_at"].is_string(), "{run:#}"),
        status => ensure!(status == Some("running"), "{run:#}"),
    }
    Ok(())
}
