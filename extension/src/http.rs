//! HTTP calls, which the host executes.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::ext::Operation;
use crate::patch::Fault;

/// An HTTP call. The host and the manifest determine timeouts, size limits and secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpCall {
    /// The method.
    pub method: String,
    /// The full URL, with its query.
    pub url: String,
    /// Names and values, in their order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<String>,
    /// The name of a secret that the manifest allows. The host sends its value as `Authorization: Bearer`; the extension never sees it.
    pub secret: Option<String>,
}

impl HttpCall {
    /// Creates a GET request.
    pub fn get(url: impl Into<String>) -> HttpCall {
        HttpCall { method: "GET".to_owned(), url: url.into(), headers: Vec::new(), body: None, secret: None }
    }

    /// Creates a POST request with a JSON body.
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

    /// Authenticates with the secret of this name.
    #[must_use]
    pub fn secret(mut self, name: &str) -> HttpCall {
        self.secret = Some(name.to_owned());
        self
    }
}

/// The response of a service, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// The body as text.
    pub body: String,
    /// Milliseconds to wait before a retry, if the service sent `Retry-After`.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
}

impl HttpReply {
    /// Parses the JSON body of a successful response.
    ///
    /// # Errors
    /// `HTTP_STATUS` for another status than 2xx, `HTTP_BODY` if the body is not JSON of this form.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        if !(200..300).contains(&self.status) {
            return Err(Fault::new("HTTP_STATUS", format!("the service answered with status {}", self.status)));
        }
        serde_json::from_str(&self.body)
            .map_err(|error| Fault::new("HTTP_BODY", format!("the service did not answer as expected: {error}")))
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
