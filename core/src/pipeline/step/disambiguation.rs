//! Asks which of several pending actions is meant, and takes the answer on the next turn. (`decisions.md` 9, disambiguation)
//! Reads: `policy_decision`, `pending_action_key`, `ce_pending_action`, the open question. Writes: the question, `pending_action_key`,
//! `policy_decision`; the rest of a turn that asks stalls. Waits for: llm.

use serde_json::{Value, json};

use super::Flow;
use crate::action::{self, Choice, Runtime, Status, choose};
use crate::audit::Stage;
use crate::config::{Act, Decision, PendingAction};
use crate::json::has_content;
use crate::llm;
use crate::session::{Clarification, ClarificationOption};
use crate::turn::{LlmMode, Map};
use crate::turning::Turning;

/// The reason of the question.
const REASON: &str = "PENDING_ACTION_DISAMBIGUATION";

/// A question with what may be chosen.
struct Asked {
    question: String,
    options: Vec<ClarificationOption>,
    /// How many actions compete, also those that are not named.
    count: usize,
    again: bool,
    source: &'static str,
}

pub(super) async fn run(t: &mut Turning<'_>) -> Flow {
    if !t.config.settings.disambiguation.enabled {
        return Flow::Continue;
    }
    let open = t.session.clarification.clone().filter(|it| it.reason.as_deref() == Some(REASON) && !it.options.is_empty());
    match open {
        Some(open) => take_answer(t, open),
        None => ask(t).await,
    }
    Flow::Continue
}

/// What the message says to the open question. A client that names the key, or a conversation that stands elsewhere, has settled it.
fn take_answer(t: &mut Turning<'_>, open: Clarification) {
    let settled = !matches!(action::named(t), Choice::Several(_));
    let act = t.session.act();
    if settled {
        close(t);
    } else if act == Act::Negate {
        reject(t);
    } else if let Some((option, by)) = choose(&open.options, t.session.text()) {
        execute(t, option, by);
    } else if act == Act::NewRequest || open.asked_again {
        close(t);
        if action::decision(&t.session) == Some(Decision::ExecutePendingAction) {
            t.session.set_param("policy_decision", Decision::ReclassifyIntent.name());
        }
    } else {
        put(t, Asked { count: open.options.len(), question: open.question, options: open.options, again: true, source: "REPEATED" });
    }
}

fn close(t: &mut Turning<'_>) {
    t.session.clarification = None;
    t.session.write_context();
}

fn reject(t: &mut Turning<'_>) {
    close(t);
    decide(t, Decision::RejectPendingAction);
    let mut runtime = Runtime::of(&t.session);
    runtime.change(Status::Rejected, t.session.turn_number, t.door.now());
    runtime.store(&mut t.session);
    t.session.set_param("pending_action_runtime_status", Status::Rejected.name());
    let payload = json!({"event": "REJECTED", "status": "REJECTED", "actionKey": null, "actionRef": null});
    t.audit(Stage::PendingActionLifecycle, |_| payload);
}

fn execute(t: &mut Turning<'_>, option: &ClarificationOption, by: &str) {
    close(t);
    t.session.set_param("pending_action_key", option.key.clone());
    decide(t, Decision::ExecutePendingAction);
    t.audit(
        Stage::DisambiguationResolved,
        |session| json!({"actionKey": option.key, "matchedBy": by, "intent": session.intent, "state": session.state}),
    );
    if t.config.settings.action_lifecycle.enabled {
        action::proceed(t);
    }
}

fn decide(t: &mut Turning<'_>, decision: Decision) {
    t.session.set_param("policy_decision", decision.name());
    t.session.set_param("skip_intent_resolution", true);
}

async fn ask(t: &mut Turning<'_>) {
    let is_named = t.session.params.get("pending_action_key").is_some_and(has_content);
    if is_named || action::decision(&t.session) != Some(Decision::ExecutePendingAction) {
        return;
    }
    let Choice::Several(rows) = action::named(t) else { return };
    let options = options(&rows, t.config.settings.disambiguation.max_options.max(1));
    if options.is_empty() {
        return;
    }
    let (question, source) = question(t, &options, rows.len()).await;
    put(t, Asked { question, options, count: rows.len(), again: false, source });
}

/// The rows that have a key, each once.
fn options(rows: &[&PendingAction], most: usize) -> Vec<ClarificationOption> {
    let mut options: Vec<ClarificationOption> = Vec::new();
    for row in rows {
        let option = row.key.clone().map(|key| ClarificationOption { key, description: row.description.clone() });
        options.extend(option.filter(|it| !options.contains(it)));
    }
    options.truncate(most);
    options
}

fn spoken(option: &ClarificationOption) -> String {
    option.description.as_ref().map_or_else(|| option.key.clone(), |it| format!("{} ({it})", option.key))
}

/// The question in the words of the configuration, or in those of a model where it is asked and answers.
async fn question(t: &mut Turning<'_>, options: &[ClarificationOption], count: usize) -> (String, &'static str) {
    let config = t.config;
    let names: Vec<String> = options.iter().map(spoken).collect();
    let keys: Vec<&str> = options.iter().map(|it| it.key.as_str()).collect();
    let own: Map = [
        ("options", json!(names.join(", "))),
        ("candidate_count", json!(count)),
        ("intent", json!(t.session.intent)),
        ("state", json!(t.session.state)),
        ("action_keys", json!(keys)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect();
    if config.question.by_model {
        let mut variables = llm::variables(t, &Value::Null);
        variables.extend(own.clone());
        let prompts = llm::prompts(t, &config.question.prompts.system, &config.question.prompts.user, &variables);
        let reply = llm::ask(t, "disambiguation", LlmMode::Text, prompts, None).await;
        if let Some(text) = reply.ok().map(|it| it.text.trim().to_owned()).filter(|it| !it.is_empty()) {
            return (text, "LLM");
        }
    }
    let rendered = t.session.render(&config.question.template, || own);
    let text = rendered.text.trim().to_owned();
    if text.is_empty() || rendered.error.is_some() {
        return (format!("Which one do you want: {}?", names.join(", ")), "TEMPLATE");
    }
    (text, "TEMPLATE")
}

/// Asks; the question is all that the user gets in this turn.
fn put(t: &mut Turning<'_>, asked: Asked) {
    t.session.ask(asked.question.clone(), REASON);
    if let Some(open) = t.session.clarification.as_mut() {
        open.options.clone_from(&asked.options);
        open.asked_again = asked.again;
    }
    t.session.stalled = true;
    t.session.write_context();
    decide(t, Decision::ReclassifyIntent);
    t.session.set_param("pending_action_disambiguation_required", true);
    t.audit(Stage::DisambiguationRequired, |session| {
        let names: Vec<String> = asked.options.iter().map(spoken).collect();
        json!({
            "reason": "MULTIPLE_PENDING_ACTIONS", "question": asked.question, "candidateCount": asked.count, "options": names,
            "intent": session.intent, "state": session.state, "questionSource": asked.source,
        })
    });
}
