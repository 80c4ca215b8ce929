//! Deletes conversations: `DELETE /api/v1/conversation/{id}` and `POST /api/v1/privacy/forget`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use convengine_access::api_error::ApiError;
use convengine_storage as storage;
use convengine_turns::Turns;
use convengine_turns::forget::{self, ForgetResult, SearchError};
use serde_json::{Value, json};

use super::request::{conversation_from_path, parse_object, read_json_body};
use crate::api::host::Host;

/// Deletes a conversation.
#[utoipa::path(
    delete,
    path = "/api/v1/conversation/{id}",
    tag = "conversation",
    responses(
        (status = 200, description = "The conversation is deleted", body = ref("#/components/schemas/Forgotten")),
        (status = 400, description = "The conversation id is not a UUID"),
        (status = 404, description = "Conversation not found"),
        (status = 409, description = "A turn of the conversation is running"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn delete(State(host): State<Arc<Host>>, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let id = conversation_from_path(id)?;
    let done = forget_conversations(Arc::clone(&host.turns), vec![id]).await?;
    if done == 0 {
        let message = "nothing was deleted: conversation not found; it may already be deleted";
        return Err(ApiError::not_found(message).with_code("nothing_found"));
    }
    Ok(Json(json!({"forgotten": done})))
}

/// Deletes all conversations, sessions and runs of a person.
///
/// What is searched are input parameters, extracted values, variables, `user`, `visitor` and what turns were given. Nothing is deleted when no
/// conversation matches (404, `nothing_found`), or when some cannot be searched (409, `not_searchable`).
#[utoipa::path(
    post,
    path = "/api/v1/privacy/forget",
    tag = "operations",
    request_body = ref("#/components/schemas/Person"),
    responses(
        (status = 200, description = "The conversations are deleted", body = ref("#/components/schemas/Forgotten")),
        (status = 400, description = "The body is invalid"),
        (status = 404, description = "No conversation holds these values; nothing is deleted"),
        (status = 406, description = "The client does not accept JSON"),
        (status = 408, description = "The request body timed out"),
        (status = 409, description = "Some conversations have a running turn and the others are deleted, or some cannot be searched and none is"),
        (status = 413, description = "The request body is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn forget(State(host): State<Arc<Host>>, headers: HeaderMap, body: Body) -> Result<Json<Value>, ApiError> {
    let bytes = read_json_body(&headers, body).await?;
    let person = parse_person(&bytes).map_err(ApiError::bad_request)?;
    let mut connection = storage::open(host.content.config_manager.database(), false).await?;
    let found = forget::list_conversations(&mut connection, &person, forget::has_all_rows(host.turns.cluster.as_deref())).await;
    connection.close().await?;
    let ids = found.map_err(search_failed)?;
    let done = if ids.is_empty() { 0 } else { forget_conversations(Arc::clone(&host.turns), ids).await? };
    if done == 0 {
        return Err(ApiError::not_found(forget::NOTHING_FOUND).with_code("nothing_found"));
    }
    Ok(Json(json!({"forgotten": done})))
}

fn search_failed(error: SearchError) -> ApiError {
    match error {
        SearchError::Incomplete(reason) => ApiError::conflict(reason).with_code("not_searchable"),
        SearchError::Database(error) => ApiError::from(error),
    }
}

fn parse_person(bytes: &[u8]) -> Result<Vec<(String, String)>, String> {
    let example = "{\"person\": {\"customerId\": \"C-17\"}}";
    let members = match parse_object(bytes, example)?.remove("person") {
        Some(Value::Object(members)) => members,
        _ => return Err(format!("person is not an object; send {example}")),
    };
    forget::parse_person(members.into_iter().collect::<BTreeMap<_, _>>())
}

/// Deletes conversations; continues if the client disconnects.
async fn forget_conversations(turns: Arc<Turns>, ids: Vec<String>) -> Result<usize, ApiError> {
    let done = tokio::spawn(async move { forget::forget_conversations(&turns, &ids).await }).await;
    match done.unwrap_or(Err(sqlx::Error::WorkerCrashed))? {
        ForgetResult { forgotten, busy: 0 } => Ok(forgotten),
        ForgetResult { forgotten, busy } => {
            let message = format!("cannot delete conversations with a running turn ({busy} busy, {forgotten} deleted); try again later");
            Err(ApiError::conflict(message))
        }
    }
}
