//! The Ollama chat and embedding APIs.

use serde_json::{Value, json};

use super::dialogue;
use super::failure::ModelFailure;
use super::response::{FinishReason, ModelCall, ModelResponse};

/// Builds the request body.
pub fn build_body(call: &ModelCall<'_>) -> Value {
    let strict = call.strict_schema();
    let instruction = if strict.is_some() { None } else { call.instruction() };
    let messages = match call.dialogue() {
        Some(dialogue) => dialogue::ollama_messages(&call.request.system, dialogue),
        None => call.messages(instruction.clone()),
    };
    let mut body = json!({"model": call.model, "messages": messages, "stream": call.stream});
    if let Some(dialogue) = call.dialogue().filter(|it| !it.tools.is_empty()) {
        body["tools"] = json!(dialogue::openai_tools(dialogue));
    }
    body["options"] = json!({"num_predict": call.max_tokens});
    if let Some(temperature) = call.temperature {
        body["options"]["temperature"] = json!(temperature);
    }
    if let Some(schema) = strict {
        body["format"] = schema.clone();
    } else if instruction.is_some() {
        body["format"] = json!("json");
    }
    body
}

/// Parses a complete response.
///
/// # Errors
/// The failure if it reports an error or has another form.
pub fn parse_response(body: &Value) -> Result<ModelResponse, ModelFailure> {
    let mut response = ModelResponse::default();
    apply_chunk(&mut response, body)?;
    if body.get("message").is_none() {
        return Err(ModelFailure::unreadable("it has no message"));
    }
    Ok(response)
}

/// Applies a line of a stream.
///
/// # Errors
/// The failure if it reports an error or is not JSON.
pub fn apply_line(response: &mut ModelResponse, line: &str) -> Result<(), ModelFailure> {
    let body: Value = serde_json::from_str(line).map_err(ModelFailure::unreadable)?;
    apply_chunk(response, &body)
}

fn apply_chunk(response: &mut ModelResponse, body: &Value) -> Result<(), ModelFailure> {
    if body.get("error").is_some_and(|it| !it.is_null()) {
        return Err(ModelFailure::from_error_event(body));
    }
    response.set_model(body.get("model"));
    if let Some(message) = body.get("message") {
        response.push_thoughts(message);
        response.push_content(message.get("content"));
    }
    response.tool_calls.extend(dialogue::parse_tool_calls(body.get("message")));
    if body.get("done").and_then(Value::as_bool) != Some(true) {
        return Ok(());
    }
    response.complete = true;
    response.output_tokens = body.get("eval_count").and_then(Value::as_u64);
    // The count is omitted for a cached prompt.
    let input = body.get("prompt_eval_count").and_then(Value::as_u64);
    response.input_tokens = input.or(response.output_tokens.map(|_| 0));
    if body.get("done_reason").and_then(Value::as_str) == Some("length") {
        response.finish_reason = FinishReason::Length;
    }
    Ok(())
}

/// Builds the request body for embeddings.
pub fn build_embed_body(model: &str, texts: &[String]) -> Value {
    json!({"model": model, "input": texts})
}

/// Parses embeddings.
///
/// # Errors
/// The failure if the response has another form.
pub fn parse_vectors(body: &Value) -> Result<Vec<Vec<f64>>, ModelFailure> {
    let vectors = body.get("embeddings").cloned().ok_or_else(|| ModelFailure::unreadable("it has no embeddings"))?;
    serde_json::from_value(vectors).map_err(ModelFailure::unreadable)
}
