//! `/v1/desk`: the conversations that people have, or should have (docs/guide/desk.md).
//!
//! Everything that a person does is an event of the session, as if the desk were another company's: it is journaled, and a replay needs
//! no desk.

pub mod actions;
pub mod events;
pub mod list;
pub mod schemas;

use convengine_access::api_error::ApiError;
use convengine_access::caller::Caller;
use convengine_content::Content;
use convengine_storage::assistant::session::Session;
use convengine_turns::running_session::RunningSession;

use super::runtime::handoff::MAX_AUTHOR_CHARS;
use super::runtime::load_session;

/// The name of the person at the desk: that of its key or token, whatever a request says. `None` where authentication is off.
fn author_of(caller: &Caller) -> Option<String> {
    caller.name().map(|name| name.chars().take(MAX_AUTHOR_CHARS).collect())
}

/// Loads a conversation that a person has, or should have. The desk sees no others.
///
/// # Errors
/// 404 if there is no such conversation, 503 if the database is unavailable.
async fn load_conversation(content: &Content, id: &str) -> Result<(Session, RunningSession), ApiError> {
    let (stored, running) = load_session(content, id).await?;
    if stored.status == "handed_off" {
        return Ok((stored, running));
    }
    let message = "conversation is not at the desk; it was returned, closed or never handed off";
    Err(ApiError::not_found(message).with_code("not_at_desk"))
}
