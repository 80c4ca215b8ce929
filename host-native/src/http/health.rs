//! `GET /healthz` and `GET /readyz`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use serde_json::{Value, json};

use super::error::ApiError;
use crate::drive::Host;
use crate::store;

/// The process answers.
pub async fn alive() -> Json<Value> {
    Json(json!({"status": "UP"}))
}

/// Turns can be run: the database answers, holds the snapshot, and no policy row is broken.
pub async fn ready(State(host): State<Arc<Host>>, uri: Uri) -> Result<Json<Value>, ApiError> {
    let unavailable = |message: String| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, &uri, message);
    let config = Arc::clone(&host.current.now().config);
    if let Some(reason) = config.policy_unavailable() {
        return Err(unavailable(format!("no turn can run because a policy cannot be compiled: {reason}")));
    }
    if !host.writer.is_running() {
        return Err(unavailable("no turn can be stored any more: restart the server".to_owned()));
    }
    match store::config::has_snapshot(&host.readers, config.hash()).await {
        Ok(true) => Ok(Json(json!({"status": "UP", "config": config.hash()}))),
        Ok(false) => Err(unavailable("the database has lost the snapshot of the configuration: restart the server".to_owned())),
        Err(error) => Err(ApiError::of_database(&error, &uri)),
    }
}
