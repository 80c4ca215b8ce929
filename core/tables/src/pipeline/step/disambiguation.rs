//! Asks which of several pending actions to run, and takes the answer on the next turn. (docs/decisions/0031-disambiguation-ends-the-turn.md)
//! Reads: `policy_decision`, `pending_action_key`, `ce_pending_action`, the open question. Writes: the question, `pending_action_key`,
//! `policy_decision`; a turn that asks runs nothing else. Waits for: llm.

use convengine_config::{DialogueAct, InteractionDecision, PendingAction};
use convengine_text::json::has_content;
use convengine_turn::{LlmMode, Map, payload};
use serde_json::{Value, json};

use super::StepOutcome;
use crate::audit::Stage;
use crate::llm;
use crate::pending_action::{self, ActionChoice, ActionEvent, ActionRuntime, ActionStatus, choose_option};
use crate::session::{Clarification, ClarificationOption};
use crate::step_context::StepContext;

/// The clarification reason.
const REASON: &str = "PENDING_ACTION_DISAMBIGUATION";

/// A question and its options.
struct ActionQuestion {
    question: String,
    options: Vec<ClarificationOption>,
    /// Number of competing actions, including those that are not listed.
    count: usize,
    is_repeat: bool,
    source: &'static str,
}

pub(super) async fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    if !cx.config.settings.disambiguation.enabled {
        return StepOutcome::Continue;
    }
    let open = cx
        .session
        .clarification
        .clone()
        .filter(|clarification| clarification.reason.as_deref() == Some(REASON) && !clarification.options.is_empty());
    match open {
        Some(open) => take_answer(cx, open),
        None => ask_question(cx).await,
    }
    StepOutcome::Continue
}

/// Handles the answer to the open question. A key sent by the client, or a change of intent or state, settles the question.
fn take_answer(cx: &mut StepContext<'_>, open: Clarification) {
    let is_settled = !matches!(pending_action::resolve_action(cx), ActionChoice::Several(_));
    let act = cx.session.dialogue_act();
    if is_settled {
        close_question(cx);
    } else if act == DialogueAct::Negate {
        reject(cx);
    } else if let Some((option, by)) = choose_option(&open.options, cx.session.text(), cx.session.locale()) {
        execute(cx, option, by);
    } else if act == DialogueAct::NewRequest || open.is_repeated {
        close_question(cx);
        if pending_action::current_decision(&cx.session) == Some(InteractionDecision::ExecutePendingAction) {
            cx.session.set_param("policy_decision", InteractionDecision::ReclassifyIntent.name());
        }
    } else {
        publish_question(
            cx,
            ActionQuestion {
                count: open.options.len(),
                question: open.question,
                options: open.options,
                is_repeat: true,
                source: "REPEATED",
            },
        );
    }
}

fn close_question(cx: &mut StepContext<'_>) {
    cx.session.clarification = None;
    cx.session.write_context();
}

fn reject(cx: &mut StepContext<'_>) {
    close_question(cx);
    set_decision(cx, InteractionDecision::RejectPendingAction);
    let mut runtime = ActionRuntime::from_session(&cx.session);
    // All that compete are rejected, and none of them has a status.
    let Some(status) = runtime.advance(ActionStatus::Absent, ActionEvent::Reject, &cx.effects) else { return };
    runtime.stamp(cx.session.turn_number, cx.effects.now());
    runtime.store(&mut cx.session);
    cx.session.set_param("pending_action_runtime_status", status.name());
    let payload = json!({"event": status.name(), "status": status.name(), "actionKey": null, "actionRef": null});
    cx.audit(Stage::PendingActionLifecycle, |_| payload);
}

fn execute(cx: &mut StepContext<'_>, option: &ClarificationOption, by: &str) {
    close_question(cx);
    cx.session.set_param("pending_action_key", option.key.clone());
    set_decision(cx, InteractionDecision::ExecutePendingAction);
    cx.audit(
        Stage::DisambiguationResolved,
        |session| payload!({"actionKey": option.key, "matchedBy": by, "intent": session.intent, "state": session.state}),
    );
    if cx.config.settings.action_lifecycle.enabled {
        pending_action::proceed(cx);
    }
}

