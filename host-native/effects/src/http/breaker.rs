//! Circuit breakers: the core has the rules, this module has the state and the clock of the process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use convengine_core::turn::{CallPermit, CircuitBreakers, EffectError, EffectResult, HttpRequest, Millis};
use tokio::time::Instant;

/// The circuit breakers of all callers. They live as long as the process.
#[derive(Debug)]
pub struct BreakerRegistry {
    breakers: Mutex<CircuitBreakers>,
    since: Instant,
}

/// The permission for one call. If dropped without an answer, as when its turn is canceled, the call is not counted.
#[derive(Debug)]
pub struct BreakerPermit<'c> {
    circuits: &'c BreakerRegistry,
    request: &'c HttpRequest,
    admission: CallPermit,
    answer: Option<EffectResult>,
}

impl Default for BreakerRegistry {
    fn default() -> Self {
        BreakerRegistry { breakers: Mutex::default(), since: Instant::now() }
    }
}

impl BreakerRegistry {
    /// Admits a call.
    ///
    /// # Errors
    /// `CircuitOpen`, with the time of the next attempt.
    pub fn enter<'c>(&'c self, request: &'c HttpRequest) -> Result<BreakerPermit<'c>, EffectError> {
        let admission = self.lock().acquire(request, self.now())?;
        Ok(BreakerPermit { circuits: self, request, admission, answer: None })
    }

    fn now(&self) -> Millis {
        Millis::try_from(self.since.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, CircuitBreakers> {
        self.breakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BreakerPermit<'_> {
    /// Records the outcome of the call.
    pub fn record_outcome(mut self, answer: &EffectResult) {
        self.answer = Some(answer.clone());
    }
}

impl Drop for BreakerPermit<'_> {
    fn drop(&mut self) {
        let now = self.circuits.now();
        self.circuits.lock().release(self.admission, self.request, self.answer.as_ref(), now);
    }
}
