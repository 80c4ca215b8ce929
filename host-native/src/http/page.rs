//! The page, from within the binary.

use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{Embed, EmbeddedFile};

use super::error::{ApiError, not_found};

#[derive(Embed)]
#[folder = "../web-demo/dist"]
#[allow_missing = true]
struct Page;

/// Serves the page and its files; everything else is not found.
pub fn file(method: Method, uri: Uri) -> Result<Response, ApiError> {
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    let Some(file) = Page::get(path) else {
        if path == "index.html" {
            return Err(ApiError::new(StatusCode::NOT_FOUND, &uri, "the page is not part of this build: run `cargo xtask run`"));
        }
        return Err(not_found(&uri));
    };
    if method != Method::GET && method != Method::HEAD {
        let refused = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, &uri, "this path is only read: use GET");
        return Ok(([(header::ALLOW, "GET,HEAD")], refused).into_response());
    }
    Ok(respond(path, file))
}

fn respond(path: &str, file: EmbeddedFile) -> Response {
    // What the build puts there has the hash of its content in its name.
    let cache = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = [(header::CONTENT_TYPE, file.metadata.mimetype().to_owned()), (header::CACHE_CONTROL, cache.to_owned())];
    (headers, file.data.into_owned()).into_response()
}
