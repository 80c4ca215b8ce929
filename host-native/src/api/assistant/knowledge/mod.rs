//! `…/knowledge` of assistants, workflows and AI agents: the sources of their knowledge bases. (docs/spec/flows-http.md#3,
//! docs/spec/workflows-http.md#2)

mod new_source;
mod search;

pub use new_source::{MAX_LOCALE_CHARS, MAX_TITLE_CHARS, MAX_URL_CHARS};

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use convengine_access::api_error::ApiError;
use convengine_content::Content;
use convengine_content::knowledge::indexing;
use convengine_core::knowledge::Source;
use convengine_host_base::clock;
use convengine_storage::assistant::knowledge::source::{self, SourceRow, format_name};
use convengine_storage::assistant::{DocumentKind, ProgramKey, draft};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa_axum::routes;

use super::document;
use crate::api::assistant::kind_routes::{DocumentPath, for_kind};
use crate::api::host::Host;
use crate::api::query::PathParams;
use crate::api::routes::Routes;

/// Adds the routes of the knowledge bases of a kind.
pub fn add_all(routes: Routes, kind: DocumentKind) -> Routes {
    routes
        .add_admin(for_kind(kind, routes!(put)))
        .add_admin(for_kind(kind, routes!(list)))
        .add_admin(for_kind(kind, routes!(search::search)))
        .add_admin(for_kind(kind, routes!(read)))
        .add_admin(for_kind(kind, routes!(delete)))
}

/// Stores a source of a knowledge base and replaces an existing one with the same id.
#[utoipa::path(
    post,
    path = "/v1/{documents}/{document}/knowledge",
    tag = "documents",
    request_body = ref("#/components/schemas/NewKnowledgeSource"),
    responses(
        (status = 201, description = "The source is stored and searchable", body = ref("#/components/schemas/KnowledgeSource")),
        (status = 202, description = "The source is stored and will be indexed", body = ref("#/components/schemas/KnowledgeSource")),
        (status = 400, description = "The body is not valid JSON"),
        (status = 404, description = "Document not found"),
        (status = 408, description = "The request body timed out"),
        (status = 413, description = "The request body or its text is too large"),
        (status = 415, description = "The Content-Type is not supported"),
        (status = 422, description = "A member of the body is invalid, or its text cannot be read"),
    ),
)]
pub async fn put(
    State(host): State<Arc<Host>>,
    path: Result<DocumentPath, ApiError>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let received = new_source::read(request).await;
    let key = path?.key()?;
    let locale = indexing::default_locale(&document::find_draft(&host.content, &key).await?.document);
    let source = received?.into_source(&locale).await?;
    let id = source.id.clone();
    store_source(&host.content, &key, source).await?;
    host.content.knowledge.notify_stored();
    let stored = find_source(&host.content, &key, &id).await?;
    let status = if stored.status == "indexing" { StatusCode::ACCEPTED } else { StatusCode::CREATED };
    Ok((status, Json(describe(&stored))))
}

async fn store_source(content: &Content, key: &ProgramKey, source: Source) -> sqlx::Result<()> {
    let mut connection = content.knowledge.connection.take().await?;
    indexing::put_source(&mut connection, key.as_str(), source).await?;
    content.knowledge.connection.put_back(connection).await
}

/// Lists the sources of a knowledge base.
#[utoipa::path(
    get,
    path = "/v1/{documents}/{document}/knowledge",
    tag = "documents",
    responses(
        (status = 200, description = "The sources, ordered by id", body = ref("#/components/schemas/KnowledgeSources")),
        (status = 404, description = "Document not found"),
    ),
)]
pub async fn list(State(host): State<Arc<Host>>, path: DocumentPath) -> Result<Json<Value>, ApiError> {
    let key = require_document(&host.content, &path).await?;
    let all = source::list(&host.content.readers, key.as_str()).await?;
    Ok(Json(json!({"sources": all.iter().map(describe).collect::<Vec<_>>()})))
}

/// A source in a path.
#[derive(Debug, Deserialize)]
pub struct SourceParam {
    source: String,
}

/// Returns a source of a knowledge base.
#[utoipa::path(
    get,
    path = "/v1/{documents}/{document}/knowledge/{source}",
    tag = "documents",
    responses(
        (status = 200, description = "The source and the state of its indexing", body = ref("#/components/schemas/KnowledgeSource")),
        (status = 404, description = "Document or source not found"),
    ),
)]
pub async fn read(
    State(host): State<Arc<Host>>,
    path: DocumentPath,
    PathParams(SourceParam { source }): PathParams<SourceParam>,
) -> Result<Json<Value>, ApiError> {
    let key = require_document(&host.content, &path).await?;
    Ok(Json(describe(&find_source(&host.content, &key, &source).await?)))
}

/// Deletes a source of a knowledge base.
#[utoipa::path(
    delete,
    path = "/v1/{documents}/{document}/knowledge/{source}",
    tag = "documents",
    responses(
        (status = 204, description = "The source is deleted"),
        (status = 404, description = "Document or source not found"),
    ),
)]
pub async fn delete(
    State(host): State<Arc<Host>>,
    path: DocumentPath,
    PathParams(SourceParam { source }): PathParams<SourceParam>,
) -> Result<StatusCode, ApiError> {
    let key = require_document(&host.content, &path).await?;
    let existed = !source.contains('\0') && indexing::delete_source(host.content.config_manager.database(), key.as_str(), &source).await?;
    if existed { Ok(StatusCode::NO_CONTENT) } else { Err(source_not_found()) }
}

async fn find_source(content: &Content, key: &ProgramKey, id: &str) -> Result<SourceRow, ApiError> {
    if id.contains('\0') {
        return Err(source_not_found());
    }
    let found = source::find(&content.readers, key.as_str(), id).await?;
    found.ok_or_else(source_not_found)
}

/// The key of a document that exists.
async fn require_document(content: &Content, path: &DocumentPath) -> Result<ProgramKey, ApiError> {
    let key = path.key()?;
    let found = draft::find_assistant(&content.readers, key.as_str()).await?;
    found.map(|_| key).ok_or_else(|| document::document_not_found(path.kind))
}

fn source_not_found() -> ApiError {
    ApiError::not_found("knowledge source not found; list the sources of the knowledge base").with_code("source_not_found")
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
