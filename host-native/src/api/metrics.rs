//! `GET /metrics`: metrics in Prometheus format.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::ops::observe::{ConfigMetrics, render_metrics};
use crate::runtime::turn_runner::Host;

/// The content type of the Prometheus text format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the metrics of the server without those of other tenants.
#[utoipa::path(get, path = "/metrics", tag = "operations", responses((status = 200, description = "Metrics in Prometheus text format", body = String, content_type = "text/plain")))]
pub async fn render(State(host): State<Arc<Host>>) -> Response {
    let current = host.config_manager.active();
    let config_metrics = ConfigMetrics { tenant: host.meter.tenant(), hash: current.config.hash_source(), issues: &current.issues };
    ([(header::CONTENT_TYPE, TEXT)], render_metrics(&config_metrics)).into_response()
}
