//! Error responses. Assistant routes have their own error schema (docs/spec/flows-http.md#1).

use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};

use convengine_host_base::clock;

use crate::guessing::Guess;
use crate::rate::RateStatus;

/// The path prefix of assistant routes.
pub const ASSISTANTS_PREFIX: &str = "/v1/";

/// How long a client should wait when a service is unavailable, in seconds.
pub const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");

/// An error response to a request.
#[derive(Debug, Clone)]
pub struct ApiError {
    status: StatusCode,
    /// The path of the request, on which the body depends. Errors of handlers get it from [`render`].
    path: Option<String>,
    code: Option<Cow<'static, str>>,
    message: String,
    issues: Vec<Value>,
    /// Additional members of errors on assistant routes.
    details: Option<Box<Value>>,
    headers: Box<HeaderMap>,
    guess: Guess,
}

impl ApiError {
    /// Creates an error of a request; the message says what is wrong and how to fix it.
    pub fn new(status: StatusCode, uri: &Uri, message: impl Into<String>) -> Self {
        ApiError::with_status(status, message).at(uri)
    }

    /// Creates an error without a path, which [`render`] adds: for handlers behind that layer only.
    pub fn with_status(status: StatusCode, message: impl Into<String>) -> Self {
        ApiError {
            status,
            path: None,
            code: None,
            message: message.into(),
            issues: Vec::new(),
            details: None,
            headers: Box::default(),
            guess: Guess::No,
        }
    }

    /// Creates a 400 error, like [`with_status`](Self::with_status).
    pub fn bad_request(message: impl Into<String>) -> Self {
        ApiError::with_status(StatusCode::BAD_REQUEST, message)
    }

    /// Creates a 403 error, like [`with_status`](Self::with_status).
    pub fn forbidden(message: impl Into<String>) -> Self {
        ApiError::with_status(StatusCode::FORBIDDEN, message)
    }

    /// Creates a 404 error, like [`with_status`](Self::with_status).
    pub fn not_found(message: impl Into<String>) -> Self {
        ApiError::with_status(StatusCode::NOT_FOUND, message)
    }

    /// Creates a 409 error, like [`with_status`](Self::with_status).
    pub fn conflict(message: impl Into<String>) -> Self {
        ApiError::with_status(StatusCode::CONFLICT, message)
    }

