//! The OpenAI chat completion and embedding APIs, which many other servers implement.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::dialogue;
use super::failure::ModelFailure;
use super::response::{FinishReason, ModelCall, ModelResponse};

/// Adds the API key to a request.
pub fn authenticate(call: RequestBuilder, key: &str) -> RequestBuilder {
    call.bearer_auth(key)
}

/// Builds the request body.
pub fn build_body(call: &ModelCall<'_>) -> Value {
    let strict = call.strict_schema();
    let instruction = if strict.is_some() { None } else { call.instruction() };
    let messages = match call.dialogue() {
        Some(dialogue) => dialogue::openai_messages(&call.request.system, dialogue),
        None => call.messages(instruction.clone()),
    };
    let mut body = json!({"model": call.model, "messages": messages});
    if let Some(dialogue) = call.dialogue().filter(|it| !it.tools.is_empty()) {
        body["tools"] = json!(dialogue::openai_tools(dialogue));
    }
    let limit = if call.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(call.max_tokens);
    if let Some(temperature) = call.temperature {
        body["temperature"] = json!(temperature);
    }
    if let Some(schema) = strict {
        let schema = json!({"name": call.schema_name(), "strict": true, "schema": schema});
        body["response_format"] = json!({"type": "json_schema", "json_schema": schema});
    } else if instruction.is_some() {
        body["response_format"] = json!({"type": "json_object"});
    }
    if call.stream {
        body["stream"] = json!(true);
        body["stream_options"] = json!({"include_usage": true});
    }
    body
}

/// Parses a complete response.
///
/// # Errors
/// The failure if it reports an error or has another form.
pub fn parse_response(call: &ModelCall<'_>, body: &Value) -> Result<ModelResponse, ModelFailure> {
    let mut response = ModelResponse { complete: true, ..ModelResponse::default() };
    apply_chunk(call, &mut response, body, "message")?;
    if body.pointer("/choices/0/message").is_none() {
        return Err(ModelFailure::unreadable("it has no choices[0].message"));
    }
    Ok(response)
}

/// Applies a stream event.
///
/// # Errors
/// The failure if it reports an error or is not JSON.
pub fn apply_event(call: &ModelCall<'_>, response: &mut ModelResponse, data: &str) -> Result<(), ModelFailure> {
    if data.trim() == "[DONE]" {
        end(response);
        return Ok(());
    }
    let body: Value = serde_json::from_str(data).map_err(ModelFailure::unreadable)?;
    apply_chunk(call, response, &body, "delta")
}

/// Completes a streamed answer.
pub fn end(response: &mut ModelResponse) {
    response.tool_calls = response.partial_tool_calls.finish();
    response.complete = true;
}

fn apply_chunk(call: &ModelCall<'_>, response: &mut ModelResponse, body: &Value, message: &str) -> Result<(), ModelFailure> {
    if body.get("error").is_some_and(|it| !it.is_null()) {
        return Err(ModelFailure::from_error_event(body));
    }
    response.set_model(body.get("model"));
    if let Some(usage) = body.get("usage").filter(|it| it.is_object()) {
        response.input_tokens = usage.get("prompt_tokens").and_then(Value::as_u64);
        response.output_tokens = usage.get("completion_tokens").and_then(Value::as_u64);
    }
    // The chunk with the usage has no choices.
    for choice in body.get("choices").and_then(Value::as_array).into_iter().flatten() {
        response.take_choice(choice)?;
        // Some servers stream whole messages.
        apply_choice(call, response, choice, choice.get(message).or_else(|| choice.get("message")))?;
    }
    Ok(())
}

fn apply_choice(call: &ModelCall<'_>, response: &mut ModelResponse, choice: &Value, message: Option<&Value>) -> Result<(), ModelFailure> {
    if let Some(message) = message {
        response.push_thoughts(message);
        response.push_content(message.get("content"));
        response.refusal.push_str(message.get("refusal").and_then(Value::as_str).unwrap_or_default());
    }
    if response.complete {
        response.tool_calls = dialogue::parse_tool_calls(message);
    } else {
        dialogue::tool_calls_of(message)
            .iter()
            .for_each(|piece| response.partial_tool_calls.push_openai(piece, |name| call.has_tool(name)));
    }
    let reason = choice.get("finish_reason").and_then(Value::as_str).filter(|it| !it.is_empty());
    response.has_finished |= reason.is_some();
    match reason {
        Some("error") => return Err(ModelFailure::from_error_event(choice)),
        Some("length") => response.finish_reason = FinishReason::Length,
        Some("content_filter") => response.finish_reason = FinishReason::Refused,
        Some(_) | None => {}
    }
    Ok(())
}

/// Builds the request body for embeddings.
pub fn build_embed_body(model: &str, texts: &[String]) -> Value {
    json!({"model": model, "input": texts, "encoding_format": "float"})
}

/// Parses embeddings and sorts them by the index of their text.
///
/// # Errors
/// The failure if the response has another form.
pub fn parse_vectors(body: &Value) -> Result<Vec<Vec<f64>>, ModelFailure> {
    let Some(data) = body.get("data").and_then(Value::as_array) else { return Err(ModelFailure::unreadable("it has no data")) };
    let mut vectors = Vec::with_capacity(data.len());
    for (position, entry) in data.iter().enumerate() {
        let index = entry.get("index").and_then(Value::as_u64).unwrap_or(position as u64);
        let vector = entry.get("embedding").cloned().unwrap_or_default();
        vectors.push((index, serde_json::from_value(vector).map_err(ModelFailure::unreadable)?));
    }
    vectors.sort_by_key(|it| it.0);
    Ok(vectors.into_iter().map(|it| it.1).collect())
}
