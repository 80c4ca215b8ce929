//! Decides whether the planner runs at all; the first closed gate is reported. (docs/spec/pipeline.md#2.21)

use serde_json::json;

use super::lifecycle::{self, Moment, Standing};
use crate::audit::Stage;
use crate::config::{Act, same_code};
use crate::session::Session;
use crate::text::on_one_line;
use crate::tool;
use crate::turn::{Considered, Fate};
use crate::turning::Turning;

/// Messages that are only a greeting.
const GREETINGS: [&str; 7] = ["hi", "hello", "hey", "greetings", "good morning", "good afternoon", "good evening"];

/// Words that may follow a greeting.
const ADDRESSED: [&str; 3] = ["there", "all", "everyone"];

/// The gates in evaluation order, each with the reason why it is closed.
const GATES: [(Gate, &str, &str); 6] = [
    (Gate::Guard, "guardrail", "tools are held back in this turn"),
    (Gate::Schema, "schema", "values are still collected"),
    (Gate::Act, "dialogue act", "the message is no request"),
    (Gate::Greeting, "greeting", "the message only says hello"),
    (Gate::Question, "question", "a question to the user is open"),
    (Gate::Tools, "tools", "no tool is for this intent and state"),
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
}

/// Whether the planner is skipped; `has_asked` says that a tool of an earlier turn asked the user a question.
pub(super) fn is_closed(cx: &mut Turning<'_>, has_asked: bool) -> bool {
    let closed_gate = first_closed(cx, has_asked);
    explain(cx, closed_gate);
    closed_gate.is_some()
}

fn explain(cx: &Turning<'_>, closed_gate: Option<Gate>) {
    let Some(explanation) = cx.door.why("planner") else { return };
    let mut verdict = "every gate is open: the planner is asked";
    let mut is_reached = true;
    let rows = GATES.iter().map(|(gate, name, reason)| {
        if closed_gate == Some(*gate) {
            (is_reached, verdict) = (false, "the planner is not asked: a gate is closed");
            return Considered::choice("", name, Fate::Won).because(*reason);
        }
        Considered::choice("", name, if is_reached { Fate::NotMatched } else { Fate::NotReached })
    });
    let rows = rows.collect();
    explanation.about(json!({"intent": cx.session.intent, "state": cx.session.state})).of(rows).decided(&cx.door, verdict);
}

fn first_closed(cx: &mut Turning<'_>, has_asked: bool) -> Option<Gate> {
    if tool::held_back(&cx.session) {
        return closed(cx, Gate::Guard, Standing::Guarded);
    }
    if cx.session.schema.as_ref().is_some_and(|it| !it.complete) {
        lifecycle::note(&mut cx.session, Moment::new(Standing::SchemaIncomplete).because("SCHEMA_INCOMPLETE"));
        cx.audit(Stage::McpSkippedSchemaIncomplete, |session| {
            let missing = session.schema.as_ref().map(|it| &it.missing);
            json!({"intent": session.intent, "state": session.state, "missing_fields": missing, "schema_complete": false})
        });
        return Some(Gate::Schema);
    }
    let is_answer = has_asked && takes_answer(&mut cx.session);
    if !is_answer && is_other_act(&cx.session) {
        return closed(cx, Gate::Act, Standing::OtherAct);
    }
    if greets(cx.session.working_text().unwrap_or_default()) {
        return closed(cx, Gate::Greeting, Standing::Greeting);
    }
    if cx.session.clarification.is_some() {
        audit_wait(cx);
        return Some(Gate::Question);
    }
    if !cx.config.tools.any_for(&cx.session.intent, &cx.session.state) {
        cx.audit(Stage::McpNoToolsAvailable, |session| json!({"intent": session.intent, "state": session.state}));
        return closed(cx, Gate::Tools, Standing::NoTools);
    }
    None
}

fn closed(cx: &mut Turning<'_>, gate: Gate, status: Standing) -> Option<Gate> {
    lifecycle::note(&mut cx.session, Moment::new(status));
    Some(gate)
}

/// Reports that an open question takes precedence over tools.
pub(super) fn wait(cx: &Turning<'_>) {
    explain(cx, Some(Gate::Question));
    audit_wait(cx);
}

fn audit_wait(cx: &Turning<'_>) {
    cx.audit(Stage::McpSkippedPendingClarification, |session| json!({"intent": session.intent, "state": session.state}));
}

/// Accepts the message as the answer to a tool's question, if it can be one.
fn takes_answer(session: &mut Session) -> bool {
    let can_answer = matches!(session.act(), Act::Answer | Act::Edit | Act::Affirm | Act::NewRequest);
    if session.clarification.is_none() || session.asked || !can_answer {
        return false;
    }
    session.clarification = None;
    session.context.shift_remove("pending_clarification");
    session.set_param("dialogue_act", Act::Answer.name());
    true
}

/// Whether the message is not a request. A message approved in this turn is one, whatever act approved it.
fn is_other_act(session: &Session) -> bool {
    match session.act() {
        Act::Negate | Act::Edit | Act::Reset => true,
        Act::Affirm => {
            let routing = session.params.get("routing_decision").and_then(|it| it.as_str()).unwrap_or_default();
            !same_code(routing, "PROCEED_CONFIRMED") && session.approved_text.is_none()
        }
        Act::Question | Act::Greeting | Act::NewRequest | Act::Answer => false,
    }
}

/// Whether the whole message is a greeting. (docs/decisions/README.md#Q-23)
fn greets(text: &str) -> bool {
    let words: String = text.to_lowercase().chars().map(|it| if it.is_alphanumeric() { it } else { ' ' }).collect();
    let words = on_one_line(&words);
    GREETINGS.iter().filter_map(|it| words.strip_prefix(it)).any(|rest| {
        let word = rest.strip_prefix(' ');
        rest.is_empty() || word.is_some_and(|it| ADDRESSED.contains(&it))
    })
}

#[cfg(test)]
mod tests {
    use super::greets;

    #[test]
    fn only_a_whole_greeting_greets() {
        for text in ["hi", " Hello! ", "Good  morning, everyone.", "hey there :)"] {
            assert!(greets(text), "{text}");
        }
        for text in ["", "hi, what is the status of my order?", "history", "good", "hello where is it", "greetings from Rome"] {
            assert!(!greets(text), "{text}");
        }
    }
}