fn set_decision(cx: &mut StepContext<'_>, decision: InteractionDecision) {
    cx.session.set_param("policy_decision", decision.name());
    cx.session.set_param("skip_intent_resolution", true);
}

async fn ask_question(cx: &mut StepContext<'_>) {
    let is_named = cx.session.params.get("pending_action_key").is_some_and(has_content);
    if is_named || pending_action::current_decision(&cx.session) != Some(InteractionDecision::ExecutePendingAction) {
        return;
    }
    let ActionChoice::Several(rows) = pending_action::resolve_action(cx) else { return };
    let options = list_options(&rows, cx.config.settings.disambiguation.max_options.max(1));
    if options.is_empty() {
        return;
    }
    let (question, source) = render_question(cx, &options, rows.len()).await;
    publish_question(cx, ActionQuestion { question, options, count: rows.len(), is_repeat: false, source });
}

/// The rows that have a key, without duplicates.
fn list_options(rows: &[&PendingAction], limit: usize) -> Vec<ClarificationOption> {
    let mut options: Vec<ClarificationOption> = Vec::new();
    for row in rows {
        let option = row.key.clone().map(|key| ClarificationOption { key, description: row.description.clone() });
        options.extend(option.filter(|it| !options.contains(it)));
    }
    options.truncate(limit);
    options
}

fn option_label(option: &ClarificationOption) -> String {
    option.description.as_ref().map_or_else(|| option.key.clone(), |description| format!("{} ({description})", option.key))
}

/// Returns the question: from the configured template, or from a model if one is configured and answers.
async fn render_question(cx: &mut StepContext<'_>, options: &[ClarificationOption], count: usize) -> (String, &'static str) {
    let config = cx.config;
    let labels: Vec<String> = options.iter().map(option_label).collect();
    let keys: Vec<&str> = options.iter().map(|option| option.key.as_str()).collect();
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
    if config.disambiguation.uses_model {
        let mut variables = llm::prompt_variables(cx, &Value::Null);
        variables.extend(own_variables.clone());
        let prompts = llm::render_prompts(cx, &config.disambiguation.prompts.system, &config.disambiguation.prompts.user, &variables);
        let reply = llm::call_model(cx, "disambiguation", LlmMode::Text, prompts, None).await;
        if let Some(text) = reply.ok().map(|reply| reply.text.trim().to_owned()).filter(|it| !it.is_empty()) {
            return (text, "LLM");
        }
    }
    let rendered = cx.session.render(&config.disambiguation.template, || own_variables);
    let text = rendered.text.trim().to_owned();
    if text.is_empty() || rendered.error.is_some() {
        return (format!("Which one do you want: {}?", labels.join(", ")), "TEMPLATE");
    }
    (text, "TEMPLATE")
}

/// Publishes the question, which is the turn's only answer.
fn publish_question(cx: &mut StepContext<'_>, prompt: ActionQuestion) {
    cx.session.ask(prompt.question.clone(), REASON);
    if let Some(open) = cx.session.clarification.as_mut() {
        open.options.clone_from(&prompt.options);
        open.is_repeated = prompt.is_repeat;
    }
    cx.session.is_question_turn = true;
    cx.session.write_context();
    set_decision(cx, InteractionDecision::ReclassifyIntent);
    cx.session.set_param("pending_action_disambiguation_required", true);
    cx.audit(Stage::DisambiguationRequired, |session| {
        let labels: Vec<String> = prompt.options.iter().map(option_label).collect();
        payload!({
            "reason": "MULTIPLE_PENDING_ACTIONS", "question": prompt.question, "candidateCount": prompt.count, "options": labels,
            "intent": session.intent, "state": session.state, "questionSource": prompt.source,
        })
    });
}
