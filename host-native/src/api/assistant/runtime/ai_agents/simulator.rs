//! `/v1/runtime/ai-agents`: AI agents for their authors.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use convengine_access::api_error::ApiError;

use super::{AgentMessage, begin_conversation, find_conversation};
use crate::api::assistant::body::{ObjectBody, ObjectRefusals};
use crate::api::assistant::kind_routes::DocumentPath;
use crate::api::assistant::runtime::simulator::{DEBUG_VISIBILITY, load_requested_document};
use crate::api::assistant::runtime::{Sender, run_event, sign_in};
use crate::api::host::Host;

/// Sends a message to the draft or a version, in a new conversation or a known one.
#[utoipa::path(
    post,
    path = "/v1/runtime/{programs}/{document}/turn",
    tag = "documents",
    params(("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream")),
    request_body = ref("#/components/schemas/AgentMessage"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The response of the AI agent", body = ref("#/components/schemas/TurnResponse")),
        (status = 403, description = "The AI agent does not answer on the channel"),
        (status = 404, description = "AI agent, version or conversation not found"),
        (status = 409, description = "The conversation has ended, or its first message is still being answered"),
        (status = 413, description = "The request body or the text is too large"),
        (status = 422, description = "A member of the body is invalid"),
        (status = 503, description = "The conversation or the database is busy; see Retry-After"),
    ),
)]
pub async fn turn(
    State(host): State<Arc<Host>>,
    path: Result<DocumentPath, ApiError>,
    sender: Sender,
    ObjectBody(members): ObjectBody,
) -> Result<Response, ApiError> {
    let (key, members) = (path?.key()?, members?);
    let mut message = AgentMessage::read(&host.content, &members, None)?;
    let running = match find_conversation(&host.content, &message, &key, None).await? {
        Some(running) => {
            sign_in(&host.content, &running.session, sender.verify_user(&members).await?, &mut message.event).await?;
            running
        }
        None => {
            message.introduce(sender.identify(&members).await?);
            let (document, version) = load_requested_document(&host.content, &key, members.get("version")).await?;
            begin_conversation(&host.content, &message, key, (None, sender.caller.access()), (version, document)).await?
        }
    };
    message.check_channel(&running)?;
    run_event(&host.turns, &sender, &running, message.event, DEBUG_VISIBILITY, StatusCode::OK).await
}
