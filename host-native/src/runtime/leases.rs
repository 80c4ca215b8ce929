//! Renews the leases of the open turns of this process, on a connection of its own, so that a saturated pool does not lose them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::Instrument;

use crate::runtime::turn_runner::Host;
use crate::storage::database::Connection;
use crate::storage::{self, lease};

/// The maximum time between two renewals.
const MAX_INTERVAL: Duration = Duration::from_secs(5);

/// The timeout of a renewal, and of connecting.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause before the database is tried again.
const RECONNECT_DELAY: Duration = Duration::from_millis(250);

/// How long expired leases are left alone once the database is back: the processes that were cut off as well connect and renew theirs
/// first.
const MAX_GRACE: Duration = Duration::from_secs(15);

/// Whether this process may claim the turns of others. It may not while its database is out of reach, and shortly afterwards or after its
/// own start, because leases expire during an outage without anybody having died.
#[derive(Debug)]
pub struct ClaimGate {
    connectivity: Mutex<Connectivity>,
    grace: Duration,
}

#[derive(Debug)]
enum Connectivity {
    Lost,
    BackSince(Instant),
}

impl ClaimGate {
    /// Creates the gate of a process that has just connected. Where the database is not shared, nobody else can hold a lease.
    pub fn new(is_shared: bool, lease: Duration) -> ClaimGate {
        let grace = if is_shared { (lease / 3).min(MAX_GRACE) } else { Duration::ZERO };
        ClaimGate { connectivity: Mutex::new(Connectivity::BackSince(Instant::now())), grace }
    }

    /// Returns whether expired leases may be claimed now.
    pub fn is_open(&self) -> bool {
        match *self.connectivity.lock().unwrap_or_else(PoisonError::into_inner) {
            Connectivity::Lost => false,
            Connectivity::BackSince(back) => back.elapsed() >= self.grace,
        }
    }

    /// Returns whether the connection was there before.
    fn mark_lost(&self) -> bool {
        let mut connectivity = self.connectivity.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(std::mem::replace(&mut *connectivity, Connectivity::Lost), Connectivity::Lost)
    }

    fn mark_connected(&self) {
        let mut connectivity = self.connectivity.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*connectivity, Connectivity::Lost) {
            *connectivity = Connectivity::BackSince(Instant::now());
        }
    }
}

/// Spawns the task that renews leases until it is aborted, if several processes may serve the database.
pub fn spawn(host: Arc<Host>) -> Option<JoinHandle<()>> {
    if !host.readers.is_shared() {
        return None;
    }
    let interval = (host.turn_settings.lease.min(host.chain_settings.lease) / 4).min(MAX_INTERVAL);
    let renew = async move {
        let mut connection = None;
        loop {
            let result = timeout(RENEWAL_TIMEOUT, renew_all(&host, &mut connection)).await;
            match result.unwrap_or_else(|_| Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))) {
                Ok(()) => {
                    host.claim_gate.mark_connected();
                    sleep(interval).await;
                }
                Err(error) => {
                    // Once for each interruption, not for each attempt.
                    if host.claim_gate.mark_lost() {
                        tracing::warn!(%error, "cannot renew the leases of open turns; retrying");
                    }
                    if !host.open_turns.by_lease().is_empty() {
                        host.meter.record_lease_failure();
                    }
                    connection = None;
                    sleep(RECONNECT_DELAY).await;
                }
            }
        }
    };
    Some(tokio::spawn(renew.in_current_span()))
}

/// Renews all leases, and connects first where necessary.
async fn renew_all(host: &Host, held: &mut Option<Connection>) -> sqlx::Result<()> {
    let connection = match held {
        Some(connection) => connection,
        None => {
            let mut connection = storage::open(host.config_manager.database(), false).await?;
            // A renewal that is given up ends in the database, too.
            storage::set_timeouts(&mut connection).await?;
            held.insert(connection)
        }
    };
    let by_lease = host.open_turns.by_lease();
    if by_lease.is_empty() {
        return connection.ping().await;
    }
    for (lease, turns) in by_lease {
        lease::renew(connection, &turns, &host.owner, lease_ms(lease)).await?;
    }
    Ok(())
}

/// Returns a lease in milliseconds.
pub fn lease_ms(lease: Duration) -> i64 {
    i64::try_from(lease.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_claimed_during_an_outage_and_shortly_after_it() {
        let gate = ClaimGate::new(true, Duration::from_secs(45));
        gate.mark_connected();
        assert!(!gate.is_open(), "others may have been cut off when this server starts");
        let long_ago = || Connectivity::BackSince(Instant::now().checked_sub(MAX_GRACE).unwrap());
        let connect_long_ago = || *gate.connectivity.lock().unwrap() = long_ago();
        connect_long_ago();
        assert!(gate.is_open());
        gate.mark_lost();
        assert!(!gate.is_open());
        gate.mark_connected();
        assert!(!gate.is_open(), "others renew their leases first");
        connect_long_ago();
        gate.mark_connected();
        assert!(gate.is_open());
        assert!(ClaimGate::new(false, Duration::from_secs(45)).is_open(), "there are no others");
    }
}
