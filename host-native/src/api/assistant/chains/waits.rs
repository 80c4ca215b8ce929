//! What lets a run go on, or ends it: decisions, messages, tokens, cancellation and retries.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use convengine_access::api_error::ApiError;
use convengine_access::caller::Caller;
use convengine_content::Content;
use convengine_content::deployment::bearer_token_with_prefix;
use convengine_core::turn::Map;
use convengine_storage::chain::token::TokenWait;
use convengine_turns::chain::cancel::cancel_run;
use convengine_turns::chain::event::submit_event;
use convengine_turns::resume_token::{self, TOKEN_PREFIX};
use serde_json::{Value, json};

use super::runs::read_key;
use super::{find_run, render_status};
use crate::api::assistant::body::{ObjectRefusals, OptionalObjectBody};
use crate::api::host::Host;
use crate::api::query::PathParams;

/// The members of a resume that the run reads.
const RESUME_MEMBERS: [&str; 6] = ["step", "decision", "fields", "comment", "by", "text"];

/// Gives a run what it waits for: the decision of a person, or a message.
#[utoipa::path(
    post,
    path = "/v1/workflow-chains/{chain}/runs/{run}/resume",
    tag = "chains",
    params(("Idempotency-Key" = Option<String>, Header, description = "Sent again with it, the resume gets its first answer")),
    request_body = ref("#/components/schemas/Resume"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The status of the run; with `messages` for a message", body = ref("#/components/schemas/Resumed")),
        (status = 401, description = "The token is unknown"),
        (status = 404, description = "Run not found"),
        (status = 409, description = "The run does not wait for this"),
        (status = 422, description = "The decision, the fields or the text are invalid; the wait stays"),
    ),
)]
pub async fn resume(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    path: Result<PathParams<(String, String)>, ApiError>,
    headers: HeaderMap,
    OptionalObjectBody(members): OptionalObjectBody,
) -> Result<Json<Value>, ApiError> {
    let PathParams((slug, run)) = path?;
    let wait = find_token_wait(&host.content, &headers).await?;
    let (run, stored) = find_run(&host.content, &slug, &run).await?;
    let mut event: Map = members.into_iter().filter(|member| RESUME_MEMBERS.contains(&member.0.as_str())).collect();
    name_author(&mut event, &caller);
    if let Some(wait) = wait {
        if wait.run != run {
            return Err(invalid_token());
        }
        event.insert("step".to_owned(), json!(wait.path));
        event.insert("attempt".to_owned(), json!(wait.attempt));
    }
    // Sent again with its key, a resume gets its first answer.
    event.extend(read_key(&headers)?.map(|key| ("event_id".to_owned(), json!(format!("resume:{key}")))));
    let is_message = event.get("text").is_some_and(|it| !it.is_null());
    let answer = submit_event(&host.turns, &run, &stored, "run.resume", event).await?;
    let mut shown = render_status(&answer);
    let messages = answer.get("messages").and_then(Value::as_array).filter(|messages| is_message || !messages.is_empty());
    if let (Some(messages), Some(shown)) = (messages, shown.as_object_mut()) {
        shown.insert("messages".to_owned(), json!(messages));
    }
    Ok(Json(shown))
}

/// Says who decides: the caller if it is known by its key, its token or as the administrator. What the request says is then kept apart,
/// because nobody has verified it.
fn name_author(event: &mut Map, caller: &Caller) {
    let Some(author) = caller.name() else { return };
    let stated = event.insert("by".to_owned(), json!(author));
    if let Some(stated) = stated.filter(|stated| !stated.is_null() && *stated != author) {
        event.insert("stated_by".to_owned(), stated);
    }
}

/// The wait of the token of a request; `None` when it has none.
async fn find_token_wait(content: &Content, headers: &HeaderMap) -> Result<Option<TokenWait>, ApiError> {
    let Some(token) = bearer_token_with_prefix(headers, TOKEN_PREFIX) else { return Ok(None) };
    let found = resume_token::find_wait(content, token).await?;
    found.map(Some).ok_or_else(invalid_token)
}

/// The error for a token that opens nothing.
fn invalid_token() -> ApiError {
    ApiError::with_status(StatusCode::UNAUTHORIZED, "invalid credentials: unknown resume token").with_code("invalid_token")
}

