//! Circuit breakers: the core has the rules, this module has the state and the clock of the process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use convengine_core::turn::{Admission, Answer, Breakers, EffectError, HttpRequest, Millis};
use tokio::time::Instant;

/// The circuit breakers of all callers. They live as long as the process.
#[derive(Debug)]
pub struct Circuits {
    breakers: Mutex<Breakers>,
    since: Instant,
}

/// The permission for one call. If dropped without an answer, as when its turn is canceled, the call is not counted.
#[derive(Debug)]
pub struct Pass<'c> {
    circuits: &'c Circuits,
    request: &'c HttpRequest,
    admission: Admission,
    answer: Option<Answer>,
}

impl Default for Circuits {
    fn default() -> Self {
        Circuits { breakers: Mutex::default(), since: Instant::now() }
    }
}

impl Circuits {
    /// Admits a call.
    ///
    /// # Errors
    /// `CircuitOpen`, with the time of the next attempt.
    pub fn enter<'c>(&'c self, request: &'c HttpRequest) -> Result<Pass<'c>, EffectError> {
        let admission = self.lock().enter(request, self.now())?;
        Ok(Pass { circuits: self, request, admission, answer: None })
    }

    fn now(&self) -> Millis {
        Millis::try_from(self.since.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, Breakers> {
        self.breakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass<'_> {
    /// Records the outcome of the call.
    pub fn settle(mut self, answer: &Answer) {
        self.answer = Some(answer.clone());
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let now = self.circuits.now();
        self.circuits.lock().leave(self.admission, self.request, self.answer.as_ref(), now);
    }
}
