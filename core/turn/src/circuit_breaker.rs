//! Circuit breakers: the host keeps their state; the rules are the same in every host.
//!
//! They are outside of turns, because a service that fails for one conversation fails for all. A turn only sees a call that is refused.
//! (docs/spec/architecture.md#D7, docs/spec/tools.md#D-12)

use std::collections::BTreeMap;

use super::Millis;
use super::error::{EffectError, EffectErrorKind};
use super::request::{BreakerPolicy, EffectResult, HttpCaller, HttpRequest, Reply};
use super::state_machine::StateMachine;

/// The state of a circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BreakerState {
    /// Calls are made.
    #[default]
    Closed,
    /// Calls are refused until the wait is over.
    Open,
    /// One call probes whether the service is back; others are refused.
    HalfOpen,
}

/// What moves a circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerEvent {
    /// A call has succeeded.
    Succeed,
    /// A call has failed, which does not open the circuit: there were too few failures, or the call began before it opened.
    Fail,
    /// A call has failed, and there were too many failures.
    Trip,
    /// The wait is over, and a call may probe.
    Probe,
    /// The probe has failed.
    FailProbe,
    /// The probe has ended without showing whether the service is back.
    AbortProbe,
}

impl StateMachine for BreakerState {
    type Event = BreakerEvent;

    const NAME: &'static str = "circuit_breaker";

    // A call may outlast the state in which it began: it ends in any other.
    const TRANSITIONS: &'static [(BreakerState, BreakerEvent, BreakerState)] = &[
        (BreakerState::Closed, BreakerEvent::Succeed, BreakerState::Closed),
        (BreakerState::Closed, BreakerEvent::Fail, BreakerState::Closed),
        (BreakerState::Closed, BreakerEvent::Trip, BreakerState::Open),
        (BreakerState::Closed, BreakerEvent::FailProbe, BreakerState::Open),
        (BreakerState::Closed, BreakerEvent::AbortProbe, BreakerState::Closed),
        (BreakerState::Open, BreakerEvent::Probe, BreakerState::HalfOpen),
        (BreakerState::Open, BreakerEvent::Succeed, BreakerState::Closed),
        (BreakerState::Open, BreakerEvent::Fail, BreakerState::Open),
        (BreakerState::Open, BreakerEvent::FailProbe, BreakerState::Open),
        (BreakerState::Open, BreakerEvent::AbortProbe, BreakerState::Open),
        (BreakerState::HalfOpen, BreakerEvent::Succeed, BreakerState::Closed),
        (BreakerState::HalfOpen, BreakerEvent::Fail, BreakerState::HalfOpen),
        (BreakerState::HalfOpen, BreakerEvent::FailProbe, BreakerState::Open),
        (BreakerState::HalfOpen, BreakerEvent::AbortProbe, BreakerState::Open),
    ];
}

/// The circuit breakers of a host, by caller and address. A host asks before each call, and notes how it ended:
///
/// ```
/// use convengine_turn::{CircuitBreakers, EffectErrorKind, EffectError, EffectResult, HttpRequest};
/// use serde_json::json;
///
/// let request: HttpRequest = serde_json::from_value(json!({
///     "caller": {"tool": "orders"}, "method": "GET", "url": "https://orders.example/7", "headers": [], "class": "read",
///     "connect_timeout_ms": 1_000, "timeout_ms": 5_000, "max_bytes": 65_536,
///     "breaker": {"threshold": 1, "open_ms": 30_000, "retries": {"statuses": [], "io": false}},
/// }))?;
/// let mut breakers = CircuitBreakers::default();
/// let permit = breakers.acquire(&request, 1_000)?;
/// let outage = EffectResult::Error(EffectError::new(EffectErrorKind::Unavailable, "connection refused"));
/// breakers.release(permit, &request, Some(&outage), 1_200);
///
/// let refused = breakers.acquire(&request, 1_300).unwrap_err();
/// assert_eq!((refused.kind, refused.retry_after_ms), (EffectErrorKind::CircuitOpen, Some(29_900)));
/// assert!(breakers.acquire(&request, 31_200).is_ok(), "one call may probe");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct CircuitBreakers(BTreeMap<String, Breaker>);

#[derive(Debug, Clone, Default)]
struct Breaker {
    state: BreakerState,
    /// Consecutive failures while closed.
    failures: u32,
    /// When a probe is allowed, unless closed.
    open_until: Millis,
}

/// The permit for one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "how the call ended has to be noted"]
pub struct CallPermit {
    /// Whether the call probes an open circuit.
    probe: bool,
}

impl CircuitBreakers {
    /// Acquires a permit for a call; always, if the request has no circuit breaker. Once an open circuit's wait is over, one call at a time
    /// may probe. A permit to probe that is never released keeps the circuit half open: every later call is refused.
    ///
    /// # Errors
    /// [`CircuitOpen`](EffectErrorKind::CircuitOpen), with the time until the next probe, which the host answers the effect with.
    pub fn acquire(&mut self, request: &HttpRequest, now: Millis) -> Result<CallPermit, EffectError> {
        let name = breaker_name(request);
        let found =
            self.0.get_mut(&breaker_key(request)).filter(|breaker| request.breaker.is_some() && breaker.state != BreakerState::Closed);
        let Some(breaker) = found else { return Ok(CallPermit { probe: false }) };
        if now >= breaker.open_until
            && let Some(next) = breaker.state.next(BreakerEvent::Probe)
        {
            breaker.state = next;
            return Ok(CallPermit { probe: true });
        }
        let retry_after_ms = u64::try_from(breaker.open_until.saturating_sub(now)).ok().filter(|it| *it > 0);
        let message = format!("the circuit breaker of {name} is open: the service has failed too often");
        Err(EffectError { retry_after_ms, ..EffectError::new(EffectErrorKind::CircuitOpen, message) })
    }

