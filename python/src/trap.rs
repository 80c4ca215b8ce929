//! Explains traps: the ways in which an instance ends without a result.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use monty_types::LIVE_MEMORY;

use crate::message::{Failure, FailureCode, Limits, Outcome, RunOutput};
use crate::meter;

static FUEL_LIMIT: AtomicU64 = AtomicU64::new(0);

/// Bytes in use at which a trap means that memory ran out.
static MEMORY_LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Remembers the limits of the script.
pub fn set_limits(limits: Limits) {
    FUEL_LIMIT.store(limits.fuel, Ordering::Relaxed);
    MEMORY_LIMIT.store(limits.memory_bytes, Ordering::Relaxed);
}

/// Returns the result of the call that trapped.
pub fn explain() -> RunOutput {
    let fuel = FUEL_LIMIT.load(Ordering::Relaxed);
    let memory = MEMORY_LIMIT.load(Ordering::Relaxed);
    let failure = if meter::is_exhausted() {
        Failure::out_of_fuel(fuel, None)
    } else if LIVE_MEMORY.load(Ordering::Relaxed) > memory || memory_size() > memory {
        // The allocator aborts at its limit, or when the memory cannot grow.
        Failure::out_of_memory(memory, None)
    } else {
        Failure::new(FailureCode::Exception, "RecursionError: the script exhausted the stack", None)
    };
    RunOutput { logs: Vec::new(), outcome: Outcome::Failure { failure } }
}

fn memory_size() -> usize {
    const PAGE: usize = 65_536;
    core::arch::wasm32::memory_size(0).saturating_mul(PAGE)
}
