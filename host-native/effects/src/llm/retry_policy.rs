//! Retries of one model: number of attempts and backoff.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::failure::{ModelFailure, NextAction};

/// The first backoff if the model sends no `Retry-After`; it doubles with each retry.
pub const INITIAL_BACKOFF: Duration = Duration::from_millis(500);

/// Maximum backoff, unless the model asks for more.
const MAX_BACKOFF: Duration = Duration::from_secs(8);

/// The remaining attempts with one model.
#[derive(Debug)]
pub struct RetryPolicy {
    attempts: u32,
    wait: Duration,
    deadline: Instant,
}

impl RetryPolicy {
    /// Allows `attempts` attempts, the last of which begins before `deadline`.
    pub fn new(attempts: u32, first_wait: Duration, deadline: Instant) -> Self {
        RetryPolicy { attempts, wait: first_wait, deadline }
    }

    /// Waits until the model may be called again.
    ///
    /// # Errors
    /// The failure itself if it is not retryable, if it was the last attempt, or if the wait would exceed the deadline.
    pub async fn wait_before_retry(&mut self, failed: ModelFailure) -> Result<(), ModelFailure> {
        self.attempts = self.attempts.saturating_sub(1);
        let backoff = self.wait;
        self.wait = (backoff * 2).min(MAX_BACKOFF);
        let wait = failed.error.retry_after_ms.map_or(backoff, Duration::from_millis);
        let in_time = Instant::now().checked_add(wait).is_some_and(|it| it < self.deadline);
        if failed.next_action != NextAction::Retry || self.attempts == 0 || !in_time {
            return Err(failed);
        }
        let (kind, status) = (failed.error.kind, failed.error.status);
        tracing::warn!(?kind, status, wait_ms = wait.as_millis(), "model call failed; retrying");
        sleep(wait).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convengine_core::turn::EffectErrorKind;

    fn failure(then: NextAction, retry_after_ms: Option<u64>) -> ModelFailure {
        let mut failed = ModelFailure::new(EffectErrorKind::Limited, then, "no");
        failed.error.retry_after_ms = retry_after_ms;
        failed
    }

    async fn measure_wait(retries: &mut RetryPolicy, failed: ModelFailure) -> Option<u64> {
        let start = Instant::now();
        let answer = retries.wait_before_retry(failed).await;
        let elapsed = u64::try_from(start.elapsed().as_millis()).unwrap();
        assert!(answer.is_ok() || elapsed == 0, "a failed attempt does not wait");
        answer.ok().map(|()| elapsed)
    }

    #[tokio::test(start_paused = true)]
    async fn waits_grow_unless_the_model_names_one() {
        let mut retries = RetryPolicy::new(9, INITIAL_BACKOFF, Instant::now() + Duration::from_secs(60));
        let mut waits = Vec::new();
        for requested in [None, None, Some(1234), Some(0), None, None, None] {
            waits.push(measure_wait(&mut retries, failure(NextAction::Retry, requested)).await.unwrap());
        }
        assert_eq!(waits, [500, 1000, 1234, 0, 8000, 8000, 8000]);
        let mut retries = RetryPolicy::new(2, INITIAL_BACKOFF, Instant::now() + Duration::from_secs(60));
        assert_eq!(measure_wait(&mut retries, failure(NextAction::TryNextModel, None)).await, None, "it would fail again");
        let mut retries = RetryPolicy::new(2, INITIAL_BACKOFF, Instant::now() + Duration::from_secs(60));
        assert_eq!(measure_wait(&mut retries, failure(NextAction::Retry, None)).await, Some(500));
        assert_eq!(measure_wait(&mut retries, failure(NextAction::Retry, None)).await, None, "two attempts are enough");
    }

    #[tokio::test(start_paused = true)]
    async fn no_wait_begins_that_would_pass_the_deadline() {
        let mut retries = RetryPolicy::new(9, INITIAL_BACKOFF, Instant::now() + Duration::from_secs(3));
        assert_eq!(measure_wait(&mut retries, failure(NextAction::Retry, Some(2000))).await, Some(2000));
        assert_eq!(measure_wait(&mut retries, failure(NextAction::Retry, Some(1000))).await, None);
        assert_eq!(measure_wait(&mut retries, failure(NextAction::Retry, Some(u64::MAX))).await, None);
    }
}
