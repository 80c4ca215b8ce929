//! Views of the session for rules, templates and observers. (docs/spec/pipeline.md#1.7)

use convengine_turn::{Map, PayloadKind};
use serde_json::{Value, json};

use super::Session;

/// Names of the facts, in display order.
pub(super) const FACT_NAMES: [&str; 24] = [
    "conversationId",
    "intent",
    "state",
    "schemaComplete",
    "hasContainerData",
    "containerData",
    "hasAnySchemaValue",
    "hasAny",
    "intentLocked",
    "intentLockReason",
    "missingRequiredFields",
    "missingFieldOptions",
    "userText",
    "standaloneQuery",
    "resolvedUserInput",
    "pendingClarificationQuestion",
    "lastLlmStage",
    "postIntentRule",
    "ruleExecutionSource",
    "ruleExecutionOrigin",
    "context",
    "schemaJson",
    "lastLlmOutput",
    "stepInfos",
];

impl Session {
    /// The values of the current schema; without a schema, the whole context.
    pub fn schema_json(&self) -> Map {
        let Some(schema) = self.schema.as_ref().filter(|schema| !schema.properties.is_empty()) else { return self.context.clone() };
        schema.properties.iter().filter_map(|name| Some((name.clone(), self.context.get(name)?.clone()))).collect()
    }

    /// The named facts of the session.
    pub fn view(&self) -> Map {
        FACT_NAMES.iter().filter_map(|name| Some(((*name).to_owned(), self.named_fact(name)?))).collect()
    }

    /// The document for JSON paths of rules.
    pub fn facts(&self) -> Value {
        let mut facts = self.context.clone();
        facts.extend(self.view());
        for name in ["inputParams", "payload"] {
            facts.extend(self.resolve_fact(name).map(|it| (name.to_owned(), it)));
        }
        Value::Object(facts)
    }

    /// One member of that document.
    pub(super) fn resolve_fact(&self, name: &str) -> Option<Value> {
        match (name, &self.payload) {
            ("inputParams", _) => Some(Value::Object(self.safe_params())),
            ("payload", Some(payload)) => Some(match payload.kind {
                PayloadKind::Text => json!({"text": payload.value}),
                PayloadKind::Json => serde_json::from_str(&payload.value).unwrap_or(Value::Null),
            }),
            _ => self.named_fact(name).or_else(|| self.context.get(name).cloned()),
        }
    }

    fn named_fact(&self, name: &str) -> Option<Value> {
        let run = self.rule_run.as_ref();
        let schema = self.schema.as_ref();
        Some(match name {
            "conversationId" => json!(self.conversation_id),
            "intent" => json!(self.intent),
            "state" => json!(self.state),
            "schemaComplete" => json!(schema.is_some_and(|it| it.complete)),
            "hasContainerData" => json!(self.containers.is_some()),
            "containerData" => self.container_data.as_ref().filter(|it| it.is_object()).cloned().unwrap_or_else(|| json!({})),
            "hasAnySchemaValue" => json!(schema.is_some_and(|it| it.has_any)),
            "hasAny" => json!(schema.is_some_and(|it| it.has_any)),
            "intentLocked" => json!(self.lock.is_some()),
            "intentLockReason" => json!(self.lock),
            "missingRequiredFields" => json!(schema.map_or(&[][..], |it| &it.missing)),
            "missingFieldOptions" => schema.map_or_else(|| json!({}), |schema| Value::Object(schema.options.clone())),
            "userText" => json!(self.user_text),
            "standaloneQuery" => json!(self.standalone_query),
            "resolvedUserInput" => json!(self.resolved_input()),
            "pendingClarificationQuestion" => json!(self.clarification.as_ref().map(|it| &it.question)),
            "lastLlmStage" => json!(self.last_output.as_ref().map(|it| it.0)),
            "postIntentRule" => json!(run.is_some_and(|it| it.post_intent)),
            "ruleExecutionSource" => json!(run.map(|it| it.source)),
            "ruleExecutionOrigin" => json!(run.map(|it| it.origin)),
            "context" => Value::Object(self.context.clone()),
            "schemaJson" => Value::Object(self.schema_json()),
            "lastLlmOutput" => {
                Value::Object(self.last_output.as_ref().and_then(|(_, text)| serde_json::from_str(text).ok()).unwrap_or_default())
            }
            "stepInfos" => self.step_infos(),
            _ => return None,
        })
    }

    fn step_infos(&self) -> Value {
        Value::Object(self.step_infos.iter().skip(self.step_infos_start).map(|info| (info.name.to_owned(), info.to_json())).collect())
    }

    /// The view for tasks: without step infos, with the parameters.
    pub fn task_view(&self) -> Map {
        let mut view = self.view();
        view.shift_remove("stepInfos");
        view.insert("inputParams".to_owned(), Value::Object(self.safe_params()));
        view
    }

    /// The metadata stored with each audit: intent and state if present, parameters, context and the view.
    /// (docs/spec/data-and-api.md#7.2)
    pub fn audit_metadata(&self) -> Map {
        let mut meta = Map::new();
        for (name, text) in [("intent", &self.intent), ("state", &self.state)] {
            if !text.trim().is_empty() {
                meta.insert(name.to_owned(), json!(text));
            }
        }
        if !self.params.is_empty() {
            meta.insert("inputParams".to_owned(), Value::Object(self.params.clone()));
        }
        meta.insert("contextDict".to_owned(), Value::Object(self.context.clone()));
        meta.insert("session".to_owned(), Value::Object(self.view()));
        meta
    }

    /// The view with all parameters and the payload, for observers.
    pub fn observer_view(&self) -> Map {
        let mut view = self.view();
        view.shift_remove("stepInfos");
        view.insert("inputParams".to_owned(), Value::Object(self.params.clone()));
        view.insert("payload".to_owned(), json!(self.payload));
        view
    }
}
