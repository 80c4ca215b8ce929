//! Reads the JSON of a reply. Models put it into a code fence, introduce it, or add a sentence.

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// Returns the JSON text of a reply: the whole of it, the content of its code fence, or the one object in its text. `None` when there is no
/// object or more than one, or a brace that belongs to none: which one is meant is never guessed.
pub fn find_json(reply: &str) -> Option<&str> {
    let whole = strip_code_fence(reply);
    if is_json(whole) { Some(whole) } else { find_only_object(reply) }
}

/// Reads the JSON object of a reply. A JSON text that holds the JSON of an object is that object.
///
/// # Errors
/// Why the reply is not exactly one object.
pub fn read_object(reply: &str) -> Result<Map<String, Value>, String> {
    let text = find_json(reply).ok_or_else(|| whole_error(reply))?;
    match serde_json::from_str(text).map_err(|it| it.to_string())? {
        Value::Object(members) => Ok(members),
        Value::String(inner) => serde_json::from_str(&inner).map_err(|it| it.to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err("it is JSON of another kind".to_owned()),
    }
}

/// Returns the content of a Markdown code fence; without one, the text.
fn strip_code_fence(reply: &str) -> &str {
    let text = reply.trim_start_matches('\u{feff}').trim();
    let inner = text.strip_prefix("```").and_then(|it| it.strip_suffix("```"));
    let label = |inner: &str| inner.get(..4).is_some_and(|label| label.eq_ignore_ascii_case("json"));
    inner.map_or(text, |inner| if label(inner) { inner.get(4..).unwrap_or_default() } else { inner }.trim())
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn whole_error(reply: &str) -> String {
    serde_json::from_str::<Map<String, Value>>(strip_code_fence(reply)).err().map_or_else(String::new, |it| it.to_string())
}

/// The only object in a text. A list counts like an object if it has lists or objects, and a bracket that begins none is text.
fn find_only_object(text: &str) -> Option<&str> {
    let (mut from, mut found) = (0, None);
    while let Some(at) = text.get(from..)?.find(['{', '[']).map(|offset| from + offset) {
        let rest = text.get(at..)?;
        let is_object = rest.starts_with('{');
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        from = match values.next() {
            Some(Ok(Value::Array(items))) if !items.iter().any(|item| item.is_array() || item.is_object()) => at + values.byte_offset(),
            Some(Ok(Value::Object(_))) if found.is_none() => {
                let end = at + values.byte_offset();
                found = text.get(at..end);
                end
            }
            Some(Ok(_)) => return None,
            Some(Err(_)) | None if is_object || rest.get(1..)?.trim_start().starts_with(['{', '[']) => return None,
            Some(Err(_)) | None => at + 1,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_object_of_a_reply_is_found() {
        let object = "{\"a\": {\"b\": [1.0]}}";
        for reply in [
            "{\"a\": {\"b\": [1.0]}}",
            " ```json\n{\"a\": {\"b\": [1.0]}}\n```\n",
            "```JSON\r\n{\"a\": {\"b\": [1.0]}}\r\n```",
            "```{\"a\": {\"b\": [1.0]}}```",
            "\u{feff}{\"a\": {\"b\": [1.0]}}",
            "Here is the JSON: {\"a\": {\"b\": [1.0]}}",
            "Sure!\n```json\n{\"a\": {\"b\": [1.0]}}\n```\nLet me know [if you need more].",
            "{\"a\": {\"b\": [1.0]}} I hope that this helps [1].",
        ] {
            assert_eq!(find_json(reply), Some(object), "{reply}");
        }
        assert_eq!(find_json(" [1, 2]"), Some("[1, 2]"));
        assert_eq!(read_object("\"{\\\"a\\\": 1}\"").map(Value::Object), Ok(serde_json::json!({"a": 1})));
    }

    #[test]
    fn nothing_is_guessed() {
        for reply in [
            "",
            "I do not know.",
            "{\"a\": 1} or {\"a\": 2}",
            "{\"a\": 1}\n{\"a\": 1}",
            "Fill in {name}: {\"a\": 1}",
            "{'a': {\"b\": 1}}",
            "{\"a\": {\"b\": 1}, oops",
            "The list: [{\"a\": 1}]",
            "The list: [ {\"a\": 1}, oops",
            "[1, 2]",
            "null",
            "\"text\"",
            "\"[1]\"",
        ] {
            assert!(read_object(reply).is_err(), "{reply}");
        }
        assert!(read_object("no").unwrap_err().contains("expected"));
    }
}
