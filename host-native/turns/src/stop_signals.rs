//! Stops running turns on request: those of runs that are cancelled.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The running turns that can be stopped, by session.
#[derive(Debug, Default)]
pub struct StopSignals(Mutex<BTreeMap<String, Arc<Notify>>>);

impl StopSignals {
    /// Registers the turn of a session for as long as the guard lives.
    pub fn register(&self, session: &str) -> StopSignal<'_> {
        let signal = Arc::new(Notify::new());
        self.lock().insert(session.to_owned(), Arc::clone(&signal));
        StopSignal { signals: self, session: session.to_owned(), signal }
    }

    /// Stops the running turn of a session. Returns whether there is one in this process.
    pub fn stop(&self, session: &str) -> bool {
        self.lock().get(session).inspect(|it| it.notify_one()).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn that can be stopped.
#[derive(Debug)]
pub struct StopSignal<'s> {
    signals: &'s StopSignals,
    session: String,
    signal: Arc<Notify>,
}

impl StopSignal<'_> {
    /// The session of the turn.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Waits until the turn is to be stopped.
    pub async fn wait(&self) {
        self.signal.notified().await;
    }
}

impl Drop for StopSignal<'_> {
    fn drop(&mut self) {
        self.signals.lock().remove(&self.session);
    }
}
