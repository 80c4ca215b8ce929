//! Executes HTTP effects: one attempt per effect; the core retries and interprets the response.

mod body;
mod breaker;
mod client;
mod prepared_request;
mod secret_markers;
mod target;

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use convengine_core::turn::{EffectError, EffectErrorDetail, EffectErrorKind, EffectResult, HttpReply, HttpRequest, Reply};
use convengine_settings::NetworkSettings;
use convengine_settings::secrets::Secrets;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response, Url};
use tokio::time::{Instant, timeout_at};

use super::retry_after::parse_retry_after;
pub use body::{BodyError, read_text};
use breaker::BreakerRegistry;
use client::Clients;
use prepared_request::PreparedRequest;
use target::{PrivateHost, ResolveError};

/// Maximum number of redirects per call.
const MAX_REDIRECTS: usize = 3;

/// How much earlier than its effect an attempt times out, at most, so that the error can name what was slow.
const TIMEOUT_MARGIN: Duration = Duration::from_millis(10);

/// Calls HTTP services within the network policy.
#[derive(Debug)]
pub struct HttpClient {
    clients: Clients,
    network: Arc<NetworkSettings>,
    circuits: BreakerRegistry,
    secrets: Arc<Secrets>,
}

impl HttpClient {
    /// Creates a client for public addresses and the private ones that `network` allows.
    pub fn new(network: NetworkSettings, secrets: Arc<Secrets>) -> HttpClient {
        let network = Arc::new(network);
        HttpClient { clients: Clients::new(Arc::clone(&network)), network, circuits: BreakerRegistry::default(), secrets }
    }
}

impl HttpClient {
    /// Returns a client for a URL that connects only to allowed addresses, and follows no redirect.
    ///
    /// # Errors
    /// `Denied` for an address that may not be called, `Unavailable` if no client can be built.
    pub fn checked_client(&self, url: &Url, connect: Duration) -> Result<Client, EffectError> {
        target::check(url, &self.network)?;
        let unusable = |error: &reqwest::Error| {
            EffectError::new(EffectErrorKind::Unavailable, format!("the request cannot be sent: {}", error_reason(error)))
        };
        self.clients.client_for(url, connect).map_err(|it| unusable(&it))
    }
}

