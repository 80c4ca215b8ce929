//! Prompt variables, under all the names that templates use. (docs/spec/data-and-api.md#4.3)

use convengine_turn::Map;
use serde_json::{Value, json};

use crate::step_context::StepContext;

/// The variables of every prompt under all their names; parameters override them.
pub fn prompt_variables(cx: &StepContext<'_>, schema: &Value) -> Map {
    let session = &cx.session;
    let history: Vec<Value> =
        session.history.iter().rev().map(|exchange| json!({"user": exchange.user, "assistant": exchange.assistant})).collect();
    let schema =
        if schema.is_null() { session.schema.as_ref().map_or(Value::Null, |schema| (*schema.definition).clone()) } else { schema.clone() };
    let containers = session.containers.clone().map_or(Value::Null, Value::Object);
    let groups: [(&[&str], Value); 11] = [
        (&["context", "contextJson", "context_json"], Value::Object(session.context.clone())),
        (
            &["user_input", "userInput", "user_text", "userText", "input_text", "inputText", "input", "user_message", "userMessage"],
            json!(session.working_text()),
        ),
        (
            &[
                "resolved_user_input",
                "resolvedUserInput",
                "resolved_input",
                "resolvedInput",
                "effective_input",
                "effectiveInput",
                "effective_user_input",
                "effectiveUserInput",
                "final_user_input",
                "finalUserInput",
            ],
            json!(session.resolved_input()),
        ),
        (
            &["standalone_query", "standaloneQuery", "rewritten_query", "rewrittenQuery", "query_rewrite", "queryRewrite"],
            json!(session.standalone_query),
        ),
        (&["schema", "json_schema", "schema_json", "data_schema", "dataSchema", "jsonSchema", "schemaJson"], schema),
        (&["pending_clarification", "pendingClarification"], json!(session.clarification.as_ref().map(|it| &it.question))),
        (&["container_data", "containerData"], containers),
        (&["validation", "validation_tables"], Value::Null),
        (&["allowed_intents", "allowedIntents"], cx.config.intent_resolver.intents_json.clone()),
        (&["mcp_observations", "observations", "mcpObservations"], Value::Null),
        (&["conversation_history", "conversationHistory", "history"], Value::Array(history)),
    ];
    let mut variables = Map::new();
    for (names, value) in groups {
        variables.extend(names.iter().map(|name| ((*name).to_owned(), value.clone())));
    }
    variables.extend(session.params.clone());
    variables
}
