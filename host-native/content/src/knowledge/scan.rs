//! Runs the scans of searches off the asynchronous threads, a few at a time: they compute only, so that more at once would answer no sooner
//! and take the threads that others wait for.

use tokio::sync::Semaphore;

use convengine_storage::run_blocking;

/// How many scans the process runs at once; others wait.
const MAX_SCANS: usize = 4;

static RUNNING: Semaphore = Semaphore::const_new(MAX_SCANS);

/// Runs a scan on the blocking thread pool when it is its turn.
///
/// # Errors
/// Returns [`sqlx::Error::WorkerCrashed`] when the scan panics.
pub async fn run_scan<T: Send + 'static>(scan: impl FnOnce() -> T + Send + 'static) -> sqlx::Result<T> {
    let turn = RUNNING.acquire().await.map_err(|_| sqlx::Error::WorkerCrashed)?;
    run_blocking(move || {
        // Kept until the scan ends, also if nobody waits for it any more.
        let _turn = turn;
        scan()
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_few_scans_run_at_once() {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let scans = (0..5 * MAX_SCANS).map(|_| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            run_scan(move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::yield_now();
                running.fetch_sub(1, Ordering::SeqCst);
            })
        });
        for scan in futures_util::future::join_all(scans).await {
            scan.expect("a scan");
        }
        assert!((1..=MAX_SCANS).contains(&most.load(Ordering::SeqCst)), "{most:?}");
    }
}
