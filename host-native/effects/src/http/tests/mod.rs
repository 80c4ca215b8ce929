//! Calls of real servers on this machine, with the allow list that each test needs.

mod breakers;
mod limits;
mod redirects;
mod secrets;
mod targets;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::any;
use convengine_core::turn::{EffectClass, EffectError, EffectResult, HttpCaller, HttpReply, HttpRequest, Reply, SecretHeader};
use convengine_settings::NetworkSettings;
use convengine_settings::secrets::Secrets;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::breaker::BreakerRegistry;
use super::client::Clients;
use super::{HttpClient, execute};

/// Serves routes; returns the port.
async fn serve(routes: Router) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(axum::serve(listener, routes).into_future());
    port
}

/// Serves one answer on every path; returns the port and the number of requests.
async fn serve_counted(body: &'static str) -> (u16, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let routes = Router::new().fallback(move || {
        seen.fetch_add(1, Ordering::Relaxed);
        async move { body }
    });
    (serve(routes).await, count)
}

/// A route that echoes the request as JSON.
fn echo() -> Router {
    let echo = |method: axum::http::Method, headers: HeaderMap, body: String| async move {
        let headers: Value =
            headers.iter().map(|pair| (pair.0.to_string(), json!(pair.1.to_str().unwrap()))).collect::<serde_json::Map<_, _>>().into();
        json!({"method": method.as_str(), "headers": headers, "body": body}).to_string()
    };
    Router::new().route("/echo", any(echo))
}

/// Serves raw bytes, then closes the connection or keeps it open.
async fn serve_raw(bytes: &'static str, close: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await.unwrap();
            stream.write_all(bytes.as_bytes()).await.unwrap();
            if !close {
                open.push(stream);
            }
        }
    });
    port
}

/// A scripted resolver: each lookup takes the next answer, and the last one repeats. Without answers a lookup never completes.
struct ScriptedResolver {
    answers: Mutex<VecDeque<Vec<&'static str>>>,
    lookups: AtomicUsize,
}

impl ScriptedResolver {
    fn new(answers: &[&[&'static str]]) -> Arc<ScriptedResolver> {
        Arc::new(ScriptedResolver { answers: Mutex::new(answers.iter().map(|it| it.to_vec()).collect()), lookups: AtomicUsize::new(0) })
    }
}

impl Resolve for ScriptedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        let mut answers = self.answers.lock().unwrap();
        let now = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move {
            match now.as_deref() {
                None => std::future::pending().await,
                Some([]) => Err(format!("unknown name '{}'", name.as_str()).into()),
                Some(addresses) => {
                    let found: Vec<_> = addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 0)).collect();
                    Ok(Box::new(found.into_iter()) as Addrs)
                }
            }
        })
    }
}

/// A client with the system resolver and the secret `crm`.
fn http_client(allowed: &str) -> HttpClient {
    let mut secrets = Secrets::default();
    secrets.add("crm", SECRET);
    secrets.add("folded", "two\nlines");
    HttpClient::new(NetworkSettings::allowing(allowed).expect("addresses"), Arc::new(secrets))
}

/// A client with a scripted resolver.
fn http_client_with_resolver(allowed: &str, names: &Arc<ScriptedResolver>) -> HttpClient {
    let network = Arc::new(NetworkSettings::allowing(allowed).expect("addresses"));
    let clients = Clients::with_resolver(Arc::clone(names) as Arc<dyn Resolve>, Arc::clone(&network));
    HttpClient { clients, network, circuits: BreakerRegistry::default(), secrets: http_client("").secrets }
}

const SECRET: &str = "s3cr\"t/token+1";

fn auth(secret: &str) -> Option<SecretHeader> {
    Some(SecretHeader::bearer(secret))
}

fn get(url: impl Into<String>) -> HttpRequest {
    HttpRequest {
        caller: HttpCaller::Tool("crm".into()),
        method: "GET".into(),
        url: url.into(),
        headers: Vec::new(),
        body: None,
        auth: None,
        connect_timeout_ms: 5000,
        timeout_ms: 10_000,
        max_bytes: 2000,
        class: EffectClass::Read,
        idempotent: false,
        key: None,
        breaker: None,
        secrets: Vec::new(),
        sign: None,
    }
}

fn post(url: impl Into<String>) -> HttpRequest {
    HttpRequest { method: "POST".into(), body: Some("{}".into()), class: EffectClass::Write, ..get(url) }
}

async fn execute_request(http: &HttpClient, request: &HttpRequest) -> Result<HttpReply, EffectError> {
    match execute(http, request, "turn/7", true).await {
        EffectResult::Ok(Reply::Http(reply)) => Ok(reply),
        EffectResult::Ok(other) => panic!("{other:?}"),
        EffectResult::Error(error) => Err(error),
    }
}

/// Returns the request that a server received, for a call that reached [`echo`].
async fn execute_echo(http: &HttpClient, request: &HttpRequest) -> Value {
    let reply = execute_request(http, request).await.expect("an answer");
    assert_eq!(reply.status, 200, "{}", reply.body);
    serde_json::from_str(&reply.body).expect("JSON")
}
