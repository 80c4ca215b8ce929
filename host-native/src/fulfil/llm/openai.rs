//! The OpenAI chat completion and embedding APIs, which many other servers implement.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::dialogue;
use super::failed::Failed;
use super::said::{Call, Ending, Said};

/// Adds the API key to a request.
pub fn sign(call: RequestBuilder, key: &str) -> RequestBuilder {
    call.bearer_auth(key)
}

/// Builds the request body.
pub fn body(call: &Call<'_>) -> Value {
    let strict = call.strict_schema();
    let instruction = if strict.is_some() { None } else { call.instruction() };
    let messages = match call.dialogue() {
        Some(dialogue) => dialogue::of_openai(&call.request.system, dialogue),
        None => call.messages(instruction.clone()),
    };
    let mut body = json!({"model": call.model, "messages": messages});
    if let Some(dialogue) = call.dialogue().filter(|it| !it.tools.is_empty()) {
        body["tools"] = json!(dialogue::functions(dialogue));
    }
    let limit = if call.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(call.max_tokens);
    if let Some(temperature) = call.temperature {
        body["temperature"] = json!(temperature);
    }
    if let Some(schema) = strict {
        let schema = json!({"name": call.name(), "strict": true, "schema": schema});
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
pub fn whole(body: &Value) -> Result<Said, Failed> {
    let mut response = Said { complete: true, ..Said::default() };
    take(&mut response, body, "message")?;
    if body.pointer("/choices/0/message").is_none() {
        return Err(Failed::unreadable("it has no choices[0].message"));
    }
    Ok(response)
}

/// Applies a stream event.
///
/// # Errors
/// The failure if it reports an error or is not JSON.
pub fn part(response: &mut Said, data: &str) -> Result<(), Failed> {
    if data.trim() == "[DONE]" {
        response.tool_calls = response.calls.end();
        response.complete = true;
        return Ok(());
    }
    let body: Value = serde_json::from_str(data).map_err(Failed::unreadable)?;
    take(response, &body, "delta")
}

fn take(response: &mut Said, body: &Value, message: &str) -> Result<(), Failed> {
    if body.get("error").is_some_and(|it| !it.is_null()) {
        return Err(Failed::reported(body));
    }
    response.by(body.get("model"));
    if let Some(usage) = body.get("usage").filter(|it| it.is_object()) {
        response.input_tokens = usage.get("prompt_tokens").and_then(Value::as_u64);
        response.output_tokens = usage.get("completion_tokens").and_then(Value::as_u64);
    }
    // The chunk with the usage has no choices.
    let Some(choice) = body.pointer("/choices/0") else { return Ok(()) };
    let text = |member: &str| choice.get(message).and_then(|it| it.get(member)).and_then(Value::as_str).unwrap_or_default();
    response.text.push_str(text("content"));
    response.refusal.push_str(text("refusal"));
    let message = choice.get(message);
    if response.complete {
        response.tool_calls = dialogue::called(message);
    } else {
        let pieces = message.and_then(|it| it.get("tool_calls")).and_then(Value::as_array);
        pieces.into_iter().flatten().for_each(|it| response.calls.of_openai(it));
    }
    match choice.get("finish_reason").and_then(Value::as_str) {
        Some("length") => response.ending = Ending::Cut,
        Some("content_filter") => response.ending = Ending::Refused,
        Some(_) | None => {}
    }
    Ok(())
}

/// Builds the request body for embeddings.
pub fn embed(model: &str, texts: &[String]) -> Value {
    json!({"model": model, "input": texts, "encoding_format": "float"})
}

/// Parses embeddings and sorts them by the index of their text.
///
/// # Errors
/// The failure if the response has another form.
pub fn vectors(body: &Value) -> Result<Vec<Vec<f64>>, Failed> {
    let Some(data) = body.get("data").and_then(Value::as_array) else { return Err(Failed::unreadable("it has no data")) };
    let mut vectors = Vec::with_capacity(data.len());
    for (position, entry) in data.iter().enumerate() {
        let index = entry.get("index").and_then(Value::as_u64).unwrap_or(position as u64);
        let vector = entry.get("embedding").cloned().unwrap_or_default();
        vectors.push((index, serde_json::from_value(vector).map_err(Failed::unreadable)?));
    }
    vectors.sort_by_key(|it| it.0);
    Ok(vectors.into_iter().map(|it| it.1).collect())
}
