//! Work that takes a processor, beside statements.

/// Runs CPU-bound work on the blocking thread pool.
///
/// # Errors
/// Returns [`sqlx::Error::WorkerCrashed`] when the work panics.
pub async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> sqlx::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| sqlx::Error::WorkerCrashed)
}
