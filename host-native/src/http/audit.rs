//! `GET /api/v1/conversation/audit/{id}` and `…/trace`.

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

/// What a client asks of the rows.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Asked {
    /// `true` for payloads with `_meta`.
    #[param(value_type = Option<bool>)]
    meta: Option<String>,
}

impl Asked {
    fn with_meta(&self) -> bool {
        self.meta.as_deref().is_some_and(|it| it.trim().eq_ignore_ascii_case("true"))
    }
}

/// The audit rows of a conversation, oldest first; an unknown one has none.
#[utoipa::path(
    get,
    path = "/api/v1/conversation/audit/{id}",
    tag = "conversation",
    params(("id" = String, Path, format = "uuid", description = "The conversation"), Asked),
    responses(
        (status = 200, description = "The rows, with an ETag", body = Vec<AuditRow>),
        (status = 304, description = "They are those of If-None-Match"),
        (status = 400, description = "The conversation is not a UUID, or a parameter cannot be read"),
        (status = 503, description = "The database does not answer"),
    ),
)]
pub async fn rows(
    State(host): State<Arc<Host>>,
    uri: Uri,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
    Asks(asked): Asks<Asked>,
) -> Result<Response, ApiError> {
    let rows = rows_of(&host, &conversation_of(id, &uri)?, &uri, &asked).await?;
    Ok(tagged(&headers, &rows))
}

/// The same rows with their payloads read, and as a list of steps.
#[utoipa::path(
    get,
    path = "/api/v1/conversation/audit/{id}/trace",
    tag = "conversation",
    params(("id" = String, Path, format = "uuid", description = "The conversation"), Asked),
    responses(
        (status = 200, description = "The steps, with an ETag", body = Trace),
        (status = 304, description = "They are those of If-None-Match"),
        (status = 400, description = "The conversation is not a UUID, or a parameter cannot be read"),
        (status = 503, description = "The database does not answer"),
    ),
)]
pub async fn trace(
    State(host): State<Arc<Host>>,
    uri: Uri,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
    Asks(asked): Asks<Asked>,
) -> Result<Response, ApiError> {
    let id = conversation_of(id, &uri)?;
    let rows = rows_of(&host, &id, &uri, &asked).await?;
    Ok(tagged(&headers, &Trace::of(id, rows)))
}

async fn rows_of(host: &Host, id: &str, uri: &Uri, asked: &Asked) -> Result<Vec<AuditRow>, ApiError> {
    let database = |error: sqlx::Error| ApiError::of_database(&error, uri);
    let configs = || Configs::with(&host.current.now().config);
    let mut rows = audit::rows_of(&host.readers, id, configs()).await.map_err(database)?;
    if asked.with_meta() {
        return meta::add(&host.readers, id, configs(), rows).await.map_err(database);
    }
    meta::strip(&mut rows);
    Ok(rows)
}
