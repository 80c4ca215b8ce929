//! Literal credentials. (S001)

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convengine_config::flow::DocumentIssue;
use serde_json::Value;

use super::context::{FlowContext, Location};
use super::source_text::{SourceText, TextKind};

/// Key prefixes of well-known services, and the minimum number of characters that follow.
const KEY_PREFIXES: [(&str, usize); 20] = [
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

/// Headers that carry credentials.
const CREDENTIAL_HEADERS: [&str; 8] =
    ["authorization", "proxy-authorization", "x-api-key", "api-key", "apikey", "x-auth-token", "x-access-token", "cookie"];

/// The minimum length of a header token that looks generated.
const MIN_TOKEN_CHARS: usize = 32;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    check_literals(context.source, |it| locate(context, it), findings);
    for (location, text) in context.all_texts() {
        check_header(&location, text, findings);
    }
}

/// Reports texts of a document that contain a credential; `locate` returns the location of a path.
pub(super) fn check_literals(source: &Value, locate: impl Fn(&str) -> Location, findings: &mut Vec<DocumentIssue>) {
    let mut stack: Vec<(String, &Value)> = vec![(String::new(), source)];
    while let Some((path, value)) = stack.pop() {
        match value {
            Value::String(text) => {
                if let Some(kind) = find_credential(text) {
                    findings.push(issue(locate(&path), kind));
                }
            }
            Value::Array(items) => stack.extend(items.iter().enumerate().rev().map(|(at, it)| (format!("{path}/{at}"), it))),
            Value::Object(members) => {
                let escape = |name: &str| name.replace('~', "~0").replace('/', "~1");
                stack.extend(members.iter().rev().map(|(name, value)| (format!("{path}/{}", escape(name)), value)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Reports a header with a literal credential of no known format.
pub(super) fn check_header(location: &Location, text: &SourceText<'_>, findings: &mut Vec<DocumentIssue>) {
    let name = location.path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    if text.kind == TextKind::Header && CREDENTIAL_HEADERS.contains(&name.as_str()) && find_credential(text.source).is_none() {
        findings.extend(find_header_credential(text.source).map(|kind| issue(location.clone(), kind)));
    }
}

fn issue(location: Location, kind: &str) -> DocumentIssue {
    // Never quotes the text, because reports are shared.
    location.error("S001", format!("the text contains {kind}")).with_fix("store it as a secret, and write '{{ secret.NAME }}' here")
}

/// Returns the location of a text, including its node.
fn locate(context: &FlowContext<'_>, path: &str) -> Location {
    let mut steps = path.split('/').skip(1);
    let (list, graph, kind, node) = (steps.next(), steps.next(), steps.next(), steps.next());
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<usize>().ok());
    let graph_cx = number(graph).filter(|_| list == Some("graphs")).and_then(|it| context.graphs.get(it));
    let location = match (graph_cx, kind) {
        (Some(graph_cx), Some("nodes")) => number(node).map(|it| graph_cx.node_location(it)),
        (Some(graph_cx), Some("edges")) => number(node).map(|it| graph_cx.edge_location(it)),
        (Some(graph_cx), _) => Some(graph_cx.location()),
        (None, _) => list.zip(number(graph)).map(|(list, at)| context.item_location(list, at)),
    };
    Location { path: path.to_owned(), ..location.unwrap_or_default() }
}

/// Returns the kind of credential that a text contains, by its format.
fn find_credential(text: &str) -> Option<&'static str> {
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----") {
        return Some("a private key");
    }
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | '+' | '/' | '=');
    let mut before = "";
    for token in text.split(|it: char| !is_part(it)).filter(|it| !it.is_empty()) {
        // In URLs and forms a key follows its name and '='; keys and encodings only end with '='.
        for part in token.split('=') {
            let is_key =
                |(start, least): &(&str, usize)| part.strip_prefix(start).is_some_and(|rest| rest.len() >= *least && is_mixed(rest));
            if KEY_PREFIXES.iter().any(is_key) {
                return Some("a key");
            }
            if part.starts_with("eyJ") && part.split('.').count() == 3 && part.split('.').all(|segment| segment.len() >= 10) {
                return Some("a token");
            }
        }
        if before.eq_ignore_ascii_case("bearer") && token.len() >= 20 && is_mixed(token) {
            return Some("a bearer token");
        }
        if before.eq_ignore_ascii_case("basic") && is_basic_credential(token) {
            return Some("a user name with a password");
        }
        before = token;
    }
    None
}

/// Returns the kind of credential that a credential header contains literally.
fn find_header_credential(text: &str) -> Option<&'static str> {
    let scheme = text.split_once(' ').filter(|it| it.0.eq_ignore_ascii_case("bearer")).map(|it| it.1.trim());
    if scheme.is_some_and(|token| token.len() >= 8 && !token.contains("{{")) {
        return Some("a bearer token");
    }
    let tokens = text.split(|character: char| character.is_whitespace() || matches!(character, '{' | '}' | ';' | ',' | '"'));
    tokens.filter(|token| token.len() >= MIN_TOKEN_CHARS).any(is_random).then_some("a value that looks like a key")
}

/// Whether a text has digits as well as letters, unlike words.
fn is_mixed(text: &str) -> bool {
    text.bytes().any(|it| it.is_ascii_digit()) && text.bytes().any(|it| it.is_ascii_alphabetic())
}

/// Whether a text looks random: many different characters, letters and digits.
fn is_random(text: &str) -> bool {
    let mut bytes = text.as_bytes().to_vec();
    bytes.sort_unstable();
    bytes.dedup();
    bytes.len() >= 10 && is_mixed(text)
}

/// Whether a token is a Base64-encoded user name and password.
fn is_basic_credential(token: &str) -> bool {
    let decoded = STANDARD.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.is_some_and(|text| {
        text.split_once(':').is_some_and(|(user, _)| !user.is_empty()) && text.chars().all(|character| !character.is_control())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_recognized_by_format() {
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
            assert!(find_credential(text).is_some(), "{text}");
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
            assert_eq!(find_credential(text), None, "{text}");
        }
        assert!(find_header_credential("Bearer abcd-efgh").is_some() && find_header_credential("Bearer {{ secret.X }}").is_none());
        assert!(
            find_header_credential("0123456789abcdef0123456789abcdef").is_some() && find_header_credential("{{ session.token }}").is_none()
        );
    }
}
