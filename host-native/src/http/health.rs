//! `GET /healthz` and `GET /readyz`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use serde_json::{Value, json};

use super::error::ApiError;
use crate::access::door::Door;
use crate::drive::Host;
use crate::store;

/// The process answers.
#[utoipa::path(get, path = "/healthz", tag = "operations", responses((status = 200, description = "It does", body = ref("#/components/schemas/Health"))))]
pub async fn alive() -> Json<Value> {
    Json(json!({"status": "UP"}))
}

/// Turns can be run: the database answers, holds the snapshot, and no policy row is broken.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operations",
    responses(
        (status = 200, description = "They can", body = ref("#/components/schemas/Readiness")),
        (status = 503, description = "They cannot: the message says why"),
    ),
)]
pub async fn ready(State(door): State<Arc<Door>>, uri: Uri) -> Result<Json<Value>, ApiError> {
    let mut up = json!({"status": "UP"});
    for (name, tenant) in &door.tenants {
        let config = of_tenant(&tenant.host, &uri).await.inspect_err(|_| {
            if let Some(name) = name {
                // Who asks need not know who the tenants are.
                tracing::error!(tenant = name, "a tenant is not ready");
            }
        })?;
        up =
            if name.is_some() { json!({"status": "UP", "tenants": door.tenants.len()}) } else { json!({"status": "UP", "config": config}) };
    }
    Ok(Json(up))
}

async fn of_tenant(host: &Host, uri: &Uri) -> Result<String, ApiError> {
    let unavailable = |message: String| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, uri, message);
    let config = Arc::clone(&host.current.now().config);
    if let Some(reason) = config.policy_unavailable() {
        return Err(unavailable(format!("no turn can run because a policy cannot be compiled: {reason}")));
    }
    if !host.writer.is_running() {
        return Err(unavailable("no turn can be stored any more: restart the server".to_owned()));
    }
    match store::config::has_snapshot(&host.readers, config.hash()).await {
        Ok(true) => Ok(config.hash().to_owned()),
        Ok(false) => Err(unavailable("the database has lost the snapshot of the configuration: restart the server".to_owned())),
        Err(error) => Err(ApiError::of_database(&error, uri)),
    }
}
