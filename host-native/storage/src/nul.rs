//! NUL characters, which PostgreSQL cannot store.

use std::borrow::Cow;

/// Replaces escaped NUL characters, which PostgreSQL cannot store, with U+FFFD.
pub(super) fn replace_nul(json: &str) -> Cow<'_, str> {
    if !json.contains("\\u0000") {
        return Cow::Borrowed(json);
    }
    let mut replaced = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, from) = rest.split_at(at);
        // Skip whole escapes: an escaped backslash does not start another escape.
        let length = if from.starts_with("\\u") { 6 } else { 2 };
        let (escape, after) = from.split_at_checked(length).unwrap_or((from, ""));
        replaced.push_str(before);
        replaced.push_str(if escape == "\\u0000" { "\\ufffd" } else { escape });
        rest = after;
    }
    replaced.push_str(rest);
    Cow::Owned(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nul_characters_are_replaced() {
        for (json, expected) in [
            (r#"["a\u0000b\u0000"]"#, r#"["a\ufffdb\ufffd"]"#),
            (r#"["\\u0000", "\\\u0000", "\n\u0001\u0000"]"#, r#"["\\u0000", "\\\ufffd", "\n\u0001\ufffd"]"#),
            (r#"["plain"]"#, r#"["plain"]"#),
        ] {
            assert_eq!(replace_nul(json), expected);
        }
    }
}
