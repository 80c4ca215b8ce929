//! Texts that look like credentials. (S001)

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::ground::{Ground, Place};
use super::spot::Kind;
use crate::config::flow::DocumentIssue;

/// How keys of well-known services begin, and how many characters follow at least.
const KEYS: [(&str, usize); 20] = [
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("whsec_", 20),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("github_pat_", 30),
    ("glpat-", 16),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("cdp_", 20),
];

/// Headers that say who asks.
const HEADERS: [&str; 8] =
    ["authorization", "proxy-authorization", "x-api-key", "api-key", "apikey", "x-auth-token", "x-access-token", "cookie"];

/// Characters of a token in such a header from which on it looks made by a machine.
const LONG: usize = 32;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    let mut open: Vec<(String, &Value)> = vec![(String::new(), ground.source)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::String(text) => {
                if let Some(what) = credential(text) {
                    found.push(issue(place(ground, &path), what));
                }
            }
            Value::Array(items) => open.extend(items.iter().enumerate().rev().map(|(at, it)| (format!("{path}/{at}"), it))),
            Value::Object(members) => {
                let step = |name: &str| name.replace('~', "~0").replace('/', "~1");
                open.extend(members.iter().rev().map(|(name, it)| (format!("{path}/{}", step(name)), it)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    for (place, spot) in ground.texts() {
        let name = place.path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        // What is known by its looks alone has been told of.
        if spot.kind == Kind::Header && HEADERS.contains(&name.as_str()) && credential(spot.source).is_none() {
            found.extend(in_header(spot.source).map(|what| issue(place, what)));
        }
    }
}

fn issue(place: Place, what: &str) -> DocumentIssue {
    // The text itself is not repeated: reports are read by many.
    place.error("S001", format!("the text holds {what}")).fix("store it as a secret, and write '{{ secret.NAME }}' here")
}

/// The place of a text, with the node that it belongs to.
fn place(ground: &Ground<'_>, path: &str) -> Place {
    let mut steps = path.split('/').skip(1);
    let (list, graph, kind, node) = (steps.next(), steps.next(), steps.next(), steps.next());
    let number = |text: Option<&str>| text.and_then(|it| it.parse::<usize>().ok());
    let chart = number(graph).filter(|_| list == Some("graphs")).and_then(|it| ground.charts.get(it));
    let place = match (chart, kind) {
        (Some(chart), Some("nodes")) => number(node).map(|it| chart.place_of(it)),
        (Some(chart), Some("edges")) => number(node).map(|it| chart.edge(it)),
        (Some(chart), _) => Some(chart.place()),
        (None, _) => list.zip(number(graph)).map(|(list, at)| ground.listed(list, at)),
    };
    Place { path: path.to_owned(), ..place.unwrap_or_default() }
}

/// What a text holds that looks like a credential wherever it stands.
fn credential(text: &str) -> Option<&'static str> {
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----") {
        return Some("a private key");
    }
    let is_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.' | '+' | '/' | '=');
    let mut before = "";
    for token in text.split(|it: char| !is_part(it)).filter(|it| !it.is_empty()) {
        // In addresses and forms it stands behind its name; keys and encodings have '=' at their end alone.
        for part in token.split('=') {
            let is_key = |(start, least): &(&str, usize)| part.strip_prefix(start).is_some_and(|it| it.len() >= *least && is_mixed(it));
            if KEYS.iter().any(is_key) {
                return Some("a key");
            }
            if part.starts_with("eyJ") && part.split('.').count() == 3 && part.split('.').all(|it| it.len() >= 10) {
                return Some("a token");
            }
        }
        if before.eq_ignore_ascii_case("bearer") && token.len() >= 20 && is_mixed(token) {
            return Some("a bearer token");
        }
        if before.eq_ignore_ascii_case("basic") && is_pair(token) {
            return Some("a user with a password");
        }
        before = token;
    }
    None
}

/// What a header holds that has no hole where the credential is.
fn in_header(text: &str) -> Option<&'static str> {
    let scheme = text.split_once(' ').filter(|it| it.0.eq_ignore_ascii_case("bearer")).map(|it| it.1.trim());
    if scheme.is_some_and(|it| it.len() >= 8 && !it.contains("{{")) {
        return Some("a bearer token");
    }
    let tokens = text.split(|it: char| it.is_whitespace() || matches!(it, '{' | '}' | ';' | ',' | '"'));
    tokens.filter(|it| it.len() >= LONG).any(is_random).then_some("what looks like a key")
}

/// Whether a text has digits as well as letters, as no word has.
fn is_mixed(text: &str) -> bool {
    text.bytes().any(|it| it.is_ascii_digit()) && text.bytes().any(|it| it.is_ascii_alphabetic())
}

/// Whether few of its characters are the same.
fn is_random(text: &str) -> bool {
    let mut bytes = text.as_bytes().to_vec();
    bytes.sort_unstable();
    bytes.dedup();
    bytes.len() >= 10 && is_mixed(text)
}

/// Whether it is a user and a password, encoded.
fn is_pair(token: &str) -> bool {
    let decoded = STANDARD.decode(token).ok().and_then(|it| String::from_utf8(it).ok());
    decoded.is_some_and(|it| it.split_once(':').is_some_and(|it| !it.0.is_empty()) && it.chars().all(|it| !it.is_control()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_their_looks() {
        for text in [
            "sk-abcdefghij0123456789",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "token xoxb-1234567890-abc",
            "https://shop.example.org/?key=AIzaSyA1234567890abcdefghijklmnopqrstuv",
            "a=b&token=ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "token:ghp_abcdefghijklmnopqrstuvwxyz0123456789==",
            "AKIAABCDEFGHIJ012345",
            "AIzaSyA0123456789abcdefghijklmnopqrstuv",
            "Bearer abcdefghij0123456789",
            "Basic dXNlcjpwYXNzd29yZA==",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIz",
            "-----BEGIN RSA PRIVATE KEY-----\nx",
        ] {
            assert!(credential(text).is_some(), "{text}");
        }
        for text in [
            "Bearer {{ secret.API_KEY }}",
            "the bearer of this letter",
            "Basic questions are answered",
            "task-force-of-the-year-2026",
            "sk-",
            "https://example.org/a/b.c?d=e",
            "AKIA is a prefix",
        ] {
            assert_eq!(credential(text), None, "{text}");
        }
        assert!(in_header("Bearer abcd-efgh").is_some() && in_header("Bearer {{ secret.X }}").is_none());
        assert!(in_header("0123456789abcdef0123456789abcdef").is_some() && in_header("{{ session.token }}").is_none());
    }
}
