//! Finds JSON in texts, and reads it token by token. Each byte is read a few times at most, whatever the text is.

use std::collections::BTreeMap;
use std::ops::Range;

/// A token of JSON, by its place in the text. Brackets, commas and `true`, `false` and `null` are passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// The name of a member.
    Name(Range<usize>),
    /// Another string.
    Text(Range<usize>),
    /// A number.
    Number(Range<usize>),
}

/// What is read next within a list or an object.
#[derive(Debug, Clone, Copy)]
enum Expected {
    ItemOrEnd,
    NameOrEnd,
    Colon,
    MemberValue,
    CommaOrEnd,
}

/// Returns where JSON begins and ends in a text, in order: objects and lists, also among other words, and strings with escapes that are
/// lines of their own. What the end of the text cuts off reaches to the end.
pub fn find_json(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut end) = (Vec::<Range<usize>>::new(), 0);
    // What begins within something that turned out not to be JSON, with its own end if it is JSON. It is not read again, so that a text of
    // nothing but brackets takes no longer than another one. Only strings are read twice: as such, and from a bracket within them.
    let mut known = BTreeMap::new();
    for (start, _) in text.match_indices(['{', '[']) {
        if start < end {
            continue;
        }
        let container_end = match known.remove(&start) {
            Some(container_end) => container_end,
            None => read_container(text.as_bytes(), start, &mut known),
        };
        if let Some(container_end) = container_end {
            found.push(start..container_end);
            end = container_end;
        }
    }
    let strings: Vec<Range<usize>> = string_lines(text).filter(|line| is_free(&found, line)).collect();
    found.extend(strings);
    found.sort_unstable_by_key(|it| it.start);
    found
}

/// Reads the list or object at a position and returns its end; `None` if it is not JSON. A comma before a closing bracket is allowed,
/// because models write it.
fn read_container(text: &[u8], start: usize, known: &mut BTreeMap<usize, Option<usize>>) -> Option<usize> {
    let mut open = Vec::new();
    // The outermost of those that are closed within an open one.
    let mut closed: Vec<Range<usize>> = Vec::new();
    let (mut at, mut expected) = (start, Expected::MemberValue);
    loop {
        at = skip_white(text, at);
        let Some(&byte) = text.get(at) else { return Some(text.len()) };
        let is_end = matches!(
            (expected, byte, open.last().and_then(|&it: &usize| text.get(it))),
            (Expected::ItemOrEnd | Expected::CommaOrEnd, b']', Some(b'[')) | (Expected::NameOrEnd | Expected::CommaOrEnd, b'}', Some(b'{'))
        );
        if is_end {
            at += 1;
            let Some(begin) = open.pop().filter(|_| !open.is_empty()) else { return Some(at) };
            closed.truncate(closed.partition_point(|it| it.start < begin));
            closed.push(begin..at);
            expected = Expected::CommaOrEnd;
            continue;
        }
        let next = match expected {
            Expected::ItemOrEnd | Expected::MemberValue if byte == b'{' || byte == b'[' => {
                open.push(at);
                Some((at + 1, if byte == b'{' { Expected::NameOrEnd } else { Expected::ItemOrEnd }))
            }
            Expected::ItemOrEnd | Expected::MemberValue => scalar_end(text, at).map(|end| (end, Expected::CommaOrEnd)),
            Expected::NameOrEnd => (byte == b'"').then(|| (string_end(text, at), Expected::Colon)),
            Expected::Colon => (byte == b':').then_some((at + 1, Expected::MemberValue)),
            Expected::CommaOrEnd => {
                let is_list = open.last().is_some_and(|&start| text.get(start) == Some(&b'['));
                (byte == b',').then_some((at + 1, if is_list { Expected::ItemOrEnd } else { Expected::NameOrEnd }))
            }
        };
        let Some(next) = next else { break };
        (at, expected) = next;
    }
    known.extend(open.into_iter().skip(1).map(|it| (it, None)));
    known.extend(closed.into_iter().map(|it| (it.start, Some(it.end))));
    None
}

/// Returns the next token within a range of JSON.
pub fn next_token(text: &str, within: Range<usize>) -> Option<Token> {
    let bytes = text.as_bytes();
    let at = within.clone().find(|index| matches!(bytes.get(*index), Some(b'"' | b'-' | b'0'..=b'9')))?;
    if bytes.get(at) != Some(&b'"') {
        return Some(Token::Number(at..number_end(bytes, at).min(within.end)));
    }
    let end = string_end(bytes, at).min(within.end);
    let after = skip_white(bytes, end);
    Some(if after < within.end && bytes.get(after) == Some(&b':') { Token::Name(at..end) } else { Token::Text(at..end) })
}

/// Returns where the value of a member begins and ends, whose name ends here.
pub fn member_value(text: &str, name_end: usize, end: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let start = skip_white(bytes, skip_white(bytes, name_end) + 1).min(end);
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(&byte) = bytes.get(at).filter(|_| at < end) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b'}' | b']' if depth > 0 => (at, depth) = (at + 1, depth - 1),
            b',' if depth > 0 => at += 1,
            b'}' | b']' | b',' => break,
            _ if depth == 0 => at = scalar_end(bytes, at).unwrap_or(end),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    start..at.min(end)
}

/// Decodes a string, which the end of the text may cut off.
pub fn decode_string(token: &str) -> Option<String> {
    serde_json::from_str(token).or_else(|_| serde_json::from_str(&format!("{token}\""))).ok()
}

