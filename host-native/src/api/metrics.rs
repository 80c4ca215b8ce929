//! `GET /metrics`: metrics in Prometheus format.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use convengine_content::Content;
use futures_util::future::join_all;

use crate::api::host::Host;
use crate::ops::observe::{TenantMetrics, render_all_metrics, render_metrics};
use crate::ops::usage;

/// The path.
pub const PATH: &str = "/metrics";

/// The content type of the Prometheus text format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the metrics of the server without those of other tenants.
#[utoipa::path(get, path = "/metrics", tag = "operations", responses((status = 200, description = "Metrics in Prometheus text format", body = String, content_type = "text/plain")))]
pub async fn render(State(host): State<Arc<Host>>) -> Response {
    let (current, usage) = (host.content.config_manager.active(), usage::read(&host.content).await);
    let tenant = host.turns.meter.tenant();
    let metrics = TenantMetrics { tenant, hash: current.config.hash_source(), issues: &current.issues, usage };
    respond(render_metrics(&metrics))
}

/// Returns the metrics of all these tenants.
pub async fn render_all<'c>(contents: impl Iterator<Item = &'c Arc<Content>>) -> Response {
    let read = async |content: &'c Arc<Content>| (content, content.config_manager.active(), usage::read(content).await);
    let read = join_all(contents.map(read)).await;
    let metrics = read.iter().map(|(content, current, usage)| TenantMetrics {
        tenant: content.meter.tenant(),
        hash: current.config.hash_source(),
        issues: &current.issues,
        usage: usage.clone(),
    });
    respond(render_all_metrics(&metrics.collect::<Vec<_>>()))
}

fn respond(text: String) -> Response {
    ([(header::CONTENT_TYPE, TEXT)], text).into_response()
}
