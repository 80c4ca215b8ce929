//! AI agents: their turns for authors and for users of a deployment (docs/spec/workflows-http.md#7).

pub mod public;
pub mod simulator;

use std::sync::Arc;

use convengine_access::api_error::ApiError;
use convengine_access::caller::ConversationAccess;
use convengine_access::identity::Identity;
use convengine_content::Content;
use convengine_content::version_cache::SessionDocument;
use convengine_core::turn::Map;
use convengine_host_base::event_members::IDENTITY;
use convengine_storage::assistant::ProgramKey;
use convengine_storage::assistant::session;
use convengine_turns::running_session::{RunningSession, event_key};
use serde_json::{Value, json};
use uuid::Uuid;

use super::events;
use super::simulator::{SessionStart, begin_session};

/// A message to an AI agent.
#[derive(Debug)]
struct AgentMessage {
    /// The conversation that it continues, or begins.
    conversation: Option<String>,
    /// The event of the turn.
    event: Map,
}

impl AgentMessage {
    /// Reads a message from the members of a body.
    ///
    /// # Errors
    /// 422 if a member is invalid, 413 if the text is too long.
    fn read(content: &Content, members: &Map, default_channel: Option<&str>) -> Result<AgentMessage, ApiError> {
        let member = |key: &str| members.get(key).filter(|it| !it.is_null());
        let refuse = |message: &str| ApiError::unprocessable(message);
        if ["user", "visitor"].iter().any(|name| member(name).is_some_and(|it| !it.is_object())) {
            return Err(refuse("user or visitor is not an object; send an object or omit it").with_code("invalid_session"));
        }
        let text = member("text").and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let text = text.ok_or_else(|| refuse("text is missing; send the message of the user").with_code("text_required"))?;
        let channel = match member("channel") {
            None => default_channel,
            Some(Value::String(channel)) if !channel.is_empty() => Some(channel.as_str()),
            Some(_) => return Err(refuse("channel is not a non-empty string; send one or omit it").with_code("invalid_channel")),
        };
        let conversation = match member("conversation_id") {
            None => None,
            Some(id) => {
                let id = id.as_str().and_then(|id| Uuid::try_parse(id).ok());
                let message = "conversation_id is not a UUID; send that of an earlier response, or omit it for a new conversation";
                Some(id.ok_or_else(|| refuse(message).with_code("invalid_conversation"))?.to_string())
            }
        };
        let mut event = Map::from_iter([("type".to_owned(), json!("user.message")), ("text".to_owned(), json!(text))]);
        event.extend(member("event_id").map(|id| ("event_id".to_owned(), id.clone())));
        let mut event = events::read_event(content, event, true)?;
        event.extend(channel.map(|channel| ("channel".to_owned(), json!(channel))));
        Ok(AgentMessage { conversation, event })
    }

    /// Says who the user of a new conversation is: it has no start event of its own.
    fn introduce(&mut self, identity: Identity) {
        let members = identity.into_members();
        if !members.is_empty() {
            self.event.insert(IDENTITY.to_owned(), Value::Object(members));
        }
    }

    /// Checks that the AI agent of a conversation answers on the channel of the message.
    ///
    /// # Errors
    /// 403 `channel_not_allowed`.
    fn check_channel(&self, running: &RunningSession) -> Result<(), ApiError> {
        let source = running.config.source();
        let document = source.pointer("/flow/root").unwrap_or(&Value::Null);
        if self.event.get("channel").is_none_or(|it| is_channel_allowed(document, it)) {
            return Ok(());
        }
        let message = "the AI agent does not answer on this channel; send one that its document lists";
        Err(ApiError::forbidden(message).with_code("channel_not_allowed"))
    }
}

/// Whether a document answers on a channel. One without channels answers on all.
pub fn is_channel_allowed(document: &Value, channel: &Value) -> bool {
    let channels = document.get("channels").and_then(Value::as_array);
    channels.is_none_or(|channels| channels.is_empty() || channels.contains(channel))
}

/// Finds the conversation of a message; `None` if it is new.
///
/// # Errors
/// 404 if it is not a conversation of the AI agent and deployment, 409 if its first message is still being answered, 503 if the database
/// is unavailable.
async fn find_conversation(
    content: &Content,
    message: &AgentMessage,
    program: &ProgramKey,
    deployment: Option<&str>,
) -> Result<Option<RunningSession>, ApiError> {
    let Some(id) = &message.conversation else { return Ok(None) };
    if let Some(stored) = session::find(&content.readers, id).await? {
        if stored.program != *program || stored.deployment.as_deref() != deployment {
            return Err(conversation_not_found());
        }
        return Ok(Some(RunningSession::from_stored(content, id, &stored).await?));
    }
    let key = message.event.get("event_id").and_then(Value::as_str).map(|it| event_key(id, it));
    let found = session::load(&content.readers, id, key.as_deref()).await?;
    match found {
        it if it.is_duplicate => Ok(None),
        it if it.has_open_turn => {
            let message = "the first message of the conversation is still being answered; send this one again when it is";
            Err(ApiError::conflict(message).with_code("conversation_busy"))
        }
        // Conversations of all kinds share their ids.
        it if it.session.turns > 0 => Err(conversation_not_found()),
        _ => Ok(None),
    }
}

fn conversation_not_found() -> ApiError {
    ApiError::not_found("conversation not found; omit conversation_id to start a new one")
}

/// Begins a conversation with a document.
async fn begin_conversation(
    content: &Arc<Content>,
    message: &AgentMessage,
    program: ProgramKey,
    (deployment, access): (Option<String>, ConversationAccess),
    (version, document): (Option<i64>, SessionDocument),
) -> Result<RunningSession, ApiError> {
    let session = message.conversation.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
    begin_session(content, SessionStart { session, program, deployment, version, document, access }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_without_channels_answers_on_all() {
        let allows = |document: Value| is_channel_allowed(&document, &json!("web"));
        assert!(allows(json!({})) && allows(json!({"channels": []})) && allows(json!({"channels": ["sms", "web"]})));
        assert!(!allows(json!({"channels": ["sms", "WEB"]})));
    }
}
