//! Cancellation of a turn before its end. A canceled turn is a failed one: it has an outcome, and it replays.

use serde::{Deserialize, Serialize};

use super::Millis;

/// Why a turn is canceled. Variants are only ever added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// It took longer than `convengine.turn.max-duration`, which the host watches.
    Timeout,
    /// It cannot continue after a crash: its journal does not match this build or this configuration.
    Lost,
    /// Somebody has asked for it.
    Requested,
}

impl CancelReason {
    /// The spelling in audits.
    pub fn name(self) -> &'static str {
        match self {
            CancelReason::Timeout => "TIMEOUT",
            CancelReason::Lost => "LOST",
            CancelReason::Requested => "REQUESTED",
        }
    }
}

/// The cancellation of a turn, as stored in a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelledTurn {
    /// The reason.
    #[serde(rename = "why")]
    pub reason: CancelReason,
    /// The turn's clock from then on.
    pub at: Millis,
}
