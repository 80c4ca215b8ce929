//! What is sent: a request as the core rendered it, with the secret in its header, and what becomes of it by redirects.

use convengine_core::turn::{Class, EffectError, EffectErrorDetail, EffectErrorKind, HttpRequest};
use reqwest::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use reqwest::{Method, StatusCode, Url};

use crate::observe::ids;
use crate::secrets::Secrets;

/// What makes a repetition harmless where the service honours it.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Which span a call belongs to. (W3C Trace Context)
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// What the connection itself is run with; a value from outside could smuggle a second request in.
const FRAMING: [HeaderName; 7] = [CONNECTION, CONTENT_LENGTH, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// One request, ready to be sent.
#[derive(Debug)]
pub struct Call {
    /// The method.
    pub method: Method,
    /// The address.
    pub url: Url,
    /// All headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Option<String>,
}

impl Call {
    /// Makes the call of a request; `key` is that of its effect.
    ///
    /// # Errors
    /// `Invalid` for what cannot be sent, `Denied` for a secret that is not set.
    pub fn of(request: &HttpRequest, key: &str, secrets: &Secrets) -> Result<Call, EffectError> {
        let method = Method::from_bytes(request.method.as_bytes()).ok().filter(|it| ![Method::CONNECT, Method::TRACE].contains(it));
        let method = method.ok_or_else(|| invalid(format!("the method '{}' cannot be used", request.method.escape_debug())))?;
        let url = Url::parse(&request.url)
            .map_err(|it| invalid(format!("the address cannot be read: {it}")).detailed(EffectErrorDetail::TARGET))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            headers.append(header_name(name)?, header_value(name, value)?);
        }
        // A key of the author's own was rendered before the first attempt and is as stable as ours.
        if matches!(request.class, Class::Write | Class::Irreversible) && !headers.contains_key(IDEMPOTENCY_KEY) {
            let key = request.key.as_deref().unwrap_or(key);
            headers.insert(IDEMPOTENCY_KEY, header_value(IDEMPOTENCY_KEY.as_str(), key)?);
        }
        if let Some(auth) = &request.auth {
            let name = &auth.secret;
            let secret = secrets.value(name).ok_or_else(|| {
                EffectError::new(EffectErrorKind::Denied, format!("the secret '{name}' is not known: set convengine.secrets.{name}"))
            })?;
            let mut value = header_value(&auth.header, &format!("{}{secret}", auth.prefix))?;
            value.set_sensitive(true);
            headers.insert(header_name(&auth.header)?, value);
        }
        Ok(Call { method, url, headers, body: request.body.clone() })
    }

    /// Tells the service of the effect's span, unless the author tells it of another.
    pub fn trace(&mut self, key: &str) {
        if let Ok(value) = HeaderValue::from_str(&ids::traceparent(key)) {
            self.headers.entry(TRACEPARENT).or_insert(value);
        }
    }

    /// The call to which an answer redirects, if it does and may; else the answer stands for itself.
    ///
    /// # Errors
    /// `Invalid` for an address that cannot be read, `Denied` for one without the encryption of this one.
    pub fn redirected(&self, status: StatusCode, headers: &HeaderMap) -> Result<Option<Call>, EffectError> {
        let Some(location) = headers.get(LOCATION).filter(|_| [301, 302, 303, 307, 308].contains(&status.as_u16())) else {
            return Ok(None);
        };
        let reads = [Method::GET, Method::HEAD].contains(&self.method);
        if !reads && status != StatusCode::SEE_OTHER {
            return Ok(None);
        }
        let url = location.to_str().ok().and_then(|it| self.url.join(it).ok());
        let url = url.ok_or_else(|| invalid("the answer redirects to an address that cannot be read".to_owned()))?;
        if self.url.scheme() == "https" && url.scheme() != "https" {
            let message = "the answer redirects from https to an address without it";
            return Err(EffectError::new(EffectErrorKind::Denied, message));
        }
        let mut call = Call { method: self.method.clone(), url, headers: self.headers.clone(), body: self.body.clone() };
        if !reads {
            call.method = Method::GET;
            call.body = None;
            call.keep(|it| !it.as_str().starts_with("content-") && *it != IDEMPOTENCY_KEY);
        }
        // What was written for one service is not told to another: neither the secret nor what else may be one.
        if call.url.origin() != self.url.origin() {
            call.keep(|it| [ACCEPT, ACCEPT_LANGUAGE].contains(it));
        }
        Ok(Some(call))
    }

    fn keep(&mut self, kept: impl Fn(&HeaderName) -> bool) {
        let dropped: Vec<HeaderName> = self.headers.keys().filter(|it| !kept(it)).cloned().collect();
        for name in dropped {
            self.headers.remove(name);
        }
    }
}

fn header_name(name: &str) -> Result<HeaderName, EffectError> {
    let known = HeaderName::from_bytes(name.as_bytes());
    let known = known.map_err(|_| invalid(format!("the header '{}' has no valid name", name.escape_debug())))?;
    if FRAMING.contains(&known) || known.as_str().starts_with("proxy-") {
        return Err(invalid(format!("the header '{known}' belongs to the connection: leave it out")));
    }
    Ok(known)
}

/// The value may be secret and is not part of the message.
fn header_value(name: &str, value: &str) -> Result<HeaderValue, EffectError> {
    let problem = || format!("the value of the header '{}' has control characters in it", name.escape_debug());
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| invalid(problem()))
}

fn invalid(message: String) -> EffectError {
    EffectError::new(EffectErrorKind::Invalid, message)
}
