//! Throttles the guessing of credentials: an address that sends too many wrong ones gets 429 until its window ends.
//!
//! While it does, its credentials are compared with what this process knows, which costs no database work: those of others behind the same
//! address still count.
//!
//! While a tenant is down, a credential that no other tenant knows may be its own. All of these get the same answer and never 429; as guesses,
//! they weigh little.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{StatusCode, Uri};
use convengine_host_base::meter::Meter;
use convengine_settings::GuessingSettings;

use super::client_address::ClientAddress;
use crate::api_error::ApiError;

/// Maximum number of counted addresses.
const MAX_ADDRESSES: usize = 65_536;

/// What a wrong credential weighs.
const WRONG_WEIGHT: u32 = 10;

/// What a credential weighs that may be one of a tenant that is down: the tenant's clients retry with right ones.
const UNKNOWN_WEIGHT: u32 = 1;

/// Whether a refused request has guessed a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// The refusal is about something else, or the credential is genuine but out of date.
    No,
    /// The credential is wrong.
    Wrong,
    /// The credential is unknown to the tenants that serve, and another one is down.
    Unknown,
}

/// Counts the wrong credentials of each address.
#[derive(Debug)]
pub struct GuessThrottle {
    settings: GuessingSettings,
    addresses: Mutex<BTreeMap<Option<IpAddr>, GuessWindow>>,
}

/// The wrong credentials of an address since a time.
#[derive(Debug, Clone, Copy)]
struct GuessWindow {
    since: Instant,
    weight: u32,
}

/// Counts the wrong credentials of one address.
#[derive(Debug, Clone)]
pub struct ClientGuesses {
    throttle: Arc<GuessThrottle>,
    client: ClientAddress,
}

impl ClientGuesses {
    /// Counts for an address in the throttle of the server.
    pub fn new(throttle: Arc<GuessThrottle>, client: ClientAddress) -> ClientGuesses {
        ClientGuesses { throttle, client }
    }

    /// Counts a refusal if it is about a wrong credential. Returns the refusal, or 429 if the address has sent too many.
    pub fn count(&self, refusal: ApiError, uri: &Uri) -> ApiError {
        self.throttle.count(self.client, refusal, uri)
    }
}

impl GuessThrottle {
    /// Creates a throttle that has counted nothing.
    pub fn new(settings: GuessingSettings) -> GuessThrottle {
        GuessThrottle { settings, addresses: Mutex::default() }
    }

    /// Whether an address has sent too many wrong credentials.
    pub fn is_throttled(&self, client: ClientAddress) -> bool {
        self.find_wait(client).is_some()
    }

    /// Counts a refusal if it is about a wrong credential. Returns the refusal, or 429 if the address has sent too many.
    pub fn count(&self, client: ClientAddress, refusal: ApiError, uri: &Uri) -> ApiError {
        match refusal.guess() {
            Guess::No => refusal,
            Guess::Wrong => self.count_wrong(client, refusal, uri),
            Guess::Unknown => {
                Meter::default().record_rejected_credential("unavailable");
                self.add(client, UNKNOWN_WEIGHT);
                refusal
            }
        }
    }

