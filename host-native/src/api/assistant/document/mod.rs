//! Documents of all kinds: their drafts and versions. The routes of each kind only add its name. (docs/spec/flows-http.md#2,
//! docs/spec/workflows-http.md#2)

mod drafts;
mod precondition;
mod publishing;
pub mod routes;
pub mod schemas;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{StatusCode, Uri};

pub use drafts::{check_id, find_draft, list, read, refuse, save};
pub use publishing::{live_document, publish, restore, validate, versions};

use crate::api::error::ApiError;
use crate::runtime::assistant::bundle::BundleError;
use crate::storage::assistant::{DocumentKind, ProgramKey};

/// Reads the id of a document from a path.
///
/// # Errors
/// 404 if the id is invalid.
pub fn parse_key(kind: DocumentKind, id: Result<Path<String>, PathRejection>, uri: &Uri) -> Result<ProgramKey, ApiError> {
    let id = id.ok().map(|it| it.0).filter(|it| kind.is_id(it));
    id.map(|it| ProgramKey::new(kind, &it)).ok_or_else(|| document_not_found(kind, uri))
}

/// The error for a document that does not exist.
pub fn document_not_found(kind: DocumentKind, uri: &Uri) -> ApiError {
    let first = if kind == DocumentKind::Assistant { "flow document" } else { "draft" };
    ApiError::new(StatusCode::NOT_FOUND, uri, format!("{} not found; save its {first} first", kind.title()))
}

/// The error for a version that does not exist.
pub fn version_not_found(kind: DocumentKind, uri: &Uri) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, uri, format!("version not found; list the versions of the {}", kind.title()))
}

/// The error for a document that has no published version.
pub fn not_published(kind: DocumentKind, uri: &Uri) -> ApiError {
    let message = format!("{} has no published version; publish it first", kind.title());
    ApiError::new(StatusCode::CONFLICT, uri, message).with_code("not_published")
}

/// Converts the failure to bind a document to others.
pub fn bundle_failed(error: &BundleError, uri: &Uri) -> ApiError {
    match error {
        BundleError::Database(error) => ApiError::from_database(error, uri),
        BundleError::TooManyDocuments => {
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, error.to_string()).with_code("too_many_documents")
        }
    }
}
