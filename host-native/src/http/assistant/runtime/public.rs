//! `/v1/public/runtime/sessions`: an assistant used by the pages of a deployment.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use uuid::Uuid;

use super::simulator::{Beginning, begin, document};
use super::{Sees, events, heard, session_of};
use crate::drive::Host;
use crate::http::assistant::body;
use crate::http::error::{ApiError, not_found};
use crate::store::assistant::deployment::Deployment;
use crate::store::assistant::{draft, version};

/// Begins a session of the live version.
#[utoipa::path(
    post,
    path = "/v1/public/runtime/sessions",
    tag = "assistants",
    params(
        ("X-Debug" = Option<String>, Header, description = "`1` for how the answer came about, where the deployment lets its users see that"),
        ("stream" = Option<String>, Query, description = "`true` for events as they happen, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/NewSession"),
    responses(
        (status = 201, description = "It has begun", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not JSON"),
        (status = 404, description = "The assistant is not there any more"),
        (status = 408, description = "The body does not go on"),
        (status = 409, description = "The assistant has no version"),
        (status = 413, description = "The body is too long"),
        (status = 415, description = "The body does not say that it is JSON"),
        (status = 422, description = "A member of the body is not right"),
        (status = 503, description = "The database does not answer"),
    ),
)]
pub async fn start(
    State(host): State<Arc<Host>>,
    Extension(deployment): Extension<Arc<Deployment>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let given = body::object(&uri, &headers, body).await?;
    let event = events::start(&uri, &given, Some(&deployment.channel))?;
    let database = |error: sqlx::Error| ApiError::of_database(&error, &uri);
    let assistant = deployment.assistant.clone();
    let about = draft::about(&host.readers, &assistant).await.map_err(database)?.ok_or_else(|| not_found(&uri))?;
    let none = || ApiError::new(StatusCode::CONFLICT, &uri, "the assistant has no version: publish it first").coded("not_published");
    let live = about.live_version.ok_or_else(none)?;
    let text = version::document(&host.readers, &assistant, live).await.map_err(database)?.ok_or_else(none)?;
    let beginning = Beginning {
        session: Uuid::new_v4().to_string(),
        assistant,
        deployment: Some(deployment.id.clone()),
        version: Some(live),
        document: document(&text, &uri)?,
    };
    let running = begin(&host, &uri, beginning).await?;
    heard(&host, &uri, &running, event, sees(&deployment, &headers), StatusCode::CREATED).await
}

/// Tells a session what its user does.
#[utoipa::path(
    post,
    path = "/v1/public/runtime/sessions/{session}/turns",
    tag = "assistants",
    params(
        ("session" = String, Path, format = "uuid", description = "The session"),
        ("X-Debug" = Option<String>, Header, description = "`1` for how the answer came about, where the deployment lets its users see that"),
        ("stream" = Option<String>, Query, description = "`true` for events as they happen, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/UserEvent"),
    responses(
        (status = 200, description = "What the assistant answers", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not JSON"),
        (status = 403, description = "Pages may not send the event, or not from there"),
        (status = 404, description = "The deployment has no such session"),
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
    Extension(deployment): Extension<Arc<Deployment>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let given = body::object(&uri, &headers, body).await;
    let Ok(Path(id)) = id else { return Err(not_found(&uri)) };
    let (stored, running) = session_of(&host, &uri, &id).await?;
    if stored.deployment.as_ref() != Some(&deployment.id) {
        return Err(ApiError::new(StatusCode::NOT_FOUND, &uri, "there is no such session: start one"));
    }
    let event = events::of_body(&host, &uri, given?, true)?;
    heard(&host, &uri, &running, event, sees(&deployment, &headers), StatusCode::OK).await
}

fn sees(deployment: &Deployment, headers: &HeaderMap) -> Sees {
    Sees { debug: deployment.debug && headers.get("x-debug").is_some_and(|it| it == "1") }
}
