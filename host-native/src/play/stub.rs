//! The stub service of a pack as a real server on loopback. (`interface.md` 3)

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use convengine_core::pack::HttpRule;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The rules, and how often each has answered.
struct Rules(Vec<HttpRule>, Mutex<BTreeMap<String, usize>>);

/// Serves rules until the runtime ends; returns the address.
///
/// # Errors
/// When no port of loopback can be listened on.
pub fn serve(runtime: &Runtime, rules: Vec<HttpRule>) -> Result<SocketAddr> {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let routes = Router::new().fallback(answer).with_state(Arc::new(Rules(rules, Mutex::default())));
    runtime.spawn(async { axum::serve(listener, routes).await });
    Ok(address)
}

async fn answer(State(rules): State<Arc<Rules>>, uri: Uri) -> Response {
    let path = uri.path_and_query().map_or("/", |it| it.as_str());
    let Some(rule) = rules.0.iter().find(|it| path.starts_with(&it.path_prefix)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let uses = {
        let mut uses = rules.1.lock().unwrap_or_else(PoisonError::into_inner);
        let count = uses.entry(rule.path_prefix.clone()).or_default();
        *count += 1;
        *count - 1
    };
    let (status, body) = rule.answer(uses);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
