//! Decides whether the planner runs at all; the first closed gate is reported. (docs/spec/pipeline.md#2.21)

use convengine_config::{DialogueAct, is_same_code};
use convengine_text::collapse_whitespace;
use convengine_turn::{Candidate, Verdict, payload};
use serde_json::json;

use super::loop_state::{LoopState, LoopStatus};
use super::{consent, lifecycle};
use crate::audit::Stage;
use crate::session::Session;
use crate::step_context::StepContext;
use crate::tool;

/// Messages that are only a greeting.
const GREETINGS: [&str; 7] = ["hi", "hello", "hey", "greetings", "good morning", "good afternoon", "good evening"];

/// Words that may follow a greeting.
const GREETING_SUFFIXES: [&str; 3] = ["there", "all", "everyone"];

/// The gates in evaluation order, each with the reason why it is closed.
const GATES: [(Gate, &str, &str); 7] = [
    (Gate::Guard, "guardrail", "tools are blocked this turn"),
    (Gate::Schema, "schema", "required values are missing"),
    (Gate::Act, "dialogue act", "the message is not a request"),
    (Gate::Greeting, "greeting", "the message is only a greeting"),
    (Gate::Question, "question", "a question to the user is open"),
    (Gate::Tools, "tools", "no tool applies to this intent and state"),
    (Gate::Consent, "consent", "every tool in scope has side effects and is unconfirmed or has no planner"),
];

/// A check that can keep the planner from running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    Guard,
    Schema,
    Act,
    Greeting,
    Question,
    Tools,
    Consent,
}

/// Whether the planner is skipped; `has_asked` says that a tool of an earlier turn asked the user a question.
pub(super) fn is_closed(cx: &mut StepContext<'_>, has_asked: bool) -> bool {
    let closed_gate = find_closed_gate(cx, has_asked);
    explain(cx, closed_gate);
    closed_gate.is_some()
}

fn explain(cx: &StepContext<'_>, closed_gate: Option<Gate>) {
    let Some(explanation) = cx.effects.begin_explanation("planner") else { return };
    let mut verdict = "every gate is open: the planner is asked";
    let mut is_reached = true;
    let rows = GATES.iter().map(|(gate, name, reason)| {
        if closed_gate == Some(*gate) {
            (is_reached, verdict) = (false, "the planner is not asked: a gate is closed");
            return Candidate::for_choice("", name, Verdict::Won).with_reason(*reason);
        }
        Candidate::for_choice("", name, if is_reached { Verdict::NotMatched } else { Verdict::NotReached })
    });
    let rows = rows.collect();
    explanation
        .with_subject(json!({"intent": cx.session.intent, "state": cx.session.state}))
        .with_candidates(rows)
        .record(&cx.effects, verdict);
}

fn find_closed_gate(cx: &mut StepContext<'_>, has_asked: bool) -> Option<Gate> {
    if tool::is_blocked(&cx.session) {
        return close_gate(cx, Gate::Guard, LoopStatus::GuardrailBlocked);
    }
    if cx.session.schema.as_ref().is_some_and(|it| !it.complete) {
        lifecycle::record_state(&mut cx.session, LoopState::new(LoopStatus::SchemaIncomplete).with_message("SCHEMA_INCOMPLETE"));
        cx.audit(Stage::McpSkippedSchemaIncomplete, |session| {
            let missing = session.schema.as_ref().map(|schema| &schema.missing);
            payload!({"intent": session.intent, "state": session.state, "missing_fields": missing, "schema_complete": false})
        });
        return Some(Gate::Schema);
    }
    let is_answer = has_asked && take_answer(&mut cx.session);
    if !is_answer && is_other_act(&cx.session) {
        return close_gate(cx, Gate::Act, LoopStatus::OtherAct);
    }
    if is_greeting(cx.session.working_text().unwrap_or_default()) {
        return close_gate(cx, Gate::Greeting, LoopStatus::Greeting);
    }
    if cx.session.clarification.is_some() {
        audit_open_question(cx);
        return Some(Gate::Question);
    }
    if !cx.config.tools.has_any(&cx.session.intent, &cx.session.state) {
        cx.audit(Stage::McpNoToolsAvailable, |session| payload!({"intent": session.intent, "state": session.state}));
        return close_gate(cx, Gate::Tools, LoopStatus::NoTools);
    }
    if consent::plannable_tools(cx).is_empty() && cx.session.approved_call.is_none() {
        cx.audit(
            Stage::McpNoToolsAvailable,
            |session| payload!({"intent": session.intent, "state": session.state, "reason": LoopStatus::Unconfirmed.name()}),
        );
        return close_gate(cx, Gate::Consent, LoopStatus::Unconfirmed);
    }
    None
}

fn close_gate(cx: &mut StepContext<'_>, gate: Gate, status: LoopStatus) -> Option<Gate> {
    lifecycle::record_state(&mut cx.session, LoopState::new(status));
    Some(gate)
}

/// Reports that an open question takes precedence over tools.
pub(super) fn report_open_question(cx: &StepContext<'_>) {
    explain(cx, Some(Gate::Question));
    audit_open_question(cx);
}

fn audit_open_question(cx: &StepContext<'_>) {
    cx.audit(Stage::McpSkippedPendingClarification, |session| payload!({"intent": session.intent, "state": session.state}));
}

/// Accepts the message as the answer to a tool's question, if it can be one.
fn take_answer(session: &mut Session) -> bool {
    let can_answer =
        matches!(session.dialogue_act(), DialogueAct::Answer | DialogueAct::Edit | DialogueAct::Affirm | DialogueAct::NewRequest);
    if session.clarification.is_none() || session.is_question_new || !can_answer {
        return false;
    }
    session.clarification = None;
    session.context.shift_remove("pending_clarification");
    session.set_param("dialogue_act", DialogueAct::Answer.name());
    true
}

/// Whether the message is not a request. A message approved in this turn is one, whatever act approved it.
fn is_other_act(session: &Session) -> bool {
    match session.dialogue_act() {
        DialogueAct::Negate | DialogueAct::Edit | DialogueAct::Reset => true,
        DialogueAct::Affirm => {
            let routing = session.params.get("routing_decision").and_then(|it| it.as_str()).unwrap_or_default();
            !is_same_code(routing, "PROCEED_CONFIRMED") && session.approved_text.is_none()
        }
        DialogueAct::Question | DialogueAct::Greeting | DialogueAct::NewRequest | DialogueAct::Answer => false,
    }
}

/// Whether the whole message is a greeting. (docs/spec/pipeline.md#Q-23)
fn is_greeting(text: &str) -> bool {
    let words: String = text.to_lowercase().chars().map(|character| if character.is_alphanumeric() { character } else { ' ' }).collect();
    let words = collapse_whitespace(&words);
    GREETINGS.iter().filter_map(|it| words.strip_prefix(it)).any(|rest| {
        let word = rest.strip_prefix(' ');
        rest.is_empty() || word.is_some_and(|word| GREETING_SUFFIXES.contains(&word))
    })
}

#[cfg(test)]
mod tests {
    use super::is_greeting;

    #[test]
    fn only_a_whole_greeting_counts() {
        for text in ["hi", " Hello! ", "Good  morning, everyone.", "hey there :)"] {
            assert!(is_greeting(text), "{text}");
        }
        for text in ["", "hi, what is the status of my order?", "history", "good", "hello where is it", "greetings from Rome"] {
            assert!(!is_greeting(text), "{text}");
        }
    }
}