    fn count_wrong(&self, client: ClientAddress, refusal: ApiError, uri: &Uri) -> ApiError {
        let Some(wait) = self.find_wait(client) else {
            Meter::default().record_rejected_credential("refused");
            self.add(client, WRONG_WEIGHT);
            return refusal;
        };
        Meter::default().record_rejected_credential("throttled");
        let seconds = u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1);
        let message = format!("too many invalid credentials from this address; retry in {seconds} s, or with a valid one");
        let refused = ApiError::new(StatusCode::TOO_MANY_REQUESTS, uri, message);
        refused.with_limit("address", self.settings.failures, seconds)
    }

    /// How long an address is throttled, if it is.
    fn find_wait(&self, client: ClientAddress) -> Option<Duration> {
        let window = self.lock().get(&client.network()).copied()?;
        let wait = self.settings.window.checked_sub(window.since.elapsed())?;
        (window.weight >= self.limit()).then_some(wait)
    }

    /// The weight from which on an address is throttled.
    fn limit(&self) -> u32 {
        self.settings.failures.saturating_mul(WRONG_WEIGHT)
    }

    fn add(&self, client: ClientAddress, weight: u32) {
        let now = Instant::now();
        let (length, mut addresses) = (self.settings.window, self.lock());
        let network = client.network();
        if addresses.len() >= MAX_ADDRESSES && !addresses.contains_key(&network) {
            addresses.retain(|_, it| it.since.elapsed() < length);
            while addresses.len() >= MAX_ADDRESSES {
                addresses.pop_first();
            }
        }
        let window = addresses.entry(network).or_insert(GuessWindow { since: now, weight: 0 });
        if window.since.elapsed() >= length {
            *window = GuessWindow { since: now, weight: 0 };
        }
        let was_throttled = window.weight >= self.limit();
        window.weight = window.weight.saturating_add(weight);
        if !was_throttled && window.weight >= self.limit() {
            let (client, failures) = (client.to_text(), self.settings.failures);
            tracing::warn!(client, failures, "too many invalid credentials from an address: more of them get 429 until its window ends");
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Option<IpAddr>, GuessWindow>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::super::refusal::{outdated, tenant_unavailable, unauthorized};
    use super::*;

    fn client(text: &str) -> ClientAddress {
        ClientAddress::find(text.parse().ok(), &HeaderMap::new(), &[])
    }

    #[test]
    fn an_address_is_throttled_until_its_window_ends() {
        let uri = Uri::from_static("/x");
        let throttle = GuessThrottle::new(GuessingSettings { failures: 2, window: Duration::from_secs(3600) });
        let status = |client, refusal: ApiError| throttle.count(client, refusal, &uri).status();
        let wrong = || unauthorized(&uri, Some("unknown"));
        for _ in 0..5 {
            assert_eq!(
                status(client("192.0.2.1"), unauthorized(&uri, None)),
                StatusCode::UNAUTHORIZED,
                "a missing credential is not a guess"
            );
        }
        for expected in [StatusCode::UNAUTHORIZED, StatusCode::UNAUTHORIZED, StatusCode::TOO_MANY_REQUESTS] {
            assert_eq!(status(client("192.0.2.1"), wrong()), expected);
        }
        assert!(throttle.is_throttled(client("::ffff:192.0.2.1")) && !throttle.is_throttled(client("192.0.2.2")));
        let mut refused = throttle.count(client("192.0.2.1"), wrong(), &uri);
        let wait = refused.headers_mut().get("retry-after").and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        assert!(wait.is_some_and(|it| (3500..=3600).contains(&it)), "{wait:?}");
        assert_eq!(status(client("192.0.2.1"), unauthorized(&uri, None)), StatusCode::UNAUTHORIZED);
        let brief = GuessThrottle::new(GuessingSettings { failures: 1, window: Duration::from_nanos(1) });
        for _ in 0..3 {
            assert_eq!(brief.count(client("192.0.2.1"), wrong(), &uri).status(), StatusCode::UNAUTHORIZED, "a new window each time");
        }
    }

    #[test]
    fn what_may_be_of_a_tenant_that_is_down_weighs_little_and_is_answered_alike() {
        let uri = Uri::from_static("/x");
        let throttle = GuessThrottle::new(GuessingSettings { failures: 2, window: Duration::from_secs(3600) });
        let status = |refusal: ApiError| throttle.count(client("192.0.2.1"), refusal, &uri).status();
        let unknown = || tenant_unavailable(&uri).with_guess(Guess::Unknown);
        let wrong = || unauthorized(&uri, Some("unknown"));
        for _ in 0..50 {
            assert_eq!(status(tenant_unavailable(&uri)), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(status(outdated(&uri, "token expired")), StatusCode::UNAUTHORIZED, "genuine tokens are not counted as guesses");
        }
        for _ in 0..10 {
            assert_eq!(status(unknown()), StatusCode::SERVICE_UNAVAILABLE);
        }
        assert!(!throttle.is_throttled(client("192.0.2.1")), "ten weigh as much as a wrong one");
        assert_eq!(status(wrong()), StatusCode::UNAUTHORIZED);
        assert_eq!([status(wrong()), status(unknown())], [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE]);
        let alone = GuessThrottle::new(GuessingSettings { failures: 2, window: Duration::from_secs(3600) });
        for count in 1..=20 {
            alone.count(client("192.0.2.1"), unknown(), &uri);
            assert_eq!(alone.is_throttled(client("192.0.2.1")), count == 20, "{count}");
        }
    }

    #[test]
    fn addresses_of_one_network_of_ipv6_count_together_and_few_are_kept() {
        let uri = Uri::from_static("/x");
        let throttle = GuessThrottle::new(GuessingSettings { failures: 1, window: Duration::from_secs(3600) });
        throttle.count(client("2001:db8:0:1::1"), unauthorized(&uri, Some("unknown")), &uri);
        assert!(throttle.is_throttled(client("2001:db8:0:1:ffff::2")) && !throttle.is_throttled(client("2001:db8:0:2::1")));
        for address in 0..u32::try_from(MAX_ADDRESSES).unwrap_or(0) + 5 {
            throttle.add(client(&std::net::Ipv4Addr::from(address).to_string()), WRONG_WEIGHT);
        }
        assert_eq!(throttle.lock().len(), MAX_ADDRESSES);
    }
}
