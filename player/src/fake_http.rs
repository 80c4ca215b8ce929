//! Serves the fake HTTP service of a pack on loopback. (docs/spec/interface.md#3)

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use convengine_core::pack::HttpRule;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The maximum recorded body size in bytes.
const MAX_BODY_BYTES: usize = 1 << 20;

/// The rules, the use count of each, and the recorded calls.
struct FakeService {
    rules: Vec<HttpRule>,
    uses: Mutex<BTreeMap<String, usize>>,
    calls: CallRecorder,
}

/// A recorded call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCall {
    /// The method.
    pub method: String,
    /// The path and query.
    pub path: String,
    /// The body.
    pub body: String,
    /// The `Idempotency-Key` header.
    pub idempotency_key: Option<String>,
}

/// Recorded calls in order.
#[derive(Debug, Clone, Default)]
pub struct CallRecorder(Arc<Mutex<Vec<RecordedCall>>>);

impl CallRecorder {
    /// Returns all calls.
    pub fn all(&self) -> Vec<RecordedCall> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Deletes all calls.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn add(&self, call: RecordedCall) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}

/// Serves rules until the runtime ends. Returns the address.
///
/// # Errors
/// Returns an error when no loopback port can be bound.
pub fn serve(runtime: &Runtime, rules: Vec<HttpRule>) -> Result<SocketAddr> {
    serve_recorded(runtime, rules, CallRecorder::default())
}

/// Like [`serve`], and records calls.
///
/// # Errors
/// Returns an error when no loopback port can be bound.
pub fn serve_recorded(runtime: &Runtime, rules: Vec<HttpRule>, calls: CallRecorder) -> Result<SocketAddr> {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let routes = Router::new().fallback(answer_request).with_state(Arc::new(FakeService { rules, uses: Mutex::default(), calls }));
    runtime.spawn(async { axum::serve(listener, routes).await });
    Ok(address)
}

async fn answer_request(State(rules): State<Arc<FakeService>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    // An unreadable body counts as empty; calls are answered by path.
    let body = body::to_bytes(body, MAX_BODY_BYTES).await.unwrap_or_default();
    let path = head.uri.path_and_query().map_or("/", |it| it.as_str()).to_owned();
    let key = head.headers.get("idempotency-key").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let call = RecordedCall {
        method: head.method.to_string(),
        path: path.clone(),
        body: String::from_utf8_lossy(&body).into_owned(),
        idempotency_key: key,
    };
    rules.calls.add(call);
    let Some(rule) = rules.rules.iter().find(|it| path.starts_with(&it.path_prefix)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let uses = {
        let mut uses = rules.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let count = uses.entry(rule.path_prefix.clone()).or_default();
        *count += 1;
        *count - 1
    };
    let (status, body) = rule.response(uses);
    // Text bodies are not labeled as JSON.
    let kind = if serde_json::from_str::<serde::de::IgnoredAny>(&body).is_ok() { "application/json" } else { "text/plain; charset=utf-8" };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}
