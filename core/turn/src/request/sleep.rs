//! The effect that waits for a short time, at most ten seconds; longer waits are stored with a due time.

use serde::{Deserialize, Serialize};

use super::{EffectClass, Operation, Reply, Request};

/// The longest wait, in milliseconds.
const MAX_MS: u32 = 10_000;

/// Tolerance for a late host, in milliseconds.
const GRACE_MS: u32 = 5_000;

/// A wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SleepRequest {
    /// Milliseconds.
    pub ms: u32,
}

impl SleepRequest {
    /// A wait of `ms` milliseconds, limited to ten seconds: a turn that waits longer would hold its conversation.
    pub fn new(ms: u32) -> SleepRequest {
        SleepRequest { ms: ms.min(MAX_MS) }
    }
}

impl From<SleepRequest> for Request {
    fn from(request: SleepRequest) -> Self {
        Request::Sleep(request)
    }
}

impl Operation for SleepRequest {
    type Output = ();

    fn class(&self) -> EffectClass {
        EffectClass::Pure
    }

    fn deadline_ms(&self) -> u32 {
        self.ms + GRACE_MS
    }

    fn extract_output(reply: Reply) -> Option<()> {
        matches!(reply, Reply::Slept).then_some(())
    }
}
