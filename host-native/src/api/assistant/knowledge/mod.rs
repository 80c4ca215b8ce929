//! `/v1/agents/{agent}/knowledge`, and of workflows and AI agents: the sources of knowledge bases. (docs/spec/flows-http.md#3)

mod new_source;
pub mod routes;
mod search;

pub use new_source::{MAX_LOCALE_CHARS, MAX_TITLE_CHARS, MAX_URL_CHARS};

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use convengine_core::knowledge::Source;
use serde_json::{Value, json};

use self::new_source::NewSource;
use super::document;
use crate::api::error::{ApiError, not_found};
use crate::clock;
use crate::runtime::assistant::knowledge::indexing;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::knowledge::source::{self, SourceRow, format_name};
use crate::storage::assistant::{DocumentKind, ProgramKey, draft};

pub use search::{__path_search, search};

const KIND: DocumentKind = DocumentKind::Assistant;

/// Stores a source of a knowledge base and replaces an existing one with the same id.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/knowledge",
    tag = "assistants",
    params(("agent" = String, Path, description = "The assistant id")),
    request_body = ref("#/components/schemas/NewKnowledgeSource"),
    responses(
        (status = 201, description = "The source is stored and searchable", body = ref("#/components/schemas/KnowledgeSource")),
        (status = 202, description = "The source is stored and will be indexed", body = ref("#/components/schemas/KnowledgeSource")),
        (status = 400, description = "The body is not valid JSON"),
        (status = 404, description = "Assistant not found"),
        (status = 408, description = "The request body timed out"),
        (status = 413, description = "The request body or its text is too large"),
        (status = 415, description = "The Content-Type is not supported"),
        (status = 422, description = "A member of the body is invalid, or its text cannot be read"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn put(
    State(host): State<Arc<Host>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let received = new_source::read(&uri, &headers, body).await;
    put_source(&host, &uri, &document::parse_key(KIND, id, &uri)?, received).await
}

/// Lists the sources of a knowledge base.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/knowledge",
    tag = "assistants",
    params(("agent" = String, Path, description = "The assistant id")),
    responses(
        (status = 200, description = "The sources, ordered by id", body = ref("#/components/schemas/KnowledgeSources")),
        (status = 404, description = "Assistant not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn list(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    list_sources(&host, &uri, &document::parse_key(KIND, id, &uri)?).await
}

/// Returns a source of a knowledge base.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/knowledge/{source}",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("source" = String, Path, description = "The source id"),
    ),
    responses(
        (status = 200, description = "The source and the state of its indexing", body = ref("#/components/schemas/KnowledgeSource")),
        (status = 404, description = "Assistant or source not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn read(
    State(host): State<Arc<Host>>,
    uri: Uri,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<Value>, ApiError> {
    let (key, id) = parse_path(KIND, path, &uri)?;
    read_source(&host, &uri, &key, &id).await
}

/// Deletes a source of a knowledge base.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}/knowledge/{source}",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("source" = String, Path, description = "The source id"),
    ),
    responses(
        (status = 204, description = "The source is deleted"),
        (status = 404, description = "Assistant or source not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn delete(
    State(host): State<Arc<Host>>,
    uri: Uri,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    let (key, id) = parse_path(KIND, path, &uri)?;
    delete_source(&host, &uri, &key, &id).await
}

/// Stores a source of a document's knowledge base.
async fn put_source(
    host: &Host,
    uri: &Uri,
    key: &ProgramKey,
    received: Result<NewSource, ApiError>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let locale = indexing::default_locale(&document::find_draft(host, uri, key).await?.document);
    let source = received?.into_source(uri, &locale).await?;
    let id = source.id.clone();
    store_source(host, key, source).await.map_err(|it| ApiError::from_database(&it, uri))?;
    host.knowledge.notify_stored();
    let stored = find_source(host, uri, key, &id).await?;
    let status = if stored.status == "indexing" { StatusCode::ACCEPTED } else { StatusCode::CREATED };
    Ok((status, Json(describe(&stored))))
}

async fn store_source(host: &Host, key: &ProgramKey, source: Source) -> sqlx::Result<()> {
    let mut connection = host.knowledge.connection.take().await?;
    indexing::put_source(&mut connection, key.as_str(), source).await?;
    host.knowledge.connection.put_back(connection).await
}

async fn list_sources(host: &Host, uri: &Uri, key: &ProgramKey) -> Result<Json<Value>, ApiError> {
    require_document(host, uri, key).await?;
    let all = source::list(&host.readers, key.as_str()).await.map_err(|it| ApiError::from_database(&it, uri))?;
    Ok(Json(json!({"sources": all.iter().map(describe).collect::<Vec<_>>()})))
}

async fn read_source(host: &Host, uri: &Uri, key: &ProgramKey, id: &str) -> Result<Json<Value>, ApiError> {
    require_document(host, uri, key).await?;
    Ok(Json(describe(&find_source(host, uri, key, id).await?)))
}

async fn delete_source(host: &Host, uri: &Uri, key: &ProgramKey, id: &str) -> Result<StatusCode, ApiError> {
    require_document(host, uri, key).await?;
    let database = host.config_manager.database();
    let existed =
        !id.contains('\0') && indexing::delete_source(database, key.as_str(), id).await.map_err(|it| ApiError::from_database(&it, uri))?;
    if existed { Ok(StatusCode::NO_CONTENT) } else { Err(source_not_found(uri)) }
}

async fn find_source(host: &Host, uri: &Uri, key: &ProgramKey, id: &str) -> Result<SourceRow, ApiError> {
    if id.contains('\0') {
        return Err(source_not_found(uri));
    }
    let found = source::find(&host.readers, key.as_str(), id).await.map_err(|it| ApiError::from_database(&it, uri))?;
    found.ok_or_else(|| source_not_found(uri))
}

async fn require_document(host: &Host, uri: &Uri, key: &ProgramKey) -> Result<(), ApiError> {
    let found = draft::find_assistant(&host.readers, key.as_str()).await.map_err(|it| ApiError::from_database(&it, uri))?;
    found.map(|_| ()).ok_or_else(|| document::document_not_found(key.kind(), uri))
}

/// Reads the document and the id of a source from a path.
fn parse_path(
    kind: DocumentKind,
    path: Result<Path<(String, String)>, PathRejection>,
    uri: &Uri,
) -> Result<(ProgramKey, String), ApiError> {
    let Ok(Path((id, source))) = path else { return Err(not_found(uri)) };
    Ok((document::parse_key(kind, Ok(Path(id)), uri)?, source))
}

fn source_not_found(uri: &Uri) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, uri, "knowledge source not found; list the sources of the knowledge base")
        .with_code("source_not_found")
}

/// The JSON form of a source.
fn describe(row: &SourceRow) -> Value {
    let progress = match row.status.as_str() {
        "ready" | "partial" => json!(1),
        _ if row.total_chunks == 0 => json!(0),
        #[allow(clippy::cast_precision_loss, reason = "there are fewer chunks than f64 has digits")]
        _ => json!((row.chunks as f64 / row.total_chunks as f64 * 100.0).round() / 100.0),
    };
    json!({
        "id": row.source.id,
        "title": row.source.title,
        "url": row.source.url,
        "locale": row.source.locale,
        "format": format_name(row.source.format),
        "status": row.status,
        "error": row.error,
        "progress": progress,
        "chunks": row.chunks,
        "unreadable": {"characters": row.unreadable_characters, "pages": row.source.unreadable_pages},
        "embedding": {"model": row.embedding_model, "error": row.embedding_error},
        "updated_at": clock::format_iso(row.updated_at),
    })
}
