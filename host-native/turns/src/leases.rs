//! Renews the leases of the open turns of this process, on a connection of its own, so that a saturated pool does not lose them. While the
//! database is out of reach it is what tries to connect, for all of the process (`connectivity`).

use std::sync::Arc;
use std::time::Duration;

use convengine_storage::database::Connection;
use convengine_storage::{self as storage, lease};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::Instrument;

use crate::Turns;

/// The maximum time between two renewals.
const MAX_INTERVAL: Duration = Duration::from_secs(5);

/// The timeout of a renewal, and of connecting.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause before a database that is out of reach is tried again, and how long it becomes while that fails.
const RECONNECT_PAUSE: Duration = Duration::from_millis(250);
const MAX_RECONNECT_PAUSE: Duration = Duration::from_secs(2);

/// Spawns the task that renews leases until it is aborted, if several processes may serve the database.
pub fn spawn(turns: Arc<Turns>) -> Option<JoinHandle<()>> {
    if !turns.readers.is_shared() {
        return None;
    }
    let interval = (turns.settings.lease.min(turns.chain_settings.lease) / 4).min(MAX_INTERVAL).saturating_sub(RECONNECT_PAUSE);
    let renew = async move {
        let mut connection = None;
        let mut pause = RECONNECT_PAUSE;
        loop {
            let result = timeout(RENEWAL_TIMEOUT, renew_all(&turns, &mut connection)).await;
            let has_connected = connection.is_some();
            match result.unwrap_or_else(|_| Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))) {
                Ok(()) => {
                    if turns.connectivity.mark_connected() {
                        tracing::warn!("can renew the leases of open turns again");
                    }
                    pause = RECONNECT_PAUSE;
                    sleep(RECONNECT_PAUSE).await;
                    // A failure elsewhere is seen here early, so that others need not find out by failing.
                    let _ = timeout(interval, turns.connectivity.check_requested()).await;
                }
                Err(error) => {
                    // Once for each interruption, not for each attempt.
                    if turns.connectivity.mark_interrupted() {
                        tracing::warn!(%error, "cannot renew the leases of open turns; trying until it succeeds");
                    }
                    if !turns.open_turns.by_lease().is_empty() {
                        turns.meter.record_lease_failure();
                    }
                    // A connection may be lost for reasons of its own. A database that is full answers those that are connected.
                    if !has_connected && !is_exhausted(&error) {
                        turns.connectivity.mark_lost();
                    }
                    connection = None;
                    sleep(pause).await;
                    pause = (pause * 2).min(MAX_RECONNECT_PAUSE);
                }
            }
        }
    };
    Some(tokio::spawn(renew.in_current_span()))
}

/// Renews all leases, and connects first where necessary.
async fn renew_all(turns: &Turns, held: &mut Option<Connection>) -> sqlx::Result<()> {
    let connection = match held {
        Some(connection) => connection,
        None => {
            let mut connection = storage::open(turns.content.config_manager.database(), false).await?;
            // A renewal that is given up ends in the database, too.
            storage::set_timeouts(&mut connection).await?;
            held.insert(connection)
        }
    };
    let by_lease = turns.open_turns.by_lease();
    if by_lease.is_empty() {
        return connection.ping().await;
    }
    for (lease, open) in by_lease {
        lease::renew(connection, &open, &turns.owner, lease_ms(lease)).await?;
    }
    Ok(())
}

/// Returns whether a database has refused a connection because it has too many, or lacks another resource.
fn is_exhausted(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(it) if it.code().is_some_and(|it| it.starts_with("53")))
}

/// Returns a lease in milliseconds.
pub fn lease_ms(lease: Duration) -> i64 {
    i64::try_from(lease.as_millis()).unwrap_or(i64::MAX)
}
