//! Load: reads the session of a message in one statement, after the turn before it has ended, and redacts the message.

use std::sync::Arc;
use std::time::Instant;

use convengine_core::config::Config;
use convengine_core::turn::{LoadedSession, UserEvent};
use convengine_redaction::Choices;
use convengine_storage::assistant::session;
use convengine_storage::load;

use crate::Turns;
use crate::message::{Message, Ownership};
use crate::recovery;
use crate::refusal::Refusal;
use crate::session_event::check_event;

/// What the turn of a message starts from.
#[derive(Debug)]
pub(super) struct Loaded {
    /// The session after its previous turn.
    pub session: LoadedSession,
    /// The owner of the conversation: that of a new one is the caller.
    pub ownership: Ownership,
    /// The event, redacted.
    pub event: UserEvent,
}

/// Loads what the turn of a message starts from. Returns `None` when the message already has a turn.
pub(super) async fn load(turns: &Arc<Turns>, config: &Config, message: &Message) -> Result<Option<Loaded>, Refusal> {
    let history = config.settings.history_max_turns;
    loop {
        let (id, key) = (&message.conversation, message.idempotency_key.as_deref());
        let found = match message.flow {
            Some(_) => session::load(&turns.readers, id, key).await?,
            None => load::load_conversation(&turns.readers, id, history, key).await?,
        };
        if !message.access.may_change(found.owner.as_deref()) {
            return Err(Refusal::ForeignConversation);
        }
        if found.is_duplicate {
            return Ok(None);
        }
        if !found.has_open_turn {
            let mut event = message.event.clone();
            // Only the session knows what it offers to choose from.
            turns.outbound.redaction.redact_event(&mut event, &Choices::offered_by(found.session.flow.as_deref()));
            check_event(&found.session, &event)?;
            let is_new = found.session.turns == 0 && found.session.conversation.is_none();
            let owner = if is_new { message.access.owner.clone() } else { found.owner.map(Arc::from) };
            let ownership = Ownership { is_new: is_new && owner.is_some(), owner };
            return Ok(Some(Loaded { session: found.session, ownership, event }));
        }
        recovery::settle_conversation(turns, &message.conversation, Instant::now() + turns.queue.wait()).await?;
    }
}
