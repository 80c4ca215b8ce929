//! The state of a conversation's object: the session that its next turn starts from.

use convengine_core::turn::LoadedSession;
use convengine_storage::turn::{compress_json, decompress_json};
use serde::{Deserialize, Serialize};

use super::timers::{ArmedTimer, ArmedTimers};

/// The key of the state in the object.
pub const KEY: &str = "session";

/// The key of the invocation that runs the turn of a run, by which it is cancelled.
pub const RUNNING_KEY: &str = "running";

/// The session of a conversation, its owner and its timers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ObjectState {
    /// What the next turn starts from.
    pub session: LoadedSession,
    /// The caller that the conversation belongs to, if any.
    pub owner: Option<String>,
    /// The timers of the session.
    #[serde(default)]
    pub timers: ArmedTimers,
    /// Present if the conversation has no rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rowless: Option<Rowless>,
}

/// What a conversation without rows has in their place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rowless {
    /// The delayed call that deletes it when it has been idle for long; none while it is kept without limit.
    pub expiry: Option<ArmedTimer>,
}

impl ObjectState {
    /// Returns the invocations of its delayed calls.
    pub fn list_calls(&self) -> impl Iterator<Item = &str> {
        let expiry = self.rowless.iter().filter_map(|it| it.expiry.as_ref());
        self.timers.values().chain(expiry).map(ArmedTimer::invocation)
    }

    /// Compresses the state.
    ///
    /// # Errors
    /// Returns an error when the session cannot be serialized.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        compress_json(self)
    }

    /// Reads a compressed state.
    ///
    /// # Errors
    /// Returns an error when the bytes are not a state.
    pub fn from_bytes(bytes: &[u8]) -> std::io::Result<ObjectState> {
        decompress_json(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use serde_json::json;

    #[test]
    fn a_state_is_read_back_exactly() {
        let flow = Some(Arc::new(json!({"price": 1.0, "count": 1, "note": "ä"})));
        let state = ObjectState {
            session: LoadedSession { turns: 3, flow, ..LoadedSession::default() },
            owner: Some("o".to_owned()),
            ..ObjectState::default()
        };
        assert_eq!(ObjectState::from_bytes(&state.to_bytes().unwrap()).unwrap(), state);
        assert!(ObjectState::from_bytes(b"no state").is_err());
    }
}
