//! `POST /mcp`: the streamable HTTP transport, without sessions.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use convengine_access::api_error::ApiError;
use convengine_access::caller::Caller;
use convengine_access::client_address::ClientAddress;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::server::{Delivery, McpServer};
use crate::api::assistant::body;
use crate::api::host::Host;
use crate::api::request::has_json_body;

/// Maximum bytes of a message, which may contain a pack.
const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// What the transport of the protocol requires clients to accept.
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Handles a message of the Model Context Protocol. What it offers depends on the scopes of the caller.
#[utoipa::path(
    post,
    path = "/mcp",
    tag = "operations",
    params(("MCP-Protocol-Version" = Option<String>, Header, description = "The revision of the protocol, such as 2025-11-25")),
    request_body = ref("#/components/schemas/McpMessage"),
    responses(
        (status = 200, description = "The JSON-RPC response, or an event stream with it", body = Object),
        (status = 202, description = "The notification is accepted"),
        (status = 400, description = "The message is invalid"),
        (status = 403, description = "The credentials lack the required scope, or the origin is not allowed"),
        (status = 404, description = "The method is unknown"),
        (status = 406, description = "The client does not accept JSON and event streams"),
        (status = 408, description = "The request body timed out"),
        (status = 413, description = "The message is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
    ),
)]
pub async fn post(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Extension(client): Extension<ClientAddress>,
    request: Request,
) -> Response {
    let request = match check(request).await {
        Ok(request) => request,
        Err(refusal) => return refusal.into_response(),
    };
    let server = McpServer::new(host, caller, client, Delivery::Responses);
    let sessions = Arc::new(NeverSessionManager::default());
    // The auth gateway has checked host and origin.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_MESSAGE_BYTES)
        .disable_allowed_hosts();
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    service.handle(request).await.map(Body::new)
}

/// Reads and checks a request as the transport expects it, so that refusals are those of other routes.
async fn check(request: Request) -> Result<Request, ApiError> {
    let (mut parts, body) = request.into_parts();
    let refuse = |status, message: String| Err(ApiError::with_status(status, message));
    let bytes = body::read_whole(body, MAX_MESSAGE_BYTES).await?;
    if !accepts_both(&parts.headers) {
        let message = "responses are JSON or event streams; send Accept: application/json, text/event-stream";
        return refuse(StatusCode::NOT_ACCEPTABLE, message.to_owned());
    }
    if !has_json_body(&parts.headers) {
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported content type; send Content-Type: application/json".to_owned());
    }
    let Some(bytes) = bytes else {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, format!("message is too large; send at most {MAX_MESSAGE_BYTES} bytes"));
    };
    if let Err(error) = serde_json::from_slice::<ClientJsonRpcMessage>(&bytes) {
        return refuse(StatusCode::BAD_REQUEST, format!("invalid message: {error}; send one JSON-RPC 2.0 message"));
    }
    parts.headers.insert(header::ACCEPT, BOTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

/// Whether the client accepts JSON and event streams; without an `Accept` header it accepts everything.
fn accepts_both(headers: &HeaderMap) -> bool {
    let accepted: Vec<&str> = headers.get_all(header::ACCEPT).iter().flat_map(|value| value.to_str().unwrap_or("?").split(',')).collect();
    let accepts = |kind: &str, group: &str| {
        accepted.iter().any(|range| [kind, group, "*/*"].contains(&range.split(';').next().unwrap_or("?").trim()))
    };
    accepted.is_empty() || (accepts("application/json", "application/*") && accepts("text/event-stream", "text/*"))
}
