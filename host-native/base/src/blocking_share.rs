//! The threads that a tenant may use for work that blocks: calls of extensions, scripts and file tools. The threads are those of the
//! process, so that without a share the work of one tenant could take them all.

use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, spawn_blocking};

static PROCESSORS: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, std::num::NonZero::get));

/// Scripts of all tenants that run at the same time: their time limits are of the clock, so more of them than processors would stop one
/// another.
static SCRIPTS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(*PROCESSORS)));

/// The share of a tenant. Its clones share it.
#[derive(Debug, Clone)]
pub struct BlockingShare {
    threads: Arc<Semaphore>,
    scripts: Arc<Semaphore>,
}

impl Default for BlockingShare {
    fn default() -> Self {
        BlockingShare::new(None)
    }
}

impl BlockingShare {
    /// Creates a share of so many threads, and of half of the processors for scripts; or one without a limit.
    pub fn new(threads: Option<usize>) -> BlockingShare {
        let scripts = if threads.is_some() { (*PROCESSORS / 2).max(1) } else { *PROCESSORS };
        let threads = Arc::new(Semaphore::new(threads.unwrap_or(Semaphore::MAX_PERMITS)));
        BlockingShare { threads, scripts: Arc::new(Semaphore::new(scripts)) }
    }

    /// Does work on a thread of its own, once one of the share is free. The thread counts until the work ends, also when nobody waits for
    /// it any more.
    ///
    /// # Errors
    /// The panic of the work.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
        run_with(acquire(&self.threads).await, work).await
    }

    /// Runs a script like [`run`](Self::run), once a processor of the share is free too. Scripts of tenants take turns: each tenant waits
    /// for its own, and only a few of each wait for those of others.
    ///
    /// # Errors
    /// The panic of the script.
    pub async fn run_script<T: Send + 'static>(&self, script: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
        let own = (acquire(&self.scripts).await, acquire(&self.threads).await);
        run_with((own, acquire(&SCRIPTS).await), script).await
    }
}

/// Does work on a thread that blocks, and gives the permits back at its end.
async fn run_with<P: Send + 'static, T: Send + 'static>(permits: P, work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    spawn_blocking(move || {
        let _permits = permits;
        work()
    })
    .await
}

/// Waits for a permit. The semaphores are never closed, so there always is one.
async fn acquire(semaphore: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    Arc::clone(semaphore).acquire_owned().await.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn one_share_cannot_take_the_threads_of_another() {
        let (busy, other) = (BlockingShare::new(Some(1)), BlockingShare::new(Some(1)));
        let (end, ended) = mpsc::channel::<()>();
        let (started, has_started) = tokio::sync::oneshot::channel();
        let first = busy.clone();
        let first = tokio::spawn(async move {
            first
                .run(move || {
                    let _ = started.send(());
                    ended.recv()
                })
                .await
        });
        has_started.await.expect("the work has begun");
        // The caller may give up waiting: the thread is still in use.
        first.abort();
        assert!(timeout(Duration::from_millis(50), busy.run(|| ())).await.is_err());
        assert_eq!(other.run(|| 1).await.expect("no panic"), 1);
        assert_eq!(other.run_script(|| 2).await.expect("no panic"), 2);
        end.send(()).expect("it waits");
        busy.run(|| ()).await.expect("free again");
    }
}
