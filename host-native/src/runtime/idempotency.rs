//! Idempotency: a message repeated with the same `Idempotency-Key` gets the reply of its first turn.

use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{Journal, Outcome, RescuedTurn, Turn, UserEvent};

use crate::runtime::recovery::{load_config, read_journal, settle_conversation};
use crate::runtime::turn_runner::{Host, Message, Refusal};
use crate::runtime::writer::CommitError;
use crate::storage::assistant::ProgramKey;
use crate::storage::turn::{self, StoredTurn};

/// Returns the outcome of a message that already has a turn, or `None`. Waits for a turn that is still open.
///
/// # Errors
/// Returns [`Refusal::OtherMessage`] when the key was used for a different message, [`Refusal::Taken`] when the session id belongs to
/// another program.
pub async fn find_outcome(host: &Arc<Host>, message: &Message) -> Result<Option<Outcome>, Refusal> {
    let Some(key) = message.idempotency_key.as_deref() else { return Ok(None) };
    let Some(stored) = turn::find_by_message_key(&host.readers, key).await? else { return Ok(None) };
    // Event ids are scoped to their session; a repeated event gets its first reply, whatever its content.
    match message.flow {
        None => check_same_message(message, &stored)?,
        Some(_) if is_foreign(message, &stored) => return Err(Refusal::SessionExists),
        Some(_) => {}
    }
    if stored.status != "open" {
        return recompute_outcome(host, &stored).await.map(Some);
    }
    let conversation = stored.conversation_id.clone();
    if message.conversation == conversation {
        // The caller holds the gate permit.
        settle_conversation(host, &conversation, message.deadline()).await?;
    } else {
        let _pass = host.turn_queue.acquire(&conversation).await?;
        settle_conversation(host, &conversation, message.deadline()).await?;
    }
    match turn::find_by_message_key(&host.readers, key).await? {
        Some(stored) => recompute_outcome(host, &stored).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the outcome of a turn that another process has taken over. The caller must hold the conversation's gate permit.
///
/// # Errors
/// Returns [`Refusal`], also when the turn was deleted with its conversation.
pub async fn wait_for_new_owner(host: &Arc<Host>, message: &Message, turn: &str) -> Result<Outcome, Refusal> {
    settle_conversation(host, &message.conversation, message.deadline()).await?;
    match turn::find(&host.readers, turn).await? {
        Some(stored) => recompute_outcome(host, &stored).await,
        None => Err(CommitError::TakenOver.into()),
    }
}

fn check_same_message(message: &Message, stored: &StoredTurn) -> Result<(), Refusal> {
    let input = match read_journal(stored) {
        Ok(journal) => journal.input,
        Err(_) if stored.is_unrecoverable() => return Ok(()),
        Err(refusal) => return Err(refusal),
    };
    let same_conversation = !message.has_conversation_id || message.conversation == stored.conversation_id;
    if same_conversation && input.event == message.event { Ok(()) } else { Err(Refusal::KeyReused) }
}

/// Returns whether the stored event belongs to a session of another program with the same id.
fn is_foreign(message: &Message, stored: &StoredTurn) -> bool {
    let Ok(journal) = read_journal(stored) else { return false };
    let of = |event: &UserEvent| event.flow.as_deref().and_then(ProgramKey::from_event);
    of(&journal.input.event) != of(&message.event)
}

/// Recomputes the outcome of a stored turn from its journal.
async fn recompute_outcome(host: &Host, stored: &StoredTurn) -> Result<Outcome, Refusal> {
    if stored.is_unrecoverable() {
        return Ok(Outcome::for_lost_turn(&stored.conversation_id));
    }
    let journal = read_journal(stored)?;
    let config = load_config(host, stored).await?;
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
