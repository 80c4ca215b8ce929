//! Chat and embeddings as Ollama speaks them.

use serde_json::{Value, json};

use super::dialogue;
use super::failed::Failed;
use super::said::{Call, Ending, Said};

/// What is sent.
pub fn body(call: &Call<'_>) -> Value {
    let strict = call.strict_schema();
    let instruction = if strict.is_some() { None } else { call.instruction() };
    let messages = match call.dialogue() {
        Some(dialogue) => dialogue::of_ollama(&call.request.system, dialogue),
        None => call.messages(instruction.clone()),
    };
    let mut body = json!({"model": call.model, "messages": messages, "stream": call.stream});
    if let Some(dialogue) = call.dialogue().filter(|it| !it.tools.is_empty()) {
        body["tools"] = json!(dialogue::functions(dialogue));
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

/// Reads a whole answer.
///
/// # Errors
/// It reports an error, or has another form.
pub fn whole(body: &Value) -> Result<Said, Failed> {
    let mut said = Said::default();
    take(&mut said, body)?;
    if body.get("message").is_none() {
        return Err(Failed::unreadable("it has no message"));
    }
    Ok(said)
}

/// Takes up a line.
///
/// # Errors
/// It reports an error, or is no JSON.
pub fn part(said: &mut Said, line: &[u8]) -> Result<(), Failed> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    let body: Value = serde_json::from_slice(line).map_err(Failed::unreadable)?;
    take(said, &body)
}

fn take(said: &mut Said, body: &Value) -> Result<(), Failed> {
    if body.get("error").is_some_and(|it| !it.is_null()) {
        return Err(Failed::reported(body));
    }
    said.by(body.get("model"));
    said.text.push_str(body.pointer("/message/content").and_then(Value::as_str).unwrap_or_default());
    said.tool_calls.extend(dialogue::called(body.get("message")));
    if body.get("done").and_then(Value::as_bool) != Some(true) {
        return Ok(());
    }
    said.complete = true;
    said.output_tokens = body.get("eval_count").and_then(Value::as_u64);
    // A prompt that the server remembers is not counted again.
    let input = body.get("prompt_eval_count").and_then(Value::as_u64);
    said.input_tokens = input.or(said.output_tokens.map(|_| 0));
    if body.get("done_reason").and_then(Value::as_str) == Some("length") {
        said.ending = Ending::Cut;
    }
    Ok(())
}

/// What is sent for embeddings.
pub fn embed(model: &str, texts: &[String]) -> Value {
    json!({"model": model, "input": texts})
}

/// Reads embeddings.
///
/// # Errors
/// Another form.
pub fn vectors(body: &Value) -> Result<Vec<Vec<f64>>, Failed> {
    let vectors = body.get("embeddings").cloned().ok_or_else(|| Failed::unreadable("it has no embeddings"))?;
    serde_json::from_value(vectors).map_err(Failed::unreadable)
}
