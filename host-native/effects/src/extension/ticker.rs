//! Advances the engine's epoch while extensions run, so that runaway ones can be interrupted.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use wasmtime::EngineWeak;

/// The granularity of time limits.
const TICK: Duration = Duration::from_millis(10);

/// A thread that advances the engine's epoch while there are calls, and sleeps otherwise.
pub struct Ticker(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    calls: usize,
    stopped: bool,
}

/// A guard that keeps the ticker running.
pub struct CallGuard<'t>(&'t Shared);

impl Ticker {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(engine: EngineWeak) -> std::io::Result<Ticker> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        thread::Builder::new().name("extension-ticker".to_owned()).spawn(move || {
            while of_thread.wait_for_call() {
                thread::sleep(TICK);
                let Some(engine) = engine.upgrade() else { return };
                engine.increment_epoch();
            }
        })?;
        Ok(Ticker(shared))
    }

    /// Begins a call, which ends when the returned guard is dropped.
    pub fn begin_call(&self) -> CallGuard<'_> {
        self.0.update(|it| it.calls += 1);
        CallGuard(&self.0)
    }
}

impl Shared {
    /// Waits for a call; returns false when the ticker is stopped.
    fn wait_for_call(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |state: &mut State| state.calls == 0 && !state.stopped;
        let state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        !state.stopped
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        self.0.update(|it| it.calls -= 1);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.0.update(|it| it.stopped = true);
    }
}
