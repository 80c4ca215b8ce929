//! A turn that is given up before its end.

use serde::{Deserialize, Serialize};

use super::Millis;

/// Why a turn is given up. Variants are only ever added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Abandon {
    /// It took longer than `convengine.turn.max-duration`.
    Timeout,
    /// It cannot go on after a crash: its journal does not fit this build or this configuration.
    Lost,
}

impl Abandon {
    /// The spelling in audits.
    pub fn name(self) -> &'static str {
        match self {
            Abandon::Timeout => "TIMEOUT",
            Abandon::Lost => "LOST",
        }
    }
}

/// The end of an abandoned turn, as it stands in a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abandoned {
    /// Why it was given up.
    pub why: Abandon,
    /// The turn's clock from then on.
    pub at: Millis,
}
