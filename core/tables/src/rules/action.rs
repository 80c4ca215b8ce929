//! Rule actions, one function each. (docs/spec/data-and-api.md#6.6)

use convengine_config::{Rule, RuleAction, SetDialogueAct};
use convengine_text::json::path::JsonPath;
use convengine_text::task::TaskName;
use convengine_turn::{TaskUse, payload};
use serde_json::{Value, json};

use crate::audit::Stage;
use crate::extension;
use crate::session::Facts;
use crate::step_context::StepContext;

/// Runs the action of a rule.
pub(super) async fn run_action(cx: &mut StepContext<'_>, rule: &Rule) {
    match &rule.action {
        RuleAction::SetIntent(intent) => set_intent(cx, rule.id, intent),
        RuleAction::SetState(state) => set_state(cx, rule.id, state),
        RuleAction::SetDialogueAct(value) => set_dialogue_act(cx, rule.id, value),
        RuleAction::SetInputParam(values) => set_input_param(cx, rule.id, values),
        RuleAction::SetJson { key, source, path } => set_json(cx, rule.id, key, source, path),
        RuleAction::GetContext(key) => copy_view(cx, Stage::GetContext, key, "context", |cx| Value::Object(cx.session.context.clone())),
        RuleAction::GetSchemaJson(key) => {
            copy_view(cx, Stage::GetSchemaJson, key, "schemaJson", |cx| Value::Object(cx.session.schema_json()))
        }
        RuleAction::SetTask(task) => set_task(cx, rule.id, task).await,
        RuleAction::GetSession(key) => copy_view(cx, Stage::GetSession, key, "session", |cx| Value::Object(cx.session.view())),
    }
}

fn set_intent(cx: &mut StepContext<'_>, rule_id: i64, intent: &str) {
    let from = cx.session.intent.clone();
    cx.session.set_intent(intent);
    cx.audit(
        Stage::SetIntent,
        |session| payload!({"ruleId": rule_id, "fromIntent": from, "toIntent": intent, "state": session.state, "context": session.context}),
    );
}

fn set_state(cx: &mut StepContext<'_>, rule_id: i64, state: &str) {
    let from = std::mem::replace(&mut cx.session.state, state.to_owned());
    cx.audit(
        Stage::SetState,
        |session| payload!({"ruleId": rule_id, "fromState": from, "toState": state, "intent": session.intent, "context": session.context}),
    );
}

/// Calls the task; a failure is audited and changes nothing else, because the rule has been applied.
async fn set_task(cx: &mut StepContext<'_>, rule_id: i64, task: &TaskName) {
    let outcome = extension::call_task(cx, task, TaskUse::Rule, Some(rule_id), None).await;
    cx.audit(Stage::SetTask, |session| {
        let mut payload = json!({
            "ruleId": rule_id,
            "beanName": task.bean,
            "beanMethodNames": task.methods.join(","),
            "intent": session.intent,
            "state": session.state,
            "context": session.context,
            "inputParams": session.safe_params(),
        });
        if let (Err(error), Some(payload)) = (&outcome, payload.as_object_mut()) {
            payload.insert("error".to_owned(), json!(error.message));
        }
        payload
    });
}

fn set_dialogue_act(cx: &mut StepContext<'_>, rule_id: i64, value: &SetDialogueAct) {
    cx.session.set_param("dialogue_act", value.act.name());
    if let Some(confidence) = value.confidence {
        cx.session.set_param("dialogue_act_confidence", confidence);
    }
    if let Some(source) = &value.source {
        cx.session.set_param("dialogue_act_source", source.clone());
    }
    if let Some(query) = &value.standalone_query {
        cx.session.set_standalone_query(query.clone());
    }
    cx.audit(Stage::SetDialogueAct, |session| {
        payload!({
            "ruleId": rule_id,
            "dialogueAct": value.act.name(),
            "dialogueActConfidence": value.confidence,
            "dialogueActSource": value.source,
            "standaloneQuery": session.standalone_query,
        })
    });
}

fn set_input_param(cx: &mut StepContext<'_>, rule_id: i64, values: &[(String, Value)]) {
    for (key, value) in values {
        cx.session.set_param_by_rule(key, value.clone());
    }
    cx.audit(Stage::SetInputParam, |session| {
        let applied: convengine_turn::Map = values.iter().cloned().collect();
        payload!({
            "ruleId": rule_id,
            "intent": session.intent,
            "state": session.state,
            "inputParams": session.safe_params(),
            "appliedInputParams": applied,
        })
    });
}

fn set_json(cx: &mut StepContext<'_>, rule_id: i64, key: &str, source: &str, path: &JsonPath) {
    let Some(value) = Facts::default().first(&cx.session, path) else { return };
    cx.session.set_param_by_rule(key, value.clone());
    cx.audit(Stage::SetJson, |session| {
        payload!({
            "ruleId": rule_id,
            "key": key,
            "path": source,
            "intent": session.intent,
            "state": session.state,
            "value": value,
            "sessionInputParams": session.safe_params(),
        })
    });
}

/// Copies a view of the session into a parameter.
fn copy_view(cx: &mut StepContext<'_>, stage: Stage, key: &str, name: &str, view: impl Fn(&StepContext<'_>) -> Value) {
    let value = view(cx);
    cx.session.set_param_by_rule(key, value.clone());
    cx.audit(stage, |session| {
        let mut payload = json!({"key": key});
        if let Some(payload) = payload.as_object_mut() {
            if stage != Stage::GetSession {
                payload.insert("intent".to_owned(), json!(session.intent));
                payload.insert("state".to_owned(), json!(session.state));
            }
            payload.insert(name.to_owned(), value);
            payload.insert("sessionInputParams".to_owned(), json!(session.safe_params()));
        }
        payload
    });
}
