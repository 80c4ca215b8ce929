//! Tells waiting clients of this process that a session has a new turn or is deleted.

use std::sync::Arc;

use convengine_core::turn::TurnInput;
use serde_json::Value;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// A session with a new turn, or one that is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionChange {
    /// The session.
    pub session: Arc<str>,
    /// Whether a person has the session, or had it before the turn.
    pub is_handoff: bool,
}

impl SessionChange {
    /// Describes the change by a stored turn.
    pub fn from_turn(input: &TurnInput, answer: &Value) -> SessionChange {
        let was_handed_off = input.session.flow.as_ref().and_then(|it| it.get("handoff")).is_some_and(Value::is_object);
        SessionChange { session: Arc::from(input.conversation.as_str()), is_handoff: was_handed_off || answer.get("handoff").is_some() }
    }
}

/// Waits for a change of one session. Also returns when changes were missed, of which one may have been its own, and at the end of all.
pub async fn wait_for_session(changes: &mut Receiver<SessionChange>, session: &str) {
    loop {
        match changes.recv().await {
            Ok(change) if *change.session != *session => {}
            Ok(_) | Err(RecvError::Lagged(_) | RecvError::Closed) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::broadcast;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn changes_of_other_sessions_wake_nobody() {
        let sender = broadcast::Sender::new(4);
        let mut changes = sender.subscribe();
        let send = |session: &str| sender.send(SessionChange { session: Arc::from(session), is_handoff: false }).expect("a receiver");
        let mut is_woken = async || timeout(Duration::from_secs(60), wait_for_session(&mut changes, "a")).await.is_ok();
        send("b");
        assert!(!is_woken().await);
        send("b");
        send("a");
        assert!(is_woken().await);
        (0..9).for_each(|_| _ = send("b"));
        assert!(is_woken().await, "its own change may be among those that were missed");
    }
}
