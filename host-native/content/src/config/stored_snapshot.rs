//! Whether the database still has the snapshot that new turns run on, for `/readyz`, which everybody may ask for.

use std::time::{Duration, Instant};

use convengine_host_base::work_class::in_background;
use futures_util::FutureExt;
use futures_util::future::select_ok;
use tokio::sync::Mutex;

use convengine_storage::{self as storage, Pool};

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
    pub async fn exists(&self, readers: &Pool, hash: &str) -> sqlx::Result<bool> {
        let mut last = self.last.lock().await;
        if let Some(answer) = last.as_ref().filter(|answer| answer.hash == hash && answer.at.elapsed() < MAX_AGE) {
            return Ok(answer.exists);
        }
        // Users' connections may all be in use for reads that take long, while turns run.
        let look_up = || storage::config::has_snapshot(readers, hash);
        let (exists, _) = select_ok([look_up().boxed(), in_background(look_up()).boxed()]).await?;
        *last = Some(Answer { hash: hash.to_owned(), exists, at: Instant::now() });
        Ok(exists)
    }
}

#[cfg(test)]
mod tests {
    use convengine_storage::testing::each_database;

    use super::*;

    #[tokio::test]
    async fn reads_of_users_that_take_long_do_not_hide_a_snapshot() {
        for database in each_database().await {
            let snapshot = StoredSnapshot::default();
            let held = database.pool.hold_all_for_test().await;
            let look_up = snapshot.exists(&database.pool, "sha256:a");
            assert!(!tokio::time::timeout(Duration::from_secs(2), look_up).await.expect("an answer in time").expect("an answer"));
            drop(held);
        }
    }
}
