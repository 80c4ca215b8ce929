//! Rate limits per caller, conversation and assistant, and their response headers.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use convengine_host_base::clock;
use convengine_settings::{AssistantSettings, Rate, Rates};
use convengine_storage::assistant::ProgramKey;
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::api_error::ApiError;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The value of the headers where nothing limits a call: the largest one, so that clients can read a number everywhere.
const UNLIMITED: HeaderValue = HeaderValue::from_static("4294967295");

/// Number of calls after which idle entries are evicted.
const SWEEP_INTERVAL: u32 = 1024;

/// The rate limits of a tenant.
#[derive(Debug, Default)]
pub struct RateLimits {
    callers: Option<Limiter>,
    conversations: Option<Limiter>,
    visitors: Option<Limiter>,
    addresses: Option<Limiter>,
    simulator: Option<Limiter>,
}

impl RateLimits {
    /// Creates limits for callers and conversations.
    pub fn new(rates: Rates) -> RateLimits {
        RateLimits {
            callers: rates.per_key.and_then(Limiter::new),
            conversations: rates.per_conversation.and_then(Limiter::new),
            ..RateLimits::default()
        }
    }

    /// Adds limits for assistants.
    #[must_use]
    pub fn with_assistants(self, assistants: &AssistantSettings) -> RateLimits {
        let limiter = |rate: Option<Rate>| rate.and_then(Limiter::new);
        let (visitors, addresses) = (limiter(assistants.public), limiter(assistants.public_address));
        RateLimits { visitors, addresses, simulator: limiter(assistants.simulator), ..self }
    }

    /// Whether calls of the simulator are limited.
    pub fn limits_simulator(&self) -> bool {
        self.simulator.is_some()
    }

    /// Counts a call of an assistant or workflow by the simulator. Returns the status, or `None` without a limit.
    ///
    /// # Errors
    /// 429 if the limit is exceeded.
    pub fn check_program(&self, program: &ProgramKey, uri: &Uri) -> Result<Option<RateStatus>, ApiError> {
        let kind = program.kind().name();
        check(self.simulator.as_ref(), program.as_str(), uri, &format!("{kind} rate limit exceeded"))
            .map_err(|it| it.with_limit_scope(kind))
    }

    /// Counts a call of a deployment by an address. Returns the status, or `None` without a limit.
    ///
    /// # Errors
    /// 429 if the limit is exceeded.
    pub fn check_address(&self, deployment: &str, address: &str, uri: &Uri) -> Result<Option<RateStatus>, ApiError> {
        let checked = check(self.addresses.as_ref(), &format!("{deployment} {address}"), uri, "address rate limit exceeded");
        checked.map_err(|it| it.with_limit_scope("address"))
    }

    /// Counts a call of a deployment by a visitor: the session, or the address of one without. Returns the status, or `None` without a
    /// limit.
    ///
    /// # Errors
    /// 429 if the limit is exceeded.
    pub fn check_visitor(&self, deployment: &str, visitor: &str, uri: &Uri) -> Result<Option<RateStatus>, ApiError> {
        let checked = check(self.visitors.as_ref(), &format!("{deployment} {visitor}"), uri, "visitor rate limit exceeded");
        checked.map_err(|it| it.with_limit_scope("visitor"))
    }

    /// Counts a call of a caller. Returns the status, or `None` without a limit.
    ///
    /// # Errors
    /// 429 if the limit is exceeded.
    pub fn check_caller(&self, id: &str, uri: &Uri) -> Result<Option<RateStatus>, ApiError> {
        check(self.callers.as_ref(), id, uri, "caller rate limit exceeded")
    }

    /// Counts a message of a conversation. Returns the status, or `None` without a limit.
    ///
    /// # Errors
    /// 429 if the limit is exceeded.
    pub fn check_conversation(&self, id: &str, uri: &Uri) -> Result<Option<RateStatus>, ApiError> {
        check(self.conversations.as_ref(), id, uri, "conversation rate limit exceeded")
    }
}

fn check(limiter: Option<&Limiter>, id: &str, uri: &Uri, problem: &str) -> Result<Option<RateStatus>, ApiError> {
    let Some(limiter) = limiter else { return Ok(None) };
    match limiter.check(id) {
        Ok(status) => Ok(Some(status)),
        Err(status) => {
            let message = format!("{problem}; retry in {} s", status.wait);
            let refused = ApiError::new(StatusCode::TOO_MANY_REQUESTS, uri, message);
            Err(refused.with_limit("caller", status.limit, status.wait))
        }
    }
}

/// The time in `wait` seconds, in seconds since the Unix epoch.
fn reset_time(wait: u64) -> u64 {
    u64::try_from(clock::now()).unwrap_or(0).div_ceil(1000) + wait
}

/// The state of a rate limit after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateStatus {
    limit: u32,
    remaining: u32,
    /// Seconds until the next call is possible if none remains, else until the limit is fully replenished.
    wait: u64,
}

impl RateStatus {
    /// Creates the status of an exhausted limit that resets in `wait` seconds.
    pub fn exhausted(limit: u32, wait: u64) -> RateStatus {
        RateStatus { limit, remaining: 0, wait }
    }

    /// Creates the status of a quota of which so much is used, and which begins anew in `wait` seconds.
    pub fn of_quota(limit: u32, used: i64, wait: u64) -> RateStatus {
        let used = u32::try_from(used.max(0)).unwrap_or(u32::MAX);
        RateStatus { limit, remaining: limit.saturating_sub(used), wait }
    }

