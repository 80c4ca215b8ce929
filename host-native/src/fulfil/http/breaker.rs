//! Circuit breakers: a service that fails again and again is left alone for a while. (`mcp-and-semantic.md` 3.2)

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convengine_core::turn::{Breaker, EffectError, EffectErrorKind, HttpCaller, HttpReply};
use tokio::time::Instant;

/// The circuits of all callers. They live as long as the process.
#[derive(Debug, Default)]
pub struct Breakers(Mutex<BTreeMap<String, Circuit>>);

/// A circuit that has seen a failure since its last success; one without is not kept.
#[derive(Debug, Default)]
struct Circuit {
    /// Failures in a row while it is closed.
    failures: u32,
    /// When one call may try again; absent while it is closed.
    until: Option<Instant>,
    /// Whether that call is under way.
    probing: bool,
}

/// The permission for one call. Dropped without a verdict, it counts neither way.
#[derive(Debug)]
pub struct Pass<'b> {
    circuits: &'b Breakers,
    breaker: &'b Breaker,
    name: String,
    probe: bool,
}

/// What a call says about its service.
enum Verdict {
    Works,
    Fails,
    /// Nothing yet: it will be tried again, or what went wrong is not the service's fault.
    Unknown,
}

impl Breakers {
    /// Lets a call through, or says when it may be tried again; `None` for a call without a breaker.
    ///
    /// # Errors
    /// `CircuitOpen`.
    pub fn enter<'b>(&'b self, caller: &HttpCaller, breaker: Option<&'b Breaker>) -> Result<Option<Pass<'b>>, EffectError> {
        let Some(breaker) = breaker else { return Ok(None) };
        let (kind, code) = match caller {
            HttpCaller::Tool(code) => ("tool", code.trim()),
            HttpCaller::Task(name) => ("task", name.trim()),
            HttpCaller::Extension(name) => ("extension", name.trim()),
        };
        let name = format!("{kind} {}", code.to_uppercase());
        let mut circuits = self.lock();
        let mut probe = false;
        if let Some(circuit) = circuits.get_mut(&name)
            && let Some(until) = circuit.until
        {
            let wait = until.saturating_duration_since(Instant::now());
            if circuit.probing || !wait.is_zero() {
                return Err(open(&format!("{kind} {code}"), wait));
            }
            circuit.probing = true;
            probe = true;
        }
        drop(circuits);
        Ok(Some(Pass { circuits: self, breaker, name, probe }))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Circuit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass<'_> {
    /// Takes note of how the call ended.
    pub fn settle(self, outcome: &Result<HttpReply, EffectError>) {
        let mut circuits = self.circuits.lock();
        match verdict(outcome, self.breaker) {
            Verdict::Works => {
                circuits.remove(&self.name);
            }
            Verdict::Fails => {
                let circuit = circuits.entry(self.name.clone()).or_default();
                // A call that began before the circuit opened says nothing new.
                if circuit.until.is_none() || self.probe {
                    circuit.failures += 1;
                }
                if self.probe || circuit.failures >= self.breaker.threshold.max(1) {
                    let pause = Duration::from_millis(self.breaker.open_ms.into());
                    *circuit = Circuit { failures: 0, until: Some(Instant::now() + pause), probing: false };
                }
            }
            Verdict::Unknown => {}
        }
    }
}

impl Drop for Pass<'_> {
    /// A trial that ends makes room for the next one, also when its turn was given up.
    fn drop(&mut self) {
        if self.probe
            && let Some(circuit) = self.circuits.lock().get_mut(&self.name)
        {
            circuit.probing = false;
        }
    }
}

/// A status outside 2xx, a connection that fails and an answer that takes too long are failures, once no attempt follows. A target
/// that this host refuses and an answer that it cannot take say nothing about whether the service is up.
fn verdict(outcome: &Result<HttpReply, EffectError>, breaker: &Breaker) -> Verdict {
    let (fails, retried) = match outcome {
        Ok(reply) => (!(200..300).contains(&reply.status), breaker.retries.statuses.contains(&reply.status)),
        Err(error) if matches!(error.kind, EffectErrorKind::Timeout | EffectErrorKind::Unavailable) => (true, breaker.retries.io),
        Err(_) => return Verdict::Unknown,
    };
    match (fails, retried) {
        (false, _) => Verdict::Works,
        (true, false) => Verdict::Fails,
        (true, true) => Verdict::Unknown,
    }
}

