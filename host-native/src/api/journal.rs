//! `GET /api/v1/conversation/journal/{id}`: the recorded journals of a conversation, for replay elsewhere.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use convengine_access::api_error::ApiError;
use convengine_storage::turn;
use serde_json::Value;

use super::request::conversation_from_path;
use crate::api::host::Host;
use crate::ops::journal_export;

/// Returns the journals of a conversation's turns and a pack of each configuration they ran with.
#[utoipa::path(
    get,
    path = "/api/v1/conversation/journal/{id}",
    tag = "conversation",
    responses(
        (status = 200, description = "The recording", body = ref("#/components/schemas/Recorded")),
        (status = 400, description = "The conversation id is not a UUID"),
        (status = 404, description = "Conversation not found, or no turn has ended"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn read(State(host): State<Arc<Host>>, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let id = conversation_from_path(id)?;
    let turns = turn::list_ended(&host.content.readers, &id).await?;
    if turns.is_empty() {
        let reason = "conversation not found or no turn has ended; check its id or try again later";
        return Err(ApiError::not_found(reason));
    }
    Ok(Json(journal_export::export_turns(&host.content.readers, &id, turns).await?))
}
