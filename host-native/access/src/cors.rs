//! Cross-origin access: which origins may call the server (docs/spec/clients.md#A.10, docs/spec/clients.md#A.11).

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, Method, header};
use reqwest::Url;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long browsers cache preflight responses.
const MAX_AGE: Duration = Duration::from_secs(3600);

const ALLOWED_METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS];

const ALLOWED_HEADERS: [HeaderName; 11] = [
    header::CONTENT_TYPE,
    header::AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-tenant"),
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("x-debug"),
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
    header::CACHE_CONTROL,
];

const EXPOSED_HEADERS: [HeaderName; 7] = [
    HeaderName::from_static("x-request-id"),
    header::RETRY_AFTER,
    header::WWW_AUTHENTICATE,
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
    HeaderName::from_static("x-replayed"),
];

/// The origins that may call the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedOrigins {
    /// Origins of this machine, on every port.
    Local,
    /// The listed origins; `*` allows all.
    List(Vec<String>),
}

impl AllowedOrigins {
    /// Whether an origin may call.
    pub fn is_allowed(&self, origin: &str) -> bool {
        match self {
            AllowedOrigins::List(listed) => listed.iter().any(|entry| entry == "*" || entry == origin),
            AllowedOrigins::Local => Url::parse(origin).is_ok_and(|url| {
                let is_origin = ["http", "https"].contains(&url.scheme()) && url.origin().ascii_serialization() == origin;
                is_origin && url.host_str().is_some_and(|host| ["localhost", "127.0.0.1", "[::1]"].contains(&host))
            }),
        }
    }

    /// Whether a page may open a WebSocket, for which browsers send no preflight request.
    pub fn is_socket_allowed(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let origin = match (origins.next(), origins.next()) {
            (None, _) => return true,
            (Some(origin), None) => origin.to_str().unwrap_or_default(),
            // Browsers send one.
            (Some(_), Some(_)) => return false,
        };
        let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
        let is_same_origin = origin.split_once("://").is_some_and(|parts| Some(parts.1) == host);
        is_same_origin || self.is_allowed(origin)
    }
}

/// Builds the layer that answers preflight requests and adds CORS headers to responses.
pub fn build_layer(origins: AllowOrigin) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(origins)
        .allow_credentials(true)
        .allow_methods(ALLOWED_METHODS)
        .allow_headers(ALLOWED_HEADERS)
        .expose_headers(EXPOSED_HEADERS)
        .max_age(MAX_AGE)
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
            assert_eq!(AllowedOrigins::Local.is_allowed(origin), local, "{origin}");
        }
        let listed = AllowedOrigins::List(vec!["https://a.example".to_owned()]);
        assert!(listed.is_allowed("https://a.example") && !listed.is_allowed("http://a.example") && !listed.is_allowed("http://localhost"));
        assert!(AllowedOrigins::List(vec!["*".to_owned()]).is_allowed("null") && !AllowedOrigins::List(Vec::new()).is_allowed("null"));
    }

    #[test]
    fn sockets_open_for_the_same_origin_and_allowed_origins() {
        let headers = |origin: Option<&'static str>| {
            let origin = origin.map(|origin| (header::ORIGIN, HeaderValue::from_static(origin)));
            HeaderMap::from_iter(origin.into_iter().chain([(header::HOST, HeaderValue::from_static("bot.example"))]))
        };
        let listed = AllowedOrigins::List(vec!["https://a.example".to_owned()]);
        for (origin, opens) in [
            (None, true),
            (Some("https://bot.example"), true),
            (Some("https://a.example"), true),
            (Some("https://evil.example"), false),
            (Some("https://bot.example.evil"), false),
        ] {
            assert_eq!(listed.is_socket_allowed(&headers(origin)), opens, "{origin:?}");
        }
    }
}
