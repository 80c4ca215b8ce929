//! Interrupts calls at their deadline.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use wasmtime::{Engine, Store, StoreLimits, UpdateDeadline};

use crate::RunError;

/// The time between two attempts to interrupt a call, which reacts at its next loop or call.
const PAUSE: Duration = Duration::from_millis(1);

/// The call exceeded its deadline.
#[derive(Debug, thiserror::Error)]
#[error("out of time")]
pub struct OutOfTime;

/// The time at which a call must have ended.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    timeout: Duration,
    end: Instant,
}

impl Deadline {
    /// Creates a deadline from now.
    pub fn after(timeout: Duration) -> Deadline {
        Deadline { timeout, end: Instant::now() + timeout }
    }

    /// Returns the error of a call that exceeds the deadline.
    pub fn error(self) -> RunError {
        RunError::Timeout(self.timeout)
    }

    /// Makes a call, and beside it a thread that advances the engine's epoch at the deadline.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn watch<T>(self, engine: &Engine, call: impl FnOnce() -> T) -> Result<T, RunError> {
        let (ended, is_ended) = mpsc::channel::<()>();
        let watch = move || {
            // Stops waiting as soon as the sender is dropped.
            while is_ended.recv_timeout(self.remaining()) == Err(RecvTimeoutError::Timeout) {
                engine.increment_epoch();
                thread::sleep(PAUSE);
            }
        };
        thread::scope(|scope| {
            let watcher = thread::Builder::new().name("script-deadline".to_owned()).spawn_scoped(scope, watch);
            watcher.map_err(|error| RunError::Broken(format!("cannot start a thread: {error}")))?;
            let result = call();
            drop(ended);
            Ok(result)
        })
    }

    /// Lets the epoch interrupt the calls of a store. The deadlines of other stores advance the epoch as well.
    pub fn limit(self, store: &mut Store<StoreLimits>) {
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| {
            if self.remaining() > Duration::ZERO { Ok(UpdateDeadline::Continue(1)) } else { Err(OutOfTime.into()) }
        });
    }

    fn remaining(self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }
}
