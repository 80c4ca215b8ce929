//! The invariants: properties of every turn, whatever happens to its effects. `tests/README.md` lists them.

mod approval;
mod output;
mod replay;
mod rows;
mod writes;

pub use rows::PackRows;

use std::collections::BTreeSet;
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{EffectId, EffectResult, Journal, Reply, Request, Write};
use convengine_corpus::checks::closes_action;
use convengine_storage::turn::compress;

use crate::simulate::fault::{Fault, Garbage, LONG_CHARS};
use crate::simulate::run::TurnRun;

/// An ended turn, with everything that the invariants need to check it.
#[derive(Debug, Clone, Copy)]
pub struct TurnUnderTest<'s> {
    /// The configuration.
    pub config: &'s Arc<Config>,
    /// The texts of the pack's rows.
    pub rows: &'s PackRows,
    /// The replies of the pack's undisturbed turns.
    pub baseline_replies: &'s BTreeSet<String>,
    /// The turn.
    pub run: &'s TurnRun,
    /// Other turns to compare with.
    pub related: RelatedRuns<'s>,
    /// The fault in this turn, or in the turn before it.
    pub fault: Option<Fault>,
}

/// Other runs that the checked turn is compared with.
#[derive(Debug, Clone, Copy, Default)]
pub struct RelatedRuns<'s> {
    /// The same turn undisturbed; `None` if the checked turn is undisturbed, or if an earlier turn was disturbed.
    pub undisturbed: Option<&'s TurnRun>,
    /// The same turn after an undisturbed turn; set only if the turn before was disturbed.
    pub after_undisturbed: Option<&'s TurnRun>,
    /// The disturbed turn before this one.
    pub previous: Option<&'s TurnRun>,
}

