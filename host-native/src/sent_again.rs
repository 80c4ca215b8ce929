//! Idempotency: a message repeated with the same `Idempotency-Key` gets the reply of its first turn.

use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{Journal, Outcome, Rescued, Turn, UserEvent};

use crate::drive::{Host, Message, Refusal};
use crate::recover::{config_of, read, settle};
use crate::store::turn::{self, StoredTurn};
use crate::writer::CommitError;

/// Returns the outcome of a message that already has a turn, or `None`. Waits for a turn that is still open.
///
/// # Errors
/// Returns [`Refusal::OtherMessage`] when the key was used for a different message, [`Refusal::Taken`] when the session id belongs to
/// another assistant.
pub async fn answer(host: &Arc<Host>, message: &Message) -> Result<Option<Outcome>, Refusal> {
    let Some(key) = message.key.as_deref() else { return Ok(None) };
    let Some(stored) = turn::of_message(&host.readers, key).await? else { return Ok(None) };
    // Event ids are scoped to their session; a repeated event gets its first reply, whatever its content.
    match message.flow {
        None => same(message, &stored)?,
        Some(_) if is_foreign(message, &stored) => return Err(Refusal::Taken),
        Some(_) => {}
    }
    if stored.status != "open" {
        return again(host, &stored).await.map(Some);
    }
    let conversation = stored.conversation_id.clone();
    if message.conversation == conversation {
        // The caller holds the gate permit.
        settle(host, &conversation, message.patience()).await?;
    } else {
        let _pass = host.gate.enter(&conversation).await?;
        settle(host, &conversation, message.patience()).await?;
    }
    match turn::of_message(&host.readers, key).await? {
        Some(stored) => again(host, &stored).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the outcome of a turn that another process has taken over. The caller must hold the conversation's gate permit.
///
/// # Errors
/// Returns [`Refusal`], also when the turn was deleted with its conversation.
pub async fn by_another(host: &Arc<Host>, message: &Message, turn: &str) -> Result<Outcome, Refusal> {
    settle(host, &message.conversation, message.patience()).await?;
    match turn::of_id(&host.readers, turn).await? {
        Some(stored) => again(host, &stored).await,
        None => Err(CommitError::TakenOver.into()),
    }
}

fn same(message: &Message, stored: &StoredTurn) -> Result<(), Refusal> {
    let input = match read(stored) {
        Ok(journal) => journal.input,
        Err(_) if stored.is_given_up() => return Ok(()),
        Err(refusal) => return Err(refusal),
    };
    let same_conversation = !message.names_conversation || message.conversation == stored.conversation_id;
    if same_conversation && input.event == message.event { Ok(()) } else { Err(Refusal::OtherMessage) }
}

/// Returns whether the stored event belongs to a session of another assistant with the same id.
fn is_foreign(message: &Message, stored: &StoredTurn) -> bool {
    let Ok(journal) = read(stored) else { return false };
    let of = |event: &UserEvent| event.flow.as_ref().and_then(|it| it.get("assistant").cloned());
    of(&journal.input.event) != of(&message.event)
}

/// Recomputes the outcome of a stored turn from its journal.
async fn again(host: &Host, stored: &StoredTurn) -> Result<Outcome, Refusal> {
    if stored.is_given_up() {
        return Ok(Outcome::lost(&stored.conversation_id));
    }
    let journal = read(stored)?;
    let config = config_of(host, stored).await?;
    outcome(&journal, config).map_err(Refusal::Defect)
}

fn outcome(journal: &Journal, config: Arc<Config>) -> Result<Outcome, String> {
    let Rescued { slice, diverged, .. } = Turn::rescue(journal, config).map_err(|it| it.to_string())?;
    // A lost turn diverges from its journal, but its cancellation is recorded.
    let diverged = diverged.filter(|_| journal.abandoned.is_none());
    if let Some(diverged) = diverged {
        return Err(diverged.to_string());
    }
    slice.end.ok_or_else(|| "the journal has no outcome".to_owned())
}
