//! Messages as Anthropic speaks them.

use reqwest::RequestBuilder;
use reqwest::header::HeaderValue;
use serde_json::{Value, json};

use super::dialogue;
use super::failed::Failed;
use super::said::{Call, Ending, Said};

const VERSION: &str = "2023-06-01";

/// Says which version is spoken.
pub fn versioned(call: RequestBuilder) -> RequestBuilder {
    call.header("anthropic-version", VERSION)
}

/// Signs a call.
pub fn sign(call: RequestBuilder, key: &str) -> RequestBuilder {
    match HeaderValue::from_str(key) {
        Ok(mut key) => {
            key.set_sensitive(true);
            call.header("x-api-key", key)
        }
        // The call then fails when it is sent, and says so.
        Err(_) => call.header("x-api-key", key),
    }
}

/// What is sent. A strict schema is that of a tool which the model has to call; what it calls the tool with is the answer.
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
        // The scale of this provider ends at 1.
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

/// The schema of the answer as that of a tool, whose input is always an object.
fn tool<'c>(call: &Call<'c>) -> Option<&'c Value> {
    call.request.schema.as_ref().filter(|_| call.strict_schema().is_some()).filter(|it| it.get("type") == Some(&json!("object")))
}

/// Reads a whole answer.
///
/// # Errors
/// Another form.
pub fn whole(call: &Call<'_>, body: &Value) -> Result<Said, Failed> {
    let mut said = Said { complete: true, ..Said::default() };
    let Some(blocks) = body.get("content").and_then(Value::as_array) else { return Err(Failed::unreadable("it has no content")) };
    for block in blocks {
        match block.get("type").and_then(Value::as_str) {
            Some("text") if tool(call).is_none() => said.text.push_str(text(block.get("text"))),
            Some("tool_use") if call.dialogue().is_some() => said.tool_calls.push(dialogue::used(block)),
            Some("tool_use") if tool(call).is_some() => said.text = block.get("input").map(Value::to_string).unwrap_or_default(),
            Some(_) | None => {}
        }
    }
    said.by(body.get("model"));
    usage(&mut said, body.get("usage"));
    ending(&mut said, body.get("stop_reason"));
    Ok(said)
}

/// Takes up the data of an event.
///
/// # Errors
/// It reports an error, or is no JSON.
pub fn part(call: &Call<'_>, said: &mut Said, data: &str) -> Result<(), Failed> {
    let body: Value = serde_json::from_str(data).map_err(Failed::unreadable)?;
    let (is_text, calls) = (tool(call).is_none(), call.dialogue().is_some());
    let place = || body.get("index").and_then(Value::as_u64).unwrap_or_default();
    match body.get("type").and_then(Value::as_str) {
        Some("message_start") => {
            said.by(body.pointer("/message/model"));
            usage(said, body.pointer("/message/usage"));
        }
        Some("content_block_start") => {
            if is_text {
                said.text.push_str(text(body.pointer("/content_block/text")));
            }
            let block = body.get("content_block").filter(|it| calls && it.get("type") == Some(&json!("tool_use")));
            if let Some(block) = block {
                said.calls.begin(place(), block);
            }
        }
        Some("content_block_delta") => {
            let json = text(body.pointer("/delta/partial_json"));
            if is_text {
                said.text.push_str(text(body.pointer("/delta/text")));
            }
            if calls {
                said.calls.go_on(place(), json);
            } else if !is_text {
                said.text.push_str(json);
            }
        }
        Some("message_delta") => {
            usage(said, body.get("usage"));
            ending(said, body.pointer("/delta/stop_reason"));
        }
        Some("message_stop") => {
            // A tool without arguments is called without a piece of them.
            if !is_text && !calls && said.text.is_empty() {
                said.text.push_str("{}");
            }
            said.tool_calls = said.calls.end();
            said.complete = true;
        }
        Some("error") => return Err(Failed::reported(&body)),
        Some(_) | None => {}
    }
    Ok(())
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// The counts come in several events, each with what is known by then.
fn usage(said: &mut Said, usage: Option<&Value>) {
    let count = |member: &str| usage.and_then(|it| it.get(member)).and_then(Value::as_u64);
    if let Some(input) = count("input_tokens") {
        let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"].into_iter().filter_map(count);
        said.input_tokens = Some(cached.fold(input, u64::saturating_add));
    }
    said.output_tokens = count("output_tokens").or(said.output_tokens);
}

fn ending(said: &mut Said, reason: Option<&Value>) {
    match reason.and_then(Value::as_str) {
        Some("max_tokens" | "model_context_window_exceeded") => said.ending = Ending::Cut,
        Some("refusal") => said.ending = Ending::Refused,
        Some(_) | None => {}
    }
}
