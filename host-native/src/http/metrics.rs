//! `GET /metrics`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::drive::Host;
use crate::observe::{Described, rendered};

/// The form that Prometheus reads.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the server has counted, without the numbers of other tenants.
#[utoipa::path(get, path = "/metrics", tag = "operations", responses((status = 200, description = "Numbers as Prometheus reads them", body = String, content_type = "text/plain")))]
pub async fn numbers(State(host): State<Arc<Host>>) -> Response {
    let current = host.current.now();
    let described = Described { tenant: host.meter.tenant(), hash: current.config.hash(), issues: &current.issues };
    ([(header::CONTENT_TYPE, TEXT)], rendered(&described)).into_response()
}
