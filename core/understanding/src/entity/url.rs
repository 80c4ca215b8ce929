//! `@url`: web addresses, with or without a scheme.

use std::ops::Range;

use super::email::top_level_domain;
use super::scanner::{Parsed, SpanScanner, find_each};

/// Characters that end an address.
const TERMINATORS: &str = "<>\"`{}|\\^";

/// Trailing punctuation that is not part of an address.
const TRAILING_PUNCTUATION: &str = ".,;:!?'*_’”“»…";

/// Returns the addresses of a text with their places.
pub(super) fn find_all(text: &str) -> Vec<(String, Range<usize>)> {
    find_each(text, |start| read_with_scheme(start).or_else(|| read_without_scheme(start)))
}

fn read_with_scheme(start: SpanScanner<'_>) -> Parsed<'_, String> {
    let host = start.eat_text("https://").or_else(|| start.eat_text("http://"))?;
    host.next_char().filter(|character| character.is_alphanumeric() || *character == '[')?;
    let address = leading_address(start.rest());
    // Trimming must not have removed the host.
    (address.len() > start.rest().len() - host.rest().len()).then(|| (address.to_owned(), start.skip(address.len())))
}

fn read_without_scheme(start: SpanScanner<'_>) -> Parsed<'_, String> {
    if start.previous_char().is_some_and(|it| "@.-_/".contains(it)) || !start.next_char()?.is_alphanumeric() {
        return None;
    }
    let text = start.rest();
    let end = text.find(|character: char| !character.is_alphanumeric() && character != '-' && character != '.').unwrap_or(text.len());
    let host = text.get(..end)?.trim_end_matches(['.', '-']);
    let behind = text.get(host.len()..)?;
    let mut ending = host.rsplit('.').next()?.chars();
    // A sentence end without a space: "end.Next".
    let is_sentence = ending.next().is_some_and(char::is_uppercase) && ending.next().is_some_and(char::is_lowercase);
    // Excludes the local part of an email address.
    if !is_domain(host) || is_sentence || behind.starts_with(['@', '_', '+']) {
        return None;
    }
    let is_port = behind.strip_prefix(':').is_some_and(|rest| rest.starts_with(|character: char| character.is_ascii_digit()));
    let address = if is_port || behind.starts_with(['/', '?', '#']) { leading_address(text) } else { host };
    Some(("https://".to_owned() + address, start.skip(address.len())))
}

/// Whether a text is a domain with an alphabetic top-level domain.
fn is_domain(text: &str) -> bool {
    top_level_domain(text).is_some_and(|domain| (2..=24).contains(&domain.chars().count()) && domain.chars().all(char::is_alphabetic))
}

/// Returns the address at the start of a text, without trailing punctuation.
fn leading_address(text: &str) -> &str {
    let end = text.find(|character: char| character.is_whitespace() || TERMINATORS.contains(character)).unwrap_or(text.len());
    let mut address = text.get(..end).unwrap_or_default();
    loop {
        let shorter = address.trim_end_matches(|it| TRAILING_PUNCTUATION.contains(it));
        let open = |bracket: char| shorter.matches(bracket).count();
        let shorter = match shorter.chars().next_back() {
            Some(')') if open('(') < open(')') => shorter.strip_suffix(')'),
            Some(']') if open('[') < open(']') => shorter.strip_suffix(']'),
            _ => None,
        }
        .unwrap_or(shorter);
        if shorter.len() == address.len() {
            return address;
        }
        address = shorter;
    }
}

#[cfg(test)]
mod tests {
    use super::find_all;

    /// The first value, and whether it is the whole text.
    fn find(text: &str) -> Option<(String, bool)> {
        find_all(text).into_iter().next().map(|found| (found.0, found.1 == (0..text.len())))
    }

    #[test]
    fn addresses_are_found() {
        for (text, expected, whole) in [
            ("https://example.com", "https://example.com", true),
            ("HTTP://Example.com/A?b=c#d", "HTTP://Example.com/A?b=c#d", true),
            ("see http://localhost:3000/x.", "http://localhost:3000/x", false),
            ("http://[::1]/", "http://[::1]/", true),
            ("example.com", "https://example.com", true),
            ("www.example.co.uk/path?q=1, please", "https://www.example.co.uk/path?q=1", false),
            ("(example.com)", "https://example.com", false),
            ("https://x.org/a_(b)", "https://x.org/a_(b)", true),
            ("(https://x.org/a_(b)).", "https://x.org/a_(b)", false),
            ("example.com:8080/x", "https://example.com:8080/x", true),
            ("go to example.com: now", "https://example.com", false),
            ("bücher.example", "https://bücher.example", true),
            ("\"https://a.b/c\"", "https://a.b/c", false),
            ("v1.2 of x.io!", "https://x.io", false),
        ] {
            assert_eq!(find(text), Some((expected.to_owned(), whole)), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_addresses() {
        for text in [
            "",
            "hello",
            "3.4.2026",
            "v1.2",
            "e.g. this",
            "bob@example.com",
            "john.doe@example.com",
            "http://",
            "https://?",
            "ftp://x",
            "a..com",
            "the end.Next one",
            "-a.com",
            "1.5",
            "one. two",
            "x.abcdefghijklmnopqrstuvwxyz",
            "...",
            ".com",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
