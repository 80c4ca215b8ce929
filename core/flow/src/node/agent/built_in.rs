//! The built-in tools that only AI agents have: `remember` and `search_knowledge` (docs/spec/flows.md#10.6).

use convengine_config::flow::document::{AgentPolicy, REMEMBER, SEARCH_KNOWLEDGE};
use convengine_text::value::EXPRESSION;
use convengine_turn::{LlmTool, LlmToolCall, Map};
use serde_json::{Value, json};

use super::super::super::turn::Turn;
use super::call::{CheckedCall, error_result};
use super::run::AgentRun;

/// Maximum characters of a value that an agent remembers.
const MAX_REMEMBERED_CHARS: usize = 2000;

impl<'c> Turn<'c> {
    /// Remembers a value.
    pub(super) fn remember(&mut self, run: &AgentRun<'c>, call: &LlmToolCall) -> Value {
        let key = call.arguments.get("key").and_then(Value::as_str);
        let slots = run.policy.into_iter().flat_map(|it| &it.memory_slots);
        let (Some(slot), Some(value)) = (slots.into_iter().find(|slot| Some(slot.key.as_str()) == key), call.arguments.get("value")) else {
            return error_result("invalid_args", "there is no such key, or no value");
        };
        if value.is_array() || value.is_object() || EXPRESSION.print(value).chars().count() > MAX_REMEMBERED_CHARS {
            return error_result("invalid_args", "the value is no short text, number or boolean");
        }
        match self.write_variable(&slot.variable(), value.clone()) {
            Ok(()) => json!({"ok": true}),
            Err(reason) => error_result("invalid_args", &reason.0),
        }
    }

    /// Searches the knowledge of an agent. The passages reach the model as data.
    pub(super) async fn search_agent_knowledge(&mut self, run: &AgentRun<'c>, call: &LlmToolCall) -> Value {
        let query = call.arguments.get("query").and_then(Value::as_str).unwrap_or_default();
        let Some(data) = run.policy.and_then(|it| it.knowledge.as_ref()) else {
            return error_result("unknown_tool", "there is no knowledge to search");
        };
        self.state.usage.tool_calls += 1;
        match self.find_passages(data, query).await {
            Ok(passages) => {
                let passage = |(number, passage): (usize, _)| {
                    let convengine_turn::Passage { title, text, url, .. } = passage;
                    json!({"n": number, "title": title, "text": text, "url": url})
                };
                json!({"ok": true, "data": {"passages": (1..).zip(passages).map(passage).collect::<Vec<_>>()}})
            }
            Err(failure) => error_result(&failure.code, &failure.message),
        }
    }
}

/// The built-in tools of an AI agent, as they are offered to the model.
pub(super) fn agent_tools(policy: &AgentPolicy) -> Vec<LlmTool> {
    let mut tools = Vec::new();
    if !policy.memory_slots.is_empty() {
        let keys: Vec<&str> = policy.memory_slots.iter().map(|it| it.key.as_str()).collect();
        tools.push(LlmTool {
            name: REMEMBER.to_owned(),
            description: "Remembers a value that the user has told you.".to_owned(),
            parameters: json!({
                "type": "object", "required": ["key", "value"],
                "properties": {"key": {"enum": keys}, "value": {"type": ["string", "number", "boolean"]}},
            }),
        });
    }
    if policy.knowledge.is_some() {
        tools.push(LlmTool {
            name: SEARCH_KNOWLEDGE.to_owned(),
            description: "Searches the knowledge base. Answer questions from the passages that it returns.".to_owned(),
            parameters: json!({"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}}),
        });
    }
    tools
}

/// Checks a call of one of these tools; `None` for another one.
pub(super) fn check_agent_call<'c>(policy: &AgentPolicy, name: &str, arguments: &Map) -> Option<CheckedCall<'c>> {
    let invalid = |reason: &str| CheckedCall::Invalid(error_result("invalid_args", reason));
    match name {
        REMEMBER if !policy.memory_slots.is_empty() => Some(CheckedCall::Remember),
        SEARCH_KNOWLEDGE if policy.knowledge.is_some() => {
            let query = arguments.get("query").and_then(Value::as_str).filter(|query| !query.trim().is_empty());
            Some(if query.is_some() { CheckedCall::SearchKnowledge } else { invalid("'query' is missing") })
        }
        _ => None,
    }
}
