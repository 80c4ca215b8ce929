//! Finds the values in a text that Java has printed, such as `{a=1, b=[x, y]}`, and prints them as JSON.

use serde_json::{Map, Value};

/// Returns the text with its maps, lists and records as JSON. Strings in them have no `, `, brackets or braces.
pub(super) fn print_json(text: &str) -> String {
    let mut printed = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = printed.chars().next_back().is_some_and(char::is_alphanumeric);
        let starts = matches!(first, '{' | '[') || (!is_word && record(rest).is_some());
        match starts.then(|| value(rest)).flatten() {
            Some((found @ (Value::Object(_) | Value::Array(_)), after)) => {
                printed.push_str(&found.to_string());
                rest = after;
            }
            _ => {
                printed.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    printed
}

/// Reads a value at the beginning of a text; returns the rest.
fn value(text: &str) -> Option<(Value, &str)> {
    let mut as_json = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(found)) = as_json.next() {
        return Some((found, &text[as_json.byte_offset()..]));
    }
    if let Some(members) = record(text) {
        return map(members, ']');
    }
    match text.chars().next()? {
        '{' => map(&text[1..], '}'),
        '[' => list(&text[1..]),
        _ => scalar(text),
    }
}

/// Returns the members of a record, such as `Intent[code=A]`.
fn record(text: &str) -> Option<&str> {
    let name = text.find(|c: char| !c.is_ascii_alphabetic()).filter(|it| *it > 0)?;
    let members = text[name..].strip_prefix('[')?;
    let key = members.find(|c: char| !c.is_ascii_alphanumeric()).filter(|it| *it > 0)?;
    members[key..].starts_with('=').then_some(members)
}

fn map(text: &str, close: char) -> Option<(Value, &str)> {
    let mut members = Map::new();
    let mut rest = text;
    if let Some(after) = rest.strip_prefix(close) {
        return Some((Value::Object(members), after));
    }
    loop {
        let (key, after) = rest.split_once('=')?;
        if key.contains(['{', '}', '[', ']', '"', ',', '\n']) {
            return None;
        }
        let (found, after) = value(after)?;
        members.insert(key.to_owned(), found);
        match after.strip_prefix(close) {
            Some(after) => return Some((Value::Object(members), after)),
            None => rest = after.strip_prefix(", ")?,
        }
    }
}

fn list(text: &str) -> Option<(Value, &str)> {
    let mut items = Vec::new();
    let mut rest = text;
    loop {
        let (found, after) = value(rest)?;
        items.push(found);
        match after.strip_prefix(']') {
            Some(after) => return Some((Value::Array(items), after)),
            None => rest = after.strip_prefix(", ")?,
        }
    }
}

/// Reads up to the end of a member or item. What is not a literal of JSON is a string.
fn scalar(text: &str) -> Option<(Value, &str)> {
    let ends = [", ", "}", "]"];
    let end = ends.iter().filter_map(|it| text.find(it)).min()?;
    let (found, rest) = text.split_at(end);
    Some((serde_json::from_str(found).unwrap_or_else(|_| found.into()), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_values_become_json() {
        for (text, expected) in [
            ("known: {a=1, b=, c={d=null}}.", r#"known: {"a":1,"b":"","c":{"d":null}}."#),
            ("[x, y] of {k=[A, B], l=[]}", r#"["x","y"] of {"k":["A","B"],"l":[]}"#),
            (r#"{"a": 1} and {t="s", u=["s","n"]}"#, r#"{"a":1} and {"t":"s","u":["s","n"]}"#),
            ("[Intent[code=A, hint=null], Intent[code=B, hint=x]]", r#"[{"code":"A","hint":null},{"code":"B","hint":"x"}]"#),
            ("no {braces and [brackets", "no {braces and [brackets"),
            ("a[0]", "a[0]"),
        ] {
            assert_eq!(print_json(text), expected, "{text}");
        }
    }
}
