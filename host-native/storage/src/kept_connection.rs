//! A connection that is kept for the next use.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use super::connect::open;
use super::database::Connection;
use super::database_config::DatabaseConfig;

/// How long a kept connection may take to answer before another one is opened.
const PING_TIMEOUT: Duration = Duration::from_secs(1);

/// Keeps one connection to PostgreSQL for work that comes in series: opening one costs as much there as the work itself. Of those that are
/// used at the same time one is kept.
#[derive(Debug)]
pub struct KeptConnection {
    database: DatabaseConfig,
    idle: Mutex<Option<Connection>>,
}

impl KeptConnection {
    /// Creates one that opens its first connection when it is needed.
    pub fn new(database: DatabaseConfig) -> KeptConnection {
        KeptConnection { database, idle: Mutex::default() }
    }

    /// Returns the kept connection if it still works, otherwise a new one.
    pub async fn take(&self) -> sqlx::Result<Connection> {
        let idle = self.idle().take();
        if let Some(mut connection) = idle
            && let Ok(Ok(())) = timeout(PING_TIMEOUT, connection.ping()).await
        {
            return Ok(connection);
        }
        open(&self.database, false).await
    }

    /// Keeps a connection on which everything has succeeded; one to SQLite is closed, which costs little there.
    pub async fn put_back(&self, connection: Connection) -> sqlx::Result<()> {
        if !self.database.is_postgres() {
            return connection.close().await;
        }
        *self.idle() = Some(connection);
        Ok(())
    }

    fn idle(&self) -> MutexGuard<'_, Option<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::{SqlValue, Statement};
    use crate::testing::postgres;

    async fn find_backend(connection: &mut Connection) -> i64 {
        let sql = Statement::portable("select pg_backend_pid()::bigint as backend");
        connection.fetch_optional(&sql, &[]).await.expect("an answer").expect("a row").integer("backend").expect("a number")
    }

    #[tokio::test]
    async fn a_connection_is_used_again_unless_the_server_has_ended_it() {
        let mut database = postgres().await;
        let kept = KeptConnection::new(database.config.clone());
        let mut backends = Vec::new();
        for round in 0..4 {
            let mut connection = kept.take().await.expect("a connection");
            backends.push(find_backend(&mut connection).await);
            kept.put_back(connection).await.expect("kept");
            if round == 1 {
                let sql = Statement::portable("select pg_terminate_backend($1::bigint::int, 5000)");
                database.connection.execute(&sql, &[SqlValue::Integer(backends[1])]).await.expect("ended");
            }
        }
        assert_eq!(backends[0], backends[1]);
        assert_ne!(backends[1], backends[2]);
        assert_eq!(backends[2], backends[3]);
    }
}
