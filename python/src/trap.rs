//! Explains traps: the ways in which an instance ends without a result.

use std::sync::atomic::{AtomicUsize, Ordering};

use monty_types::LIVE_MEMORY;

use crate::message::{Failure, FailureCode, Outcome, RunOutput};
use crate::meter;

/// Bytes in use at which a trap means that memory ran out.
static MEMORY_LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Remembers the script's limit of memory.
pub fn set_memory_limit(bytes: usize) {
    MEMORY_LIMIT.store(bytes, Ordering::Relaxed);
}

/// Returns the result of the call that trapped.
pub fn explain() -> RunOutput {
    let limit = MEMORY_LIMIT.load(Ordering::Relaxed);
    let (code, message) = if meter::is_exhausted() {
        (FailureCode::Fuel, "the script used more fuel than it may".to_owned())
    } else if LIVE_MEMORY.load(Ordering::Relaxed) > limit || memory_size() > limit {
        // The allocator aborts at its limit, or when the memory cannot grow.
        (FailureCode::Memory, format!("the script used more than {limit} bytes of memory"))
    } else {
        (FailureCode::Exception, "RecursionError: the script exhausted the stack".to_owned())
    };
    RunOutput { logs: Vec::new(), outcome: Outcome::Failure { failure: Failure::new(code, message, None) } }
}

fn memory_size() -> usize {
    const PAGE: usize = 65_536;
    core::arch::wasm32::memory_size(0).saturating_mul(PAGE)
}
