//! Retries of one model: number of attempts and backoff.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::failed::{Failed, Then};

/// The first backoff if the model sends no `Retry-After`; it doubles with each retry.
pub const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Maximum backoff, unless the model asks for more.
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// The remaining attempts with one model.
#[derive(Debug)]
pub struct Patience {
    attempts: u32,
    wait: Duration,
    by: Instant,
}

impl Patience {
    /// Allows `attempts` attempts, the last of which begins before `deadline`.
    pub fn new(attempts: u32, first_wait: Duration, deadline: Instant) -> Self {
        Patience { attempts, wait: first_wait, by: deadline }
    }

    /// Waits until the model may be called again.
    ///
    /// # Errors
    /// The failure itself if it is not retryable, if it was the last attempt, or if the wait would exceed the deadline.
    pub async fn after(&mut self, failed: Failed) -> Result<(), Failed> {
        self.attempts = self.attempts.saturating_sub(1);
        let backoff = self.wait;
        self.wait = (backoff * 2).min(LONGEST_WAIT);
        let wait = failed.error.retry_after_ms.map_or(backoff, Duration::from_millis);
        let in_time = Instant::now().checked_add(wait).is_some_and(|it| it < self.by);
        if failed.then != Then::Again || self.attempts == 0 || !in_time {
            return Err(failed);
        }
        tracing::warn!(error = %failed.error.message, wait_ms = wait.as_millis(), "model call failed; retrying");
        sleep(wait).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convengine_core::turn::EffectErrorKind;

    fn failed(then: Then, retry_after_ms: Option<u64>) -> Failed {
        let mut failed = Failed::new(EffectErrorKind::Limited, then, "no");
        failed.error.retry_after_ms = retry_after_ms;
        failed
    }

    async fn waited(retries: &mut Patience, failed: Failed) -> Option<u64> {
        let start = Instant::now();
        let answer = retries.after(failed).await;
        let elapsed = u64::try_from(start.elapsed().as_millis()).unwrap();
        assert!(answer.is_ok() || elapsed == 0, "a failed attempt does not wait");
        answer.ok().map(|()| elapsed)
    }

    #[tokio::test(start_paused = true)]
    async fn waits_grow_unless_the_model_names_one() {
        let mut retries = Patience::new(9, FIRST_WAIT, Instant::now() + Duration::from_secs(60));
        let mut waits = Vec::new();
        for requested in [None, None, Some(1234), Some(0), None, None, None] {
            waits.push(waited(&mut retries, failed(Then::Again, requested)).await.unwrap());
        }
        assert_eq!(waits, [500, 1000, 1234, 0, 8000, 8000, 8000]);
        let mut retries = Patience::new(2, FIRST_WAIT, Instant::now() + Duration::from_secs(60));
        assert_eq!(waited(&mut retries, failed(Then::Next, None)).await, None, "it would fail again");
        let mut retries = Patience::new(2, FIRST_WAIT, Instant::now() + Duration::from_secs(60));
        assert_eq!(waited(&mut retries, failed(Then::Again, None)).await, Some(500));
        assert_eq!(waited(&mut retries, failed(Then::Again, None)).await, None, "two attempts are enough");
    }

    #[tokio::test(start_paused = true)]
    async fn no_wait_begins_that_would_pass_the_deadline() {
        let mut retries = Patience::new(9, FIRST_WAIT, Instant::now() + Duration::from_secs(3));
        assert_eq!(waited(&mut retries, failed(Then::Again, Some(2000))).await, Some(2000));
        assert_eq!(waited(&mut retries, failed(Then::Again, Some(1000))).await, None);
        assert_eq!(waited(&mut retries, failed(Then::Again, Some(u64::MAX))).await, None);
    }
}
