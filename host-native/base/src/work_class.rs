//! The class of work: for users or in the background. Work in the background has permits, database connections and places in the queue of the
//! writer of its own, so that any amount of it leaves those of the users free.
//!
//! The class belongs to a task: what a task awaits has its class. A task that it spawns is work for users, unless it is spawned with
//! [`in_current_class`].

use std::future::Future;

use tokio::task::JoinHandle;
use tracing::Instrument;

tokio::task_local! {
    static CLASS: WorkClass;
}

/// The class of work: who waits for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WorkClass {
    /// For somebody who waits for it.
    #[default]
    User,
    /// For nobody in particular: timers, steps of chains, recovery, indexing, embedding and other tasks of the server itself.
    Background,
}

impl WorkClass {
    /// Both classes.
    pub const ALL: [WorkClass; 2] = [WorkClass::User, WorkClass::Background];

    /// Returns the class of the current task.
    pub fn current() -> WorkClass {
        CLASS.try_with(|it| *it).unwrap_or_default()
    }

    /// Returns the metric label.
    pub fn label(self) -> &'static str {
        match self {
            WorkClass::User => "user",
            WorkClass::Background => "background",
        }
    }
}

/// Runs work in the background class.
pub async fn in_background<T>(work: impl Future<Output = T>) -> T {
    CLASS.scope(WorkClass::Background, work).await
}

/// Spawns a task in the background class. Its log lines name the tenant, and the request that it begins with.
pub fn spawn_in_background<F>(work: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    tokio::spawn(in_background(work).in_current_span())
}

/// Keeps the class of the current task for work that is about to be spawned.
pub fn in_current_class<F: Future>(work: F) -> impl Future<Output = F::Output> {
    CLASS.scope(WorkClass::current(), work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn spawned_work_is_for_users_unless_it_keeps_the_class() {
        let found = spawn_in_background(async {
            let (kept, other) =
                (tokio::spawn(in_current_class(async { WorkClass::current() })), tokio::spawn(async { WorkClass::current() }));
            [WorkClass::current(), kept.await.expect("no panic"), other.await.expect("no panic")]
        });
        assert_eq!(found.await.expect("no panic"), [WorkClass::Background, WorkClass::Background, WorkClass::User]);
        assert_eq!(WorkClass::current(), WorkClass::User);
    }
}
