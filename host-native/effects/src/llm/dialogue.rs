//! Conversations with tool calls, in the form of each provider.

use convengine_core::turn::{LlmDialogue, LlmMessage, LlmRole, LlmToolCall};
use serde_json::{Map, Value, json};

/// Builds messages for OpenAI, with the system prompt as the first one.
pub fn openai_messages(system: &str, dialogue: &LlmDialogue) -> Value {
    let message = |message: &LlmMessage| match message.role {
        LlmRole::User => json!({"role": "user", "content": message.content}),
        LlmRole::Tool => json!({"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}),
        LlmRole::Assistant if message.tool_calls.is_empty() => json!({"role": "assistant", "content": message.content}),
        LlmRole::Assistant => {
            let function = |call: &LlmToolCall| json!({"name": call.name, "arguments": arguments_text(&call.arguments)});
            let call = |call: &LlmToolCall| json!({"id": call.id, "type": "function", "function": function(call)});
            let content = Some(&message.content).filter(|text| !text.is_empty());
            json!({"role": "assistant", "content": content, "tool_calls": message.tool_calls.iter().map(call).collect::<Vec<_>>()})
        }
    };
    Value::Array(system_message(system).chain(dialogue.messages.iter().map(message)).collect())
}

/// Builds messages for Ollama, with the system prompt as the first one. Its tool calls have no ids: results name the tool.
pub fn ollama_messages(system: &str, dialogue: &LlmDialogue) -> Value {
    let before = |at: usize| dialogue.messages.iter().take(at).flat_map(|message| &message.tool_calls);
    let tool = |at: usize, id: Option<&String>| before(at).rfind(|call| Some(&call.id) == id).map(|call| &call.name);
    let message = |(at, message): (usize, &LlmMessage)| match message.role {
        LlmRole::User => json!({"role": "user", "content": message.content}),
        LlmRole::Tool => json!({"role": "tool", "tool_name": tool(at, message.tool_call_id.as_ref()), "content": message.content}),
        LlmRole::Assistant if message.tool_calls.is_empty() => json!({"role": "assistant", "content": message.content}),
        LlmRole::Assistant => {
            let call = |call: &LlmToolCall| json!({"function": {"name": call.name, "arguments": to_object(&call.arguments)}});
            json!({"role": "assistant", "content": message.content, "tool_calls": message.tool_calls.iter().map(call).collect::<Vec<_>>()})
        }
    };
    Value::Array(system_message(system).chain(dialogue.messages.iter().enumerate().map(message)).collect())
}

/// Builds tool definitions for OpenAI and Ollama.
pub fn openai_tools(dialogue: &LlmDialogue) -> Vec<Value> {
    let function = |name: &str, description: &str, parameters: &Value| json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}});
    dialogue.tools.iter().map(|tool| function(&tool.name, &tool.description, &object_schema(&tool.parameters))).collect()
}

/// Builds messages for Anthropic: user and assistant alternate, and tool results are user messages.
pub fn anthropic_messages(dialogue: &LlmDialogue) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &dialogue.messages {
        let text = Some(json!({"type": "text", "text": message.content})).filter(|_| !message.content.trim().is_empty());
        let (role, blocks): (&str, Vec<Value>) = match message.role {
            LlmRole::User => ("user", text.into_iter().collect()),
            LlmRole::Tool => {
                ("user", vec![json!({"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content})])
            }
            LlmRole::Assistant => {
                let call =
                    |call: &LlmToolCall| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": to_object(&call.arguments)});
                ("assistant", text.into_iter().chain(message.tool_calls.iter().map(call)).collect())
            }
        };
        match messages.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            Some(_) | None => messages.push((role, blocks)),
        }
    }
    messages.retain(|it| !it.1.is_empty());
    messages.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

/// Builds tool definitions for Anthropic.
pub fn anthropic_tools(dialogue: &LlmDialogue) -> Vec<Value> {
    let tool = |name: &str, description: &str, schema: Value| json!({"name": name, "description": description, "input_schema": schema});
    dialogue.tools.iter().map(|spec| tool(&spec.name, &spec.description, object_schema(&spec.parameters))).collect()
}

/// The tool calls of an OpenAI or Ollama message, or the single call of the earlier form.
pub fn tool_calls_of(message: Option<&Value>) -> &[Value] {
    let member = |name: &str| message.and_then(|message| message.get(name)).filter(|value| !value.is_null());
    match (member("tool_calls"), member("function_call")) {
        (Some(Value::Array(calls)), _) => calls,
        (_, Some(call)) => std::slice::from_ref(call),
        (_, None) => &[],
    }
}

/// Parses the tool calls of an OpenAI or Ollama message.
pub fn parse_tool_calls(message: Option<&Value>) -> Vec<LlmToolCall> {
    tool_calls_of(message).iter().map(|call| parse_call(call, call.get("function").unwrap_or(call), "arguments")).collect()
}

/// Parses a `tool_use` block of an Anthropic answer.
pub fn parse_tool_use(block: &Value) -> LlmToolCall {
    parse_call(block, block, "input")
}

fn parse_call(outer: &Value, inner: &Value, arguments: &str) -> LlmToolCall {
    let text = |object: &Value, name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    LlmToolCall { id: text(outer, "id"), name: text(inner, "name"), arguments: parse_arguments(inner.get(arguments)) }
}

/// Parses the arguments of a call, which are JSON text or a JSON value.
pub fn parse_arguments(value: Option<&Value>) -> Value {
    match value {
        None | Some(Value::Null) => json!({}),
        Some(Value::String(written)) if written.trim().is_empty() => json!({}),
        // Invalid JSON is passed on: the core reports it to the model.
        Some(Value::String(written)) => read_written(written).unwrap_or_else(|| json!(written)),
        Some(other) => other.clone(),
    }
}

/// Reads JSON text. One that is a text itself may hold the JSON of an object, written twice.
fn read_written(written: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(written).ok()?;
    let inner = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok()).filter(Value::is_object);
    Some(inner.unwrap_or(value))
}

fn system_message(system: &str) -> impl Iterator<Item = Value> {
    Some(json!({"role": "system", "content": system})).filter(|_| !system.trim().is_empty()).into_iter()
}

/// Returns the arguments as JSON text; invalid JSON from the model is returned unchanged.
fn arguments_text(arguments: &Value) -> String {
    arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned)
}

/// Returns the arguments as an object, for providers that accept nothing else.
fn to_object(arguments: &Value) -> Value {
    if arguments.is_object() { arguments.clone() } else { json!({"written": arguments}) }
}

/// Completes the schema of arguments to one of an object.
fn object_schema(schema: &Value) -> Value {
    let mut schema = schema.as_object().cloned().unwrap_or_else(Map::new);
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    Value::Object(schema)
}