    /// Writes the rate limit headers unless they already report a tighter limit. Returns the reset time in seconds since the Unix epoch.
    pub fn write_headers(&self, headers: &mut HeaderMap) -> u64 {
        let reset = reset_time(self.wait);
        let reported = headers.get(REMAINING).and_then(|value| value.to_str().ok()?.parse::<u32>().ok());
        if reported.is_some_and(|it| it <= self.remaining) {
            return reset;
        }
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert(REMAINING, HeaderValue::from(self.remaining));
        headers.insert(RESET, HeaderValue::from(reset));
        reset
    }
}

/// Says in the rate limit headers that nothing limits the call, unless they report a limit.
pub fn write_unlimited(headers: &mut HeaderMap) {
    if headers.contains_key(LIMIT) {
        return;
    }
    headers.insert(LIMIT, UNLIMITED);
    headers.insert(REMAINING, UNLIMITED);
    headers.insert(RESET, HeaderValue::from(reset_time(0)));
}

/// A keyed rate limiter with one cell per id.
#[derive(Debug)]
struct Limiter {
    cells: RateLimiter<String, DashMapStateStore<String>, DefaultClock, StateInformationMiddleware>,
    clock: DefaultClock,
    burst: u32,
    /// The time in which one more call becomes possible.
    interval: Duration,
    calls: AtomicU32,
}

impl Limiter {
    fn new(rate: Rate) -> Option<Limiter> {
        let each = rate.per / rate.count;
        let quota = Quota::with_period(each)?.allow_burst(NonZeroU32::new(rate.burst)?);
        let cells = RateLimiter::dashmap(quota).with_middleware::<StateInformationMiddleware>();
        Some(Limiter { cells, clock: DefaultClock::default(), burst: rate.burst, interval: each, calls: AtomicU32::new(0) })
    }

    fn check(&self, id: &str) -> Result<RateStatus, RateStatus> {
        if self.calls.fetch_add(1, Ordering::Relaxed) % SWEEP_INTERVAL == SWEEP_INTERVAL - 1 {
            self.cells.retain_recent();
            self.cells.shrink_to_fit();
        }
        let seconds = |duration: Duration| u64::try_from(duration.as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
        match self.cells.check_key(&id.to_owned()) {
            Ok(state) => {
                let remaining = state.remaining_burst_capacity();
                Ok(RateStatus { limit: self.burst, remaining, wait: seconds(self.interval * self.burst.saturating_sub(remaining)) })
            }
            Err(until) => {
                let wait = seconds(until.wait_time_from(self.clock.now())).max(1);
                Err(RateStatus { limit: self.burst, remaining: 0, wait })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exceeded_limit_reports_when_to_retry() {
        let rate = Rate { count: 2, per: Duration::from_secs(7200), burst: 2 };
        let limits = RateLimits::new(Rates { per_key: Some(rate), per_conversation: None });
        let uri = Uri::from_static("/x");
        let remaining = |id| limits.check_caller(id, &uri).map(|budget| budget.map(|remaining| remaining.remaining)).ok();
        assert_eq!([remaining("a"), remaining("a"), remaining("b")], [Some(Some(1)), Some(Some(0)), Some(Some(1))]);
        let mut refused = limits.check_caller("a", &uri).expect_err("the third");
        let header = |name: &HeaderName, error: &mut ApiError| {
            error.headers_mut().get(name).and_then(|value| value.to_str().ok()?.parse::<i64>().ok())
        };
        assert_eq!((header(&LIMIT, &mut refused), header(&REMAINING, &mut refused)), (Some(2), Some(0)));
        let wait = header(&axum::http::header::RETRY_AFTER, &mut refused).expect("seconds");
        let reset = header(&RESET, &mut refused).expect("a time") - clock::now() / 1000;
        assert!((3590..=3600).contains(&wait) && (reset - wait).abs() <= 1, "{wait} {reset}");
        assert_eq!(limits.check_conversation("a", &uri).ok(), Some(None));
    }

    #[test]
    fn idle_callers_are_evicted() {
        let limiter = Limiter::new(Rate { count: 100_000, per: Duration::from_secs(1), burst: 1 }).expect("a rate");
        for id in 0..SWEEP_INTERVAL * 20 {
            let _ = limiter.check(&id.to_string());
        }
        assert!(limiter.cells.len() <= SWEEP_INTERVAL as usize * 10, "{}", limiter.cells.len());
    }

    #[test]
    fn headers_report_the_tighter_limit() {
        let mut headers = HeaderMap::new();
        let status = |remaining| RateStatus { limit: 9, remaining, wait: 1 };
        status(3).write_headers(&mut headers);
        status(5).write_headers(&mut headers);
        assert_eq!(headers[REMAINING], "3");
        status(1).write_headers(&mut headers);
        assert_eq!(headers[REMAINING], "1");
        RateStatus::of_quota(7, 9, 1).write_headers(&mut headers);
        write_unlimited(&mut headers);
        assert!(headers[LIMIT] == "7" && headers[REMAINING] == "0", "{headers:?}");
        let mut headers = HeaderMap::new();
        write_unlimited(&mut headers);
        assert!(headers[LIMIT] == UNLIMITED && headers[REMAINING] == UNLIMITED, "{headers:?}");
        RateStatus::of_quota(7, 2, 1).write_headers(&mut headers);
        assert!(headers[LIMIT] == "7" && headers[REMAINING] == "5", "{headers:?}");
    }
}
