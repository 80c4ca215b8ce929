//! Cross-origin access: which origins may call the server (docs/spec/clients.md#A.10, docs/spec/clients.md#A.11).

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, Method, header};
use reqwest::Url;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long browsers cache preflight responses.
const REMEMBERED: Duration = Duration::from_secs(3600);

const METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS];

const SENT: [HeaderName; 8] = [
    header::CONTENT_TYPE,
    header::AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-tenant"),
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("x-debug"),
    header::CACHE_CONTROL,
];

const SHOWN: [HeaderName; 6] = [
    HeaderName::from_static("x-request-id"),
    header::RETRY_AFTER,
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
    HeaderName::from_static("x-replayed"),
];

/// The origins that may call the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    /// Origins of this machine, on every port.
    Local,
    /// The listed origins; `*` allows all.
    Listed(Vec<String>),
}

impl Origins {
    /// Whether an origin may call.
    pub fn allow(&self, origin: &str) -> bool {
        match self {
            Origins::Listed(listed) => listed.iter().any(|it| it == "*" || it == origin),
            Origins::Local => Url::parse(origin).is_ok_and(|it| {
                let is_origin = ["http", "https"].contains(&it.scheme()) && it.origin().ascii_serialization() == origin;
                is_origin && it.host_str().is_some_and(|it| ["localhost", "127.0.0.1", "[::1]"].contains(&it))
            }),
        }
    }

    /// Whether a page may open a WebSocket, for which browsers send no preflight request.
    pub fn allow_socket(&self, headers: &HeaderMap) -> bool {
        let text = |name| headers.get(name).and_then(|it| it.to_str().ok());
        let Some(origin) = text(header::ORIGIN) else { return true };
        let is_same_origin = origin.split_once("://").is_some_and(|it| Some(it.1) == text(header::HOST));
        is_same_origin || self.allow(origin)
    }
}

/// Builds the layer that answers preflight requests and adds CORS headers to responses.
pub fn layer(origins: AllowOrigin) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(origins)
        .allow_credentials(true)
        .allow_methods(METHODS)
        .allow_headers(SENT)
        .expose_headers(SHOWN)
        .max_age(REMEMBERED)
        .vary([header::ORIGIN])
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn origins_are_compared_as_a_whole() {
        for (origin, local) in [
            ("http://localhost:3000", true),
            ("https://127.0.0.1", true),
            ("http://[::1]:5173", true),
            ("http://localhost.evil.example", false),
            ("http://evil.example/localhost", false),
            ("http://localhost@evil.example", false),
            ("http://user@localhost", false),
            ("file://localhost", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(Origins::Local.allow(origin), local, "{origin}");
        }
        let listed = Origins::Listed(vec!["https://a.example".to_owned()]);
        assert!(listed.allow("https://a.example") && !listed.allow("http://a.example") && !listed.allow("http://localhost"));
        assert!(Origins::Listed(vec!["*".to_owned()]).allow("null") && !Origins::Listed(Vec::new()).allow("null"));
    }

    #[test]
    fn a_socket_is_for_the_own_page_and_those_that_may_call() {
        let headers = |origin: Option<&'static str>| {
            let origin = origin.map(|it| (header::ORIGIN, HeaderValue::from_static(it)));
            HeaderMap::from_iter(origin.into_iter().chain([(header::HOST, HeaderValue::from_static("bot.example"))]))
        };
        let listed = Origins::Listed(vec!["https://a.example".to_owned()]);
        for (origin, opens) in [
            (None, true),
            (Some("https://bot.example"), true),
            (Some("https://a.example"), true),
            (Some("https://evil.example"), false),
            (Some("https://bot.example.evil"), false),
        ] {
            assert_eq!(listed.allow_socket(&headers(origin)), opens, "{origin:?}");
        }
    }
}
