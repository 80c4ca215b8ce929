//! Checks the origin of WebSocket connections against patterns.

use axum::http::{HeaderMap, header};

/// The origin is not allowed to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("origin is not allowed to connect")]
pub struct OriginNotAllowed;

/// Checks that the origin of a request matches one of the patterns, in which `*` matches any characters, or is that of the server.
/// Requests without an origin, as from clients other than browsers, are allowed.
///
/// # Errors
/// [`OriginNotAllowed`] if the origin is not allowed.
pub fn check_origin(patterns: &[String], headers: &HeaderMap) -> Result<(), OriginNotAllowed> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(value) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = value.to_str().map_err(|_| OriginNotAllowed)?;
    let is_same_origin = origin.split_once("://").is_some_and(|parts| Some(parts.1) == text(header::HOST));
    if is_same_origin || patterns.iter().any(|it| matches_pattern(it, origin)) { Ok(()) } else { Err(OriginNotAllowed) }
}

/// Whether a text matches a pattern, ignoring ASCII case.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_ascii_lowercase(), text.to_ascii_lowercase());
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let (between, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut text) = text.strip_prefix(start).and_then(|it| it.strip_suffix(end)) else { return false };
    for part in between.split('*') {
        let Some(at) = text.find(part) else { return false };
        text = text.get(at + part.len()..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn patterns_match_stars_and_literal_text() {
        for (pattern, origin, fine) in [
            ("*", "https://a.example", true),
            ("https://a.example", "HTTPS://A.EXAMPLE", true),
            ("https://a.example", "https://a.example.net", false),
            ("https://*.example", "https://a.b.example", true),
            ("https://*.example", "https://example", false),
            ("https://*.example", "http://a.example", false),
            ("http*://*.a.*:80*", "https://x.a.b:8080", true),
            ("http*://*.a.*:80*", "https://x.a.b:90", false),
            ("ab*ba", "aba", false),
            ("https://a.example", "null", false),
        ] {
            assert_eq!(matches_pattern(pattern, origin), fine, "{pattern} {origin}");
        }
    }

    #[test]
    fn the_own_origin_and_clients_without_origin_may_connect() {
        let headers = |origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("here:80"));
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            }
            headers
        };
        let patterns = ["https://a.example".to_owned()];
        for (origin, fine) in
            [(None, true), (Some("http://here:80"), true), (Some("https://a.example"), true), (Some("http://there"), false)]
        {
            assert_eq!(check_origin(&patterns, &headers(origin)).is_ok(), fine, "{origin:?}");
        }
    }
}
