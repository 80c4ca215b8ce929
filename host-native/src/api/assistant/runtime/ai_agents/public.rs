//! `/v1/public/ai-agents`: AI agents for users of a deployment, whose token is in the path.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use convengine_access::api_error::ApiError;
use convengine_access::client_address::ClientAddress;
use convengine_storage::assistant::deployment::Deployment;
use serde_json::Value;

use super::{AgentMessage, begin_conversation, find_conversation};
use crate::api::assistant::body::{ObjectBody, ObjectRefusals};
use crate::api::assistant::document;
use crate::api::assistant::runtime::messages::{MessagesQuery, wait_for_messages};
use crate::api::assistant::runtime::public::check_deployment;
use crate::api::assistant::runtime::{Sender, Visibility, load_session, run_event, sign_in, transcript};
use crate::api::host::Host;
use crate::api::query::{PathParams, QueryParams};

/// Users see no debug information.
const PUBLIC_VISIBILITY: Visibility = Visibility { debug: false };

/// Sends a message to the live version, in a new conversation or a known one of the deployment.
#[utoipa::path(
    post,
    path = "/v1/public/ai-agents/{token}/turn",
    tag = "workflows",
    params(("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream")),
    request_body = ref("#/components/schemas/AgentMessage"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The response of the AI agent", body = ref("#/components/schemas/TurnResponse")),
        (status = 401, description = "The token is unknown, or that of the user is not accepted"),
        (status = 403, description = "The AI agent does not answer on the channel, or the origin is not allowed"),
        (status = 404, description = "Conversation not found in the deployment"),
        (status = 409, description = "The conversation has ended, or its first message is still being answered"),
        (status = 413, description = "The request body or the text is too large"),
        (status = 422, description = "A member of the body is invalid"),
        (status = 503, description = "The conversation or the database is busy; see Retry-After"),
    ),
)]
pub async fn turn(
    State(host): State<Arc<Host>>,
    sender: Sender,
    Extension(deployment): Extension<Arc<Deployment>>,
    Extension(client): Extension<ClientAddress>,
    ObjectBody(members): ObjectBody,
) -> Result<Response, ApiError> {
    let members = members?;
    let mut message = AgentMessage::read(&host.content, &members, Some(&deployment.channel))?;
    let program = &deployment.program;
    let found = find_conversation(&host.content, &message, program, Some(&deployment.id)).await?;
    // An id that the client has made up is no visitor.
    let visitor = message.conversation.clone().filter(|_| found.is_some()).unwrap_or_else(|| client.to_text());
    let status = host.access.rate_limits.check_visitor(&deployment.id, &visitor, &sender.uri)?;
    let running = match found {
        Some(running) => {
            sign_in(&host.content, &running.session, sender.verify_user(&members).await?, &mut message.event).await?;
            running
        }
        None => {
            message.introduce(sender.identify(&members).await?);
            let (live, document) = document::live_document(&host.content, program).await?;
            let started = (Some(live), document);
            begin_conversation(&host.content, &message, program.clone(), (Some(deployment.id.clone()), sender.caller.access()), started)
                .await?
        }
    };
    message.check_channel(&running)?;
    let mut response = run_event(&host.turns, &sender, &running, message.event, PUBLIC_VISIBILITY, StatusCode::OK).await?;
    if let Some(status) = status {
        status.write_headers(response.headers_mut());
    }
    Ok(response)
}

/// Returns a conversation of a visitor, so that a reload keeps the chat. Its id is the capability to read it.
#[utoipa::path(
    get,
    path = "/v1/public/ai-agents/{token}/sessions/{session}",
    tag = "workflows",
    params(("session" = String, Path, format = "uuid", description = "The conversation")),
    responses(
        (status = 200, description = "The conversation as its user saw it", body = ref("#/components/schemas/PublicSession")),
        (status = 401, description = "The token is unknown"),
        (status = 403, description = "The origin is not allowed"),
        (status = 404, description = "Conversation not found in the deployment"),
    ),
)]
pub async fn session(
    State(host): State<Arc<Host>>,
    Extension(deployment): Extension<Arc<Deployment>>,
    PathParams((_, id)): PathParams<(String, String)>,
) -> Result<Json<Value>, ApiError> {
    transcript::render_session(&host.turns, &deployment, &id).await.map(Json)
}

/// Returns the messages and the status of a conversation since a position, also those of a person at the desk.
#[utoipa::path(
    get,
    path = "/v1/public/ai-agents/{token}/messages",
    tag = "workflows",
    params(
        ("conversation_id" = String, Query, format = "uuid", description = "The conversation"),
        ("after" = Option<u32>, Query, description = "The `seq` of the last response; default is the start of the conversation"),
        ("wait_s" = Option<u64>, Query, description = "Seconds to wait for something new, at most 25"),
    ),
    responses(
        (status = 200, description = "The messages, oldest first", body = ref("#/components/schemas/SessionMessages")),
        (status = 400, description = "A query parameter is invalid"),
        (status = 401, description = "The token is unknown"),
        (status = 403, description = "The origin is not allowed"),
        (status = 404, description = "Conversation not found in the deployment"),
    ),
)]
pub async fn messages(
    State(host): State<Arc<Host>>,
    sender: Sender,
    Extension(deployment): Extension<Arc<Deployment>>,
    QueryParams(ConversationQuery { conversation_id }): QueryParams<ConversationQuery>,
    QueryParams(query): QueryParams<MessagesQuery>,
) -> Result<Json<Value>, ApiError> {
    let (stored, running) = load_session(&host.content, &conversation_id).await?;
    check_deployment(&stored, &deployment)?;
    wait_for_messages(&host.turns, &sender, &running.session, &query).await.map(Json)
}

/// Which conversation is asked for.
#[derive(Debug, serde::Deserialize)]
pub struct ConversationQuery {
    conversation_id: String,
}
