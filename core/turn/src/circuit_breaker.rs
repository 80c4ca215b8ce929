//! Circuit breakers: the host keeps their state; the rules are the same in every host.
//! (docs/spec/architecture.md#D7, docs/spec/tools.md#D-12)

use std::collections::BTreeMap;

use super::Millis;
use super::effect::EffectResult;
use super::error::{EffectError, EffectErrorKind};
use super::request::{BreakerPolicy, HttpCaller, HttpRequest, Reply};

/// The circuit breakers of a host, by caller.
#[derive(Debug, Clone, Default)]
pub struct CircuitBreakers(BTreeMap<String, BreakerState>);

#[derive(Debug, Clone, Default)]
struct BreakerState {
    /// Consecutive failures.
    failures: u32,
    /// When a probe is allowed; absent while closed.
    open_until: Option<Millis>,
    /// Whether a probe is in progress.
    probing: bool,
}

/// The permit for one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "how the call ended has to be noted"]
pub struct CallPermit {
    /// Whether the call probes an open circuit.
    probe: bool,
}

impl CircuitBreakers {
    /// Acquires a permit for a call. Once an open circuit's wait is over, one call at a time may probe.
    ///
    /// # Errors
    /// `CircuitOpen`, with the time until the next probe.
    pub fn acquire(&mut self, request: &HttpRequest, now: Millis) -> Result<CallPermit, EffectError> {
        let name = breaker_name(request);
        let Some(state) = self.0.get_mut(&breaker_key(request)).filter(|_| request.breaker.is_some()) else {
            return Ok(CallPermit { probe: false });
        };
        let Some(until) = state.open_until else { return Ok(CallPermit { probe: false }) };
        if now >= until && !state.probing {
            state.probing = true;
            return Ok(CallPermit { probe: true });
        }
        let retry_after_ms = u64::try_from(until.saturating_sub(now)).ok().filter(|it| *it > 0);
        let message = format!("the circuit breaker of {name} is open: the service has failed too often");
        Err(EffectError { retry_after_ms, ..EffectError::new(EffectErrorKind::CircuitOpen, message) })
    }

    /// Records the outcome of a call; no answer means that it was aborted, which does not count. A failure that is retried does not
    /// count either: only the last attempt does.
    pub fn release(&mut self, admission: CallPermit, request: &HttpRequest, answer: Option<&EffectResult>, now: Millis) {
        let Some(breaker) = &request.breaker else { return };
        let name = breaker_key(request);
        match answer.map_or(CallResult::Unknown, |it| classify_result(breaker, it)) {
            CallResult::Success => drop(self.0.remove(&name)),
            // An open circuit stays open for the next probe.
            CallResult::Unknown => self.0.get_mut(&name).filter(|_| admission.probe).into_iter().for_each(|it| it.probing = false),
            CallResult::Failure => {
                let state = self.0.entry(name).or_default();
                // A call that began before the circuit opened does not count.
                if state.open_until.is_some() && !admission.probe {
                    return;
                }
                state.failures = state.failures.saturating_add(1);
                if admission.probe || state.failures >= breaker.threshold {
                    *state = BreakerState { open_until: Some(now.saturating_add(breaker.open_ms.into())), ..BreakerState::default() };
                }
            }
        }
    }
}

/// The breaker's name; a tool and a task of the same name have separate breakers.
fn breaker_name(request: &HttpRequest) -> String {
    let (kind, name) = match &request.caller {
        HttpCaller::Tool(code) => ("tool", code),
        HttpCaller::Task(name) => ("task", name),
        HttpCaller::Extension(name) => ("extension", name),
        HttpCaller::Handoff(call) => ("handoff", call),
        HttpCaller::Notify(channel) => ("notify", channel),
    };
    format!("{kind} {}", name.trim().to_uppercase())
}

/// The breaker's key: the caller and what it calls, because callers of two documents may have one name.
fn breaker_key(request: &HttpRequest) -> String {
    let end = request.url.match_indices('/').nth(2).map_or(request.url.len(), |it| it.0);
    [&breaker_name(request), " at ", request.url.get(..end).unwrap_or_default()].concat()
}

enum CallResult {
    Success,
    Failure,
    Unknown,
}

