//! `GET /api/v1/conversation/audit/{id}` and `…/trace`: the audit of a conversation.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde::Deserialize;

use super::error::ApiError;
use super::query::Asks;
use super::request::conversation_of;
use super::tagged::tagged;
use crate::audit::trace::Trace;
use crate::audit::{self, derive::Configs, meta};
use crate::drive::Host;
use crate::store::audit::AuditRow;

/// Query parameters of audit requests.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Asked {
    /// Whether payloads include `_meta`.
    #[param(value_type = Option<bool>)]
    meta: Option<String>,
}

impl Asked {
    fn with_meta(&self) -> bool {
        self.meta.as_deref().is_some_and(|it| it.trim().eq_ignore_ascii_case("true"))
    }
}

/// Returns the audit rows of a conversation, oldest first; none for an unknown conversation.
#[utoipa::path(
    get,
    path = "/api/v1/conversation/audit/{id}",
    tag = "conversation",
    params(("id" = String, Path, format = "uuid", description = "The conversation id"), Asked),
    responses(
        (status = 200, description = "The rows, with an ETag", body = Vec<AuditRow>),
        (status = 304, description = "Unchanged since the ETag in If-None-Match"),
        (status = 400, description = "The conversation id is not a UUID, or a parameter is invalid"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn rows(
    State(host): State<Arc<Host>>,
    uri: Uri,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
    Asks(query): Asks<Asked>,
) -> Result<Response, ApiError> {
    let rows = rows_of(&host, &conversation_of(id, &uri)?, &uri, &query).await?;
    Ok(tagged(&headers, &rows))
}

/// Returns the audit of a conversation as a trace: rows with parsed payloads and a list of steps.
#[utoipa::path(
    get,
    path = "/api/v1/conversation/audit/{id}/trace",
    tag = "conversation",
    params(("id" = String, Path, format = "uuid", description = "The conversation id"), Asked),
    responses(
        (status = 200, description = "The steps, with an ETag", body = Trace),
        (status = 304, description = "Unchanged since the ETag in If-None-Match"),
        (status = 400, description = "The conversation id is not a UUID, or a parameter is invalid"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn trace(
    State(host): State<Arc<Host>>,
    uri: Uri,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
    Asks(query): Asks<Asked>,
) -> Result<Response, ApiError> {
    let id = conversation_of(id, &uri)?;
    let rows = rows_of(&host, &id, &uri, &query).await?;
    Ok(tagged(&headers, &Trace::of(id, rows)))
}

async fn rows_of(host: &Host, id: &str, uri: &Uri, query: &Asked) -> Result<Vec<AuditRow>, ApiError> {
    let database = |error: sqlx::Error| ApiError::of_database(&error, uri);
    let configs = || Configs::with(&host.current.now().config);
    let mut rows = audit::rows_of(&host.readers, id, configs()).await.map_err(database)?;
    if query.with_meta() {
        return meta::add(&host.readers, id, configs(), rows).await.map_err(database);
    }
    meta::strip(&mut rows);
    Ok(rows)
}
