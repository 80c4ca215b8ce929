//! `PUT /v1/workflow-chains/{chain}/status`: whether a chain takes triggers.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use serde_json::{Value, json};

use super::trigger_failed;
use crate::api::assistant::body;
use crate::api::error::{ApiError, not_found};
use crate::clock;
use crate::runtime::chain::schedule::publish_status;
use crate::runtime::chain::trigger::LiveChain;
use crate::runtime::turn_runner::Host;
use crate::storage::chain::status::{self, ChainStatus};

/// Sets whether a chain is live or paused.
#[utoipa::path(
    put,
    path = "/v1/workflow-chains/{chain}/status",
    tag = "chains",
    params(("chain" = String, Path, description = "The slug of the chain")),
    request_body = ref("#/components/schemas/ChainStatus"),
    responses(
        (status = 200, description = "The status, with the live version", body = ref("#/components/schemas/ChangedStatus")),
        (status = 400, description = "The body is not valid JSON"),
        (status = 404, description = "Chain not found"),
        (status = 408, description = "The request body timed out"),
        (status = 409, description = "The chain has no published version"),
        (status = 413, description = "The request body is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 422, description = "The status is neither live nor paused"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn set(
    State(host): State<Arc<Host>>,
    uri: Uri,
    slug: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    let members = body::read_object(&uri, &headers, body).await?;
    let Ok(Path(slug)) = slug else { return Err(not_found(&uri)) };
    super::check_chain(&host, &uri, &slug).await?;
    let chain = LiveChain::find(&host, &slug).await.map_err(|it| trigger_failed(&it, &uri))?;
    let is_paused = match members.get("status").and_then(Value::as_str) {
        Some("live") => false,
        Some("paused") => true,
        _ => {
            let message = "status is neither 'live' nor 'paused'; send one of them";
            return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, &uri, message).with_code("invalid_status"));
        }
    };
    let database = |error: sqlx::Error| ApiError::from_database(&error, &uri);
    if status::find(&host.readers, &slug).await.map_err(database)?.is_none() {
        publish_status(&host, &chain.document).await.map_err(database)?;
    }
    // Times that were missed in the meantime are subject to the misfire rule.
    let next_run_at = status::find(&host.readers, &slug).await.map_err(database)?.and_then(|it| it.next_run_at);
    let changed = ChainStatus { slug: slug.clone(), is_paused, next_run_at };
    status::save(&host.readers, &changed, clock::now()).await.map_err(database)?;
    host.timer_armed.notify_one();
    let name = if is_paused { "paused" } else { "live" };
    Ok(Json(json!({"slug": slug, "status": name, "live_version": chain.version})))
}

/// Adds the status of a chain and the next time of its schedule to its entry in a list.
pub fn describe(entry: &mut Value, status: Option<&ChainStatus>, is_published: bool) {
    let Some(members) = entry.as_object_mut() else { return };
    let name = match status {
        Some(status) if status.is_paused => "paused",
        _ if is_published => "live",
        _ => "draft",
    };
    members.insert("status".to_owned(), json!(name));
    let next = status.filter(|it| !it.is_paused).and_then(|it| it.next_run_at);
    members.extend(next.map(|it| ("next_run_at".to_owned(), json!(clock::format_iso(it)))));
}
