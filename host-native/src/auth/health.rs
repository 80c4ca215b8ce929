//! `GET /healthz` and `GET /readyz`: liveness and readiness.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::{Extensions, HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use convengine_access::api_error::{ApiError, RETRY_AFTER};
use serde_json::{Value, json};

use crate::api::connection::Peer;
use crate::auth::auth_gateway::AuthGateway;
use crate::tenants::{self, Readiness};

/// Reports that the process is alive.
#[utoipa::path(get, path = "/healthz", tag = "operations", responses((status = 200, description = "The process is alive", body = ref("#/components/schemas/Health"))))]
pub async fn alive() -> Json<Value> {
    Json(json!({"status": "UP"}))
}

/// Reports whether turns can run: the database is available and has the snapshot, and no policy row is invalid. With tenants it is ready while
/// one of them is; callers of this machine and the administrator get the names of the others.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operations",
    responses(
        (status = 200, description = "The server is ready, or with the status DEGRADED some of its tenants are", body = ref("#/components/schemas/Readiness")),
        (status = 503, description = "The server is not ready; the message, or the status DOWN, says why"),
    ),
)]
pub async fn ready(State(gateway): State<Arc<AuthGateway>>, uri: Uri, extensions: Extensions, headers: HeaderMap) -> Response {
    let readiness = tenants::check_soon(&gateway.tenants).await;
    respond(&readiness, &uri, gateway.may_know_tenants(&uri, peer_address(&extensions), &headers))
}

/// The address of the other end of the connection.
pub fn peer_address(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<ConnectInfo<Peer>>().map(|it| it.0.address.ip())
}

/// Builds the response of `/readyz`; `with_names` tells whether the caller may know the names of tenants.
pub fn respond(readiness: &Readiness, uri: &Uri, with_names: bool) -> Response {
    if let Some(problem) = readiness.problem() {
        return ApiError::new(StatusCode::SERVICE_UNAVAILABLE, uri, problem.to_string()).into_response();
    }
    let body = Json(readiness.to_json(with_names));
    if readiness.is_ready() {
        return body.into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, RETRY_AFTER)], body).into_response()
}
