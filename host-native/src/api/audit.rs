//! `GET /api/v1/conversation/audit/{id}` and `…/trace`: the audit of a conversation.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use convengine_access::api_error::ApiError;
use convengine_storage::audit::AuditRow;
use convengine_turns::Turns;
use convengine_turns::audit::derive::ConfigCache;
use convengine_turns::audit::trace::Trace;
use convengine_turns::audit::{self, meta};
use serde::Deserialize;

use super::etag::respond_with_etag;
use super::query::QueryParams;
use super::request::conversation_from_path;
use crate::api::host::Host;

/// Query parameters of audit requests.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// Whether payloads include `_meta`.
    #[param(value_type = Option<bool>)]
    meta: Option<String>,
}

impl AuditQuery {
    fn includes_meta(&self) -> bool {
        self.meta.as_deref().is_some_and(|meta| meta.trim().eq_ignore_ascii_case("true"))
    }
}

/// Returns the audit rows of a conversation, oldest first, with those that a turn of this process has published so far; none for an unknown
/// conversation.
#[utoipa::path(
    get,
    path = "/api/v1/conversation/audit/{id}",
    tag = "conversation",
    params(AuditQuery),
    responses(
        (status = 200, description = "The rows, with an ETag", body = Vec<AuditRow>),
        (status = 304, description = "Unchanged since the ETag in If-None-Match"),
        (status = 400, description = "The conversation id is not a UUID, or a parameter is invalid"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn rows(
    State(host): State<Arc<Host>>,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
    QueryParams(query): QueryParams<AuditQuery>,
) -> Result<Response, ApiError> {
    let rows = load_rows(&host.turns, &conversation_from_path(id)?, &query).await?;
    Ok(respond_with_etag(&headers, &rows))
}

/// Returns the audit of a conversation as a trace: rows with parsed payloads and a list of steps.
#[utoipa::path(
    get,
    path = "/api/v1/conversation/audit/{id}/trace",
    tag = "conversation",
    params(AuditQuery),
    responses(
        (status = 200, description = "The steps, with an ETag", body = Trace),
        (status = 304, description = "Unchanged since the ETag in If-None-Match"),
        (status = 400, description = "The conversation id is not a UUID, or a parameter is invalid"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn trace(
    State(host): State<Arc<Host>>,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
    QueryParams(query): QueryParams<AuditQuery>,
) -> Result<Response, ApiError> {
    let id = conversation_from_path(id)?;
    let rows = load_rows(&host.turns, &id, &query).await?;
    Ok(respond_with_etag(&headers, &Trace::from_rows(id, rows)))
}

async fn load_rows(turns: &Turns, id: &str, query: &AuditQuery) -> Result<Vec<AuditRow>, ApiError> {
    let configs = || ConfigCache::with_config(&turns.content.config_manager.active().config);
    // Read first: a turn that is stored in between is found in the database.
    let published = turns.streams.published_notices(id);
    let mut rows = audit::list_rows(&turns.readers, id, configs()).await?;
    if query.includes_meta() {
        rows = meta::add_meta(&turns.readers, id, configs(), rows).await?;
    } else {
        meta::strip_meta(&mut rows);
    }
    audit::add_published(&mut rows, id, &published);
    Ok(rows)
}
