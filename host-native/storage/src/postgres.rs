//! Connections to PostgreSQL for what a turn reads. The pool of sqlx pings a connection each time it is returned, which is a round trip of
//! each turn; here only an error replaces a connection.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::class_pool::{ACQUIRE_TIMEOUT, ByClass, PoolSizes, acquire_timeout};
use super::statement::{STATEMENT_TIMEOUT, SqlValue, Statement, postgres_query};
use convengine_host_base::meter::Meter;
use convengine_host_base::work_class::WorkClass;

/// Connections that are opened as they are needed.
#[derive(Debug)]
pub struct PostgresReaders {
    options: PgConnectOptions,
    /// The permits to use a connection, of each class of work.
    permits: ByClass<Semaphore>,
    /// Connections of both classes: they do not differ.
    idle: Mutex<Vec<PgConnection>>,
    meter: Meter,
}

impl PostgresReaders {
    /// Creates a pool of at most as many connections as `sizes` has together. `meter` measures the waits for one.
    pub(super) fn new(options: PgConnectOptions, sizes: PoolSizes, meter: Meter) -> PostgresReaders {
        let permits = ByClass::new(|class| Semaphore::new(usize::try_from(sizes.for_class(class)).unwrap_or(1)));
        PostgresReaders { options, permits, idle: Mutex::default(), meter }
    }

    /// Fetches the first row, if any. A connection that was idle may be lost: the statement, which only reads, is then sent again.
    pub(super) async fn fetch_optional(&self, statement: &Statement, values: &[SqlValue<'_>]) -> sqlx::Result<Option<PgRow>> {
        let (class, since) = (WorkClass::current(), Instant::now());
        let permits = self.permits.get(class);
        let permit = timeout(acquire_timeout(class), permits.acquire()).await.map_err(|_| sqlx::Error::PoolTimedOut)?;
        let _permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
        self.meter.record_connection_wait(class, since.elapsed());
        loop {
            let idle = self.idle().pop();
            let was_idle = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                None => timeout(ACQUIRE_TIMEOUT, Box::pin(self.connect())).await.map_err(|_| sqlx::Error::PoolTimedOut)??,
            };
            match timeout(STATEMENT_TIMEOUT, Box::pin(postgres_query(statement, values).fetch_optional(&mut connection))).await {
                Ok(Ok(row)) => {
                    if !permits.is_closed() {
                        self.idle().push(connection);
                    }
                    return Ok(row);
                }
                // An error of the statement does not concern the connection, which is dropped nevertheless.
                Ok(Err(error)) if was_idle && is_lost(&error) => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => {
                    return Err(sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the database did not answer in time")));
                }
            }
        }
    }

    /// Opens a connection. Its statements find a few rows by their keys, so that planning them again, which PostgreSQL may prefer, costs more
    /// than it gains, and reading a whole table never pays, also if it was small when the plan was made.
    async fn connect(&self) -> sqlx::Result<PgConnection> {
        let mut connection = self.options.connect().await?;
        let sql = "select set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_seqscan', 'off', false)";
        sqlx::query(sql).execute(&mut connection).await?;
        Ok(connection)
    }

    /// Closes the connections.
    pub(super) async fn close(&self) {
        WorkClass::ALL.into_iter().for_each(|class| self.permits.get(class).close());
        let idle = std::mem::take(&mut *self.idle());
        for connection in idle {
            // The server ends a connection that is dropped, too.
            let _ = connection.close().await;
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<PgConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether a connection is lost: the server has ended it, or cannot be reached.
fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(it) => it.code().is_some_and(|code| code.starts_with("57P") || code.starts_with("08")),
        _ => false,
    }
}
