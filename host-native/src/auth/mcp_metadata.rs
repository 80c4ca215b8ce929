//! `/.well-known/oauth-protected-resource`: where clients of `/mcp` get their tokens (RFC 9728).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use convengine_access::api_error::ApiError;
use serde_json::{Value, json};

use crate::api::mcp::PATH;
use crate::auth::auth_gateway::AuthGateway;

/// The path of the metadata.
const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// Returns the metadata of the server as a protected resource.
#[utoipa::path(
    get,
    path = "/.well-known/oauth-protected-resource",
    tag = "operations",
    responses((status = 200, description = "The metadata of RFC 9728", body = Object)),
)]
pub async fn of_server(State(gateway): State<Arc<AuthGateway>>, headers: HeaderMap) -> Json<Value> {
    Json(describe(&gateway, &origin(&headers)))
}

/// Returns the metadata of `/mcp` as a protected resource.
#[utoipa::path(
    get,
    path = "/.well-known/oauth-protected-resource/mcp",
    tag = "operations",
    responses((status = 200, description = "The metadata of RFC 9728", body = Object)),
)]
pub async fn of_mcp(State(gateway): State<Arc<AuthGateway>>, headers: HeaderMap) -> Json<Value> {
    Json(describe(&gateway, &format!("{}{PATH}", origin(&headers))))
}

fn describe(gateway: &AuthGateway, resource: &str) -> Value {
    let mut described = json!({
        "resource": resource,
        "resource_name": "ConvEngine",
        "scopes_supported": ["converse", "read", "admin"],
        "bearer_methods_supported": ["header"],
    });
    if let Some(tokens) = gateway.tokens.as_ref().filter(|_| gateway.access.accepts_tokens()) {
        described["authorization_servers"] = json!([tokens.issuer()]);
    }
    described
}

/// Adds the address of the metadata to the challenge of a refusal, if it has one.
pub fn add_to_challenge(mut refusal: ApiError, request: &HeaderMap) -> ApiError {
    let address = format!("{}{METADATA_PATH}{PATH}", origin(request));
    if let Some(challenge) = refusal.headers_mut().get_mut(header::WWW_AUTHENTICATE)
        && let Ok(text) = challenge.to_str()
        && let Ok(extended) = HeaderValue::from_str(&format!("{text}, resource_metadata=\"{address}\""))
    {
        *challenge = extended;
    }
    refusal
}

/// The origin under which the client calls the server. A proxy that accepts HTTPS says so in its header; a client that sends the header
/// itself only misleads itself.
fn origin(headers: &HeaderMap) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_secure = text("x-forwarded-proto").is_some_and(|it| it.eq_ignore_ascii_case("https"));
    let scheme = if is_secure { "https" } else { "http" };
    format!("{scheme}://{}", text("host").unwrap_or("localhost"))
}

#[cfg(test)]
mod tests {
    use axum::http::{StatusCode, Uri};
    use convengine_access::refusal::unauthorized;

    use super::*;

    #[test]
    fn a_challenge_names_the_metadata() {
        let headers = |pairs: &[(&'static str, &'static str)]| {
            pairs.iter().map(|pair| (header::HeaderName::from_static(pair.0), HeaderValue::from_static(pair.1))).collect::<HeaderMap>()
        };
        let uri = Uri::from_static(PATH);
        let challenge = |request: &HeaderMap, refusal: ApiError| {
            let mut refusal = add_to_challenge(refusal, request);
            refusal.headers_mut().get(header::WWW_AUTHENTICATE).map(|value| value.to_str().unwrap_or_default().to_owned())
        };
        let plain = headers(&[("host", "bot.example:8080")]);
        let expected =
            "Bearer realm=\"convengine\", resource_metadata=\"http://bot.example:8080/.well-known/oauth-protected-resource/mcp\"";
        assert_eq!(challenge(&plain, unauthorized(&uri, None)).as_deref(), Some(expected));
        let secure = headers(&[("host", "bot.example"), ("x-forwarded-proto", "https")]);
        assert!(challenge(&secure, unauthorized(&uri, Some("expired"))).is_some_and(|it| it.contains("\"https://bot.example/.well-known")));
        assert_eq!(challenge(&plain, ApiError::new(StatusCode::NOT_FOUND, &uri, "x")), None);
    }
}
