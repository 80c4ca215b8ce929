//! Converts results of tools to JSON text: data, never instructions. They are read as the server sends them, because content of a kind that the
//! protocol does not know is no reason to lose the rest.

use convengine_core::turn::{EffectError, EffectErrorDetail, EffectErrorKind};
use serde_json::{Value, json};

/// Maximum bytes of a result.
const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// Whether an answer is the result of a call.
pub fn is_result(answer: &Value) -> bool {
    ["content", "structuredContent", "isError"].iter().any(|name| answer.get(*name).is_some())
}

/// Returns the result of a call as text: its structured content, else its texts, else all of its blocks.
///
/// # Errors
/// `Refused` with what the tool says if it answered with an error, `Invalid` for a result that is too large.
pub fn to_text(server: &str, result: &Value) -> Result<String, EffectError> {
    if result.get("isError") == Some(&Value::Bool(true)) {
        let message = format!("the tool answered with an error: {}", error_of(result));
        return Err(EffectError::new(EffectErrorKind::Refused, message).with_detail(EffectErrorDetail::TOOL_ERROR));
    }
    let text = structured_content(result).map_or_else(|| content_of(result), Value::to_string);
    if text.len() > MAX_RESULT_BYTES {
        let message = format!("the result of the MCP server '{server}' has {} bytes, more than {MAX_RESULT_BYTES}", text.len());
        return Err(EffectError::new(EffectErrorKind::Invalid, message).with_detail(EffectErrorDetail::TOO_LARGE));
    }
    Ok(text)
}

fn structured_content(result: &Value) -> Option<&Value> {
    result.get("structuredContent").filter(|it| !it.is_null())
}

/// What a tool says of its error: the content, and the structured content unless it is the same.
fn error_of(result: &Value) -> String {
    let content = content_of(result);
    let is_same = |value: &&Value| serde_json::from_str::<Value>(&content).is_ok_and(|content| content == **value);
    let structured = structured_content(result).filter(|it| !is_same(it)).map(Value::to_string);
    let parts: Vec<&str> = [content.trim()].into_iter().chain(structured.as_deref()).filter(|it| !it.is_empty()).collect();
    if parts.is_empty() { "it gives no reason".to_owned() } else { parts.join(" ") }
}

fn content_of(result: &Value) -> String {
    let blocks = match result.get("content") {
        Some(Value::Array(blocks)) => blocks.as_slice(),
        Some(Value::Null) | None => &[],
        // Some servers send one block, or its text.
        Some(block) => std::slice::from_ref(block),
    };
    let texts: Option<Vec<&str>> = blocks.iter().map(text_of).collect();
    match texts {
        Some(texts) => texts.join("\n"),
        None => json!({"content": blocks.iter().map(describe_block).collect::<Vec<_>>()}).to_string(),
    }
}

fn text_of(block: &Value) -> Option<&str> {
    if block.get("type").and_then(Value::as_str) == Some("text") { block.get("text")?.as_str() } else { block.as_str() }
}

/// A block as data; binary content by its type and size only.
fn describe_block(block: &Value) -> Value {
    let kind = block.get("type").and_then(Value::as_str).unwrap_or("unknown");
    let size = |data: &Value| data.as_str().map(|text| text.len() / 4 * 3);
    match kind {
        "image" | "audio" => json!({"type": kind, "mimeType": block.get("mimeType"), "bytes": block.get("data").and_then(size)}),
        "resource" => {
            let resource = block.get("resource").unwrap_or(&Value::Null);
            match resource.get("blob") {
                Some(blob) => {
                    json!({"type": kind, "mimeType": resource.get("mimeType"), "bytes": size(blob), "uri": resource.get("uri")})
                }
                None => json!({"type": kind, "uri": resource.get("uri"), "text": resource.get("text")}),
            }
        }
        "resource_link" => pick(block, &["type", "uri", "name", "title", "description", "mimeType", "size"]),
        "text" => pick(block, &["type", "text"]),
        _ => match text_of(block) {
            Some(text) => json!({"type": "text", "text": text}),
            None => json!({"type": kind}),
        },
    }
}

fn pick(block: &Value, members: &[&str]) -> Value {
    let member = |name: &&str| Some(((*name).to_owned(), block.get(*name).filter(|value| !value.is_null())?.clone()));
    Value::Object(members.iter().filter_map(member).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_says_is_passed_on() {
        let link = json!({"type": "resource_link", "uri": "a://b", "name": "b", "description": "the invoice", "mimeType": "text/plain", "size": 3});
        for (result, expected) in [
            (json!({}), Ok(String::new())),
            (json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}), Ok("a\nb".to_owned())),
            (json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"b": 1}}), Ok("{\"b\":1}".to_owned())),
            (json!({"content": "a"}), Ok("a".to_owned())),
            (json!({"content": {"type": "text", "text": "a"}}), Ok("a".to_owned())),
            (json!({"content": [link.clone()]}), Ok(json!({"content": [link]}).to_string())),
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "chart", "points": [1]}]}),
                Ok(json!({"content": [{"type": "text", "text": "a"}, {"type": "chart"}]}).to_string()),
            ),
            (
                json!({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}),
                Ok(json!({"content": [{"type": "image", "mimeType": "image/png", "bytes": 3}]}).to_string()),
            ),
            (json!({"isError": true}), Err("it gives no reason")),
            (json!({"isError": true, "content": [{"type": "text", "text": "closed"}]}), Err("closed")),
            (json!({"isError": true, "content": [], "structuredContent": {"code": 7}}), Err("{\"code\":7}")),
            (
                json!({"isError": true, "content": [{"type": "resource", "resource": {"uri": "a://b", "text": "why"}}]}),
                Err("\"text\":\"why\""),
            ),
        ] {
            match (to_text("s", &result), expected) {
                (Ok(text), Ok(expected)) => assert_eq!(text, expected, "{result}"),
                (Err(error), Err(expected)) => assert!(error.message.contains(expected), "{result}: {error}"),
                (found, _) => panic!("{result}: {found:?}"),
            }
        }
    }
}
