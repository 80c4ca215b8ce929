//! Ticks while extensions run, so that one that runs away comes to where it is stopped.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use wasmtime::EngineWeak;

/// How late an extension may be stopped.
const TICK: Duration = Duration::from_millis(10);

/// A thread that advances the engine's epoch while there are calls, and rests while there are none.
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

/// Keeps the ticker ticking.
pub struct Call<'t>(&'t Shared);

impl Ticker {
    /// Starts the thread.
    ///
    /// # Errors
    /// When there are no more threads.
    pub fn start(engine: EngineWeak) -> std::io::Result<Ticker> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        thread::Builder::new().name("extension-ticker".to_owned()).spawn(move || {
            while of_thread.has_calls() {
                thread::sleep(TICK);
                let Some(engine) = engine.upgrade() else { return };
                engine.increment_epoch();
            }
        })?;
        Ok(Ticker(shared))
    }

    /// A call begins; it ends when what is returned is dropped.
    pub fn call(&self) -> Call<'_> {
        self.0.change(|it| it.calls += 1);
        Call(&self.0)
    }
}

impl Shared {
    /// Waits for a call; false when none will come.
    fn has_calls(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |state: &mut State| state.calls == 0 && !state.stopped;
        let state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        !state.stopped
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.change(|it| it.calls -= 1);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.0.change(|it| it.stopped = true);
    }
}
