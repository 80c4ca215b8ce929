//! The effect that calls an HTTP service, for a tool or a task.

use serde::{Deserialize, Serialize};

use super::{EffectClass, Operation, Reply, Request};

/// Placeholder for the address of a pack's fake service; calls to it are answered from the pack.
pub const STUB_ADDRESS: &str = "${STUB}";

/// A rendered call; secrets are only referenced by name, so that neither journals nor traces have them.
///
/// The host adds the header `Idempotency-Key` to writes, decides whether the address may be called, and asks its
/// [circuit breakers](crate::CircuitBreakers).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest {
    /// The caller, for scripted answers and the circuit breaker.
    pub caller: HttpCaller,
    /// The method, in upper case.
    pub method: String,
    /// The full URL, with its query.
    pub url: String,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// The body; absent when none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// A header whose value only the host knows; it overrides one of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<SecretHeader>,
    /// Connect timeout in milliseconds.
    pub connect_timeout_ms: u32,
    /// Timeout of the whole attempt in milliseconds.
    pub timeout_ms: u32,
    /// Maximum size of the answer in bytes.
    pub max_bytes: u32,
    /// What repeating it does.
    pub class: EffectClass,
    /// Whether it may be repeated although it writes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
    /// The idempotency key of the first attempt, if this is a later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The circuit breaker, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker: Option<BreakerPolicy>,
    /// Positions of `[secret:NAME]` markers that the host replaces with secrets, as `url 17 NAME`, `body 9 NAME` or, with the index of a
    /// header, `0 7 NAME`: the part, the byte offset of the marker, and the secret. The host encodes the secret for the part: `json` for a
    /// JSON body, `form` for a form body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// The header for a signature of the body (HMAC-SHA-256 in hexadecimal, after its prefix), and the signing secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign: Option<SecretHeader>,
}

/// The caller of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpCaller {
    /// A tool, by its code; or a flow node that calls a service itself, as `graph/node`.
    Tool(String),
    /// A task, as `bean:method`.
    Task(String),
    /// An extension, by its name.
    Extension(String),
    /// A handoff: `request` or `relay`.
    Handoff(String),
    /// A notification of a chain, by its channel. The URL of a channel other than `webhook` is `notify:CHANNEL`; the host has its address.
    Notify(String),
}

/// A header with a secret that the host looks up by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretHeader {
    /// The header.
    pub header: String,
    /// The text before the secret, such as `Bearer `.
    #[serde(default)]
    pub prefix: String,
    /// The name of the secret.
    pub secret: String,
    /// Whether the header is left out when the secret does not exist.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

impl SecretHeader {
    /// Creates a header whose secret must exist.
    pub fn new(header: impl Into<String>, prefix: impl Into<String>, secret: impl Into<String>) -> SecretHeader {
        SecretHeader { header: header.into(), prefix: prefix.into(), secret: secret.into(), optional: false }
    }

    /// Creates the header `Authorization: Bearer …`.
    pub fn bearer(secret: impl Into<String>) -> SecretHeader {
        SecretHeader::new("Authorization", "Bearer ", secret)
    }
}

/// A circuit breaker: after a number of consecutive failures, calls fail immediately for a while. The host keeps its state, by caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerPolicy {
    /// Consecutive failures that open it.
    pub threshold: u32,
    /// Milliseconds for which it stays open; then one call may probe.
    pub open_ms: u32,
    /// Which failures of this attempt are retried, and so do not count.
    pub retries: RetryConditions,
    /// Whether only outages count: no answer, 429 or 5xx. Otherwise every status outside of 2xx does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_outages: bool,
}

/// Which failures of an attempt are retried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryConditions {
    /// Status codes.
    pub statuses: Vec<u16>,
    /// Connection failures and timeouts.
    pub io: bool,
}

/// A service's answer, whatever its status: 404 and 503 are replies, which the configuration maps. Only where there is no answer, it is an
/// [`EffectError`](crate::EffectError).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// The body as text, with secrets redacted.
    pub body: String,
    /// Milliseconds to wait before the next attempt, if the service asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Whether the content type promises JSON and the body is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken_json: bool,
}

impl HttpReply {
    /// Sets `broken_json` from the content type.
    ///
    /// ```
    /// use convengine_turn::HttpReply;
    ///
    /// let reply = HttpReply { status: 200, body: "<html>".to_owned(), retry_after_ms: None, broken_json: false };
    /// assert!(reply.clone().with_content_type("application/problem+json; charset=utf-8").broken_json);
    /// assert!(!reply.with_content_type("text/html").broken_json);
    /// ```
    #[must_use]
    pub fn with_content_type(self, content_type: &str) -> Self {
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_json = kind == "application/json" || kind.ends_with("+json");
        let broken_json = is_json && !self.body.trim().is_empty() && serde_json::from_str::<serde::de::IgnoredAny>(&self.body).is_err();
        HttpReply { broken_json, ..self }
    }
}

impl From<HttpRequest> for Request {
    fn from(request: HttpRequest) -> Self {
        Request::Http(Box::new(request))
    }
}

impl Operation for HttpRequest {
    type Output = HttpReply;

    fn class(&self) -> EffectClass {
        self.class
    }

    fn key(&self) -> Option<String> {
        self.key.clone()
    }

    fn deadline_ms(&self) -> u32 {
        self.timeout_ms
    }

    fn is_repeatable(&self) -> bool {
        self.idempotent || matches!(self.class, EffectClass::Pure | EffectClass::Read)
    }

    fn extract_output(reply: Reply) -> Option<HttpReply> {
        if let Reply::Http(reply) = reply { Some(reply) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_and_idempotent_writes_are_repeatable() {
        let request = |class: &str, idempotent: bool| {
            let text = json!({
                "caller": {"tool": "t"}, "method": "POST", "url": "http://a/", "headers": [], "connect_timeout_ms": 1, "timeout_ms": 1,
                "max_bytes": 1, "class": class, "idempotent": idempotent,
            });
            serde_json::from_value::<HttpRequest>(text).unwrap()
        };
        assert!(request("read", false).is_repeatable() && request("write", true).is_repeatable());
        assert!(!request("write", false).is_repeatable() && !request("irreversible", false).is_repeatable());
        // Fingerprints of other requests stay the same.
        assert!(serde_json::to_value(request("write", false)).unwrap().get("idempotent").is_none());
    }
}
