//! A call of an HTTP service: for a tool, or for a task that a service carries out.

use serde::{Deserialize, Serialize};

use super::{Reply, Request};
use crate::turn::{Class, Operation};

/// Stands for the address of a pack's stub service; calls that go there are answered from the pack.
pub const STUB: &str = "${STUB}";

/// A call whose parts are rendered; what is secret in it is only named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest {
    /// Who calls, for scripted answers and the circuit breaker.
    pub caller: HttpCaller,
    /// The method, in upper case.
    pub method: String,
    /// The whole address, with its query.
    pub url: String,
    /// Names and values, in their order.
    pub headers: Vec<(String, String)>,
    /// The body; absent when none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// A header whose value only the host knows; it wins over one of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<SecretHeader>,
    /// Milliseconds for a connection.
    pub connect_timeout_ms: u32,
    /// Milliseconds for the whole attempt.
    pub timeout_ms: u32,
    /// Bytes that an answer may have.
    pub max_bytes: u32,
    /// What repeating it does.
    pub class: Class,
    /// Whether it may be repeated although it writes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
    /// The key of the first attempt, when this is a later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What guards the service against calls that fail anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker: Option<Breaker>,
    /// Where `[secret:NAME]` stands for what only the host knows, as `url 17 NAME`, `body 9 NAME` or, with the position of a header,
    /// `0 7 NAME`: the part, the byte at which the marker begins, and the secret. The host writes it as the part needs it: a body that
    /// is JSON is `json`, one that is a form is `form`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// The header for a signature of the body, the HMAC-SHA-256 in hexadecimal behind its prefix, and the secret that signs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign: Option<SecretHeader>,
}

/// Who calls a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpCaller {
    /// A tool, by its code; a node of a flow that calls a service itself, as `graph/node`.
    Tool(String),
    /// A task, as `bean:method`.
    Task(String),
    /// An extension, by its name.
    Extension(String),
}

/// A header with a secret that the host knows by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretHeader {
    /// The header.
    pub header: String,
    /// What stands before the secret, such as `Bearer `.
    #[serde(default)]
    pub prefix: String,
    /// The name of the secret.
    pub secret: String,
}

/// A circuit breaker: after so many failures in a row, calls fail at once for a while. The host keeps its state, by caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// Failures in a row that open it.
    pub threshold: u32,
    /// Milliseconds for which it stays open; then one call may try.
    pub open_ms: u32,
    /// Whether a failure of this attempt is retried, and so does not count.
    pub retries: Retries,
}

/// Which failures of an attempt are followed by another attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retries {
    /// Status codes.
    pub statuses: Vec<u16>,
    /// A connection that fails, or an answer that takes too long.
    pub io: bool,
}

/// What a service answered, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// The body as text, with secrets struck out.
    pub body: String,
    /// Milliseconds that the service asks to wait before the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Whether the service says that its body is JSON, and it is none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken_json: bool,
}

impl HttpReply {
    /// Says whether a body keeps what its type promises.
    #[must_use]
    pub fn of_type(self, content_type: &str) -> Self {
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

    fn class(&self) -> Class {
        self.class
    }

    fn key(&self) -> Option<String> {
        self.key.clone()
    }

    fn deadline_ms(&self) -> u32 {
        self.timeout_ms
    }

    fn repeatable(&self) -> bool {
        self.idempotent || matches!(self.class, Class::Pure | Class::Read)
    }

    fn output(reply: Reply) -> Option<HttpReply> {
        if let Reply::Http(reply) = reply { Some(reply) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_reads_or_is_said_to_be_idempotent_may_be_asked_again() {
        let request = |class: &str, idempotent: bool| {
            let text = json!({
                "caller": {"tool": "t"}, "method": "POST", "url": "http://a/", "headers": [], "connect_timeout_ms": 1, "timeout_ms": 1,
                "max_bytes": 1, "class": class, "idempotent": idempotent,
            });
            serde_json::from_value::<HttpRequest>(text).unwrap()
        };
        assert!(request("read", false).repeatable() && request("write", true).repeatable());
        assert!(!request("write", false).repeatable() && !request("irreversible", false).repeatable());
        // Fingerprints of other requests stay as they were.
        assert!(serde_json::to_value(request("write", false)).unwrap().get("idempotent").is_none());
    }
}
