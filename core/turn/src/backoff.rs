//! The waits between the attempts of a call, for tables, flows and chains.

use crate::effect_context::EffectContext;
use crate::request::SleepRequest;

/// The longest wait that a service may ask for, in milliseconds; one that asks for a longer one is not tried again.
pub const MAX_RETRY_AFTER_MS: u64 = 10_000;

/// Growing waits between attempts. It counts no attempts; who retries does.
///
/// ```
/// use convengine_turn::backoff::Backoff;
///
/// let mut backoff = Backoff::new(200, 2.0, 500);
/// assert_eq!(backoff.next_wait(None), Some(200));
/// assert_eq!(backoff.next_wait(Some(3_000)), Some(3_000), "the service asks for three seconds");
/// assert_eq!(backoff.next_wait(None), Some(500));
/// assert_eq!(backoff.next_wait(Some(60_000)), None, "a minute is too long for a turn");
/// ```
#[derive(Debug, Clone)]
pub struct Backoff {
    next_ms: u64,
    multiplier: f64,
    max_ms: u64,
}

impl Backoff {
    /// Begins with a wait of `initial_ms`; each further one is `multiplier` times as long, up to `max_ms`.
    pub fn new(initial_ms: u64, multiplier: f64, max_ms: u64) -> Backoff {
        Backoff { next_ms: initial_ms.min(max_ms), multiplier, max_ms }
    }

    /// Returns the wait before the next attempt, in milliseconds: at least as long as the service asks for. `None` when that is too long.
    pub fn next_wait(&mut self, retry_after_ms: Option<u64>) -> Option<u64> {
        let wait = self.next_ms;
        self.next_ms = multiply(wait, self.multiplier).min(self.max_ms);
        let asked = retry_after_ms.unwrap_or(0);
        (asked <= MAX_RETRY_AFTER_MS).then_some(wait.max(asked))
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "milliseconds are small")]
fn multiply(wait: u64, multiplier: f64) -> u64 {
    ((wait as f64 * multiplier).round() as u64).max(1)
}

/// Waits; a sleep that fails counts as over.
pub async fn wait(effects: &EffectContext, wait_ms: u64) {
    let _ = effects.perform(SleepRequest::new(u32::try_from(wait_ms).unwrap_or(u32::MAX))).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_bound_and_follow_the_service() {
        let mut backoff = Backoff::new(200, 2.0, 700);
        assert_eq!([(); 4].map(|()| backoff.next_wait(None)), [Some(200), Some(400), Some(700), Some(700)]);
        let mut backoff = Backoff::new(0, 1.0, 2000);
        assert_eq!(
            [None, Some(5_000), Some(10_000), Some(10_001)].map(|it| backoff.next_wait(it)),
            [Some(0), Some(5_000), Some(10_000), None]
        );
        assert_eq!(Backoff::new(5_000, 2.0, 100).next_wait(None), Some(100));
    }
}