/// Returns the refusal if a private address is among the causes of an error.
pub fn find_private_host(error: &(dyn Error + 'static)) -> Option<EffectError> {
    let mut causes = std::iter::successors(Some(error), |&it| it.source());
    causes.find_map(|it| it.downcast_ref::<PrivateHost>()).map(|refused| PrivateHost(refused.0.clone()).into())
}

/// Calls a service once. `key` is the effect's idempotency key; if `traced`, the request has a `traceparent` header. The answer contains no
/// secrets.
pub async fn execute(http: &HttpClient, request: &HttpRequest, key: &str, traced: bool) -> EffectResult {
    let pass = match http.circuits.enter(request) {
        Ok(pass) => pass,
        Err(open) => return EffectResult::Error(open),
    };
    let answer = match send_once(http, request, key, traced).await {
        Ok(reply) => EffectResult::Ok(Reply::Http(HttpReply { body: http.secrets.scrub(&reply.body).into_owned(), ..reply })),
        Err(error) => EffectResult::Error(EffectError { message: http.secrets.scrub(&error.message).into_owned(), ..error }),
    };
    pass.record_outcome(&answer);
    answer
}

async fn send_once(http: &HttpClient, request: &HttpRequest, key: &str, traced: bool) -> Result<HttpReply, EffectError> {
    let limits = Limits::from_request(request);
    let mut call = prepare(http, request, key, traced).map_err(EffectError::with_nothing_sent)?;
    let is_write = call.is_write();
    for redirects in 0..=MAX_REDIRECTS {
        let sent = send(http, &call, &limits).await;
        let response = if redirects == 0 { sent? } else { sent.map_err(|error| after_redirect(error, is_write))? };
        match call.follow_redirect(response.status(), response.headers()).map_err(|error| after_redirect(error, is_write))? {
            Some(next) => call = next,
            None => return read_response(response, &call, &limits).await,
        }
    }
    Err(EffectError::new(EffectErrorKind::Invalid, format!("the answer redirects more than {MAX_REDIRECTS} times")))
}

/// The failure to follow a redirect, which comes after the call: that the next address is refused does not say that nothing was written.
fn after_redirect(error: EffectError, is_write: bool) -> EffectError {
    let kind = if is_write && !error.kind.may_have_acted() { EffectErrorKind::Invalid } else { error.kind };
    EffectError { kind, unsent: false, ..error }
}

fn prepare(http: &HttpClient, request: &HttpRequest, key: &str, traced: bool) -> Result<PreparedRequest, EffectError> {
    let complete = if request.secrets.is_empty() && request.sign.is_none() {
        None
    } else {
        Some(secret_markers::replace_markers(request, &http.secrets)?)
    };
    let mut call = PreparedRequest::from_request(complete.as_ref().unwrap_or(request), key, &http.secrets)?;
    if traced {
        call.set_traceparent(key);
    }
    Ok(call)
}

/// Time and size limits of a call.
struct Limits {
    connect_ms: u32,
    connect: Duration,
    total_ms: u32,
    deadline: Instant,
    max_bytes: usize,
}

impl Limits {
    fn from_request(request: &HttpRequest) -> Limits {
        let whole = Duration::from_millis(request.timeout_ms.into());
        let ahead = TIMEOUT_MARGIN.min(whole / 10);
        let total = whole.saturating_sub(ahead);
        Limits {
            connect_ms: request.connect_timeout_ms.min(request.timeout_ms),
            // Below the total, so that a connection that uses up all the time is reported as the cause.
            connect: Duration::from_millis(request.connect_timeout_ms.into()).min(total.saturating_sub(ahead)),
            total_ms: request.timeout_ms,
            deadline: Instant::now() + total,
            max_bytes: usize::try_from(request.max_bytes).unwrap_or(usize::MAX),
        }
    }
}

async fn send(http: &HttpClient, call: &PreparedRequest, limits: &Limits) -> Result<Response, EffectError> {
    let client = http.checked_client(&call.url, limits.connect).map_err(EffectError::with_nothing_sent)?;
    let mut sending = client.request(call.method.clone(), call.url.clone()).headers(call.headers.clone());
    if let Some(body) = &call.body {
        sending = sending.body(body.clone());
    }
    let host = target::host(&call.url);
    match timeout_at(limits.deadline, sending.send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(send_error(&error, host, limits)),
        Err(_) => Err(EffectError::new(EffectErrorKind::Timeout, format!("'{host}' did not answer within {} ms", limits.total_ms))),
    }
}

fn send_error(error: &reqwest::Error, host: &str, limits: &Limits) -> EffectError {
    if let Some(PrivateHost(host)) = error_sources(error).find_map(|it| it.downcast_ref()) {
        return PrivateHost(host.clone()).into();
    }
    if error.is_connect() && error.is_timeout() {
        let message = format!("no connection to '{host}' within {} ms", limits.connect_ms);
        return EffectError::new(EffectErrorKind::Timeout, message).with_nothing_sent();
    }
    let kind = if error.is_builder() { EffectErrorKind::Invalid } else { EffectErrorKind::Unavailable };
    let failed = EffectError::new(kind, format!("'{host}' cannot be called: {}", error_reason(error)));
    EffectError { detail: error_detail(error), unsent: error.is_builder() || error.is_connect(), ..failed }
}

/// Returns whether name resolution or TLS failed.
fn error_detail(error: &reqwest::Error) -> Option<EffectErrorDetail> {
    if error_sources(error).any(|it| it.is::<ResolveError>()) {
        return Some(EffectErrorDetail::DNS);
    }
    // TLS failures appear as invalid data or as an early end of the stream.
    let encrypted = error.is_connect() && error.url().is_some_and(|url| url.scheme() == "https");
    let is_tls = |error: &io::Error| [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof].contains(&error.kind());
    let broken = encrypted && error_sources(error).filter_map(|it| it.downcast_ref()).any(is_tls);
    broken.then_some(EffectErrorDetail::TLS)
}

async fn read_response(response: Response, call: &PreparedRequest, limits: &Limits) -> Result<HttpReply, EffectError> {
    let host = target::host(&call.url);
    let status = response.status().as_u16();
    let retry_after_ms = parse_retry_after(response.headers(), SystemTime::now());
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let failed = |kind, message| EffectError { status: Some(status), ..EffectError::new(kind, message) };
    match timeout_at(limits.deadline, read_text(response, limits.max_bytes)).await {
        Ok(Ok(body)) => Ok(HttpReply { status, body, retry_after_ms, broken_json: false }.with_content_type(&content_type)),
        Ok(Err(error @ BodyError::TooLong(_))) => {
            Err(failed(EffectErrorKind::Invalid, error.to_string()).with_detail(EffectErrorDetail::TOO_LARGE))
        }
        Ok(Err(BodyError::Connection(error))) => {
            Err(failed(EffectErrorKind::Unavailable, format!("the response from '{host}' was cut off: {}", error_reason(&error))))
        }
        Err(_) => {
            let message = format!("the body of the answer of '{host}' did not end within {} ms", limits.total_ms);
            Err(failed(EffectErrorKind::Timeout, message))
        }
    }
}

/// Returns the message of the innermost cause of an error; the outer messages contain the URL with its query.
pub fn error_reason(error: &reqwest::Error) -> String {
    error_sources(error).last().map_or_else(|| "unknown reason".to_owned(), ToString::to_string)
}

fn error_sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |&it| it.source())
}

#[cfg(test)]
mod tests;
