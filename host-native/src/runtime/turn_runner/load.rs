//! Load: reads the session of a message in one statement, after the turn before it has ended.

use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::LoadedSession;

use super::{Host, Message, Refusal};
use crate::runtime::assistant::run::check_event;
use crate::runtime::recovery;
use crate::storage::assistant::session;
use crate::storage::load;

/// Loads the session after its previous turn. Returns `None` when the message already has a turn.
pub(super) async fn load(host: &Arc<Host>, config: &Config, message: &Message) -> Result<Option<LoadedSession>, Refusal> {
    let history = config.settings.history_max_turns;
    loop {
        let (id, key) = (&message.conversation, message.idempotency_key.as_deref());
        let found = match message.flow {
            Some(_) => session::load(&host.readers, id, key).await?,
            None => load::load_conversation(&host.readers, id, history, key).await?,
        };
        if found.is_duplicate {
            return Ok(None);
        }
        if !found.has_open_turn {
            check_event(&found.session, &message.event)?;
            return Ok(Some(found.session));
        }
        recovery::settle_conversation(host, &message.conversation, message.deadline()).await?;
    }
}
