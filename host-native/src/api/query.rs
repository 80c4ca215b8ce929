//! Extracts the parameters of paths and queries, and reads those that the lists for operators have in common.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use convengine_core::turn::Millis;
use serde::de::DeserializeOwned;

use convengine_access::api_error::{ApiError, path_not_found};
use convengine_host_base::clock;

/// Maximum number of items of a page.
pub const MAX_LIMIT: i64 = 200;

/// Default number of items of a page.
pub const DEFAULT_LIMIT: i64 = 50;

// Attributes take literals only.
const _: () = assert!(MAX_LIMIT == 200, "change the OpenAPI attributes of the parameters too");

/// Query parameters by name; unknown ones are ignored. Invalid ones are rejected with an [`ApiError`].
#[derive(Debug)]
pub struct QueryParams<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        let message = "invalid query parameters; send each once, with percent-encoding";
        read.map(|it| QueryParams(it.0)).map_err(|_| ApiError::bad_request(message))
    }
}

/// Path parameters. A path that cannot be read is not found.
#[derive(Debug)]
pub struct PathParams<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Path::from_request_parts(parts, state).await.map(|it| PathParams(it.0)).map_err(|_| path_not_found())
    }
}

/// Returns a text without surrounding space; `None` when nothing is left.
pub fn read_text(parameter: Option<String>) -> Option<String> {
    // Not every database accepts NUL in a query, and stored texts contain none.
    parameter.map(|text| text.trim().replace('\0', "\u{fffd}")).filter(|it| !it.is_empty())
}

/// Returns the time of the parameter `name`: ISO 8601 or milliseconds.
///
/// # Errors
/// Returns what to send instead.
pub fn read_time(name: &str, parameter: Option<String>) -> Result<Option<Millis>, String> {
    let invalid = || format!("{name} is not a time; send a value such as 2026-01-31T12:00:00Z, or milliseconds");
    read_text(parameter).map(|text| clock::parse(&text).ok_or_else(invalid)).transpose()
}

/// Returns the page size.
///
/// # Errors
/// Returns what to send instead.
pub fn read_limit(parameter: Option<String>) -> Result<i64, String> {
    match read_text(parameter).map(|it| it.parse::<i64>()) {
        None => Ok(DEFAULT_LIMIT),
        Some(Ok(limit)) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
        Some(_) => Err(format!("limit is invalid; send a number from 1 to {MAX_LIMIT}")),
    }
}

/// Returns the cursor of the next page, made of the last item of this one; `None` unless this one is full.
pub fn next_cursor<T>(page: &[T], limit: i64, cursor: impl FnOnce(&T) -> String) -> Option<String> {
    let is_full = i64::try_from(page.len()).is_ok_and(|it| it == limit);
    page.last().filter(|_| is_full).map(cursor)
}
