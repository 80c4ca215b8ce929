//! Whether a database that processes share can be reached, as the task that renews leases sees it. How often that task tries to connect is
//! in `leases`.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::sleep;

/// How long expired leases are left alone once the database is back: the processes that were cut off as well connect and renew theirs
/// first.
const MAX_GRACE: Duration = Duration::from_secs(15);

/// Whether the database can be reached. A database that is not shared is never out of reach.
#[derive(Debug)]
pub struct Connectivity {
    state: Mutex<State>,
    grace: Duration,
    connected: Notify,
    check: Notify,
}

#[derive(Debug)]
enum State {
    /// No connection can be opened.
    Lost,
    /// A connection was lost, and the next one is not tried yet.
    Interrupted,
    ConnectedSince(Instant),
}

impl Connectivity {
    /// Creates the state of a process that has just connected. Where the database is not shared, nobody else can hold a lease.
    pub fn new(is_shared: bool, lease: Duration) -> Connectivity {
        let grace = if is_shared { (lease / 3).min(MAX_GRACE) } else { Duration::ZERO };
        Connectivity { state: Mutex::new(State::ConnectedSince(Instant::now())), grace, connected: Notify::new(), check: Notify::new() }
    }

    /// Whether this process may claim the turns of others now. It may not while the database is out of reach, and shortly afterwards or after
    /// its own start, because leases expire during an outage without anybody having died.
    pub fn may_claim(&self) -> bool {
        match *self.lock() {
            State::Lost | State::Interrupted => false,
            State::ConnectedSince(since) => since.elapsed() >= self.grace,
        }
    }

    /// Waits while the database is known to be out of reach.
    pub async fn wait(&self) {
        let connected = self.connected.notified();
        if self.is_lost() {
            connected.await;
        }
    }

    /// Waits between two looks at the database, and on while it is known to be out of reach.
    pub async fn pause(&self, pause: Duration) {
        sleep(pause).await;
        self.wait().await;
    }

    /// Asks for a look at the database, because something has failed.
    pub fn request_check(&self) {
        self.check.notify_one();
    }

    /// Waits until a look is asked for.
    pub async fn check_requested(&self) {
        self.check.notified().await;
    }

    /// Marks a connection as lost. Returns whether it was there before.
    pub fn mark_interrupted(&self) -> bool {
        let mut state = self.lock();
        let was_connected = matches!(*state, State::ConnectedSince(_));
        if was_connected {
            *state = State::Interrupted;
        }
        was_connected
    }

    /// Marks the database as out of reach.
    pub fn mark_lost(&self) {
        *self.lock() = State::Lost;
    }

    /// Marks the database as reachable, and wakes all who wait for it. Returns whether it was not before.
    pub fn mark_connected(&self) -> bool {
        let mut state = self.lock();
        let was_connected = matches!(*state, State::ConnectedSince(_));
        if !was_connected {
            *state = State::ConnectedSince(Instant::now());
            self.connected.notify_waiters();
        }
        !was_connected
    }

    fn is_lost(&self) -> bool {
        matches!(*self.lock(), State::Lost)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn nothing_is_claimed_during_an_outage_and_shortly_after_it() {
        let connectivity = Connectivity::new(true, Duration::from_secs(45));
        connectivity.mark_connected();
        assert!(!connectivity.may_claim(), "others may have been cut off when this server starts");
        let connect_long_ago = || *connectivity.lock() = State::ConnectedSince(Instant::now().checked_sub(MAX_GRACE).unwrap());
        connect_long_ago();
        assert!(connectivity.may_claim());
        assert!(connectivity.mark_interrupted() && !connectivity.mark_interrupted(), "it was there once");
        assert!(!connectivity.may_claim());
        assert!(connectivity.wait().now_or_never().is_some(), "the next connection may be opened");
        connectivity.mark_lost();
        assert!(!connectivity.may_claim() && connectivity.wait().now_or_never().is_none());
        connectivity.mark_connected();
        assert!(!connectivity.may_claim(), "others renew their leases first");
        connect_long_ago();
        connectivity.mark_connected();
        assert!(connectivity.may_claim());
        assert!(Connectivity::new(false, Duration::from_secs(45)).may_claim(), "no other process can hold a lease of this database");
    }
}
