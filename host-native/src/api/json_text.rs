//! Parses the JSON of requests. An escaped lone surrogate, which clients send for half an emoji, becomes U+FFFD.

use serde::de::DeserializeOwned;

/// Parses JSON text.
///
/// # Errors
/// The error of the parser.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    let parsed = serde_json::from_slice(bytes);
    if parsed.is_ok() {
        return parsed;
    }
    replace_lone_surrogates(bytes).map_or(parsed, |it| serde_json::from_slice(&it))
}

/// Replaces the escapes of surrogates without a partner; `None` when there are none.
fn replace_lone_surrogates(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut replaced: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = bytes.get(at + 1).copied();
        at += match (byte, escaped, surrogate_at(bytes, at)) {
            (b'\\', Some(b'u'), Some(Surrogate::High)) if surrogate_at(bytes, at + 6) == Some(Surrogate::Low) => 12,
            (b'\\', Some(b'u'), Some(_)) => {
                let text = replaced.get_or_insert_with(|| bytes.to_vec());
                text.splice(at + 2..at + 6, *b"fffd");
                6
            }
            (b'\\', ..) => 2,
            _ => 1,
        };
    }
    replaced
}

/// A half of a character beyond the basic plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surrogate {
    High,
    Low,
}

/// The surrogate whose escape begins at an index.
fn surrogate_at(bytes: &[u8], at: usize) -> Option<Surrogate> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    match u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()? {
        0xd800..=0xdbff => Some(Surrogate::High),
        0xdc00..=0xdfff => Some(Surrogate::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        for (text, expected) in [
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""a\uD83Db""#, "a\u{fffd}b"),
            (r#""\ude00\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
            (r#""\\ud83d\ud83d""#, "\\ud83d\u{fffd}"),
            (r#""\ud83d\ude00 \u00e9""#, "\u{1f600} \u{e9}"),
        ] {
            assert_eq!(parse::<String>(text.as_bytes()).expect(text), expected, "{text}");
        }
        let members: serde_json::Value = parse(br#"{"\ud83d": ["\udc00"]}"#).expect("JSON");
        assert_eq!(members["\u{fffd}"][0], "\u{fffd}");
        for text in [r#""\ud83""#, r#""\ud83d"#, r#""\uzzzz\ud83d""#, "\\ud83d", ""] {
            assert!(parse::<serde_json::Value>(text.as_bytes()).is_err(), "{text}");
        }
    }
}
