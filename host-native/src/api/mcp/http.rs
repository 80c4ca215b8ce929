//! `POST /mcp`: the streamable HTTP transport, without sessions.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::server::{Delivery, McpServer};
use crate::api::assistant::body;
use crate::api::error::ApiError;
use crate::auth::caller::Caller;
use crate::runtime::turn_runner::Host;

/// Maximum bytes of a message, which may contain a pack.
const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// Handles a message of the Model Context Protocol. What it offers depends on the scopes of the caller.
#[utoipa::path(
    post,
    path = "/mcp",
    tag = "operations",
    request_body(content = Object, description = "A JSON-RPC request or notification"),
    responses(
        (status = 200, description = "The JSON-RPC response, or an event stream with it", body = Object),
        (status = 202, description = "The notification is accepted"),
        (status = 400, description = "The message is invalid"),
        (status = 403, description = "The scope or the origin is not sufficient"),
        (status = 404, description = "The method is unknown"),
        (status = 406, description = "The client does not accept JSON and event streams"),
        (status = 408, description = "The request body timed out"),
        (status = 413, description = "The message is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
    ),
)]
pub async fn post(State(host): State<Arc<Host>>, Extension(caller): Extension<Caller>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = match body::read_whole(&parts.uri, body, MAX_MESSAGE_BYTES).await {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            let message = format!("message is too large; send at most {MAX_MESSAGE_BYTES} bytes");
            return ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, &parts.uri, message).into_response();
        }
        Err(refusal) => return refusal.into_response(),
    };
    let server = McpServer::new(host, caller, Delivery::Responses);
    let sessions = Arc::new(NeverSessionManager::default());
    // The auth gateway has checked host and origin.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_MESSAGE_BYTES)
        .disable_allowed_hosts();
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    service.handle(Request::from_parts(parts, Body::from(bytes))).await.map(Body::new)
}
