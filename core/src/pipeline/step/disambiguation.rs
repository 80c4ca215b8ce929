//! Asks which of several pending actions to run, and takes the answer on the next turn. (docs/decisions/README.md#9, disambiguation)
//! Reads: `policy_decision`, `pending_action_key`, `ce_pending_action`, the open question. Writes: the question, `pending_action_key`,
//! `policy_decision`; a turn that asks runs nothing else. Waits for: llm.

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

/// The clarification reason.
const REASON: &str = "PENDING_ACTION_DISAMBIGUATION";

/// A question and its options.
struct Asked {
    question: String,
    options: Vec<ClarificationOption>,
    /// Number of competing actions, including those that are not listed.
    count: usize,
    again: bool,
    source: &'static str,
}

pub(super) async fn run(cx: &mut Turning<'_>) -> Flow {
    if !cx.config.settings.disambiguation.enabled {
        return Flow::Continue;
    }
    let open = cx.session.clarification.clone().filter(|it| it.reason.as_deref() == Some(REASON) && !it.options.is_empty());
    match open {
        Some(open) => take_answer(cx, open),
        None => ask(cx).await,
    }
    Flow::Continue
}

/// Handles the answer to the open question. A key sent by the client, or a change of intent or state, settles the question.
fn take_answer(cx: &mut Turning<'_>, open: Clarification) {
    let is_settled = !matches!(action::named(cx), Choice::Several(_));
    let act = cx.session.act();
    if is_settled {
        close(cx);
    } else if act == Act::Negate {
        reject(cx);
    } else if let Some((option, by)) = choose(&open.options, cx.session.text()) {
        execute(cx, option, by);
    } else if act == Act::NewRequest || open.asked_again {
        close(cx);
        if action::decision(&cx.session) == Some(Decision::ExecutePendingAction) {
            cx.session.set_param("policy_decision", Decision::ReclassifyIntent.name());
        }
    } else {
        put(cx, Asked { count: open.options.len(), question: open.question, options: open.options, again: true, source: "REPEATED" });
    }
}

fn close(cx: &mut Turning<'_>) {
    cx.session.clarification = None;
    cx.session.write_context();
}

fn reject(cx: &mut Turning<'_>) {
    close(cx);
    decide(cx, Decision::RejectPendingAction);
    let mut runtime = Runtime::of(&cx.session);
    runtime.change(Status::Rejected, cx.session.turn_number, cx.door.now());
    runtime.store(&mut cx.session);
    cx.session.set_param("pending_action_runtime_status", Status::Rejected.name());
    let payload = json!({"event": "REJECTED", "status": "REJECTED", "actionKey": null, "actionRef": null});
    cx.audit(Stage::PendingActionLifecycle, |_| payload);
}

fn execute(cx: &mut Turning<'_>, option: &ClarificationOption, by: &str) {
    close(cx);
    cx.session.set_param("pending_action_key", option.key.clone());
    decide(cx, Decision::ExecutePendingAction);
    cx.audit(
        Stage::DisambiguationResolved,
        |session| json!({"actionKey": option.key, "matchedBy": by, "intent": session.intent, "state": session.state}),
    );
    if cx.config.settings.action_lifecycle.enabled {
        action::proceed(cx);
    }
}

fn decide(cx: &mut Turning<'_>, decision: Decision) {
    cx.session.set_param("policy_decision", decision.name());
    cx.session.set_param("skip_intent_resolution", true);
}

async fn ask(cx: &mut Turning<'_>) {
    let is_named = cx.session.params.get("pending_action_key").is_some_and(has_content);
    if is_named || action::decision(&cx.session) != Some(Decision::ExecutePendingAction) {
        return;
    }
    let Choice::Several(rows) = action::named(cx) else { return };
    let options = options(&rows, cx.config.settings.disambiguation.max_options.max(1));
    if options.is_empty() {
        return;
    }
    let (question, source) = question(cx, &options, rows.len()).await;
    put(cx, Asked { question, options, count: rows.len(), again: false, source });
}

/// The rows that have a key, without duplicates.
fn options(rows: &[&PendingAction], limit: usize) -> Vec<ClarificationOption> {
    let mut options: Vec<ClarificationOption> = Vec::new();
    for row in rows {
        let option = row.key.clone().map(|key| ClarificationOption { key, description: row.description.clone() });
        options.extend(option.filter(|it| !options.contains(it)));
    }
    options.truncate(limit);
    options
}

fn spoken(option: &ClarificationOption) -> String {
    option.description.as_ref().map_or_else(|| option.key.clone(), |it| format!("{} ({it})", option.key))
}

/// Returns the question: from the configured template, or from a model if one is configured and answers.
async fn question(cx: &mut Turning<'_>, options: &[ClarificationOption], count: usize) -> (String, &'static str) {
    let config = cx.config;
    let labels: Vec<String> = options.iter().map(spoken).collect();
    let keys: Vec<&str> = options.iter().map(|it| it.key.as_str()).collect();
    let own_variables: Map = [
        ("options", json!(labels.join(", "))),
        ("candidate_count", json!(count)),
        ("intent", json!(cx.session.intent)),
        ("state", json!(cx.session.state)),
        ("action_keys", json!(keys)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect();
    if config.question.by_model {
        let mut variables = llm::variables(cx, &Value::Null);
        variables.extend(own_variables.clone());
        let prompts = llm::prompts(cx, &config.question.prompts.system, &config.question.prompts.user, &variables);
        let reply = llm::ask(cx, "disambiguation", LlmMode::Text, prompts, None).await;
        if let Some(text) = reply.ok().map(|it| it.text.trim().to_owned()).filter(|it| !it.is_empty()) {
            return (text, "LLM");
        }
    }
    let rendered = cx.session.render(&config.question.template, || own_variables);
    let text = rendered.text.trim().to_owned();
    if text.is_empty() || rendered.error.is_some() {
        return (format!("Which one do you want: {}?", labels.join(", ")), "TEMPLATE");
    }
    (text, "TEMPLATE")
}

/// Publishes the question, which is the turn's only answer.
fn put(cx: &mut Turning<'_>, prompt: Asked) {
    cx.session.ask(prompt.question.clone(), REASON);
    if let Some(open) = cx.session.clarification.as_mut() {
        open.options.clone_from(&prompt.options);
        open.asked_again = prompt.again;
    }
    cx.session.stalled = true;
    cx.session.write_context();
    decide(cx, Decision::ReclassifyIntent);
    cx.session.set_param("pending_action_disambiguation_required", true);
    cx.audit(Stage::DisambiguationRequired, |session| {
        let labels: Vec<String> = prompt.options.iter().map(spoken).collect();
        json!({
            "reason": "MULTIPLE_PENDING_ACTIONS", "question": prompt.question, "candidateCount": prompt.count, "options": labels,
            "intent": session.intent, "state": session.state, "questionSource": prompt.source,
        })
    });
}
