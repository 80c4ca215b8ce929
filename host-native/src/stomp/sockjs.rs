//! The frames that SockJS puts around messages on a WebSocket.

use serde_json::Value;

/// Opens.
pub const OPEN: &str = "o";

/// Says that the server is there.
pub const BEAT: &str = "h";

/// Closes when the server has no more to say.
pub const GO_AWAY: &str = "c[3000,\"Go away!\"]";

/// A message as the server sends it.
pub fn wrapped(message: &str) -> String {
    format!("a[{}]", Value::from(message))
}

/// The messages that a client sends together: a JSON array of texts, or one text; nothing comes of an empty frame.
pub fn unwrapped(frame: &str) -> Option<Vec<String>> {
    if frame.is_empty() {
        return Some(Vec::new());
    }
    match serde_json::from_str(frame).ok()? {
        Value::String(text) => Some(vec![text]),
        Value::Array(list) => list.into_iter().map(|it| if let Value::String(text) = it { Some(text) } else { None }).collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_texts_in_arrays() {
        assert_eq!(wrapped("MESSAGE\n\n{\"a\":1}\0"), "a[\"MESSAGE\\n\\n{\\\"a\\\":1}\\u0000\"]");
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
            assert_eq!(unwrapped(frame), messages, "{frame}");
        }
    }
}
