//! A clock that measures fuel, in place of the browser's clock that the crate of this name reads.
//!
//! The interpreter checks its time limit by this clock, so a script stops at the same instruction on every machine. One unit of fuel is one
//! nanosecond.

use std::ops::{Add, Sub};
use std::time::Duration;

mod meter {
    // The build replaces the import by a function that reads the meter.
    #[link(wasm_import_module = "meter")]
    unsafe extern "C" {
        pub safe fn fuel_used() -> u64;
    }
}

/// Returns the fuel that the instance has used.
#[must_use]
pub fn fuel_used() -> u64 {
    meter::fuel_used()
}

/// A point in time: the fuel used until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Duration);

impl Instant {
    /// Returns the current instant.
    #[must_use]
    pub fn now() -> Instant {
        Instant(Duration::from_nanos(fuel_used()))
    }

    /// Returns the time since this instant.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    /// Returns the time from an earlier instant to this one, or zero.
    #[must_use]
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_add(duration))
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}
