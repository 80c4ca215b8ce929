//! How often one model is asked, and how long is waited in between.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::failed::{Failed, Then};

/// The first wait where the model names none; each further one is twice as long.
pub const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The longest wait that is not the model's wish.
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// What is left of the patience with one model.
#[derive(Debug)]
pub struct Patience {
    attempts: u32,
    wait: Duration,
    by: Instant,
}

impl Patience {
    /// So many attempts, the last of which begins before `by`.
    pub fn new(attempts: u32, first_wait: Duration, by: Instant) -> Self {
        Patience { attempts, wait: first_wait, by }
    }

    /// Waits until the model may be asked again.
    ///
    /// # Errors
    /// The failure itself, when it lasts, when it was the last attempt, or when the wait would last too long.
    pub async fn after(&mut self, failed: Failed) -> Result<(), Failed> {
        self.attempts = self.attempts.saturating_sub(1);
        let own = self.wait;
        self.wait = (own * 2).min(LONGEST_WAIT);
        let wait = failed.error.retry_after_ms.map_or(own, Duration::from_millis);
        let in_time = Instant::now().checked_add(wait).is_some_and(|it| it < self.by);
        if failed.then != Then::Again || self.attempts == 0 || !in_time {
            return Err(failed);
        }
        tracing::warn!(error = %failed.error.message, wait_ms = wait.as_millis(), "a model is asked again");
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

    async fn waited(patience: &mut Patience, failed: Failed) -> Option<u64> {
        let start = Instant::now();
        let answer = patience.after(failed).await;
        let elapsed = u64::try_from(start.elapsed().as_millis()).unwrap();
        assert!(answer.is_ok() || elapsed == 0, "nothing is waited for in vain");
        answer.ok().map(|()| elapsed)
    }

    #[tokio::test(start_paused = true)]
    async fn waits_grow_unless_the_model_names_one() {
        let mut patience = Patience::new(9, FIRST_WAIT, Instant::now() + Duration::from_secs(60));
        let mut found = Vec::new();
        for wish in [None, None, Some(1234), Some(0), None, None, None] {
            found.push(waited(&mut patience, failed(Then::Again, wish)).await.unwrap());
        }
        assert_eq!(found, [500, 1000, 1234, 0, 8000, 8000, 8000]);
        let mut patience = Patience::new(2, FIRST_WAIT, Instant::now() + Duration::from_secs(60));
        assert_eq!(waited(&mut patience, failed(Then::Next, None)).await, None, "it would fail again");
        let mut patience = Patience::new(2, FIRST_WAIT, Instant::now() + Duration::from_secs(60));
        assert_eq!(waited(&mut patience, failed(Then::Again, None)).await, Some(500));
        assert_eq!(waited(&mut patience, failed(Then::Again, None)).await, None, "two attempts are enough");
    }

    #[tokio::test(start_paused = true)]
    async fn no_wait_begins_that_would_pass_the_deadline() {
        let mut patience = Patience::new(9, FIRST_WAIT, Instant::now() + Duration::from_secs(3));
        assert_eq!(waited(&mut patience, failed(Then::Again, Some(2000))).await, Some(2000));
        assert_eq!(waited(&mut patience, failed(Then::Again, Some(1000))).await, None);
        assert_eq!(waited(&mut patience, failed(Then::Again, Some(u64::MAX))).await, None);
    }
}
