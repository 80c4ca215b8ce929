//! `GET /metrics`: metrics in Prometheus format.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::drive::Host;
use crate::observe::{Described, rendered};

/// The content type of the Prometheus text format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the metrics of the server without those of other tenants.
#[utoipa::path(get, path = "/metrics", tag = "operations", responses((status = 200, description = "Metrics in Prometheus text format", body = String, content_type = "text/plain")))]
pub async fn numbers(State(host): State<Arc<Host>>) -> Response {
    let current = host.current.now();
    let config_metrics = Described { tenant: host.meter.tenant(), hash: current.config.hash(), issues: &current.issues };
    ([(header::CONTENT_TYPE, TEXT)], rendered(&config_metrics)).into_response()
}
