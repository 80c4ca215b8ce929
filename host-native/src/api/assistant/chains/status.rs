//! `PUT /v1/workflow-chains/{chain}/status`: whether a chain takes triggers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use convengine_access::api_error::ApiError;
use convengine_host_base::clock;
use convengine_storage::chain::status::{self, ChainStatus};
use convengine_turns::chain::schedule::publish_status;
use convengine_turns::chain::trigger::LiveChain;
use serde_json::{Value, json};

use crate::api::assistant::body::{ObjectBody, ObjectRefusals};
use crate::api::host::Host;
use crate::api::query::PathParams;

/// Sets whether a chain is live or paused.
#[utoipa::path(
    put,
    path = "/v1/workflow-chains/{chain}/status",
    tag = "chains",
    request_body = ref("#/components/schemas/ChainStatus"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The status, with the live version", body = ref("#/components/schemas/ChangedStatus")),
        (status = 404, description = "Chain not found"),
        (status = 409, description = "The chain has no published version"),
        (status = 422, description = "The status is neither live nor paused"),
    ),
)]
pub async fn set(
    State(host): State<Arc<Host>>,
    slug: Result<PathParams<String>, ApiError>,
    ObjectBody(members): ObjectBody,
) -> Result<Json<Value>, ApiError> {
    let members = members?;
    let PathParams(slug) = slug?;
    super::check_chain(&host.content, &slug).await?;
    let chain = LiveChain::find(&host.content, &slug).await?;
    let is_paused = match members.get("status").and_then(Value::as_str) {
        Some("live") => false,
        Some("paused") => true,
        _ => {
            let message = "status is neither 'live' nor 'paused'; send one of them";
            return Err(ApiError::unprocessable(message).with_code("invalid_status"));
        }
    };
    if status::find(&host.content.readers, &slug).await?.is_none() {
        publish_status(&host.content, &chain.document).await?;
    }
    // Times that were missed in the meantime are subject to the misfire rule.
    let next_run_at = status::find(&host.content.readers, &slug).await?.and_then(|it| it.next_run_at);
    let changed = ChainStatus { slug: slug.clone(), is_paused, next_run_at };
    status::save(&host.content.readers, &changed, clock::now()).await?;
    host.turns.timer_armed.notify_one();
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
    members.extend(next.map(|at| ("next_run_at".to_owned(), json!(clock::format_iso(at)))));
}