/// Encodes a string.
pub fn encode_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the lines that are a JSON string with escapes. What such a string holds can be seen in no other.
fn string_lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut next = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = next;
        next += line.len();
        let content = line.trim_matches(|character: char| character.is_whitespace() || character == '\u{feff}');
        let is_string = content.starts_with('"') && content.contains('\\') && serde_json::from_str::<String>(content).is_ok();
        let start = start + line.find('"').filter(|_| is_string)?;
        Some(start..start + content.len())
    })
}

/// Returns whether none of the ranges, which are in order, has a part of another one.
fn is_free(ranges: &[Range<usize>], other: &Range<usize>) -> bool {
    ranges.get(ranges.partition_point(|it| it.end <= other.start)).is_none_or(|it| it.start >= other.end)
}

fn skip_white(text: &[u8], at: usize) -> usize {
    let is_white = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    at + text.get(at..).unwrap_or_default().iter().take_while(is_white).count()
}

/// Returns the end of a string, number, `true`, `false` or `null`.
fn scalar_end(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    match rest.first()? {
        b'"' => Some(string_end(text, at)),
        b'-' | b'0'..=b'9' => {
            let end = number_end(text, at);
            let number = std::str::from_utf8(text.get(at..end)?).ok()?;
            // The end of the text may cut it off.
            (end == text.len() || number.parse::<f64>().is_ok()).then_some(end)
        }
        _ => {
            let words: [&[u8]; 3] = [b"true", b"false", b"null"];
            let word = words.into_iter().find(|word| rest.starts_with(word) || word.starts_with(rest))?;
            Some((at + word.len()).min(text.len()))
        }
    }
}

/// Returns the end of a number: of the characters that numbers have.
fn number_end(text: &[u8], at: usize) -> usize {
    let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    at + text.get(at..).unwrap_or_default().iter().take_while(is_part).count()
}

/// Returns the end of the string that begins with the quotation mark at a position: behind its other one, else that of the text.
fn string_end(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    loop {
        match text.get(at) {
            None => return text.len(),
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        find_json(text).into_iter().map(|it| &text[it]).collect()
    }

    #[test]
    fn json_is_found_among_other_words() {
        for (text, expected) in [
            (r#"{"a": 1}"#, &[r#"{"a": 1}"#][..]),
            ("```json\n{\"a\": [1]}\n```\nand [\"b\"].", &["{\"a\": [1]}", "[\"b\"]"]),
            ("\u{feff}{\"a\":1}\n{\"a\":2}\r\n", &["{\"a\":1}", "{\"a\":2}"]),
            (r#"an "é" {"a": "}{\"", "b": [true, -1.5e3, null,],} end"#, &[r#"{"a": "}{\"", "b": [true, -1.5e3, null,],}"#]),
            // What is not JSON around JSON, and what looks like a string around it.
            (r#"[see {"a": 1}] or {x: {"b": [2]}}"#, &[r#"{"a": 1}"#, r#"{"b": [2]}"#]),
            (r#"["the object {"a": 1}" and {"b": "[{"} end"#, &[r#"{"a": 1}"#, r#"{"b": "[{"}"#]),
            (r#"{"a": [1, [2, 3], oops], "b": [4]}"#, &["[2, 3]", "[4]"]),
            // Cut off at the end.
            (r#"failed: {"a": "b", "c": {"d": "e"#, &[r#"{"a": "b", "c": {"d": "e"#]),
            (r#"{"a": tru"#, &[r#"{"a": tru"#]),
            (r#"{"a": -"#, &[r#"{"a": -"#]),
            ("\"{\\\"a\\\":1}\"\n\"plain\"\n \"\\u0031\" \nsays \"\\u0031\"", &["\"{\\\"a\\\":1}\"", "\"\\u0031\""]),
            ("[x] {y} [2024-05-01] } ] \"a\" {'a': 1} [1 2]", &[]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn tokens_are_read_in_order() {
        let text = r#"{"a" : ["b", -1.5], "c": {"d": true, "e": nul"#;
        let (mut at, mut tokens) = (0, Vec::new());
        while let Some(token) = next_token(text, at..text.len()) {
            let (Token::Name(range) | Token::Text(range) | Token::Number(range)) = &token;
            at = range.end;
            let value = matches!(token, Token::Name(_)).then(|| &text[member_value(text, at, text.len())]);
            tokens.push((&text[range.clone()], value));
        }
        let expected = [
            (r#""a""#, Some(r#"["b", -1.5]"#)),
            (r#""b""#, None),
            ("-1.5", None),
            (r#""c""#, Some(r#"{"d": true, "e": nul"#)),
            (r#""d""#, Some("true")),
            (r#""e""#, Some("nul")),
        ];
        assert_eq!(tokens, expected);
    }

    /// A text that is read from each bracket to its end would take hours.
    #[test]
    fn hostile_texts_are_read_in_linear_time() {
        for part in ["{", "[", "[[],", "{\"a\":", "[\"", "[\"a,", "{\"[", "\"[", "[{\"", "[1,\"{", "[{}", "{\"a\":[", "\"\\\"[", "[\"\\\"["]
        {
            for end in ["", "]}x"] {
                let text = part.repeat(300_000 / part.len()) + end;
                let covered: usize = find_json(&text).into_iter().map(|it| it.len()).sum();
                assert!(covered <= text.len(), "{part}");
            }
        }
    }
}