    /// Records the outcome of a call; no answer means that it was aborted, which does not count. A failure that is retried does not
    /// count either: only the last attempt does.
    pub fn release(&mut self, admission: CallPermit, request: &HttpRequest, answer: Option<&EffectResult>, now: Millis) {
        let Some(policy) = &request.breaker else { return };
        let key = breaker_key(request);
        let mut breaker = self.0.remove(&key).unwrap_or_default();
        let result = answer.map_or(CallResult::Unknown, |it| classify_result(policy, it));
        if let Some(event) = breaker.event(result, admission, policy)
            && let Some(next) = breaker.state.next(event)
        {
            breaker.take(event, next, now.saturating_add(policy.open_ms.into()));
        }
        // Nothing is kept of a service that works.
        if breaker.state != BreakerState::Closed || breaker.failures > 0 {
            self.0.insert(key, breaker);
        }
    }
}

impl Breaker {
    /// What the end of a call means; `None` when it does not count.
    fn event(&self, result: CallResult, admission: CallPermit, policy: &BreakerPolicy) -> Option<BreakerEvent> {
        match (result, admission.probe) {
            (CallResult::Success, _) => Some(BreakerEvent::Succeed),
            (CallResult::Failure, true) => Some(BreakerEvent::FailProbe),
            (CallResult::Failure, false) if self.state == BreakerState::Closed && self.failures.saturating_add(1) >= policy.threshold => {
                Some(BreakerEvent::Trip)
            }
            (CallResult::Failure, false) => Some(BreakerEvent::Fail),
            (CallResult::Unknown, true) => Some(BreakerEvent::AbortProbe),
            (CallResult::Unknown, false) => None,
        }
    }

    /// Goes to the next state; `open_until` is when a probe is allowed, should the circuit open now.
    fn take(&mut self, event: BreakerEvent, next: BreakerState, open_until: Millis) {
        self.state = next;
        match event {
            BreakerEvent::Succeed => self.failures = 0,
            BreakerEvent::Fail if next == BreakerState::Closed => self.failures = self.failures.saturating_add(1),
            BreakerEvent::Trip | BreakerEvent::FailProbe => (self.failures, self.open_until) = (0, open_until),
            BreakerEvent::Fail | BreakerEvent::Probe | BreakerEvent::AbortProbe => {}
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

#[derive(Clone, Copy)]
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
        EffectResult::Error(error) if error.kind.is_outage() => failed(breaker.retries.io),
        EffectResult::Error(_) => CallResult::Unknown,
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

    /// Ends a call, and notes the transition that it takes.
    fn end(
        breakers: &mut CircuitBreakers,
        permit: CallPermit,
        answer: Option<u16>,
        now: Millis,
        taken: &mut Vec<(BreakerState, BreakerEvent, BreakerState)>,
    ) {
        let (request, answer) = (request(2, &[]), answer.map(status));
        let state_of = |breakers: &CircuitBreakers| breakers.0.get(&breaker_key(&request)).cloned().unwrap_or_default();
        let before = state_of(breakers);
        let policy = request.breaker.as_ref().unwrap();
        let result = answer.as_ref().map_or(CallResult::Unknown, |it| classify_result(policy, it));
        let event = before.event(result, permit, policy).unwrap();
        breakers.release(permit, &request, answer.as_ref(), now);
        taken.push((before.state, event, state_of(breakers).state));
    }

    #[test]
    fn each_transition_is_taken() {
        let (mut breakers, request, mut taken) = (CircuitBreakers::default(), request(2, &[]), Vec::new());
        // That of calls which began while the circuit was closed, and end in any state.
        let early = breakers.acquire(&request, 0).unwrap();
        let mut now = 0;
        let (ok, failure, aborted) = (Some(200), Some(500), None);
        for (earlier, answer) in [
            (vec![], failure),
            (vec![], aborted),
            (vec![failure], failure),
            (vec![ok], failure),
            (vec![ok], aborted),
            (vec![ok, failure, failure], failure),
            (vec![ok, failure, failure], aborted),
        ] {
            let is_open = breakers.0.values().any(|it| it.state == BreakerState::Open);
            for answer in if is_open { vec![failure, ok, failure, failure] } else { vec![failure, failure] } {
                end(&mut breakers, early, answer, now, &mut taken);
            }
            now += 1000;
            let probe = breakers.acquire(&request, now).unwrap();
            taken.push((BreakerState::Open, BreakerEvent::Probe, breakers.0.values().next().unwrap().state));
            for answer in earlier {
                end(&mut breakers, early, answer, now, &mut taken);
            }
            end(&mut breakers, probe, answer, now, &mut taken);
        }
        end(&mut breakers, early, ok, now, &mut taken);
        end(&mut breakers, early, ok, now, &mut taken);
        for row in BreakerState::TRANSITIONS {
            assert!(taken.contains(row), "{row:?} is not taken");
        }
        assert!(taken.iter().all(|it| BreakerState::TRANSITIONS.contains(it)), "{taken:?}");
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
