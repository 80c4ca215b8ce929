//! The session as rules, templates and people see it. (`spec/pipeline.md` 1.7)

use serde_json::{Value, json};

use super::Session;
use crate::turn::{Map, PayloadKind};

impl Session {
    /// The values of the current schema; without a schema, the whole context.
    pub fn schema_json(&self) -> Map {
        let Some(schema) = self.schema.as_ref().filter(|it| !it.properties.is_empty()) else { return self.context.clone() };
        schema.properties.iter().filter_map(|it| Some((it.clone(), self.context.get(it)?.clone()))).collect()
    }

    /// The named facts of the session.
    pub fn view(&self) -> Map {
        let run = self.rule_run.as_ref();
        let schema = self.schema.as_ref();
        let container = self.container_data.as_ref().filter(|it| it.is_object()).cloned().unwrap_or_else(|| json!({}));
        let last_output = self.last_output.as_ref().and_then(|it| serde_json::from_str::<Map>(&it.1).ok()).unwrap_or_default();
        let members = [
            ("conversationId", json!(self.conversation_id)),
            ("intent", json!(self.intent)),
            ("state", json!(self.state)),
            ("schemaComplete", json!(schema.is_some_and(|it| it.complete))),
            ("hasContainerData", json!(self.containers.is_some())),
            ("containerData", container),
            ("hasAnySchemaValue", json!(schema.is_some_and(|it| it.has_any))),
            ("hasAny", json!(schema.is_some_and(|it| it.has_any))),
            ("intentLocked", json!(self.lock.is_some())),
            ("intentLockReason", json!(self.lock)),
            ("missingRequiredFields", json!(schema.map_or(&[][..], |it| &it.missing))),
            ("missingFieldOptions", schema.map_or_else(|| json!({}), |it| Value::Object(it.options.clone()))),
            ("userText", json!(self.user_text)),
            ("standaloneQuery", json!(self.standalone_query)),
            ("resolvedUserInput", json!(self.resolved_input())),
            ("pendingClarificationQuestion", json!(self.clarification.as_ref().map(|it| &it.question))),
            ("lastLlmStage", json!(self.last_output.as_ref().map(|it| it.0))),
            ("postIntentRule", json!(run.is_some_and(|it| it.post_intent))),
            ("ruleExecutionSource", json!(run.map(|it| it.source))),
            ("ruleExecutionOrigin", json!(run.map(|it| it.origin))),
            ("context", Value::Object(self.context.clone())),
            ("schemaJson", Value::Object(self.schema_json())),
            ("lastLlmOutput", Value::Object(last_output)),
            (
                "stepInfos",
                Value::Object(self.step_infos.iter().skip(self.step_infos_from).map(|it| (it.name.to_owned(), it.json())).collect()),
            ),
        ];
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// The document that JSON paths of rules are asked of.
    pub fn facts(&self) -> Value {
        let mut facts = self.context.clone();
        facts.extend(self.view());
        facts.insert("inputParams".to_owned(), Value::Object(self.safe_params()));
        if let Some(payload) = &self.payload {
            let value = match payload.kind {
                PayloadKind::Text => json!({"text": payload.value}),
                PayloadKind::Json => serde_json::from_str(&payload.value).unwrap_or(Value::Null),
            };
            facts.insert("payload".to_owned(), value);
        }
        Value::Object(facts)
    }

    /// What a task sees: the view without the steps, with the parameters.
    pub fn task_view(&self) -> Map {
        let mut view = self.view();
        view.shift_remove("stepInfos");
        view.insert("inputParams".to_owned(), Value::Object(self.safe_params()));
        view
    }

    /// The view with the parameters, for people who look at a turn.
    pub fn full_view(&self) -> Map {
        let mut view = self.view();
        view.shift_remove("stepInfos");
        view.insert("inputParams".to_owned(), Value::Object(self.params.clone()));
        view.insert("payload".to_owned(), json!(self.payload));
        view
    }
}
