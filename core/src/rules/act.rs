//! What rules do, one function an action. (`spec/data-and-api.md` 6.6)

use serde_json::{Value, json};

use crate::audit::Stage;
use crate::config::{Action, Rule, SetDialogueAct};
use crate::extension;
use crate::json::path::JsonPath;
use crate::text::task::TaskName;
use crate::turn::TaskUse;
use crate::turning::Turning;

/// Runs the action of a rule.
pub(super) async fn run(t: &mut Turning<'_>, rule: &Rule) {
    match &rule.action {
        Action::SetIntent(intent) => set_intent(t, rule.id, intent),
        Action::SetState(state) => set_state(t, rule.id, state),
        Action::SetDialogueAct(value) => set_dialogue_act(t, rule.id, value),
        Action::SetInputParam(values) => set_input_param(t, rule.id, values),
        Action::SetJson { key, source, path } => set_json(t, rule.id, key, source, path),
        Action::GetContext(key) => get(t, Stage::GetContext, key, "context", |t| Value::Object(t.session.context.clone())),
        Action::GetSchemaJson(key) => get(t, Stage::GetSchemaJson, key, "schemaJson", |t| Value::Object(t.session.schema_json())),
        Action::SetTask(task) => set_task(t, rule.id, task).await,
        Action::GetSession(key) => get(t, Stage::GetSession, key, "session", |t| Value::Object(t.session.view())),
    }
}

fn set_intent(t: &mut Turning<'_>, rule_id: i64, intent: &str) {
    let from = t.session.intent.clone();
    t.session.set_intent(intent);
    t.audit(
        Stage::SetIntent,
        |session| json!({"ruleId": rule_id, "fromIntent": from, "toIntent": intent, "state": session.state, "context": session.context}),
    );
}

fn set_state(t: &mut Turning<'_>, rule_id: i64, state: &str) {
    let from = std::mem::replace(&mut t.session.state, state.to_owned());
    t.audit(
        Stage::SetState,
        |session| json!({"ruleId": rule_id, "fromState": from, "toState": state, "intent": session.intent, "context": session.context}),
    );
}

/// Calls the task; a failure is told and changes nothing else, because the rule has been applied.
async fn set_task(t: &mut Turning<'_>, rule_id: i64, task: &TaskName) {
    let outcome = extension::call(t, task, TaskUse::Rule, Some(rule_id), None).await;
    t.audit(Stage::SetTask, |session| {
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

fn set_dialogue_act(t: &mut Turning<'_>, rule_id: i64, value: &SetDialogueAct) {
    t.session.set_param("dialogue_act", value.act.name());
    if let Some(confidence) = value.confidence {
        t.session.set_param("dialogue_act_confidence", confidence);
    }
    if let Some(source) = &value.source {
        t.session.set_param("dialogue_act_source", source.clone());
    }
    if let Some(query) = &value.standalone_query {
        t.session.set_standalone_query(query.clone());
    }
    t.audit(Stage::SetDialogueAct, |session| {
        json!({
            "ruleId": rule_id,
            "dialogueAct": value.act.name(),
            "dialogueActConfidence": value.confidence,
            "dialogueActSource": value.source,
            "standaloneQuery": session.standalone_query,
        })
    });
}

fn set_input_param(t: &mut Turning<'_>, rule_id: i64, values: &[(String, Value)]) {
    for (key, value) in values {
        t.session.set_param_by_rule(key, value.clone());
    }
    t.audit(Stage::SetInputParam, |session| {
        let applied: crate::turn::Map = values.iter().cloned().collect();
        json!({
            "ruleId": rule_id,
            "intent": session.intent,
            "state": session.state,
            "inputParams": session.safe_params(),
            "appliedInputParams": applied,
        })
    });
}

fn set_json(t: &mut Turning<'_>, rule_id: i64, key: &str, source: &str, path: &JsonPath) {
    let Some(value) = path.first(&t.session.facts()) else { return };
    t.session.set_param_by_rule(key, value.clone());
    t.audit(Stage::SetJson, |session| {
        json!({
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

/// Copies a view of the session to a parameter.
fn get(t: &mut Turning<'_>, stage: Stage, key: &str, name: &str, view: impl Fn(&Turning<'_>) -> Value) {
    let value = view(t);
    t.session.set_param_by_rule(key, value.clone());
    t.audit(stage, |session| {
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
