//! `GET /healthz` and `GET /readyz`: liveness and readiness.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use serde_json::{Value, json};

use super::error::ApiError;
use crate::auth::auth_gateway::AuthGateway;
use crate::runtime::turn_runner::Host;

/// Reports that the process is alive.
#[utoipa::path(get, path = "/healthz", tag = "operations", responses((status = 200, description = "The process is alive", body = ref("#/components/schemas/Health"))))]
pub async fn alive() -> Json<Value> {
    Json(json!({"status": "UP"}))
}

/// Reports whether turns can run: the database is available and has the snapshot, and no policy row is invalid.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operations",
    responses(
        (status = 200, description = "The server is ready", body = ref("#/components/schemas/Readiness")),
        (status = 503, description = "The server is not ready; the message says why"),
    ),
)]
pub async fn ready(State(gateway): State<Arc<AuthGateway>>, uri: Uri) -> Result<Json<Value>, ApiError> {
    let mut up = json!({"status": "UP"});
    for (name, tenant) in &gateway.tenants {
        let config = check_tenant(&tenant.host, &uri).await.inspect_err(|_| {
            if let Some(name) = name {
                // The response must not reveal tenant names.
                tracing::error!(tenant = name, "tenant is not ready");
            }
        })?;
        up = if name.is_some() {
            json!({"status": "UP", "tenants": gateway.tenants.len()})
        } else {
            json!({"status": "UP", "config": config})
        };
    }
    Ok(Json(up))
}

async fn check_tenant(host: &Host, uri: &Uri) -> Result<String, ApiError> {
    let unavailable = |message: String| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, uri, message);
    let config = Arc::clone(&host.config_manager.active().config);
    if let Some(reason) = config.policy_unavailable() {
        return Err(unavailable(format!("cannot run turns: a policy does not compile: {reason}")));
    }
    if !host.writer.is_running() {
        return Err(unavailable("cannot store turns; restart the server".to_owned()));
    }
    match host.stored_snapshot.exists(&host.readers, config.hash_source()).await {
        Ok(true) => Ok(config.hash_source().to_owned()),
        Ok(false) => Err(unavailable("configuration snapshot is missing from the database; restart the server".to_owned())),
        Err(error) => Err(ApiError::from_database(&error, uri)),
    }
}
