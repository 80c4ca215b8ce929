//! The stub service of a pack as a real server on loopback. (`interface.md` 3)

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

/// Bytes of a body that are noted.
const LONGEST: usize = 1 << 20;

/// The rules, how often each has answered, and what was called.
struct Rules {
    rules: Vec<HttpRule>,
    uses: Mutex<BTreeMap<String, usize>>,
    calls: Calls,
}

/// A call that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The body.
    pub body: String,
    /// The `Idempotency-Key`.
    pub key: Option<String>,
}

/// What was called, in order.
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<Vec<Call>>>);

impl Calls {
    /// All of them.
    pub fn all(&self) -> Vec<Call> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets them.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn add(&self, call: Call) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}

/// Serves rules until the runtime ends; returns the address.
///
/// # Errors
/// When no port of loopback can be listened on.
pub fn serve(runtime: &Runtime, rules: Vec<HttpRule>) -> Result<SocketAddr> {
    serve_logged(runtime, rules, Calls::default())
}

/// As [`serve`], and notes what is called.
///
/// # Errors
/// As there.
pub fn serve_logged(runtime: &Runtime, rules: Vec<HttpRule>, calls: Calls) -> Result<SocketAddr> {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let routes = Router::new().fallback(answer).with_state(Arc::new(Rules { rules, uses: Mutex::default(), calls }));
    runtime.spawn(async { axum::serve(listener, routes).await });
    Ok(address)
}

async fn answer(State(rules): State<Arc<Rules>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    // A body that cannot be read is an empty one: the call is answered by its path alone.
    let body = body::to_bytes(body, LONGEST).await.unwrap_or_default();
    let path = head.uri.path_and_query().map_or("/", |it| it.as_str()).to_owned();
    let key = head.headers.get("idempotency-key").and_then(|it| it.to_str().ok()).map(str::to_owned);
    let call = Call { method: head.method.to_string(), path: path.clone(), body: String::from_utf8_lossy(&body).into_owned(), key };
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
    let (status, body) = rule.answer(uses);
    // What is written as text says nothing of being JSON.
    let kind = if serde_json::from_str::<serde::de::IgnoredAny>(&body).is_ok() { "application/json" } else { "text/plain; charset=utf-8" };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}
