//! `…/approvals/{call}`: somebody says whether an assistant may make a call.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use convengine_core::turn::Map;
use serde_json::{Value, json};

use super::{Sees, events, heard, simulator};
use crate::assistant::run::event_key;
use crate::drive::Host;
use crate::http::assistant::body;
use crate::http::error::{ApiError, not_found};
use crate::store::assistant::session;

/// Decides about a call that waits.
#[utoipa::path(
    post,
    path = "/v1/runtime/assistants/{agent}/sessions/{session}/approvals/{call}",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant"),
        ("session" = String, Path, format = "uuid", description = "The session"),
        ("call" = String, Path, description = "The call that waits, by its `call_id`"),
    ),
    request_body = ref("#/components/schemas/Approval"),
    responses(
        (status = 200, description = "What the assistant answers", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not JSON"),
        (status = 404, description = "There is no such session, or no such call waits in it"),
        (status = 408, description = "The body does not go on"),
        (status = 409, description = "The session has come to its end"),
        (status = 413, description = "The body is too long"),
        (status = 415, description = "The body does not say that it is JSON"),
        (status = 422, description = "The decision cannot be read"),
        (status = 503, description = "The session or the database is busy: see Retry-After"),
    ),
)]
pub async fn decide(
    State(host): State<Arc<Host>>,
    uri: Uri,
    path: Result<Path<(String, String, String)>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let given = body::object(&uri, &headers, body).await;
    let Ok(Path((assistant, id, call))) = path else { return Err(not_found(&uri)) };
    let running = simulator::running(&host, &uri, Ok(Path((assistant, id)))).await?;
    let mut given = given?;
    let stored = session::find(&host.readers, &running.session).await.map_err(|it| ApiError::of_database(&it, &uri))?;
    let active = stored.as_ref().is_some_and(|it| it.status == "active");
    let waits = stored.and_then(|it| it.state.pointer("/awaiting/call/call_id")?.as_str().map(str::to_owned));
    // A session that has ended says so itself, and a decision that was taken before is answered as it was.
    if active && waits.as_deref() != Some(call.as_str()) && !was_sent(&host, &uri, &running.session, &given).await? {
        let message = "no such call waits in the session: it may be decided already";
        return Err(ApiError::new(StatusCode::NOT_FOUND, &uri, message).coded("unknown_call"));
    }
    given.insert("type".to_owned(), json!("approval.decision"));
    given.insert("call_id".to_owned(), Value::String(call));
    let event = events::of_body(&host, &uri, given, false)?;
    heard(&host, &uri, &running, event, Sees { debug: true }, StatusCode::OK).await
}

/// Whether the session has a turn of this name already.
async fn was_sent(host: &Host, uri: &Uri, session: &str, given: &Map) -> Result<bool, ApiError> {
    let Some(key) = given.get("event_id").and_then(Value::as_str).map(|it| event_key(session, it)) else { return Ok(false) };
    let found = session::load(&host.readers, session, Some(&key)).await;
    found.map(|it| it.sent).map_err(|it| ApiError::of_database(&it, uri))
}
