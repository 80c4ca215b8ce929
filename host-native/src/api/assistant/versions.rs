//! `/v1/agents/{agent}/publish` and `…/versions`: publishing drafts, listing and restoring versions.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use serde_json::Value;

use super::document;
use crate::api::error::ApiError;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::DocumentKind;

const KIND: DocumentKind = DocumentKind::Assistant;

/// Checks whether the draft can be published, without changing anything.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/flow/validate-publish",
    tag = "assistants",
    params(("agent" = String, Path, description = "The assistant id")),
    responses(
        (status = 200, description = "Whether the draft can be published", body = ref("#/components/schemas/Validated")),
        (status = 404, description = "Assistant not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn validate(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let key = document::parse_key(KIND, id, &uri)?;
    document::validate(&host, &uri, &key).await
}

/// Publishes the draft as the live version.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/publish",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("If-Match" = Option<String>, Header, description = "The ETag of the draft as it was read, or *"),
    ),
    responses(
        (status = 201, description = "The draft is published", body = ref("#/components/schemas/Published")),
        (status = 400, description = "If-Match has no supported form"),
        (status = 404, description = "Assistant not found"),
        (status = 409, description = "The draft was changed concurrently"),
        (status = 412, description = "The draft is not as If-Match expects"),
        (status = 422, description = "The draft has errors; the live version is unchanged"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn publish(
    State(host): State<Arc<Host>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let key = document::parse_key(KIND, id, &uri)?;
    document::publish(&host, &uri, &key, &headers).await
}

/// Lists the versions of an assistant, newest first.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/versions",
    tag = "assistants",
    params(("agent" = String, Path, description = "The assistant id")),
    responses(
        (status = 200, description = "The versions and which one is live", body = ref("#/components/schemas/Versions")),
        (status = 404, description = "Assistant not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn list(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let key = document::parse_key(KIND, id, &uri)?;
    document::versions(&host, &uri, &key).await
}

/// Restores a version as the draft.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/versions/{version}/restore",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("version" = String, Path, description = "The version number"),
        ("If-Match" = Option<String>, Header, description = "The ETag of the draft as it was read, or *"),
    ),
    responses(
        (status = 200, description = "The version is restored as a new revision of the draft", body = ref("#/components/schemas/Restored")),
        (status = 400, description = "If-Match has no supported form"),
        (status = 404, description = "Assistant or version not found"),
        (status = 412, description = "The draft is not as If-Match expects"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn restore(
    State(host): State<Arc<Host>>,
    uri: Uri,
    path: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    document::restore(&host, &uri, KIND, path, &headers).await
}
