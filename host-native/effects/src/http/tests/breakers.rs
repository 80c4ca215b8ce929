//! Circuit breakers around calls; the core tests when they open and close.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use convengine_core::turn::{BreakerPolicy, EffectErrorKind, HttpRequest, RetryConditions};

use super::{HttpClient, auth, execute_request, get, http_client, serve, serve_raw};

fn request_with_breaker(port: u16, retries: RetryConditions) -> HttpRequest {
    let breaker = Some(BreakerPolicy { threshold: 2, open_ms: 60_000, retries, only_outages: false });
    HttpRequest { breaker, timeout_ms: 5000, ..get(format!("http://127.0.0.1:{port}/")) }
}

/// Returns the status of each call, 0 for an open circuit.
async fn statuses(http: &HttpClient, request: &HttpRequest, calls: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..calls {
        statuses.push(match execute_request(http, request).await {
            Ok(reply) => reply.status,
            Err(error) => {
                assert_eq!(error.kind, EffectErrorKind::CircuitOpen, "{}", error.message);
                0
            }
        });
    }
    statuses
}

/// A service that fails so many times and then works.
async fn serve_failing(times: usize) -> (u16, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let routes = Router::new().fallback(move || {
        let fails = seen.fetch_add(1, Ordering::Relaxed) < times;
        async move { if fails { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK } }
    });
    (serve(routes).await, count)
}

#[tokio::test]
async fn an_open_circuit_blocks_calls_until_the_probe() {
    let (port, count) = serve_failing(2).await;
    let http = http_client("127.0.0.1");
    let request = request_with_breaker(port, RetryConditions::default());
    assert_eq!(statuses(&http, &request, 4).await, [503, 503, 0, 0]);
    assert_eq!(count.load(Ordering::Relaxed), 2);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(60)).await;
    tokio::time::resume();
    assert_eq!(statuses(&http, &request, 2).await, [200, 200]);
}

#[tokio::test]
async fn a_retried_call_counts_once() {
    let (port, count) = serve_failing(9).await;
    let http = http_client("127.0.0.1");
    let early = request_with_breaker(port, RetryConditions { statuses: vec![503], io: true });
    let last = request_with_breaker(port, RetryConditions::default());
    assert_eq!(statuses(&http, &early, 3).await, [503; 3]);
    assert_eq!(statuses(&http, &last, 1).await, [503]);
    assert_eq!(statuses(&http, &early, 3).await, [503; 3]);
    assert_eq!(statuses(&http, &last, 2).await, [503, 0]);
    assert_eq!(count.load(Ordering::Relaxed), 8);
}

#[tokio::test]
async fn only_failures_of_the_service_count() {
    let http = http_client("127.0.0.1");
    let long = request_with_breaker(serve_raw("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", true).await, RetryConditions::default());
    let private = HttpRequest { url: "http://10.0.0.1/".into(), ..long.clone() };
    let unknown = HttpRequest { auth: auth("erp"), ..long.clone() };
    for (request, kind) in [(long, EffectErrorKind::Invalid), (private, EffectErrorKind::Denied), (unknown, EffectErrorKind::Denied)] {
        for _ in 0..3 {
            assert_eq!(execute_request(&http, &request).await.expect_err("an error").kind, kind);
        }
    }
    let broken = request_with_breaker(serve_raw("", true).await, RetryConditions::default());
    for kind in [EffectErrorKind::Unavailable, EffectErrorKind::Unavailable, EffectErrorKind::CircuitOpen] {
        assert_eq!(execute_request(&http, &broken).await.expect_err("an error").kind, kind);
    }
}
