//! A short wait, at most ten seconds; longer ones are data with a due time.

use serde::{Deserialize, Serialize};

use super::{Reply, Request};
use crate::turn::{Class, Operation};

/// The longest wait, in milliseconds.
const LONGEST_MS: u32 = 10_000;

/// What the host may be late by, in milliseconds.
const GRACE_MS: u32 = 5_000;

/// A wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SleepRequest {
    /// Milliseconds.
    pub ms: u32,
}

impl SleepRequest {
    /// A wait of so many milliseconds, or of the longest that there is.
    pub fn of(ms: u32) -> SleepRequest {
        SleepRequest { ms: ms.min(LONGEST_MS) }
    }
}

impl From<SleepRequest> for Request {
    fn from(request: SleepRequest) -> Self {
        Request::Sleep(request)
    }
}

impl Operation for SleepRequest {
    type Output = ();

    fn class(&self) -> Class {
        Class::Pure
    }

    fn deadline_ms(&self) -> u32 {
        self.ms + GRACE_MS
    }

    fn output(reply: Reply) -> Option<()> {
        matches!(reply, Reply::Slept).then_some(())
    }
}
