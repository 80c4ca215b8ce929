//! Tasks that work with the database again and again, such as firing timers: patient while it is out of reach, and quiet in the log.

use std::future::Future;
use std::sync::Arc;

use crate::connectivity::Connectivity;

/// What a task needs to know from one attempt to the next.
#[derive(Debug)]
pub struct RepeatedTask {
    name: &'static str,
    connectivity: Arc<Connectivity>,
    is_failing: bool,
}

impl RepeatedTask {
    /// Creates a task, which is named by a verb: "fire session timers".
    pub fn new(name: &'static str, connectivity: &Arc<Connectivity>) -> RepeatedTask {
        RepeatedTask { name, connectivity: Arc::clone(connectivity), is_failing: false }
    }

    /// Makes an attempt once the database is not known to be out of reach: each attempt costs the server of the database a process, which
    /// other databases pay for. Returns the value if it succeeded. Logs when the task begins to fail and when it succeeds again, but not each
    /// attempt in between.
    pub async fn attempt<T>(&mut self, work: impl Future<Output = sqlx::Result<T>>) -> Option<T> {
        self.connectivity.wait().await;
        let result = work.await;
        let name = self.name;
        match &result {
            Err(error) if !self.is_failing => tracing::warn!(%error, "cannot {name}; trying until it succeeds"),
            Ok(_) if self.is_failing => tracing::warn!("can {name} again"),
            Ok(_) | Err(_) => {}
        }
        self.is_failing = result.is_err();
        if self.is_failing {
            self.connectivity.request_check();
        }
        result.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn nothing_is_attempted_while_the_database_is_out_of_reach() {
        let connectivity = Arc::new(Connectivity::new(true, Duration::ZERO));
        let mut task = RepeatedTask::new("read a row", &connectivity);
        assert_eq!(task.attempt(async { Ok(1) }).await, Some(1));
        assert!(connectivity.check_requested().now_or_never().is_none(), "nothing has failed");
        assert_eq!(task.attempt(async { Err::<(), _>(sqlx::Error::PoolTimedOut) }).await, None);
        assert!(connectivity.check_requested().now_or_never().is_some(), "whether the database is there is looked at");
        connectivity.mark_lost();
        let mut attempt = Box::pin(task.attempt(async { Ok(2) }));
        assert!(attempt.as_mut().now_or_never().is_none());
        connectivity.mark_connected();
        assert_eq!(attempt.await, Some(2));
    }
}
