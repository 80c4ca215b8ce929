//! What a worker answers about itself, at an address of its own: `/healthz`, `/readyz` and `/metrics`, as a server does.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{Extensions, HeaderMap, Uri};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use convengine_access::admin_token::is_trusted;
use convengine_access::host_names::{self, OwnHosts};
use convengine_access::refusal::unauthorized_with;
use convengine_host_base::exit::Failure;
use convengine_restate::WorkerTenant;
use convengine_settings::{AdminToken, HttpSettings, Settings};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};

use crate::api::connection::{LimitedListener, Peer, exchange};
use crate::api::{error, metrics, response_headers};
use crate::auth::health;
use crate::tenants::{self, TenantService, Tenants};

/// The connections of probes and scrapers.
const MAX_CONNECTIONS: usize = 64;

#[derive(Debug, Clone)]
struct WorkerHealth {
    tenants: Arc<Tenants<WorkerTenant>>,
    admin_token: Option<AdminToken>,
}

/// Answers at an address, until the task is aborted.
///
/// # Errors
/// Exit code 2 if the address is invalid, 3 if it cannot be used.
pub async fn serve(at: &str, settings: &Settings, tenants: Arc<Tenants<WorkerTenant>>) -> Result<JoinHandle<()>, Failure> {
    let setting = "convengine.restate.health-listen";
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host(at)
        .await
        .map_err(|error| Failure::invalid_usage(format!("{setting}: invalid address '{at}': {error}; use HOST:PORT")))?
        .collect();
    let failed = |it: std::io::Error| Failure::service_unavailable(format!("cannot listen on {at}: {it}; set {setting}"));
    let listener = TcpListener::bind(addresses.as_slice()).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let hosts = OwnHosts::new(at, &addresses, bound, settings.http.allowed_hosts.clone());
    let http = HttpSettings { max_connections: MAX_CONNECTIONS, ..settings.http.clone() };
    let routes = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(ready))
        .route("/metrics", get(render_metrics))
        .method_not_allowed_fallback(error::method_not_allowed)
        .fallback(error::no_route)
        .with_state(WorkerHealth { tenants, admin_token: settings.admin_token.clone() })
        .layer(map_response(error::render))
        .layer(from_fn_with_state(Arc::new(hosts), host_names::refuse_other_hosts))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
        .layer(map_response(response_headers::add))
        .layer(from_fn_with_state(http.body_timeout, exchange::follow));
    tracing::info!(address = %bound, "health and metrics of the worker");
    let server = axum::serve(LimitedListener::new(listener, http), routes.into_make_service_with_connect_info::<Peer>());
    Ok(tokio::spawn(async move {
        if let Err(error) = server.await {
            tracing::error!(%error, "the worker no longer answers health checks");
        }
    }))
}

impl WorkerHealth {
    fn is_trusted(&self, extensions: &Extensions, headers: &HeaderMap) -> bool {
        is_trusted(self.admin_token.as_ref(), health::peer_address(extensions), headers)
    }
}

async fn ready(State(worker): State<WorkerHealth>, uri: Uri, extensions: Extensions, headers: HeaderMap) -> Response {
    let readiness = tenants::check_soon(&worker.tenants).await;
    health::respond(&readiness, &uri, worker.is_trusted(&extensions, &headers))
}

/// Returns the metrics of all tenants, to callers of this machine and to the administrator.
async fn render_metrics(State(worker): State<WorkerHealth>, uri: Uri, extensions: Extensions, headers: HeaderMap) -> Response {
    if !worker.is_trusted(&extensions, &headers) {
        return unauthorized_with(&uri, "metrics are for callers of this machine; send convengine.admin-token as a bearer token")
            .into_response();
    }
    metrics::render_all(worker.tenants.values().map(|it| &it.turns().content)).await
}
