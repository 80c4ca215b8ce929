//! `/v1/runtime/assistants/{agent}/sessions`: an assistant tried out by those who build it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use convengine_core::turn::Map;
use serde_json::Value;
use uuid::Uuid;

use super::{Sees, events, heard, session_of};
use crate::assistant::run::{Running, event_key};
use crate::drive::Host;
use crate::http::assistant::{body, named, no_assistant, number};
use crate::http::error::{ApiError, not_found};
use crate::store;
use crate::store::assistant::{draft, version};

/// Who builds an assistant sees how answers come about.
const SEES: Sees = Sees { debug: true };

/// Begins a session of the draft, or of a version.
#[utoipa::path(
    post,
    path = "/v1/runtime/assistants/{agent}/sessions",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant"),
        ("stream" = Option<String>, Query, description = "`true` for events as they happen, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/NewSession"),
    responses(
        (status = 201, description = "It has begun", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not JSON"),
        (status = 404, description = "There is no such assistant, or no such version"),
        (status = 408, description = "The body does not go on"),
        (status = 409, description = "There is such a session already"),
        (status = 413, description = "The body is too long"),
        (status = 415, description = "The body does not say that it is JSON"),
        (status = 422, description = "A member of the body is not right"),
        (status = 503, description = "The database does not answer"),
    ),
)]
pub async fn start(
    State(host): State<Arc<Host>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let given = body::object(&uri, &headers, body).await;
    let (assistant, given) = (named(id, &uri)?, given?);
    let event = events::start(&uri, &given, None)?;
    let (document, version) = wanted(&host, &uri, &assistant, given.get("version")).await?;
    let session = wished(&host, &uri, &given).await?;
    let running = begin(&host, &uri, Beginning { session, assistant, deployment: None, version, document }).await?;
    heard(&host, &uri, &running, event, SEES, StatusCode::CREATED).await
}

/// Tells a session what happens.
#[utoipa::path(
    post,
    path = "/v1/runtime/assistants/{agent}/sessions/{session}/turns",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant"),
        ("session" = String, Path, format = "uuid", description = "The session"),
        ("stream" = Option<String>, Query, description = "`true` for events as they happen, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/TurnEvent"),
    responses(
        (status = 200, description = "What the assistant answers", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not JSON"),
        (status = 404, description = "There is no such session of the assistant"),
        (status = 408, description = "The body does not go on"),
        (status = 409, description = "The session has come to its end"),
        (status = 413, description = "The body is too long"),
        (status = 415, description = "The body does not say that it is JSON"),
        (status = 422, description = "The event cannot be read"),
        (status = 503, description = "The session or the database is busy: see Retry-After"),
    ),
)]
pub async fn turn(
    State(host): State<Arc<Host>>,
    uri: Uri,
    path: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let given = body::object(&uri, &headers, body).await;
    let running = running(&host, &uri, path).await?;
    let event = events::of_body(&host, &uri, given?, false)?;
    heard(&host, &uri, &running, event, SEES, StatusCode::OK).await
}

/// The session of an assistant that a path names.
///
/// # Errors
/// A refusal when the assistant has none of this id.
pub async fn running(host: &Host, uri: &Uri, path: Result<Path<(String, String)>, PathRejection>) -> Result<Running, ApiError> {
    let Ok(Path((assistant, session))) = path else { return Err(not_found(uri)) };
    let (_, running) = session_of(host, uri, &session).await?;
    if running.assistant == assistant { Ok(running) } else { Err(not_found(uri)) }
}

/// A session that is to begin.
#[derive(Debug)]
pub struct Beginning {
    /// Its id.
    pub session: String,
    /// Its assistant.
    pub assistant: String,
    /// The deployment that begins it.
    pub deployment: Option<String>,
    /// The version that it runs on.
    pub version: Option<i64>,
    /// The document.
    pub document: Value,
}

/// Keeps what a session will run on.
///
/// # Errors
/// A refusal of a document that cannot run, or when the database cannot be written.
pub async fn begin(host: &Host, uri: &Uri, beginning: Beginning) -> Result<Running, ApiError> {
    let Beginning { session, assistant, deployment, version, document } = beginning;
    let message = "the document cannot be read: put it again";
    let unreadable = || ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, message).coded("invalid_document");
    let config = host.flows.take(host, &document).await.map_err(|it| ApiError::of_database(&it, uri))?.ok_or_else(unreadable)?;
    Ok(Running { session, assistant, deployment, version, config, is_lost: false, is_new: true, upgrade: None })
}

/// The document that is asked for: the draft, or a version.
async fn wanted(host: &Host, uri: &Uri, assistant: &str, wish: Option<&Value>) -> Result<(Value, Option<i64>), ApiError> {
    let database = |error: sqlx::Error| ApiError::of_database(&error, uri);
    let unknown = || ApiError::new(StatusCode::NOT_FOUND, uri, "there is no such version: ask for those that there are");
    let (text, version) = match wish.filter(|it| !it.is_null()) {
        None => {
            let draft = draft::find(&host.readers, assistant).await.map_err(database)?;
            (draft.ok_or_else(|| no_assistant(uri))?.document, None)
        }
        Some(wish) => {
            draft::about(&host.readers, assistant).await.map_err(database)?.ok_or_else(|| no_assistant(uri))?;
            let number = number(&wish.to_string()).ok_or_else(unknown)?;
            let text = version::document(&host.readers, assistant, number).await.map_err(database)?;
            (text.ok_or_else(unknown)?, Some(number))
        }
    };
    Ok((document(&text, uri)?, version))
}

/// A document that is kept.
///
/// # Errors
/// A refusal when it is no JSON any more.
pub fn document(text: &str, uri: &Uri) -> Result<Value, ApiError> {
    serde_json::from_str(text).map_err(|error| {
        tracing::error!(%error, "a document that is kept cannot be read");
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, uri, "the document that is kept cannot be read: put it again")
    })
}

/// The id that a caller wishes for the session, or a new one.
async fn wished(host: &Host, uri: &Uri, given: &Map) -> Result<String, ApiError> {
    let Some(wish) = given.get("session_id").filter(|it| !it.is_null()) else { return Ok(Uuid::new_v4().to_string()) };
    let refuse =
        || ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, "session_id is no UUID: send one, or none").coded("invalid_session");
    let id = wish.as_str().and_then(|it| Uuid::try_parse(it).ok()).ok_or_else(refuse)?.to_string();
    let key = given.get("event_id").and_then(Value::as_str).map(|it| event_key(&id, it));
    let found = store::assistant::session::load(&host.readers, &id, key.as_deref()).await;
    let found = found.map_err(|it| ApiError::of_database(&it, uri))?;
    // Who has got no answer asks again by the same name. Conversations of tables have such ids, too.
    if !found.sent && (found.open || found.session.turns > 0) {
        let message = "there is such a session already: wish for another id, or for none";
        return Err(ApiError::new(StatusCode::CONFLICT, uri, message).coded("session_exists"));
    }
    Ok(id)
}
