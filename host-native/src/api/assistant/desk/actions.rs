//! What a person does with a conversation: take it, answer, return it to the assistant, close it.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use convengine_access::api_error::ApiError;
use convengine_access::caller::Caller;
use convengine_core::flow::{active_document, redact_session};
use convengine_core::turn::Map;
use convengine_storage::assistant::session;
use convengine_turns::Turns;
use convengine_turns::running_session::RunningSession;
use serde_json::{Value, json};

use super::author_of;
use crate::api::assistant::body::{ObjectBody, ObjectRefusals};
use crate::api::assistant::runtime::handoff::{run_desk_event, taken};
use crate::api::assistant::runtime::load_session;
use crate::api::host::Host;
use crate::api::query::PathParams;

/// Takes a waiting conversation. Of several people who take it at once, one gets it.
#[utoipa::path(
    post,
    path = "/v1/desk/conversations/{session}/take",
    tag = "desk",
    request_body = ref("#/components/schemas/DeskTake"),
    responses(
        ObjectRefusals,
        (status = 200, description = "Assigned to the caller", body = ref("#/components/schemas/DeskResult")),
        (status = 404, description = "Session not found"),
        (status = 409, description = "Taken by someone else, or not handed off"),
        (status = 422, description = "The author is missing"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn take(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    id: Result<PathParams<String>, ApiError>,
    ObjectBody(members): ObjectBody,
) -> Result<Json<Value>, ApiError> {
    let action = DeskAction::read(&host.turns, &caller, id, members).await?;
    action.run("handoff.status", &["event_id"], json!({"state": "accepted"})).await
}

/// Sends a message to the user.
#[utoipa::path(
    post,
    path = "/v1/desk/conversations/{session}/messages",
    tag = "desk",
    request_body = ref("#/components/schemas/HandoffMessage"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The message is sent", body = ref("#/components/schemas/DeskResult")),
        (status = 404, description = "Session not found"),
        (status = 409, description = "Taken by someone else, or not handed off"),
        (status = 413, description = "The request body or the text is too large"),
        (status = 422, description = "The message is invalid"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn write(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    id: Result<PathParams<String>, ApiError>,
    ObjectBody(members): ObjectBody,
) -> Result<Json<Value>, ApiError> {
    let action = DeskAction::read(&host.turns, &caller, id, members).await?;
    action.run("handoff.message", &["event_id", "text"], json!({})).await
}

/// Returns the conversation to the assistant, with values of declared variables.
#[utoipa::path(
    post,
    path = "/v1/desk/conversations/{session}/return",
    tag = "desk",
    request_body = ref("#/components/schemas/DeskReturn"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The assistant has it again", body = ref("#/components/schemas/DeskResult")),
        (status = 404, description = "Session not found"),
        (status = 409, description = "Taken by someone else, or not handed off"),
        (status = 413, description = "The request body or the message is too large"),
        (status = 422, description = "A member is invalid, or a variable is not declared"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn give_back(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    id: Result<PathParams<String>, ApiError>,
    ObjectBody(members): ObjectBody,
) -> Result<Json<Value>, ApiError> {
    let action = DeskAction::read(&host.turns, &caller, id, members).await?;
    action.check_variables()?;
    let status = json!({"state": "completed", "disposition": "returned"});
    action.run("handoff.status", &["event_id", "message", "vars"], status).await
}

/// Closes the conversation: the matter is settled. A handoff that returns goes on with the assistant.
#[utoipa::path(
    post,
    path = "/v1/desk/conversations/{session}/close",
    tag = "desk",
    request_body = ref("#/components/schemas/DeskClose"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The conversation is closed", body = ref("#/components/schemas/DeskResult")),
        (status = 404, description = "Session not found"),
        (status = 409, description = "Taken by someone else, or not handed off"),
        (status = 413, description = "The request body or the message is too large"),
        (status = 422, description = "A member is invalid"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn close(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    id: Result<PathParams<String>, ApiError>,
    ObjectBody(members): ObjectBody,
) -> Result<Json<Value>, ApiError> {
    let action = DeskAction::read(&host.turns, &caller, id, members).await?;
    action.run("handoff.status", &["event_id", "message"], json!({"state": "completed", "disposition": "resolved"})).await
}

/// A request of a person about a conversation.
struct DeskAction<'r> {
    turns: &'r Arc<Turns>,
    running: RunningSession,
    state: Value,
    members: Map,
    author: String,
    /// The credential of the person, if the server asks for any.
    holder: Option<String>,
}

impl<'r> DeskAction<'r> {
    async fn read(
        turns: &'r Arc<Turns>,
        caller: &Caller,
        id: Result<PathParams<String>, ApiError>,
        members: Result<Map, ApiError>,
    ) -> Result<DeskAction<'r>, ApiError> {
        let (stored, running) = load_session(&turns.content, &id?.0).await?;
        let members = members?;
        let stated = || members.get("author").and_then(Value::as_str).map(str::to_owned);
        let author = author_of(caller).or_else(stated).filter(|author| !author.trim().is_empty()).ok_or_else(|| {
            let message = "missing or invalid 'author'; send the display name, or authenticate with a named key";
            ApiError::unprocessable(message).with_code("invalid_author")
        })?;
        let holder = caller.name().and(caller.id()).map(str::to_owned);
        // Messages do not change who has the conversation, so that the turn itself does not compare.
        let [known_author, known_holder] = ["author", "holder"].map(|it| stored.state["handoff"][it].as_str());
        let of_credentials = known_holder.zip(holder.as_deref());
        if of_credentials.or(known_author.zip(Some(author.as_str()))).is_some_and(|(known, own)| known != own) {
            return Err(taken(stored.state.pointer("/handoff/author")));
        }
        Ok(DeskAction { turns, running, state: stored.state, members, author, holder })
    }

    /// Runs the event with these members of the request.
    async fn run(mut self, kind: &str, names: &[&str], mut event: Value) -> Result<Json<Value>, ApiError> {
        let mut event = event.as_object_mut().map(std::mem::take).unwrap_or_default();
        event.extend(names.iter().filter_map(|it| self.members.shift_remove_entry(*it)));
        event.insert("author".to_owned(), json!(self.author));
        event.extend(self.holder.take().map(|holder| ("holder".to_owned(), json!(holder))));
        let answered = run_desk_event(self.turns, &self.running, kind, event).await?;
        let answer = answered.outcome.flow.map(|it| *it).unwrap_or_default();
        let member = |name: &str| answer.get(name).cloned().unwrap_or_default();
        let messages = self.redact_messages(member("messages")).await;
        Ok(Json(json!({
            "session_id": self.running.session, "status": member("status"), "handoff": member("handoff"), "messages": messages,
            "warnings": answer.pointer("/debug/warnings"),
        })))
    }

    /// Masks private values in the messages of a turn as in the transcript. If the session cannot be read, none are shown: the transcript
    /// has them.
    async fn redact_messages(&self, messages: Value) -> Value {
        let stored = session::find(&self.turns.readers, &self.running.session).await.ok().flatten();
        let Some((stored, flow)) = stored.zip(self.running.config.flow()) else { return json!([]) };
        let mut state = stored.state;
        state["history"] = messages;
        redact_session(flow, &mut state);
        let mut messages = state["history"].take();
        let all = messages.as_array_mut().into_iter().flatten();
        all.for_each(|it| self.turns.outbound.redaction.redact_members(it, &["text", "blocks"]));
        messages
    }

    /// Checks that the variables to return are declared.
    fn check_variables(&self) -> Result<(), ApiError> {
        let flow = self.running.config.flow().map(|it| active_document(it, &self.state));
        let declared = flow.map(|it| it.document.variables.as_slice()).unwrap_or_default();
        let is_declared = |name: &str| declared.iter().any(|variable| variable.name.to_string() == name);
        let given = self.members.get("vars").and_then(Value::as_object).into_iter().flatten();
        let Some((unknown, _)) = given.into_iter().find(|it| !is_declared(it.0)) else { return Ok(()) };
        let message = format!("variable '{unknown}' is not declared; return one that the assistant declares");
        Err(ApiError::unprocessable(message).with_code("unknown_variable"))
    }
}