/// A check of an invariant; returns how the scene violates it, if it does.
pub type Check = fn(&TurnUnderTest<'_>) -> Option<String>;

/// The invariants by number.
pub const INVARIANTS: [(&str, Check); 9] = [
    ("I1", check_end),
    ("I2", writes::check_single_writes),
    ("I3", approval::check_approval),
    ("I4", output::check_secrets),
    ("I5", replay::check_replay),
    ("I6", check_limits),
    ("I7", check_failed_turn),
    ("I8", output::check_internals),
    ("I9", replay::check_recovery),
];

/// Returns all violations of a scene.
pub fn find_violations(scene: &TurnUnderTest<'_>) -> Vec<(&'static str, String)> {
    INVARIANTS.iter().filter_map(|(name, check)| Some((*name, check(scene)?))).collect()
}

/// The codes of faults.
const FAULT_CODES: [&str; 10] = [
    "LLM_CALL_FAILED",
    "LLM_INVALID_RESPONSE",
    "POLICY_UNAVAILABLE",
    "RESPONSE_MAPPING_NOT_FOUND",
    "NO_RESPONSE_CONFIGURED",
    "PROMPT_CONTEXT_MISSING",
    "RESPONSE_RESOLUTION_FAILED",
    "PIPELINE_NO_RESPONSE_PAYLOAD",
    "TURN_TIMEOUT",
    "TURN_LOST",
];

/// I1: a turn has either a reply or a fault, and its text is not empty.
fn check_end(scene: &TurnUnderTest<'_>) -> Option<String> {
    let outcome = &scene.run.outcome;
    let gap = scene.run.notices.iter().enumerate().find(|(index, it)| it.seq as usize != *index);
    if let Some((index, _)) = gap {
        return Some(format!("the notices have a gap at {index}"));
    }
    match (&outcome.payload, &outcome.fault) {
        (None, None) => Some("neither a reply nor a fault".to_owned()),
        (Some(_), Some(_)) => Some("a reply and a fault".to_owned()),
        (None, Some(fault)) if !FAULT_CODES.contains(&fault.code.as_str()) => Some(format!("the fault's code is '{}'", fault.code)),
        (None, Some(fault)) if fault.message.trim().is_empty() => Some("the fault has no message".to_owned()),
        (None, Some(_)) => None,
        (Some(payload), None) => {
            // A decision about a call that no longer waits is not from a user, so its reply may be empty.
            let event = scene.run.input.event.flow.as_ref().and_then(|flow| flow.get("type")?.as_str());
            let of_users = event.is_none_or(|it| it.starts_with("user."));
            // A person answers or approves, whenever they do.
            let answer = |path: &str| outcome.flow.as_ref().and_then(|flow| flow.pointer(path)?.as_str());
            let is_silent = answer("/status") == Some("handed_off") || answer("/awaiting/kind") == Some("approval");
            // An agent may finish without a word.
            let has_finished = answer("/status") == Some("completed");
            // A server refuses events of a session that has ended.
            let before = scene.run.input.session.flow.as_ref().and_then(|flow| flow.get("status")?.as_str());
            let has_ended = before.is_some_and(|it| !["active", "handed_off"].contains(&it));
            let may_be_empty = scene.fault.is_none()
                || has_ended
                || !of_users
                || is_silent
                || has_finished
                || scene.rows.has_values_only_reply(scene.run)
                || is_model_reply_empty(scene.run);
            (!may_be_empty && payload.value.trim().is_empty()).then(|| "the reply is empty".to_owned())
        }
    }
}

/// Returns whether the model that writes the reply returned an empty text, which is passed on (pack `s19_llm_error`).
fn is_model_reply_empty(run: &TurnRun) -> bool {
    let is_answer = |request: &Request| matches!(request, Request::Llm(call) if call.purpose.starts_with("response_") || call.purpose == "intent_collision");
    let is_empty = |answer: &EffectResult| matches!(answer, EffectResult::Ok(Reply::Llm(reply)) if reply.text.trim().is_empty());
    run.answered.iter().any(|answered| is_answer(&answered.effect.request) && is_empty(&answered.answer))
}

/// The maximum number of effects in a turn of a flow (docs/spec/flows.md#12.1).
const MAX_FLOW_EFFECTS: usize = 128;

/// The maximum number of effects in a turn: five rounds of rules, two planner calls per round, and three attempts per call.
const MAX_EFFECTS: usize = 100;

/// The maximum number of notices in a turn.
const MAX_NOTICES: usize = 1_000;

/// The maximum number of characters in a prompt without very long replies: the longest message, and a session.
const MAX_PROMPT_CHARS: usize = 48_000;

/// The maximum size of a compressed journal without model texts, in bytes (docs/decisions/0016-conflicts-are-detected-by-turn-number.md).
const MAX_JOURNAL_BYTES: usize = 4_096;

/// The length from which a reply counts as a model's text, in bytes; the journals of later turns contain it.
const LONG_REPLY_BYTES: usize = 2_048;

/// The maximum size of a compressed journal with model texts, in bytes, if none was very long.
const MAX_JOURNAL_BYTES_WITH_TEXTS: usize = 24_576;

/// I6: loops, effects, notices, prompts and journals are bounded.
fn check_limits(scene: &TurnUnderTest<'_>) -> Option<String> {
    let [effects, notices, prompt, journal] = scene.sizes();
    let plans = count_requests(scene.run, |request| matches!(request, Request::Llm(call) if call.purpose == "mcp_plan"));
    let rounds = scene.config.settings.tools.max_loops;
    let long = if matches!(scene.fault, Some(Fault::Garbage(Garbage::Long | Garbage::Deep))) { LONG_CHARS } else { 0 };
    let sleeps =
        if scene.run.outcome.flow.is_some() { count_requests(scene.run, |request| matches!(request, Request::Sleep(_))) } else { 0 };
    let limit = if scene.run.outcome.flow.is_some() { MAX_FLOW_EFFECTS } else { MAX_EFFECTS };
    let effects = effects - sleeps;
    let bounds = [
        (plans, 2 * rounds, "plans"),
        (effects, limit, "effects"),
        (notices, MAX_NOTICES, "notices"),
        (prompt, MAX_PROMPT_CHARS + long, "characters of a prompt"),
        (
            journal_bytes_without_texts(scene.run),
            if has_long_replies(scene.run) { MAX_JOURNAL_BYTES_WITH_TEXTS } else { MAX_JOURNAL_BYTES } + long,
            "bytes of a journal without model texts",
        ),
        (journal, MAX_JOURNAL_BYTES_WITH_TEXTS + long, "bytes of a journal"),
        (scene.run.slices, effects + sleeps + 1, "slices"),
    ];
    bounds.into_iter().find(|it| it.0 > it.1).map(|(found, limit, what)| format!("{found} {what}, the limit is {limit}"))
}

fn has_long_replies(run: &TurnRun) -> bool {
    let session = &run.input.session;
    let last = session.conversation.as_ref().and_then(|it| it.last_assistant.as_ref());
    session.history.iter().map(|it| &it.assistant).chain(last).any(|reply| reply.len() > LONG_REPLY_BYTES)
}

/// Returns the size of the compressed journal without model calls, in bytes.
fn journal_bytes_without_texts(run: &TurnRun) -> usize {
    let mut journal = run.journal.clone();
    let is_text =
        |id: EffectId| run.answered.iter().any(|answered| answered.effect.id == id && matches!(answered.effect.request, Request::Llm(_)));
    journal.entries.retain(|it| !is_text(it.effect));
    journal_bytes(&journal)
}

fn journal_bytes(journal: &Journal) -> usize {
    compress(journal).map_or(usize::MAX, |it| it.len())
}

impl TurnUnderTest<'_> {
    /// Returns the number of effects, notices, characters of the longest prompt, and bytes of the compressed journal.
    pub fn sizes(&self) -> [usize; 4] {
        let prompts = self.run.answered.iter().filter_map(|answered| match &answered.effect.request {
            Request::Llm(request) => Some(request.prompt().chars().count()),
            _ => None,
        });
        [self.run.answered.len(), self.run.notices.len(), prompts.max().unwrap_or_default(), journal_bytes(&self.run.journal)]
    }
}

fn count_requests(run: &TurnRun, is: impl Fn(&Request) -> bool) -> usize {
    run.answered.iter().filter(|it| is(&it.effect.request)).count()
}

/// I7: a failed turn stores only the creation of the row, a requested reset, a pending action that was carried out, and the model calls.
fn check_failed_turn(scene: &TurnUnderTest<'_>) -> Option<String> {
    let outcome = &scene.run.outcome;
    outcome.fault.as_ref()?;
    let loaded = scene.run.input.session.conversation.as_ref();
    let is_reset = outcome.writes.iter().any(|it| matches!(it, Write::Reset));
    let mut is_carried_out = false;
    for write in &outcome.writes {
        match write {
            Write::LlmCall(_) | Write::Session { .. } | Write::Reset => {}
            Write::History(_) => return Some("it writes a row of the history".to_owned()),
            Write::Memory(_) => return Some("it writes a summary".to_owned()),
            Write::Conversation(row) => match loaded {
                Some(loaded) if closes_action(loaded, row) => is_carried_out = true,
                Some(loaded) if !is_reset && row != loaded => return Some("it changes the conversation's row".to_owned()),
                None if !row.context.is_empty() && !is_reset => return Some("the row that it creates is not empty".to_owned()),
                _ => {}
            },
        }
    }
    let of_row = loaded.filter(|_| !is_reset && !is_carried_out).map(|it| (&it.context, &it.params));
    let stored = (&outcome.session.context, &outcome.session.params);
    of_row.is_some_and(|it| it != stored).then(|| "it changes the session".to_owned())
}