    /// Creates a 413 error, like [`with_status`](Self::with_status).
    pub fn too_large(message: impl Into<String>) -> Self {
        ApiError::with_status(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// Creates a 422 error, like [`with_status`](Self::with_status).
    pub fn unprocessable(message: impl Into<String>) -> Self {
        ApiError::with_status(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// Creates a 500 error, like [`with_status`](Self::with_status).
    pub fn internal(message: impl Into<String>) -> Self {
        ApiError::with_status(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// Creates a 503 error, like [`with_status`](Self::with_status).
    pub fn unavailable(message: impl Into<String>) -> Self {
        ApiError::with_status(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// Sets the path of the request, for an error that no handler returns.
    #[must_use]
    pub fn at(self, uri: &Uri) -> Self {
        ApiError { path: Some(uri.path().to_owned()), ..self }
    }

    /// Adds issues of a configuration or a document.
    #[must_use]
    pub fn with_issues<I: Serialize>(self, issues: &[I]) -> Self {
        ApiError { issues: issues.iter().map(|it| json!(it)).collect(), ..self }
    }

    /// Sets the error code. Assistant routes show one derived from the status by default, others none.
    #[must_use]
    pub fn with_code(self, code: impl Into<Cow<'static, str>>) -> Self {
        ApiError { code: Some(code.into()), ..self }
    }

    /// Adds a rate limit with its scope that resets in `wait` seconds.
    #[must_use]
    pub fn with_limit(mut self, scope: &str, limit: u32, wait: u64) -> Self {
        let reset = RateStatus::exhausted(limit, wait).write_headers(&mut self.headers);
        self.headers.insert(header::RETRY_AFTER, wait.into());
        ApiError { details: Some(Box::new(json!({"scope": scope, "limit": limit, "reset": reset}))), ..self }
    }

    /// Sets the scope of the limit.
    #[must_use]
    pub fn with_limit_scope(mut self, scope: &str) -> Self {
        if let Some(Value::Object(more)) = self.details.as_deref_mut() {
            more.insert("scope".to_owned(), json!(scope));
        }
        self
    }

    /// Adds members beside code and message.
    #[must_use]
    pub fn with_details(self, more: Value) -> Self {
        ApiError { details: Some(Box::new(more)), ..self }
    }

    /// Sets whether the request has guessed a credential.
    #[must_use]
    pub fn with_guess(self, guess: Guess) -> Self {
        ApiError { guess, ..self }
    }

    /// Whether the request has guessed a credential.
    pub fn guess(&self) -> Guess {
        self.guess
    }

    /// What is wrong and how to fix it.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the error has this code.
    pub fn has_code(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    fn code(&self) -> String {
        match (&self.code, self.status) {
            (Some(code), _) => code.clone().into_owned(),
            (None, StatusCode::TOO_MANY_REQUESTS) => "rate_limited".to_owned(),
            (None, status) => status.canonical_reason().unwrap_or("error").to_lowercase().replace(' ', "_"),
        }
    }

    /// The body on assistant routes without issues, also for streams whose status is already sent.
    pub fn to_json(&self) -> Value {
        let mut error = json!({"code": self.code(), "message": self.message});
        if let (Value::Object(error), Some(Value::Object(more))) = (&mut error, self.details.as_deref()) {
            error.extend(more.clone());
        }
        json!({"error": error})
    }

    /// The body on all other routes without issues.
    fn to_json_at(&self, path: &str) -> Value {
        let mut body = json!({
            "timestamp": clock::format_iso(clock::now()),
            "status": self.status.as_u16(),
            "error": self.status.canonical_reason(),
            "path": path,
            "message": self.message,
        });
        if let (Value::Object(members), Some(code)) = (&mut body, &self.code) {
            members.insert("code".to_owned(), json!(code));
        }
        body
    }

    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Additional headers of the response, to change.
    pub fn headers_mut(&mut self) -> &mut HeaderMap {
        &mut self.headers
    }

    /// Converts a database error; details are logged.
    pub fn from_database(error: &sqlx::Error, uri: &Uri) -> Self {
        ApiError::database_unavailable(error).at(uri)
    }

    fn database_unavailable(error: &sqlx::Error) -> Self {
        tracing::error!(%error, "cannot access the database");
        ApiError::unavailable("database is unavailable; try again later")
    }
}

/// Converts an error of the database, and logs its details.
impl From<sqlx::Error> for ApiError {
    fn from(error: sqlx::Error) -> Self {
        ApiError::database_unavailable(&error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(mut self) -> Response {
        let mut response = self.status.into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response.headers_mut().extend(std::mem::take(&mut *self.headers));
        let path = self.path.take();
        response.extensions_mut().insert(self);
        match path {
            Some(path) => render(&path, response),
            None => response,
        }
    }
}

/// Gives an error of a handler its body, which depends on the path.
pub fn render(path: &str, mut response: Response) -> Response {
    let Some(error) = response.extensions_mut().remove::<ApiError>() else { return response };
    let mut body = if path.starts_with(ASSISTANTS_PREFIX) { error.to_json() } else { error.to_json_at(path) };
    if let (Value::Object(members), false) = (&mut body, error.issues.is_empty()) {
        members.insert("issues".to_owned(), json!(error.issues));
    }
    let (head, body) = (response.into_parts().0, Json(body));
    (head, body).into_response()
}

/// The error for an unknown path.
pub fn path_not_found() -> ApiError {
    ApiError::not_found("path not found; check its spelling")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn body(response: Response) -> Value {
        let bytes = axum::body::to_bytes(response.into_body(), 10_000).await.expect("a body");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    #[tokio::test]
    async fn the_path_decides_the_form_of_an_error() {
        let error = || ApiError::conflict("taken").with_code("session_exists").with_issues(&["first"]);
        let assistant = body(render("/v1/agents/a", error().into_response())).await;
        assert_eq!(assistant, json!({"error": {"code": "session_exists", "message": "taken"}, "issues": ["first"]}));
        let other = body(render("/api/v1/x", error().into_response())).await;
        assert_eq!((&other["path"], &other["status"], &other["message"]), (&json!("/api/v1/x"), &json!(409), &json!("taken")));
        assert_eq!((&other["code"], &other["issues"]), (&json!("session_exists"), &json!(["first"])));
    }

    #[tokio::test]
    async fn an_error_with_a_path_keeps_it_and_headers_are_kept() {
        let uri = Uri::from_static("/api/v1/own");
        let mut error = ApiError::unavailable("later").at(&uri);
        error.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET"));
        let response = render("/v1/other", error.into_response());
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[header::ALLOW], "GET");
        assert_eq!(response.headers()[header::RETRY_AFTER], RETRY_AFTER);
        assert_eq!(body(response).await["path"], "/api/v1/own");
    }

    #[tokio::test]
    async fn a_response_that_is_no_error_stays_as_it_is() {
        let response = render("/v1/x", (StatusCode::CREATED, Json(json!({"id": 1}))).into_response());
        assert_eq!(response.status(), StatusCode::CREATED);
        assert_eq!(body(response).await, json!({"id": 1}));
    }
}