fn open(caller: &str, wait: Duration) -> EffectError {
    // Rounded up: who waits so long is not too early.
    let wait = u64::try_from(wait.as_micros().div_ceil(1000)).unwrap_or(u64::MAX);
    let when = if wait == 0 { "a call that tries it is under way".to_owned() } else { format!("it may be tried again in {wait} ms") };
    let mut error = EffectError::new(EffectErrorKind::CircuitOpen, format!("circuit open for {caller}: {when}"));
    error.retry_after_ms = Some(wait).filter(|it| *it > 0);
    error
}

#[cfg(test)]
mod tests {
    use convengine_core::turn::Retries;

    use super::*;

    fn breaker() -> Breaker {
        Breaker { threshold: 2, open_ms: 1000, retries: Retries::default() }
    }

    fn tool(code: &str) -> HttpCaller {
        HttpCaller::Tool(code.to_owned())
    }

    fn status(status: u16) -> Result<HttpReply, EffectError> {
        Ok(HttpReply { status, body: String::new(), retry_after_ms: None })
    }

    fn error(kind: EffectErrorKind) -> Result<HttpReply, EffectError> {
        Err(EffectError::new(kind, "no"))
    }

    fn call(breakers: &Breakers, breaker: &Breaker, outcome: &Result<HttpReply, EffectError>) -> Result<(), EffectError> {
        breakers.enter(&tool("crm"), Some(breaker)).map(|it| it.expect("a pass").settle(outcome))
    }

    #[tokio::test(start_paused = true)]
    async fn it_opens_at_the_threshold_lets_one_try_and_closes_with_its_success() {
        let (breakers, breaker) = (Breakers::default(), breaker());
        call(&breakers, &breaker, &status(500)).expect("closed");
        call(&breakers, &breaker, &error(EffectErrorKind::Timeout)).expect("closed");
        tokio::time::advance(Duration::from_millis(400)).await;
        let refused = breakers.enter(&tool(" CRM "), Some(&breaker)).expect_err("open");
        assert_eq!(refused.kind, EffectErrorKind::CircuitOpen);
        assert_eq!(refused.message, "circuit open for tool CRM: it may be tried again in 600 ms");
        assert_eq!(refused.retry_after_ms, Some(600));
        tokio::time::advance(Duration::from_millis(600)).await;
        let probe = breakers.enter(&tool("crm"), Some(&breaker)).expect("half open").expect("a pass");
        let other = breakers.enter(&tool("crm"), Some(&breaker)).expect_err("one at a time");
        assert_eq!(other.message, "circuit open for tool crm: a call that tries it is under way");
        probe.settle(&status(204));
        call(&breakers, &breaker, &status(500)).expect("closed");
        call(&breakers, &breaker, &status(500)).expect("the count began anew");
        call(&breakers, &breaker, &status(200)).expect_err("open again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_trial_that_fails_opens_it_again_and_one_that_is_given_up_does_not() {
        let (breakers, breaker) = (Breakers::default(), breaker());
        for _ in 0..2 {
            call(&breakers, &breaker, &status(500)).expect("closed");
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        drop(breakers.enter(&tool("crm"), Some(&breaker)).expect("half open"));
        call(&breakers, &breaker, &error(EffectErrorKind::Denied)).expect("the next one may try");
        call(&breakers, &breaker, &error(EffectErrorKind::Unavailable)).expect("a refused target said nothing");
        let again = call(&breakers, &breaker, &status(200)).expect_err("open");
        assert_eq!(again.retry_after_ms, Some(1000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_counts_once_with_its_last_attempt() {
        let breakers = Breakers::default();
        let retried = Breaker { retries: Retries { statuses: vec![503], io: true }, ..breaker() };
        for outcome in [status(503), error(EffectErrorKind::Timeout), error(EffectErrorKind::Unavailable), error(EffectErrorKind::Invalid)]
        {
            for _ in 0..3 {
                call(&breakers, &retried, &outcome).expect("closed");
            }
        }
        call(&breakers, &breaker(), &status(503)).expect("the last attempt of the first call");
        call(&breakers, &retried, &status(503)).expect("closed");
        call(&breakers, &breaker(), &status(503)).expect("the last attempt of the second call");
        call(&breakers, &breaker(), &status(503)).expect_err("two calls failed");
    }

    #[tokio::test(start_paused = true)]
    async fn callers_have_circuits_of_their_own() {
        let (breakers, breaker) = (Breakers::default(), breaker());
        for _ in 0..2 {
            call(&breakers, &breaker, &status(500)).expect("closed");
        }
        for other in [tool("crm2"), HttpCaller::Task("crm".into()), HttpCaller::Extension("crm".into())] {
            assert!(breakers.enter(&other, Some(&breaker)).is_ok(), "{other:?}");
        }
        assert!(breakers.enter(&tool("crm"), None).expect("no breaker").is_none());
    }
}
