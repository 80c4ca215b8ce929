//! Extracts query parameters.

use axum::extract::{FromRequestParts, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// Query parameters by name; unknown ones are ignored. Invalid ones are rejected with an [`ApiError`].
#[derive(Debug)]
pub struct QueryParams<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        let message = "invalid query parameters; send each once, with percent-encoding";
        read.map(|it| QueryParams(it.0)).map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, &parts.uri, message))
    }
}
