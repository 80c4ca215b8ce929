//! The token of the assistants administrator, `convengine.admin-token`, and the check for local callers that need none
//! (docs/spec/flows-http.md#1).

use std::net::IpAddr;

use axum::http::{HeaderMap, header};
use convengine_settings::AdminToken;

/// Headers by which a proxy shows itself, beside those that begin with [`FORWARDED_PREFIX`].
const PROXY_HEADERS: [&str; 22] = [
    "forwarded",
    "forwarded-for",
    "via",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-original-forwarded-for",
    "x-originating-ip",
    "x-proxyuser-ip",
    "x-remote-ip",
    "cdn-loop",
    "cf-connecting-ip",
    "cf-ray",
    "client-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "x-amzn-trace-id",
    "x-azure-clientip",
    "x-original-host",
    "x-varnish",
    "true-client-ip",
];

const FORWARDED_PREFIX: &str = "x-forwarded";

/// Whether a request comes from this machine: from a loopback address and with no sign of a proxy.
pub fn is_local(peer: Option<IpAddr>, headers: &HeaderMap) -> bool {
    let is_proxy_header = |header: &str| header.starts_with(FORWARDED_PREFIX) || PROXY_HEADERS.contains(&header);
    peer.is_some_and(|address| address.to_canonical().is_loopback()) && !headers.keys().any(|name| is_proxy_header(name.as_str()))
}

/// Whether a caller may know what only operators do: it is of this machine, or has the token of the administrator.
pub fn is_trusted(token: Option<&AdminToken>, peer: Option<IpAddr>, headers: &HeaderMap) -> bool {
    is_local(peer, headers) || token.is_some_and(|admin_token| read_credential(headers).is_some_and(|text| admin_token.matches(&text)))
}

/// Reads the bearer token or API key from the headers.
pub fn read_credential(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let bearer = text(header::AUTHORIZATION.as_str()).and_then(|line| {
        let (scheme, token) = line.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    bearer.or_else(|| text("x-api-key")).filter(|it| !it.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_forwarded_call_is_not_local() {
        let from = |text: &str| text.parse().ok();
        let none = HeaderMap::new();
        assert!(["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"].iter().all(|address| is_local(from(address), &none)));
        assert!(["10.0.0.1", "::ffff:10.0.0.1", "fe80::1"].iter().all(|address| !is_local(from(address), &none)) && !is_local(None, &none));
        for name in ["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-anything"] {
            let headers = HeaderMap::from_iter([(axum::http::HeaderName::from_static(name), HeaderValue::from_static("192.0.2.1"))]);
            assert!(!is_local(from("127.0.0.1"), &headers), "{name}");
        }
    }
}
