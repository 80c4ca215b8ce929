//! Records request metrics by route, never by the requested path.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;

use convengine_host_base::meter::Meter;

/// The label of requests without a route: the page, its files and unknown paths.
const OTHER: &str = "other";

/// Methods with their own label; clients may send arbitrary others.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// A response extension with the tenant route that matched.
#[derive(Debug, Clone)]
pub struct MatchedRoute(pub String);

/// Runs a request and records its response once that begins.
pub async fn record_request(request: Request, next: Next) -> Response {
    let matched = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let method = METHODS.iter().find(|method| **method == request.method().as_str()).copied().unwrap_or(OTHER);
    let start = Instant::now();
    let response = next.run(request).await;
    let route = response.extensions().get::<MatchedRoute>().map(|it| it.0.clone()).or(matched).unwrap_or_else(|| OTHER.to_owned());
    Meter::default().record_request(&route, method, response.status().as_u16(), start.elapsed());
    response
}
