//! The parameters behind the question mark.

use axum::extract::{FromRequestParts, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// Parameters by name; unknown ones are ignored. What cannot be read is refused in the form of all refusals.
#[derive(Debug)]
pub struct Asks<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asks<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        let message = "the parameters cannot be read: send each once, with percent signs before what is no plain character";
        read.map(|it| Asks(it.0)).map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, &parts.uri, message))
    }
}
