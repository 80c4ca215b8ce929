//! Checkpoints of SQLite: copying the write-ahead log into the database, beside the writer.

use std::sync::{Arc, Mutex, TryLockError};

use tokio::runtime::Handle;

use super::database_config::{DatabaseConfig, local_options};
use super::sqlite::{LocalSqlite, wal_pages};
use super::statement::SqlValue;

/// The pages of the log from which it is copied: 4 MB.
const CHECKPOINT_PAGES: u32 = 1_000;

/// The pages from which the writer waits, because under load the log is never copied to its end while others append to it.
const MAX_PAGES: u32 = 8_000;

/// Copies the write-ahead log of an SQLite file.
#[derive(Debug)]
pub struct Checkpointer {
    runtime: Handle,
    database: DatabaseConfig,
    /// Its connection; locked while it copies.
    connection: Arc<Mutex<Option<LocalSqlite>>>,
}

impl Checkpointer {
    /// Creates a checkpointer that copies on the blocking threads of a runtime.
    pub fn new(runtime: Handle, database: DatabaseConfig) -> Checkpointer {
        Checkpointer { runtime, database, connection: Arc::default() }
    }

    /// Copies the log if the last commit of this thread has made it long. The thread waits for the rest of a very long one.
    pub fn check_log(&self) {
        let pages = wal_pages();
        if pages < CHECKPOINT_PAGES {
            return;
        }
        if pages >= MAX_PAGES {
            return copy_log(&self.database, &self.connection);
        }
        let (database, connection) = (self.database.clone(), Arc::clone(&self.connection));
        // One that runs copies these pages too, or the next commit asks again.
        if matches!(self.connection.try_lock(), Err(TryLockError::WouldBlock)) {
            return;
        }
        self.runtime.spawn_blocking(move || copy_log(&database, &connection));
    }
}

fn copy_log(database: &DatabaseConfig, connection: &Mutex<Option<LocalSqlite>>) {
    let mut connection = connection.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let copied = (|| {
        let open = match connection.take() {
            Some(open) => open,
            None => LocalSqlite::open(&local_options(database, "")?)?,
        };
        connection.insert(open).fetch("pragma wal_checkpoint(passive)", &[] as &[SqlValue<'_>], 1)
    })();
    if let Err(error) = copied {
        // The log stays; the next commit asks again.
        tracing::warn!(%error, "cannot copy the write-ahead log into the database");
        *connection = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Statement;
    use crate::{open_writer, testing};

    #[tokio::test]
    async fn a_very_long_log_is_copied_and_begins_anew() {
        let database = testing::sqlite().await;
        let mut writer = open_writer(&database.config).await.expect("a connection");
        let sql = "insert into cv_module (sha256, bytes) values ($1, zeroblob($2))";
        let mut insert = async |key: &str, bytes| {
            let values = [SqlValue::Text(key), SqlValue::Integer(bytes)];
            writer.execute(&Statement::portable(sql), &values).await.expect("a row");
            wal_pages()
        };
        assert!(insert("long", 40 << 20).await >= MAX_PAGES, "nothing else copies it");
        Checkpointer::new(Handle::current(), database.config.clone()).check_log();
        assert!(insert("short", 1).await < 100, "the log begins anew");
    }
}
