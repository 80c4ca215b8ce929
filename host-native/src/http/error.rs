//! The body of every answer that is not a success. Paths of assistants have a form of their own. (`convoship-http.md` 1)

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};

use crate::access::rate::Standing;
use crate::assistant::plan;
use crate::clock;
use crate::drive::Refusal;
use crate::writer::CommitError;

/// Where the paths of assistants begin.
pub const ASSISTANTS: &str = "/v1/";

const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");

/// A refused request.
#[derive(Debug, Clone)]
pub struct ApiError {
    status: StatusCode,
    path: String,
    code: Option<&'static str>,
    message: String,
    issues: Vec<Value>,
    /// What paths of assistants tell beside code and message.
    more: Option<Box<Value>>,
    headers: Box<HeaderMap>,
}

impl ApiError {
    /// Refuses a request; the message says what to do.
    pub fn new(status: StatusCode, uri: &Uri, message: impl Into<String>) -> Self {
        ApiError {
            status,
            path: uri.path().to_owned(),
            code: None,
            message: message.into(),
            issues: Vec::new(),
            more: None,
            headers: Box::default(),
        }
    }

    /// Adds what is wrong with a configuration or a document.
    #[must_use]
    pub fn because<I: Serialize>(self, issues: &[I]) -> Self {
        ApiError { issues: issues.iter().map(|it| json!(it)).collect(), ..self }
    }

    /// Gives it a code, which the paths of assistants show; without one it is the status in words.
    #[must_use]
    pub fn coded(self, code: &'static str) -> Self {
        ApiError { code: Some(code), ..self }
    }

    /// Tells how much there is, of what, and when there is more again, `wait` seconds from now.
    #[must_use]
    pub fn limited(mut self, scope: &str, limit: u32, wait: u64) -> Self {
        let reset = Standing::used_up(limit, wait).write(&mut self.headers);
        self.headers.insert(header::RETRY_AFTER, wait.into());
        ApiError { more: Some(Box::new(json!({"scope": scope, "limit": limit, "reset": reset}))), ..self }
    }

    /// Tells what the limit is of.
    #[must_use]
    pub fn in_scope(mut self, scope: &str) -> Self {
        if let Some(Value::Object(more)) = self.more.as_deref_mut() {
            more.insert("scope".to_owned(), json!(scope));
        }
        self
    }

    /// Tells something beside code and message.
    #[must_use]
    pub fn telling(self, more: Value) -> Self {
        ApiError { more: Some(Box::new(more)), ..self }
    }

    /// Whether this is its code.
    pub fn is_code(&self, code: &str) -> bool {
        self.code == Some(code)
    }

    fn code(&self) -> String {
        match (self.code, self.status) {
            (Some(code), _) => code.to_owned(),
            (None, StatusCode::TOO_MANY_REQUESTS) => "rate_limited".to_owned(),
            (None, status) => status.canonical_reason().unwrap_or("error").to_lowercase().replace(' ', "_"),
        }
    }

    /// What is told of it where no status can be sent any more.
    pub fn told(&self) -> Value {
        self.body()
    }

    fn body(&self) -> Value {
        if self.path.starts_with(ASSISTANTS) {
            let mut error = json!({"code": self.code(), "message": self.message});
            if let (Value::Object(error), Some(Value::Object(more))) = (&mut error, self.more.as_deref()) {
                error.extend(more.clone());
            }
            return json!({"error": error});
        }
        json!({
            "timestamp": clock::iso_text(clock::now()),
            "status": self.status.as_u16(),
            "error": self.status.canonical_reason(),
            "path": self.path,
            "message": self.message,
        })
    }

    /// The headers that go along.
    pub fn headers_mut(&mut self) -> &mut HeaderMap {
        &mut self.headers
    }

    /// What a client gets of a turn that could not be run or stored; the details go to the log.
    pub fn of_refusal(refusal: &Refusal, uri: &Uri) -> Self {
        let unavailable = |message: &str| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, uri, message);
        match refusal {
            Refusal::Busy(busy) => unavailable(&busy.to_string()),
            Refusal::Late => unavailable(&refusal.to_string()),
            Refusal::Closed => ApiError::new(StatusCode::CONFLICT, uri, refusal.to_string()).coded("session_completed"),
            Refusal::Taken => ApiError::new(StatusCode::CONFLICT, uri, refusal.to_string()).coded("session_exists"),
            Refusal::UsedUp(most) => plan::used_up(refusal, *most, uri),
            Refusal::OtherMessage => ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, refusal.to_string()),
            Refusal::Commit(CommitError::Conflict | CommitError::SameMessage | CommitError::TakenOver) => {
                unavailable("the conversation was written by somebody else at the same time: send the message again")
            }
            Refusal::Load(error) => {
                tracing::error!(%error, "a conversation cannot be loaded");
                unavailable("the database does not answer: send the message again later")
            }
            Refusal::Commit(CommitError::Unavailable(_)) => {
                unavailable("the database did not take the turn: send the message again later, with the same Idempotency-Key if it had one")
            }
            Refusal::Defect(error) | Refusal::Commit(CommitError::Rejected(error)) => {
                tracing::error!(error, "a turn failed");
                ApiError::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    uri,
                    "the server failed on this message: report it with the X-Request-Id of this answer",
                )
            }
        }
    }

    /// What a client gets when the database cannot be read.
    pub fn of_database(error: &sqlx::Error, uri: &Uri) -> Self {
        tracing::error!(%error, "the database cannot be read");
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, uri, "the database does not answer: try again later")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut body = self.body();
        if let (Value::Object(members), false) = (&mut body, self.issues.is_empty()) {
            members.insert("issues".to_owned(), json!(self.issues));
        }
        let mut response = (self.status, Json(body)).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response.headers_mut().extend(*self.headers);
        response
    }
}

/// Answers a path that does not exist.
pub fn not_found(uri: &Uri) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, uri, "there is nothing at this path: check its spelling")
}

/// Answers a path that a tenant does not have.
pub async fn no_route(uri: Uri) -> ApiError {
    not_found(&uri)
}

/// Answers a method that a path does not know.
pub async fn method_not_allowed(uri: Uri) -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, &uri, "this path does not know the method: see the header Allow")
}
