//! Counts requests: by the route that answers, never by the path that was asked for.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;

use crate::observe::Meter;

/// What no route answers: the page, its files, and what is not there.
const OTHER: &str = "other";

/// Methods that are counted by their names; anybody may invent more.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// The route by which a tenant has answered; it goes along with the answer to here.
#[derive(Debug, Clone)]
pub struct By(pub String);

/// Lets a request through and counts its answer, once that begins.
pub async fn count(request: Request, next: Next) -> Response {
    let own = request.extensions().get::<MatchedPath>().map(|it| it.as_str().to_owned());
    let method = METHODS.iter().find(|it| **it == request.method().as_str()).copied().unwrap_or(OTHER);
    let begun = Instant::now();
    let answer = next.run(request).await;
    let route = answer.extensions().get::<By>().map(|it| it.0.clone()).or(own).unwrap_or_else(|| OTHER.to_owned());
    Meter::default().request(&route, method, answer.status().as_u16(), begun.elapsed());
    answer
}
