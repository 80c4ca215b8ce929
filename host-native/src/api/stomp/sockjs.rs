//! Encodes and decodes the SockJS frames that wrap messages on a WebSocket.

use serde_json::Value;

use crate::api::json_text;

/// The open frame.
pub const OPEN: &str = "o";

/// The heartbeat frame.
pub const HEARTBEAT: &str = "h";

/// The close frame sent when the server ends the connection.
pub const CLOSE_GO_AWAY: &str = "c[3000,\"Go away!\"]";

/// Encodes messages sent by the server.
pub fn encode_all<S: AsRef<str>>(messages: &[S]) -> String {
    let messages: Value = messages.iter().map(AsRef::as_ref).collect();
    format!("a{messages}")
}

/// Decodes the messages of a client frame: a JSON array of strings, one string, or an empty frame without messages.
pub fn decode(frame: &str) -> Option<Vec<String>> {
    if frame.is_empty() {
        return Some(Vec::new());
    }
    match json_text::parse(frame.as_bytes()).ok()? {
        Value::String(text) => Some(vec![text]),
        Value::Array(list) => list.into_iter().map(|item| if let Value::String(text) = item { Some(text) } else { None }).collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_texts_in_arrays() {
        assert_eq!(encode_all(&["MESSAGE\n\n{\"a\":1}\0"]), "a[\"MESSAGE\\n\\n{\\\"a\\\":1}\\u0000\"]");
        let texts = |it: &[&str]| Some(it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        for (frame, messages) in [
            ("", texts(&[])),
            ("[]", texts(&[])),
            ("[\"a\\u0000\",\"\\n\"]", texts(&["a\0", "\n"])),
            ("\"a\"", texts(&["a"])),
            ("[1]", None),
            ("{}", None),
            ("[\"a\"", None),
        ] {
            assert_eq!(decode(frame), messages, "{frame}");
        }
    }
}
