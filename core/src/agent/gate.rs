//! Whether the planner is asked at all; the first reason not to is told. (`spec/pipeline.md` 2.21)

use serde_json::json;

use super::lifecycle::{self, Moment, Standing};
use crate::audit::Stage;
use crate::config::{Act, same_code};
use crate::session::Session;
use crate::text::on_one_line;
use crate::tool;
use crate::turn::{Considered, Fate};
use crate::turning::Turning;

/// Messages that only say hello.
const GREETINGS: [&str; 7] = ["hi", "hello", "hey", "greetings", "good morning", "good afternoon", "good evening"];

/// Words that may follow.
const ADDRESSED: [&str; 3] = ["there", "all", "everyone"];

/// The gates in their order, each with why it is closed.
const GATES: [(Gate, &str, &str); 6] = [
    (Gate::Guard, "guardrail", "tools are held back in this turn"),
    (Gate::Schema, "schema", "values are still collected"),
    (Gate::Act, "dialogue act", "the message is no request"),
    (Gate::Greeting, "greeting", "the message only says hello"),
    (Gate::Question, "question", "a question to the user is open"),
    (Gate::Tools, "tools", "no tool is for this intent and state"),
];

/// Where the planner can be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    Guard,
    Schema,
    Act,
    Greeting,
    Question,
    Tools,
}

/// Whether the planner is not asked; `has_asked` says that an earlier turn's tool asked the user something.
pub(super) fn is_closed(t: &mut Turning<'_>, has_asked: bool) -> bool {
    let stopped = first_closed(t, has_asked);
    explain(t, stopped);
    stopped.is_some()
}

fn explain(t: &Turning<'_>, stopped: Option<Gate>) {
    let Some(why) = t.door.why("planner") else { return };
    let mut verdict = "every gate is open: the planner is asked";
    let mut passed = true;
    let rows = GATES.iter().map(|(gate, name, reason)| {
        if stopped == Some(*gate) {
            (passed, verdict) = (false, "the planner is not asked: a gate is closed");
            return Considered::choice("", name, Fate::Won).because(*reason);
        }
        Considered::choice("", name, if passed { Fate::NotMatched } else { Fate::NotReached })
    });
    let rows = rows.collect();
    why.about(json!({"intent": t.session.intent, "state": t.session.state})).of(rows).decided(&t.door, verdict);
}

fn first_closed(t: &mut Turning<'_>, has_asked: bool) -> Option<Gate> {
    if tool::held_back(&t.session) {
        return closed(t, Gate::Guard, Standing::Guarded);
    }
    if t.session.schema.as_ref().is_some_and(|it| !it.complete) {
        lifecycle::note(&mut t.session, Moment::new(Standing::SchemaIncomplete).because("SCHEMA_INCOMPLETE"));
        t.audit(Stage::McpSkippedSchemaIncomplete, |session| {
            let missing = session.schema.as_ref().map(|it| &it.missing);
            json!({"intent": session.intent, "state": session.state, "missing_fields": missing, "schema_complete": false})
        });
        return Some(Gate::Schema);
    }
    let answers = has_asked && takes_answer(&mut t.session);
    if !answers && is_other_act(&t.session) {
        return closed(t, Gate::Act, Standing::OtherAct);
    }
    if greets(t.session.working_text().unwrap_or_default()) {
        return closed(t, Gate::Greeting, Standing::Greeting);
    }
    if t.session.clarification.is_some() {
        audit_wait(t);
        return Some(Gate::Question);
    }
    if !t.config.tools.any_for(&t.session.intent, &t.session.state) {
        t.audit(Stage::McpNoToolsAvailable, |session| json!({"intent": session.intent, "state": session.state}));
        return closed(t, Gate::Tools, Standing::NoTools);
    }
    None
}

fn closed(t: &mut Turning<'_>, gate: Gate, standing: Standing) -> Option<Gate> {
    lifecycle::note(&mut t.session, Moment::new(standing));
    Some(gate)
}

/// Tells that an open question stands before any tool.
pub(super) fn wait(t: &Turning<'_>) {
    explain(t, Some(Gate::Question));
    audit_wait(t);
}

fn audit_wait(t: &Turning<'_>) {
    t.audit(Stage::McpSkippedPendingClarification, |session| json!({"intent": session.intent, "state": session.state}));
}

/// Takes the message as the answer to what a tool asked, when it can be one.
fn takes_answer(session: &mut Session) -> bool {
    let answers = matches!(session.act(), Act::Answer | Act::Edit | Act::Affirm | Act::NewRequest);
    if session.clarification.is_none() || session.asked || !answers {
        return false;
    }
    session.clarification = None;
    session.context.shift_remove("pending_clarification");
    session.set_param("dialogue_act", Act::Answer.name());
    true
}

/// Whether the message is about something else than a request. What was approved just now is one, by whatever act it was.
fn is_other_act(session: &Session) -> bool {
    match session.act() {
        Act::Negate | Act::Edit | Act::Reset => true,
        Act::Affirm => {
            let proceeds = session.params.get("routing_decision").and_then(|it| it.as_str()).unwrap_or_default();
            !same_code(proceeds, "PROCEED_CONFIRMED") && session.approved_text.is_none()
        }
        Act::Question | Act::Greeting | Act::NewRequest | Act::Answer => false,
    }
}

/// Whether the whole message is a greeting.
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
