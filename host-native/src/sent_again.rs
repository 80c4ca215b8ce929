//! A message that a client sends twice, by its `Idempotency-Key`: one turn and one answer.

use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{Journal, Outcome, Rescued, Turn, UserEvent};

use crate::drive::{Host, Message, Refusal};
use crate::recover::{config_of, read, settle};
use crate::store::turn::{self, StoredTurn};
use crate::writer::CommitError;

/// The answer that a message has got already; nothing when it has none. Waits for the turn that is still open.
///
/// # Errors
/// [`Refusal::OtherMessage`] when the key was used for another message.
pub async fn answer(host: &Arc<Host>, message: &Message) -> Result<Option<Outcome>, Refusal> {
    let Some(key) = message.key.as_deref() else { return Ok(None) };
    let Some(stored) = turn::of_message(&host.readers, key).await? else { return Ok(None) };
    // The name of an event is its session's, and is answered as it was whatever is sent with it.
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
        // The caller holds its pass.
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

/// The answer to a message whose turn another process has taken over. The caller holds the conversation's pass.
///
/// # Errors
/// [`Refusal`], also when the turn is gone with its conversation.
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

/// Whether the event was one of another assistant's session, which has the id that a new one is to have.
fn is_foreign(message: &Message, stored: &StoredTurn) -> bool {
    let Ok(journal) = read(stored) else { return false };
    let of = |event: &UserEvent| event.flow.as_ref().and_then(|it| it.get("assistant").cloned());
    of(&journal.input.event) != of(&message.event)
}

/// The turn's end is a function of its journal, so it is not stored a second time.
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
    // One that was lost does not fit its journal, and has the end of one that was given up.
    let diverged = diverged.filter(|_| journal.abandoned.is_none());
    if let Some(diverged) = diverged {
        return Err(diverged.to_string());
    }
    slice.end.ok_or_else(|| "the journal has no end".to_owned())
}
