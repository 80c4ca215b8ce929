//! Prepares requests for sending: the request that the core rendered, with its secret header, and the requests that follow redirects.

use convengine_core::turn::{EffectClass, EffectError, EffectErrorDetail, EffectErrorKind, HttpRequest};
use reqwest::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use reqwest::{Method, StatusCode, Url};

use convengine_host_base::trace_ids;
use convengine_settings::secrets::Secrets;

/// Makes retries harmless if the service supports it.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The trace context of a call. (W3C Trace Context)
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Headers that control the connection; a configured value could smuggle a second request.
const CONNECTION_HEADERS: [HeaderName; 7] = [CONNECTION, CONTENT_LENGTH, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// One request, ready to be sent.
#[derive(Debug)]
pub struct PreparedRequest {
    /// The method.
    pub method: Method,
    /// The URL.
    pub url: Url,
    /// All headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Option<String>,
}

impl PreparedRequest {
    /// Prepares a request; `key` is the idempotency key of its effect.
    ///
    /// # Errors
    /// `Invalid` for a request that cannot be sent, `Denied` for an unknown secret.
    pub fn from_request(request: &HttpRequest, key: &str, secrets: &Secrets) -> Result<PreparedRequest, EffectError> {
        let method = Method::from_bytes(request.method.as_bytes()).ok().filter(|it| ![Method::CONNECT, Method::TRACE].contains(it));
        let method = method.ok_or_else(|| invalid(format!("the method '{}' cannot be used", request.method.escape_debug())))?;
        let url = Url::parse(&request.url)
            .map_err(|error| invalid(format!("the address cannot be read: {error}")).with_detail(EffectErrorDetail::TARGET))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            headers.append(parse_header_name(name)?, parse_header_value(name, value)?);
        }
        // A key in the author's headers was rendered before the first attempt and is as stable as the effect's.
        if matches!(request.class, EffectClass::Write | EffectClass::Irreversible) && !headers.contains_key(IDEMPOTENCY_KEY) {
            let key = request.key.as_deref().unwrap_or(key);
            headers.insert(IDEMPOTENCY_KEY, parse_header_value(IDEMPOTENCY_KEY.as_str(), key)?);
        }
        if let Some(auth) = &request.auth {
            let name = &auth.secret;
            let secret = secrets.get(name).ok_or_else(|| {
                EffectError::new(EffectErrorKind::Denied, format!("the secret '{name}' is not known: set convengine.secrets.{name}"))
            })?;
            let mut value = parse_header_value(&auth.header, &format!("{}{secret}", auth.prefix))?;
            value.set_sensitive(true);
            headers.insert(parse_header_name(&auth.header)?, value);
        }
        Ok(PreparedRequest { method, url, headers, body: request.body.clone() })
    }

    /// Sets `traceparent` to the effect's span, unless the author's headers have one.
    pub fn set_traceparent(&mut self, key: &str) {
        if let Ok(value) = HeaderValue::from_str(&trace_ids::traceparent(key)) {
            self.headers.entry(TRACEPARENT).or_insert(value);
        }
    }

    /// Returns the request that follows a redirect; `None` if the response is no redirect or must not be followed.
    ///
    /// # Errors
    /// `Invalid` for a location that cannot be parsed, `Denied` for a redirect from https to another scheme.
    pub fn follow_redirect(&self, status: StatusCode, headers: &HeaderMap) -> Result<Option<PreparedRequest>, EffectError> {
        let Some(location) = headers.get(LOCATION).filter(|_| [301, 302, 303, 307, 308].contains(&status.as_u16())) else {
            return Ok(None);
        };
        let is_read = !self.is_write();
        if !is_read && status != StatusCode::SEE_OTHER {
            return Ok(None);
        }
        let url = location.to_str().ok().and_then(|target| self.url.join(target).ok());
        let url = url.ok_or_else(|| invalid("the answer redirects to an address that cannot be read".to_owned()))?;
        if self.url.scheme() == "https" && url.scheme() != "https" {
            let message = "the answer redirects from https to http";
            return Err(EffectError::new(EffectErrorKind::Denied, message));
        }
        let mut call = PreparedRequest { method: self.method.clone(), url, headers: self.headers.clone(), body: self.body.clone() };
        if !is_read {
            call.method = Method::GET;
            call.body = None;
            call.retain_headers(|name| !name.as_str().starts_with("content-") && *name != IDEMPOTENCY_KEY);
        }
        // Headers meant for one origin are not sent to another: any of them may hold a credential.
        if call.url.origin() != self.url.origin() {
            call.retain_headers(|it| [ACCEPT, ACCEPT_LANGUAGE].contains(it));
        }
        Ok(Some(call))
    }

    /// Whether the method may change something.
    pub fn is_write(&self) -> bool {
        ![Method::GET, Method::HEAD].contains(&self.method)
    }

    fn retain_headers(&mut self, retain: impl Fn(&HeaderName) -> bool) {
        let dropped: Vec<HeaderName> = self.headers.keys().filter(|it| !retain(it)).cloned().collect();
        for name in dropped {
            self.headers.remove(name);
        }
    }
}

fn parse_header_name(name: &str) -> Result<HeaderName, EffectError> {
    let known = HeaderName::from_bytes(name.as_bytes());
    let known = known.map_err(|_| invalid(format!("invalid header name '{}'", name.escape_debug())))?;
    if CONNECTION_HEADERS.contains(&known) || known.as_str().starts_with("proxy-") {
        return Err(invalid(format!("the header '{known}' is set by the connection; remove it")));
    }
    Ok(known)
}

/// The value may be secret, so the error does not contain it.
fn parse_header_value(name: &str, value: &str) -> Result<HeaderValue, EffectError> {
    let problem = || format!("the value of the header '{}' has control characters in it", name.escape_debug());
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| invalid(problem()))
}

fn invalid(message: String) -> EffectError {
    EffectError::new(EffectErrorKind::Invalid, message)
}
