//! The Anthropic messages API.

use reqwest::RequestBuilder;
use reqwest::header::HeaderValue;
use serde_json::{Value, json};

use super::dialogue;
use super::failure::ModelFailure;
use super::response::{FinishReason, ModelCall, ModelResponse};

const VERSION: &str = "2023-06-01";

/// Sets the API version header.
pub fn set_version(call: RequestBuilder) -> RequestBuilder {
    call.header("anthropic-version", VERSION)
}

/// Adds the API key to a request.
pub fn authenticate(call: RequestBuilder, key: &str) -> RequestBuilder {
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
pub fn build_body(call: &ModelCall<'_>) -> Value {
    let tool = answer_schema(call);
    let instruction = if tool.is_some() { None } else { call.instruction() };
    let (system, messages) = match call.dialogue() {
        Some(dialogue) => (call.request.system.clone(), dialogue::anthropic_messages(dialogue)),
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
        let name = call.schema_name();
        body["tools"] = json!([{"name": name, "description": "Takes the answer.", "input_schema": schema}]);
        body["tool_choice"] = json!({"type": "tool", "name": name});
    }
    if let Some(dialogue) = call.dialogue().filter(|it| !it.tools.is_empty()) {
        body["tools"] = json!(dialogue::anthropic_tools(dialogue));
    }
    if call.stream {
        body["stream"] = json!(true);
    }
    body
}

/// The strict schema of the answer, if it can be that of a tool, whose input is always an object.
fn answer_schema<'c>(call: &ModelCall<'c>) -> Option<&'c Value> {
    call.request.schema.as_ref().filter(|_| call.strict_schema().is_some()).filter(|schema| schema.get("type") == Some(&json!("object")))
}

/// Parses a complete response.
///
/// # Errors
/// The failure if it has another form.
pub fn parse_response(call: &ModelCall<'_>, body: &Value) -> Result<ModelResponse, ModelFailure> {
    let mut response = ModelResponse { complete: true, ..ModelResponse::default() };
    if body.get("error").is_some_and(|it| !it.is_null()) {
        return Err(ModelFailure::from_error_event(body));
    }
    let content = body.get("content").filter(|content| content.is_array() || content.is_string());
    let Some(content) = content else { return Err(ModelFailure::unreadable("it has no content")) };
    for block in content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice) {
        match block.get("type").and_then(Value::as_str) {
            Some("thinking") => response.push_thoughts(block),
            Some("tool_use") if call.dialogue().is_some() => response.tool_calls.push(dialogue::parse_tool_use(block)),
            Some("tool_use") if answer_schema(call).is_some() => {
                response.text.push(&block.get("input").map(Value::to_string).unwrap_or_default());
            }
            Some("text") | None if answer_schema(call).is_none() => response.push_content(Some(block)),
            Some(_) | None => {}
        }
    }
    response.set_model(body.get("model"));
    apply_usage(&mut response, body.get("usage"));
    apply_stop_reason(&mut response, body.get("stop_reason"));
    Ok(response)
}

/// Applies a stream event.
///
/// # Errors
/// The failure if it reports an error or is not JSON.
pub fn apply_event(call: &ModelCall<'_>, response: &mut ModelResponse, data: &str) -> Result<(), ModelFailure> {
    let body: Value = serde_json::from_str(data).map_err(ModelFailure::unreadable)?;
    let (is_text, calls) = (answer_schema(call).is_none(), call.dialogue().is_some());
    let index = || body.get("index").and_then(Value::as_u64).unwrap_or_default();
    match body.get("type").and_then(Value::as_str) {
        Some("message_start") => {
            response.set_model(body.pointer("/message/model"));
            apply_usage(response, body.pointer("/message/usage"));
        }
        Some("content_block_start") => {
            if is_text {
                response.text.push(as_text(body.pointer("/content_block/text")));
            }
            response.text.push_reasoning(as_text(body.pointer("/content_block/thinking")));
            let block = body.get("content_block").filter(|block| calls && block.get("type") == Some(&json!("tool_use")));
            if let Some(block) = block {
                response.partial_tool_calls.begin_anthropic(index(), block);
            }
        }
        Some("content_block_delta") => {
            let json = as_text(body.pointer("/delta/partial_json"));
            if is_text {
                response.text.push(as_text(body.pointer("/delta/text")));
            }
            response.text.push_reasoning(as_text(body.pointer("/delta/thinking")));
            if calls {
                response.partial_tool_calls.push_arguments(index(), json);
            } else if !is_text {
                response.text.push(json);
            }
        }
        Some("message_delta") => {
            apply_usage(response, body.get("usage"));
            apply_stop_reason(response, body.pointer("/delta/stop_reason"));
        }
        Some("message_stop") => end(call, response),
        Some("error") => return Err(ModelFailure::from_error_event(&body)),
        Some(_) | None => {}
    }
    Ok(())
}

/// Completes a streamed answer.
pub fn end(call: &ModelCall<'_>, response: &mut ModelResponse) {
    response.text.finish();
    // A tool call without arguments has no argument deltas.
    if answer_schema(call).is_some() && call.dialogue().is_none() && response.text.answer().is_empty() {
        response.text.push("{}");
    }
    response.tool_calls = response.partial_tool_calls.finish();
    response.complete = true;
}

fn as_text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// Updates the token counts, which come in several events.
fn apply_usage(response: &mut ModelResponse, usage: Option<&Value>) {
    let count = |member: &str| usage.and_then(|usage| usage.get(member)).and_then(Value::as_u64);
    if let Some(input) = count("input_tokens") {
        let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"].into_iter().filter_map(count);
        response.input_tokens = Some(cached.fold(input, u64::saturating_add));
    }
    response.output_tokens = count("output_tokens").or(response.output_tokens);
}

fn apply_stop_reason(response: &mut ModelResponse, reason: Option<&Value>) {
    response.has_finished |= reason.is_some_and(Value::is_string);
    match reason.and_then(Value::as_str) {
        Some("max_tokens" | "model_context_window_exceeded") => response.finish_reason = FinishReason::Length,
        Some("refusal") => response.finish_reason = FinishReason::Refused,
        Some(_) | None => {}
    }
}