/// Issues a token that resumes the run's wait, in place of the one before.
#[utoipa::path(
    post,
    path = "/v1/workflow-chains/{chain}/runs/{run}/token",
    tag = "chains",
    request_body = ref("#/components/schemas/NoMembers"),
    responses(
        ObjectRefusals,
        (status = 201, description = "The token, shown this once", body = ref("#/components/schemas/ResumeToken")),
        (status = 404, description = "Run not found"),
        (status = 409, description = "The run does not wait"),
    ),
)]
pub async fn token(
    State(host): State<Arc<Host>>,
    path: Result<PathParams<(String, String)>, ApiError>,
    OptionalObjectBody(_): OptionalObjectBody,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let PathParams((slug, run)) = path?;
    let (run, stored) = find_run(&host.content, &slug, &run).await?;
    let wait = stored.state.get("wait").filter(|wait| ["human", "message"].iter().any(|kind| wait.get("kind") == Some(&json!(kind))));
    let text = |name: &str| wait.and_then(|wait| wait.get(name)?.as_str());
    let (Some(path), Some(attempt)) = (text("path"), wait.and_then(|wait| wait.get("attempt")?.as_i64())) else {
        let message = "run does not wait for a decision or a message; look at its status";
        return Err(ApiError::conflict(message).with_code("not_waiting"));
    };
    let waited = TokenWait { run, path: path.to_owned(), attempt };
    let token = resume_token::replace_token(&host.turns, &waited).await?;
    let mut shown = json!({"step": path, "token": token});
    if let (Some(due), Some(shown)) = (text("due"), shown.as_object_mut()) {
        shown.insert("expires_at".to_owned(), json!(due));
    }
    Ok((StatusCode::CREATED, Json(shown)))
}

/// Cancels a run. An attempt that is being executed is stopped.
#[utoipa::path(
    post,
    path = "/v1/workflow-chains/{chain}/runs/{run}/cancel",
    tag = "chains",
    request_body = ref("#/components/schemas/Cancel"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The run is cancelled", body = ref("#/components/schemas/RunState")),
        (status = 404, description = "Run not found"),
        (status = 409, description = "The run has ended"),
        (status = 422, description = "The reason is invalid"),
    ),
)]
pub async fn cancel(
    State(host): State<Arc<Host>>,
    path: Result<PathParams<(String, String)>, ApiError>,
    OptionalObjectBody(members): OptionalObjectBody,
) -> Result<Json<Value>, ApiError> {
    let PathParams((slug, run)) = path?;
    let (run, stored) = find_run(&host.content, &slug, &run).await?;
    let event: Map = members.into_iter().filter(|it| it.0 == "reason").collect();
    let answer = cancel_run(&host.turns, &run, &stored, event).await?;
    Ok(Json(render_status(&answer)))
}

/// Opens a failed run again at the step that failed.
#[utoipa::path(
    post,
    path = "/v1/workflow-chains/{chain}/runs/{run}/retry",
    tag = "chains",
    request_body = ref("#/components/schemas/NoMembers"),
    responses(
        ObjectRefusals,
        (status = 202, description = "The run goes on", body = ref("#/components/schemas/RunState")),
        (status = 404, description = "Run not found"),
        (status = 409, description = "The run has not failed"),
    ),
)]
pub async fn retry(
    State(host): State<Arc<Host>>,
    path: Result<PathParams<(String, String)>, ApiError>,
    OptionalObjectBody(_): OptionalObjectBody,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let PathParams((slug, run)) = path?;
    let (run, stored) = find_run(&host.content, &slug, &run).await?;
    let answer = submit_event(&host.turns, &run, &stored, "run.retry", Map::new()).await?;
    Ok((StatusCode::ACCEPTED, Json(render_status(&answer))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_caller_is_the_author_whatever_it_says() {
        let author = |caller: &Caller, event: Value| {
            let mut event = event.as_object().cloned().unwrap_or_default();
            name_author(&mut event, caller);
            Value::Object(event)
        };
        let (key, nobody) = (Caller::new("key 1").with_name("crm"), Caller::new("run 1"));
        assert_eq!(author(&key, json!({"by": "Eve"})), json!({"by": "crm", "stated_by": "Eve"}));
        for event in [json!({}), json!({"by": null}), json!({"by": "crm"})] {
            assert_eq!(author(&key, event), json!({"by": "crm"}));
        }
        for caller in [nobody, Caller::default()] {
            assert_eq!(author(&caller, json!({"by": "Jo"})), json!({"by": "Jo"}));
            assert_eq!(author(&caller, json!({})), json!({}));
        }
    }
}
