//! `…/approvals/{call}`: decisions about tool calls that need approval.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use convengine_access::api_error::ApiError;
use convengine_storage::assistant::session;
use serde::Deserialize;
use serde_json::{Value, json};

use super::simulator::DEBUG_VISIBILITY;
use super::{Sender, events, is_already_sent, run_event};
use crate::api::assistant::body::{ObjectBody, ObjectRefusals};
use crate::api::assistant::kind_routes::SessionPath;
use crate::api::host::Host;
use crate::api::query::PathParams;

/// A call in a path.
#[derive(Debug, Deserialize)]
pub struct CallParam {
    call: String,
}

/// Approves or rejects a pending call.
#[utoipa::path(
    post,
    path = "/v1/runtime/{sessions}/{session}/approvals/{call}",
    tag = "documents",
    params(("call" = String, Path, description = "The `call_id` of the pending call")),
    request_body = ref("#/components/schemas/Approval"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The response of the document", body = ref("#/components/schemas/TurnResponse")),
        (status = 404, description = "Session not found, or no such call is pending in it"),
        (status = 409, description = "The session has ended"),
        (status = 422, description = "The decision is invalid"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn decide(
    State(host): State<Arc<Host>>,
    path: Result<SessionPath, ApiError>,
    call: Result<PathParams<CallParam>, ApiError>,
    sender: Sender,
    ObjectBody(members): ObjectBody,
) -> Result<Response, ApiError> {
    let (_, running) = path?.load(&host.content).await?;
    let (PathParams(CallParam { call }), mut members) = (call?, members?);
    let stored = session::find(&host.content.readers, &running.session).await?;
    let active = stored.as_ref().is_some_and(|it| it.status == "active");
    let pending = stored.and_then(|stored| stored.state.pointer("/awaiting/call/call_id")?.as_str().map(str::to_owned));
    // An ended session is reported by the turn itself, and a repeated decision returns its first response.
    if active && pending.as_deref() != Some(call.as_str()) && !is_already_sent(&host.content, &running.session, &members).await? {
        let message = "no such call is pending in the session; it may already be decided";
        return Err(ApiError::not_found(message).with_code("unknown_call"));
    }
    members.insert("type".to_owned(), json!("approval.decision"));
    members.insert("call_id".to_owned(), Value::String(call));
    let event = events::read_event(&host.content, members, false)?;
    run_event(&host.turns, &sender, &running, event, DEBUG_VISIBILITY, StatusCode::OK).await
}
