//! Error responses of paths and methods without a handler, and the path in errors of handlers.

use axum::http::{StatusCode, Uri};
use axum::response::Response;
use convengine_access::api_error::{self, ApiError, path_not_found};

/// Gives the error of a handler the path of its request.
pub async fn render(uri: Uri, response: Response) -> Response {
    api_error::render(uri.path(), response)
}

/// Handles paths that a tenant does not have.
pub async fn no_route(uri: Uri) -> ApiError {
    path_not_found().at(&uri)
}

/// Handles methods that a path does not support.
pub async fn method_not_allowed(uri: Uri) -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, &uri, "method not allowed on this path; see the Allow header")
}
