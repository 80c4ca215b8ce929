//! `GET /api/v1/conversation/audit/{id}` and `…/trace`.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, State};
use axum::http::Uri;
use serde::Deserialize;

use super::error::ApiError;
use super::request::conversation_of;
use crate::audit::trace::Trace;
use crate::audit::{self, derive::Configs, meta};
use crate::drive::Host;
use crate::store::audit::AuditRow;

/// What a client asks of the rows.
#[derive(Debug, Deserialize)]
pub struct Asked {
    /// `true` for payloads with `_meta`.
    meta: Option<String>,
}

impl Asked {
    fn with_meta(&self) -> bool {
        self.meta.as_deref().is_some_and(|it| it.trim().eq_ignore_ascii_case("true"))
    }
}

/// The audit rows of a conversation, oldest first; an unknown one has none.
pub async fn rows(
    State(host): State<Arc<Host>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    Query(asked): Query<Asked>,
) -> Result<Json<Vec<AuditRow>>, ApiError> {
    rows_of(&host, &conversation_of(id, &uri)?, &uri, &asked).await.map(Json)
}

/// The same rows with their payloads read, and as a list of steps.
pub async fn trace(
    State(host): State<Arc<Host>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    Query(asked): Query<Asked>,
) -> Result<Json<Trace>, ApiError> {
    let id = conversation_of(id, &uri)?;
    let rows = rows_of(&host, &id, &uri, &asked).await?;
    Ok(Json(Trace::of(id, rows)))
}

async fn rows_of(host: &Host, id: &str, uri: &Uri, asked: &Asked) -> Result<Vec<AuditRow>, ApiError> {
    let database = |error: sqlx::Error| ApiError::of_database(&error, uri);
    let configs = || Configs::with(&host.current.now().config);
    let rows = audit::rows_of(&host.readers, id, configs()).await.map_err(database)?;
    if asked.with_meta() { meta::add(&host.readers, id, configs(), rows).await.map_err(database) } else { Ok(rows) }
}
