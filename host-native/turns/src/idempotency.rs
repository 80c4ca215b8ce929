//! Idempotency: a message repeated with the same `Idempotency-Key` gets the reply of its first turn.

use std::sync::Arc;
use std::time::Instant;

use convengine_content::Content;
use convengine_core::config::Config;
use convengine_core::turn::{Journal, Outcome, RescuedTurn, Turn, UserEvent};
use convengine_effects::Outbound;
use convengine_host_base::event_members::HOST_MEMBERS;
use convengine_redaction::Choices;
use convengine_storage::assistant::ProgramKey;
use convengine_storage::turn::{self, StoredTurn};
use serde_json::Value;

use crate::Turns;
use crate::message::Message;
use crate::recovery::{load_config, read_journal, settle_conversation};
use crate::refusal::Refusal;
use crate::writer::CommitError;

/// Returns the outcome of a message that already has a turn, or `None`. Waits for a turn that is still open.
///
/// # Errors
/// Returns [`Refusal::KeyReused`] or [`Refusal::EventIdReused`] when the key was used for a different message, [`Refusal::SessionExists`] when
/// the session id belongs to another program.
pub async fn find_outcome(turns: &Arc<Turns>, message: &Message) -> Result<Option<Outcome>, Refusal> {
    let Some(key) = message.idempotency_key.as_deref() else { return Ok(None) };
    let Some(stored) = turn::find_by_message_key(&turns.readers, key).await? else { return Ok(None) };
    match message.flow {
        None => check_same_message(&turns.outbound, message, &stored)?,
        Some(_) => check_same_event(&turns.outbound, message, &stored)?,
    }
    if stored.status != "open" {
        return load_outcome(&turns.content, &stored).await.map(Some);
    }
    let conversation = stored.conversation_id.clone();
    if message.conversation == conversation {
        // The caller holds the gate permit.
        settle_conversation(turns, &conversation, Instant::now() + turns.queue.wait()).await?;
    } else {
        let _pass = turns.queue.acquire(&conversation).await?;
        settle_conversation(turns, &conversation, Instant::now() + turns.queue.wait()).await?;
    }
    match turn::find_by_message_key(&turns.readers, key).await? {
        Some(stored) => load_outcome(&turns.content, &stored).await.map(Some),
        None => Ok(None),
    }
}

/// Returns whether a message already has a turn.
///
/// # Errors
/// Returns [`Refusal::Load`] for a database error.
pub async fn has_turn(content: &Content, message: &Message) -> Result<bool, Refusal> {
    let Some(key) = message.idempotency_key.as_deref() else { return Ok(false) };
    Ok(turn::find_by_message_key(&content.readers, key).await?.is_some())
}

/// Returns the outcome of a turn that another process has taken over. The caller must hold the conversation's gate permit.
///
/// # Errors
/// Returns [`Refusal`], also when the turn was deleted with its conversation.
pub async fn wait_for_new_owner(turns: &Arc<Turns>, message: &Message, turn: &str) -> Result<Outcome, Refusal> {
    settle_conversation(turns, &message.conversation, Instant::now() + turns.queue.wait()).await?;
    match turn::find(&turns.readers, turn).await? {
        Some(stored) => load_outcome(&turns.content, &stored).await,
        None => Err(CommitError::TakenOver.into()),
    }
}

fn check_same_message(outbound: &Outbound, message: &Message, stored: &StoredTurn) -> Result<(), Refusal> {
    // What cannot be read cannot be compared; the answer is stored beside it.
    let Ok(journal) = read_journal(stored) else { return Ok(()) };
    let input = journal.input;
    let same_conversation = !message.has_conversation_id || message.conversation == stored.conversation_id;
    let event = redact_like(outbound, message, &input.event);
    if same_conversation && input.event == event { Ok(()) } else { Err(Refusal::KeyReused) }
}

/// Returns the event of a message redacted like the stored one, which has what its session offered by then as it was.
fn redact_like(outbound: &Outbound, message: &Message, stored: &UserEvent) -> UserEvent {
    let mut event = message.event.clone();
    let choices = stored.flow.as_deref().map(Choices::made_by).unwrap_or_default();
    outbound.redaction.redact_event(&mut event, &choices);
    event
}

/// Checks that a stored event belongs to the same program and is the same event, apart from what the host adds to it.
fn check_same_event(outbound: &Outbound, message: &Message, stored: &StoredTurn) -> Result<(), Refusal> {
    let Ok(journal) = read_journal(stored) else { return Ok(()) };
    let event = redact_like(outbound, message, &journal.input.event);
    let of = |event: &UserEvent| event.flow.as_deref().and_then(ProgramKey::from_event);
    if of(&journal.input.event) != of(&event) {
        return Err(Refusal::SessionExists);
    }
    let sent = |event: &UserEvent| {
        let mut members = event.flow.as_deref().and_then(Value::as_object).cloned().unwrap_or_default();
        // Who starts a session without a deployment chooses its version.
        let has_version = members.get("type").is_some_and(|it| it == "session.start") && !members.contains_key("deployment");
        members.retain(|name, _| !HOST_MEMBERS.contains(&name.as_str()) || (has_version && name == "version"));
        members
    };
    let (mut first, mut again) = (sent(&journal.input.event), sent(&event));
    if first.contains_key("channel") != again.contains_key("channel") {
        // Where it is omitted, it is that of the session.
        first.shift_remove("channel");
        again.shift_remove("channel");
    }
    if first == again { Ok(()) } else { Err(Refusal::EventIdReused) }
}

/// Returns the outcome of an ended turn: as it was answered, or recomputed for a turn of a version that did not store answers.
async fn load_outcome(content: &Content, stored: &StoredTurn) -> Result<Outcome, Refusal> {
    match turn::find_answer(&content.readers, &stored.turn_id).await {
        Ok(Some(outcome)) => Ok(outcome),
        Ok(None) => recompute_outcome(content, stored).await,
        Err(sqlx::Error::Decode(error)) => {
            tracing::error!(%error, turn = stored.turn_id, "cannot read a stored answer; recomputing it");
            recompute_outcome(content, stored).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Recomputes the outcome of a stored turn from its journal.
async fn recompute_outcome(content: &Content, stored: &StoredTurn) -> Result<Outcome, Refusal> {
    if stored.is_unrecoverable() {
        return Ok(Outcome::for_lost_turn(&stored.conversation_id));
    }
    let journal = read_journal(stored)?;
    let config = load_config(content, stored).await?;
    replay_outcome(&journal, config).map_err(Refusal::Internal)
}

fn replay_outcome(journal: &Journal, config: Arc<Config>) -> Result<Outcome, String> {
    let RescuedTurn { slice, divergence: diverged, .. } = Turn::rescue(journal, config).map_err(|it| it.to_string())?;
    // A lost turn diverges from its journal, but its cancellation is recorded.
    let diverged = diverged.filter(|_| journal.canceled.is_none());
    if let Some(diverged) = diverged {
        return Err(diverged.to_string());
    }
    slice.end.ok_or_else(|| "the journal has no outcome".to_owned())
}
