//! Calls of HTTP services, which the host makes.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::ext::Operation;
use crate::patch::Fault;

/// A call of a service. Time, size and secrets are up to the host and the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpCall {
    /// The method.
    pub method: String,
    /// The whole address, with its query.
    pub url: String,
    /// Names and values, in their order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<String>,
    /// The name of a secret, which the host knows, the manifest allows, and nobody else sees: it is sent as `Authorization: Bearer`.
    pub secret: Option<String>,
}

impl HttpCall {
    /// Reads from an address.
    pub fn get(url: impl Into<String>) -> HttpCall {
        HttpCall { method: "GET".to_owned(), url: url.into(), headers: Vec::new(), body: None, secret: None }
    }

    /// Sends JSON to an address.
    pub fn post(url: impl Into<String>, body: &Value) -> HttpCall {
        let call = HttpCall { method: "POST".to_owned(), body: Some(body.to_string()), ..HttpCall::get(url) };
        call.header("Content-Type", "application/json")
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> HttpCall {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Signs in with a secret of this name.
    #[must_use]
    pub fn secret(mut self, name: &str) -> HttpCall {
        self.secret = Some(name.to_owned());
        self
    }
}

/// What a service answered, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// The body as text.
    pub body: String,
    /// Milliseconds that the service asks to wait before the next attempt.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
}

impl HttpReply {
    /// The JSON of a success.
    ///
    /// # Errors
    /// A fault that names the status, or says that the body is no JSON of this form.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        if !(200..300).contains(&self.status) {
            return Err(Fault::new("HTTP_STATUS", format!("the service answered with status {}", self.status)));
        }
        serde_json::from_str(&self.body).map_err(|it| Fault::new("HTTP_BODY", format!("the service did not answer as expected: {it}")))
    }
}

impl Operation for HttpCall {
    type Output = HttpReply;

    fn request(self) -> Value {
        let mut request = json!({"kind": "http", "method": self.method, "url": self.url, "headers": self.headers});
        if let Some(body) = self.body {
            request["body"] = body.into();
        }
        if let Some(secret) = self.secret {
            request["secret"] = secret.into();
        }
        request
    }

    fn output(reply: Value) -> Option<HttpReply> {
        serde_json::from_value(reply).ok()
    }
}
