//! Log lines of tasks that try again and again while a database is unavailable.

/// Logs when a task that is repeated begins to fail and when it succeeds again, but not each attempt in between.
#[derive(Debug)]
pub struct AttemptLog {
    task: &'static str,
    is_failing: bool,
}

impl AttemptLog {
    /// Creates the log of a task, which is named by a verb: "fire session timers".
    pub fn new(task: &'static str) -> AttemptLog {
        AttemptLog { task, is_failing: false }
    }

    /// Notes how an attempt ended; returns the value if it succeeded.
    pub fn note<T>(&mut self, attempt: sqlx::Result<T>) -> Option<T> {
        let task = self.task;
        match &attempt {
            Err(error) if !self.is_failing => tracing::warn!(%error, "cannot {task}; trying until it succeeds"),
            Ok(_) if self.is_failing => tracing::warn!("can {task} again"),
            Ok(_) | Err(_) => {}
        }
        self.is_failing = attempt.is_err();
        attempt.ok()
    }
}
