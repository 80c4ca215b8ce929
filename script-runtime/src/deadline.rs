//! Interrupts calls at their deadline.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use wasmtime::{Engine, Store, StoreLimits, UpdateDeadline};

use crate::RunError;

/// The call exceeded its deadline.
#[derive(Debug, thiserror::Error)]
#[error("out of time")]
pub struct OutOfTime;

/// Makes a call, which gets its deadline, and beside it a thread that advances the engine's epoch at that time.
///
/// # Errors
/// If the thread cannot be started.
pub fn with<T>(engine: &Engine, timeout: Duration, call: impl FnOnce(Instant) -> T) -> Result<T, RunError> {
    let end = Instant::now() + timeout;
    let (ended, is_ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let watch = move || {
            // Stops waiting as soon as the sender is dropped.
            while is_ended.recv_timeout(end.saturating_duration_since(Instant::now())) == Err(RecvTimeoutError::Timeout) {
                engine.increment_epoch();
                thread::sleep(Duration::from_millis(1));
            }
        };
        let watcher = thread::Builder::new().name("script-deadline".to_owned()).spawn_scoped(scope, watch);
        watcher.map_err(|it| RunError::Broken(format!("cannot start a thread: {it}")))?;
        let result = call(end);
        drop(ended);
        Ok(result)
    })
}

/// Interrupts the calls of a store at their deadline. The deadlines of other stores advance the epoch as well.
pub fn set(store: &mut Store<StoreLimits>, end: Instant) {
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| if Instant::now() < end { Ok(UpdateDeadline::Continue(1)) } else { Err(OutOfTime.into()) });
}
