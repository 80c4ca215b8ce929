//! Documents of all kinds: their drafts and versions. (docs/spec/flows-http.md#2, docs/spec/workflows-http.md#2)

mod drafts;
mod precondition;
mod publishing;
pub mod schemas;

use convengine_access::api_error::ApiError;
use convengine_storage::assistant::DocumentKind;
use utoipa_axum::routes;

pub use drafts::{check_id, find_draft, refuse};
pub use publishing::live_document;

use super::kind_routes::for_kind;
use crate::api::routes::Routes;

/// Adds the routes of documents of a kind.
pub fn add_all(routes: Routes, kind: DocumentKind) -> Routes {
    routes
        .add_admin(for_kind(kind, routes!(drafts::list)))
        .add_admin(for_kind(kind, routes!(drafts::read)))
        .add_admin(for_kind(kind, routes!(drafts::save)))
        .add_admin(for_kind(kind, routes!(publishing::validate)))
        .add_admin(for_kind(kind, routes!(publishing::publish)))
        .add_admin(for_kind(kind, routes!(publishing::versions)))
        .add_admin(for_kind(kind, routes!(publishing::restore)))
}

/// The error for a document that does not exist.
pub fn document_not_found(kind: DocumentKind) -> ApiError {
    let first = if kind == DocumentKind::Assistant { "flow document" } else { "draft" };
    ApiError::not_found(format!("{} not found; save its {first} first", kind.title()))
}

/// The error for a version that does not exist.
pub fn version_not_found(kind: DocumentKind) -> ApiError {
    ApiError::not_found(format!("version not found; list the versions of the {}", kind.title()))
}

/// The error for a document that has no published version.
pub fn not_published(kind: DocumentKind) -> ApiError {
    ApiError::conflict(format!("{} has no published version; publish it first", kind.title())).with_code("not_published")
}
