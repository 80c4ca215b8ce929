//! The Anthropic messages API.

use reqwest::RequestBuilder;
use reqwest::header::HeaderValue;
use serde_json::{Value, json};

use super::dialogue;
use super::failed::Failed;
use super::said::{Call, Ending, Said};

const VERSION: &str = "2023-06-01";

/// Sets the API version header.
pub fn versioned(call: RequestBuilder) -> RequestBuilder {
    call.header("anthropic-version", VERSION)
}

/// Adds the API key to a request.
pub fn sign(call: RequestBuilder, key: &str) -> RequestBuilder {
    match HeaderValue::from_str(key) {
        Ok(mut key) => {
            key.set_sensitive(true);
            call.header("x-api-key", key)
        }
        // An invalid key makes sending fail with a message.
        Err(_) => call.header("x-api-key", key),
    }
}

/// Builds the request body. A strict schema becomes that of a tool that the model must call; the tool's input is the answer.
pub fn body(call: &Call<'_>) -> Value {
    let tool = tool(call);
    let instruction = if tool.is_some() { None } else { call.instruction() };
    let (system, messages) = match call.dialogue() {
        Some(dialogue) => (call.request.system.clone(), dialogue::of_anthropic(dialogue)),
        None => {
            let (system, user) = call.prompts(instruction);
            (system, json!([{"role": "user", "content": user}]))
        }
    };
    let mut body = json!({"model": call.model, "max_tokens": call.max_tokens, "messages": messages});
    if !system.trim().is_empty() {
        body["system"] = json!(system);
    }
    if let Some(temperature) = call.temperature {
        // This provider's maximum temperature is 1.
        body["temperature"] = json!(temperature.min(1.0));
    }
    if let Some(schema) = tool {
        let name = call.name();
        body["tools"] = json!([{"name": name, "description": "Takes the answer.", "input_schema": schema}]);
        body["tool_choice"] = json!({"type": "tool", "name": name});
    }
    if let Some(dialogue) = call.dialogue().filter(|it| !it.tools.is_empty()) {
        body["tools"] = json!(dialogue::tools(dialogue));
    }
    if call.stream {
        body["stream"] = json!(true);
    }
    body
}

/// The strict schema of the answer, if it can be that of a tool, whose input is always an object.
fn tool<'c>(call: &Call<'c>) -> Option<&'c Value> {
    call.request.schema.as_ref().filter(|_| call.strict_schema().is_some()).filter(|it| it.get("type") == Some(&json!("object")))
}

/// Parses a complete response.
///
/// # Errors
/// The failure if it has another form.
pub fn whole(call: &Call<'_>, body: &Value) -> Result<Said, Failed> {
    let mut response = Said { complete: true, ..Said::default() };
    let Some(blocks) = body.get("content").and_then(Value::as_array) else { return Err(Failed::unreadable("it has no content")) };
    for block in blocks {
        match block.get("type").and_then(Value::as_str) {
            Some("text") if tool(call).is_none() => response.text.push_str(text(block.get("text"))),
            Some("tool_use") if call.dialogue().is_some() => response.tool_calls.push(dialogue::used(block)),
            Some("tool_use") if tool(call).is_some() => response.text = block.get("input").map(Value::to_string).unwrap_or_default(),
            Some(_) | None => {}
        }
    }
    response.by(body.get("model"));
    usage(&mut response, body.get("usage"));
    ending(&mut response, body.get("stop_reason"));
    Ok(response)
}

/// Applies a stream event.
///
/// # Errors
/// The failure if it reports an error or is not JSON.
pub fn part(call: &Call<'_>, response: &mut Said, data: &str) -> Result<(), Failed> {
    let body: Value = serde_json::from_str(data).map_err(Failed::unreadable)?;
    let (is_text, calls) = (tool(call).is_none(), call.dialogue().is_some());
    let index = || body.get("index").and_then(Value::as_u64).unwrap_or_default();
    match body.get("type").and_then(Value::as_str) {
        Some("message_start") => {
            response.by(body.pointer("/message/model"));
            usage(response, body.pointer("/message/usage"));
        }
        Some("content_block_start") => {
            if is_text {
                response.text.push_str(text(body.pointer("/content_block/text")));
            }
            let block = body.get("content_block").filter(|it| calls && it.get("type") == Some(&json!("tool_use")));
            if let Some(block) = block {
                response.calls.begin(index(), block);
            }
        }
        Some("content_block_delta") => {
            let json = text(body.pointer("/delta/partial_json"));
            if is_text {
                response.text.push_str(text(body.pointer("/delta/text")));
            }
            if calls {
                response.calls.go_on(index(), json);
            } else if !is_text {
                response.text.push_str(json);
            }
        }
        Some("message_delta") => {
            usage(response, body.get("usage"));
            ending(response, body.pointer("/delta/stop_reason"));
        }
        Some("message_stop") => {
            // A tool call without arguments has no argument deltas.
            if !is_text && !calls && response.text.is_empty() {
                response.text.push_str("{}");
            }
            response.tool_calls = response.calls.end();
            response.complete = true;
        }
        Some("error") => return Err(Failed::reported(&body)),
        Some(_) | None => {}
    }
    Ok(())
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// Updates the token counts, which come in several events.
fn usage(response: &mut Said, usage: Option<&Value>) {
    let count = |member: &str| usage.and_then(|it| it.get(member)).and_then(Value::as_u64);
    if let Some(input) = count("input_tokens") {
        let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"].into_iter().filter_map(count);
        response.input_tokens = Some(cached.fold(input, u64::saturating_add));
    }
    response.output_tokens = count("output_tokens").or(response.output_tokens);
}

fn ending(response: &mut Said, reason: Option<&Value>) {
    match reason.and_then(Value::as_str) {
        Some("max_tokens" | "model_context_window_exceeded") => response.ending = Ending::Cut,
        Some("refusal") => response.ending = Ending::Refused,
        Some(_) | None => {}
    }
}
