//! `GET /api/v1/conversation/audit/{id}`.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::Uri;

use super::error::ApiError;
use super::request::conversation_of;
use crate::audit::{self, derive::Configs};
use crate::drive::Host;
use crate::store::audit::AuditRow;

/// The audit rows of a conversation, oldest first; an unknown one has none.
pub async fn rows(
    State(host): State<Arc<Host>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Vec<AuditRow>>, ApiError> {
    let id = conversation_of(id, &uri)?;
    match audit::rows_of(&host.readers, &id, Configs::with(&host.config)).await {
        Ok(rows) => Ok(Json(rows)),
        Err(error) => Err(ApiError::of_database(&error, &uri)),
    }
}