fn classify_result(breaker: &BreakerPolicy, answer: &EffectResult) -> CallResult {
    let failed = |retried: bool| if retried { CallResult::Unknown } else { CallResult::Failure };
    match answer {
        EffectResult::Ok(Reply::Http(reply)) if (200..300).contains(&reply.status) => CallResult::Success,
        EffectResult::Ok(Reply::Http(reply)) if breaker.only_outages && reply.status < 500 && reply.status != 429 => CallResult::Success,
        EffectResult::Ok(Reply::Http(reply)) => failed(breaker.retries.statuses.contains(&reply.status)),
        EffectResult::Ok(_) => CallResult::Unknown,
        EffectResult::Error(error) => match error.kind {
            EffectErrorKind::Timeout | EffectErrorKind::Unavailable | EffectErrorKind::Interrupted => failed(breaker.retries.io),
            // What the host refuses or cannot do is not a failure of the service.
            EffectErrorKind::Refused
            | EffectErrorKind::Invalid
            | EffectErrorKind::NotFound
            | EffectErrorKind::Denied
            | EffectErrorKind::CircuitOpen
            | EffectErrorKind::Limited
            | EffectErrorKind::Unsupported
            | EffectErrorKind::Cancelled
            | EffectErrorKind::Mismatch => CallResult::Unknown,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EffectClass, HttpReply, RetryConditions};

    fn request(threshold: u32, retried: &[u16]) -> HttpRequest {
        let retries = RetryConditions { statuses: retried.to_vec(), io: !retried.is_empty() };
        HttpRequest {
            caller: HttpCaller::Tool(" a.b ".to_owned()),
            method: "GET".to_owned(),
            url: "http://a/".to_owned(),
            headers: Vec::new(),
            body: None,
            auth: None,
            connect_timeout_ms: 1,
            timeout_ms: 1,
            max_bytes: 1,
            class: EffectClass::Read,
            idempotent: false,
            key: None,
            secrets: Vec::new(),
            sign: None,
            breaker: Some(BreakerPolicy { threshold, open_ms: 1000, retries, only_outages: false }),
        }
    }

    fn status(status: u16) -> EffectResult {
        EffectResult::Ok(Reply::Http(HttpReply { status, body: String::new(), retry_after_ms: None, broken_json: false }))
    }

    /// Makes a call at a time; returns whether it was admitted.
    fn call(breakers: &mut CircuitBreakers, request: &HttpRequest, answer: &EffectResult, now: Millis) -> bool {
        let admission = breakers.acquire(request, now);
        if let Ok(admission) = admission {
            breakers.release(admission, request, Some(answer), now);
        }
        admission.is_ok()
    }

    #[test]
    fn it_opens_at_its_threshold_and_one_call_probes_after_the_wait() {
        let (mut breakers, request) = (CircuitBreakers::default(), request(2, &[]));
        assert!(call(&mut breakers, &request, &status(500), 0) && call(&mut breakers, &request, &status(500), 1));
        let error = breakers.acquire(&request, 401).unwrap_err();
        assert_eq!((error.kind, error.retry_after_ms), (EffectErrorKind::CircuitOpen, Some(600)));
        assert!(error.message.contains("tool A.B"), "{error}");
        let probe = breakers.acquire(&request, 1001).unwrap();
        assert!(breakers.acquire(&request, 1001).is_err(), "a second probe at the same time");
        breakers.release(probe, &request, None, 1002);
        let probe = breakers.acquire(&request, 1003).unwrap();
        breakers.release(probe, &request, Some(&status(503)), 1100);
        assert!(!call(&mut breakers, &request, &status(200), 2099), "a failed probe opens it anew");
        assert!(call(&mut breakers, &request, &status(200), 2100) && call(&mut breakers, &request, &status(500), 2101));
        assert!(call(&mut breakers, &request, &status(200), 2102), "a success forgets the failures before it");
    }

    #[test]
    fn only_the_last_attempt_counts_and_refusals_of_the_host_do_not() {
        let mut breakers = CircuitBreakers::default();
        for _ in 0..5 {
            assert!(call(&mut breakers, &request(1, &[503]), &status(503), 0));
            let denied = EffectResult::Error(EffectError::new(EffectErrorKind::Denied, "private"));
            assert!(call(&mut breakers, &request(1, &[]), &denied, 0));
        }
        let timeout = EffectResult::Error(EffectError::new(EffectErrorKind::Timeout, "slow"));
        assert!(call(&mut breakers, &request(1, &[]), &timeout, 0) && breakers.acquire(&request(1, &[]), 0).is_err());
    }
}
