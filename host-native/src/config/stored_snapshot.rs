//! Whether the database still has the snapshot that new turns run on, for `/readyz`, which everybody may ask for.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::storage::{self, Pool};

/// How long an answer is valid.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Remembers the last answer. Concurrent callers wait for the same lookup.
#[derive(Debug, Default)]
pub struct StoredSnapshot {
    last: Mutex<Option<Answer>>,
}

#[derive(Debug)]
struct Answer {
    hash: String,
    exists: bool,
    at: Instant,
}

impl StoredSnapshot {
    /// Whether the database has a snapshot. An answer may be a second old.
    ///
    /// # Errors
    /// Any database error.
    pub async fn exists(&self, readers: &Pool, hash: &str) -> sqlx::Result<bool> {
        let mut last = self.last.lock().await;
        if let Some(answer) = last.as_ref().filter(|it| it.hash == hash && it.at.elapsed() < MAX_AGE) {
            return Ok(answer.exists);
        }
        let exists = storage::config::has_snapshot(readers, hash).await?;
        *last = Some(Answer { hash: hash.to_owned(), exists, at: Instant::now() });
        Ok(exists)
    }
}
