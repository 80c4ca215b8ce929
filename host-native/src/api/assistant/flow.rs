//! `/v1/agents`: assistants and the drafts of their flow documents.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde_json::Value;

use super::document;
use crate::api::error::ApiError;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::DocumentKind;

const KIND: DocumentKind = DocumentKind::Assistant;

/// Lists the assistants.
#[utoipa::path(
    get,
    path = "/v1/agents",
    tag = "assistants",
    responses(
        (status = 200, description = "The assistants, ordered by id", body = ref("#/components/schemas/Assistants")),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn list(State(host): State<Arc<Host>>, uri: Uri) -> Result<Json<Value>, ApiError> {
    document::list(&host, &uri, KIND).await
}

/// Returns the draft of an assistant as its author saved it.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/flow",
    tag = "assistants",
    params(("agent" = String, Path, description = "The assistant id")),
    responses(
        (status = 200, description = "The flow document", body = ref("#/components/schemas/Flow")),
        (status = 404, description = "Assistant not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn read(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Response, ApiError> {
    let key = document::parse_key(KIND, id, &uri)?;
    document::read(&host, &uri, &key).await
}

/// Saves a draft. Creates the assistant if it does not exist.
#[utoipa::path(
    put,
    path = "/v1/agents/{agent}/flow",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("If-Match" = Option<String>, Header, description = "The ETag of the draft as it was read, or *"),
        ("If-None-Match" = Option<String>, Header, description = "* to create only"),
    ),
    request_body = ref("#/components/schemas/Flow"),
    responses(
        (status = 200, description = "The draft is saved; the response lists its issues", body = ref("#/components/schemas/Saved")),
        (status = 400, description = "If-Match or If-None-Match has no supported form"),
        (status = 404, description = "The path is invalid"),
        (status = 408, description = "The request body timed out"),
        (status = 412, description = "The draft is not as If-Match or If-None-Match expects"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 422, description = "The body is not JSON, not a flow document, or has another id"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn save(
    State(host): State<Arc<Host>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    document::save(&host, &uri, KIND, id, &headers, body).await
}
