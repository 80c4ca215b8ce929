//! Failures of model calls, and what to do next.

use std::error::Error;
use std::time::SystemTime;

use convengine_core::turn::{EffectError, EffectErrorKind};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::fulfil::retry_after::retry_after;

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Retry the same model.
    Again,
    /// Non-retryable; try the next model.
    Next,
    /// The model refused; do not ask another one for a second opinion.
    Stop,
}

/// A failed model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The error for the core.
    pub error: EffectError,
    /// What to do next.
    pub then: Then,
}

impl Failed {
    /// Creates a failure.
    pub fn new(kind: EffectErrorKind, then: Then, message: impl Into<String>) -> Self {
        Failed { error: EffectError::new(kind, message), then }
    }

    /// There was no response, or its connection broke.
    pub fn unreachable(error: reqwest::Error) -> Self {
        // The URL may contain a password.
        let error = error.without_url();
        let then = if error.is_builder() { Then::Next } else { Then::Again };
        let mut reason: &dyn Error = &error;
        while let Some(source) = reason.source() {
            reason = source;
        }
        Failed::new(EffectErrorKind::Unavailable, then, format!("cannot be reached: {reason}"))
    }

    /// The answer ended prematurely.
    pub fn truncated() -> Self {
        Failed::new(EffectErrorKind::Unavailable, Then::Again, "the answer broke off before its end")
    }

    /// The answer cannot be used.
    pub fn unreadable(reason: impl std::fmt::Display) -> Self {
        Failed::new(EffectErrorKind::Invalid, Then::Next, format!("the answer cannot be used: {reason}"))
    }

    /// The model refused to answer.
    pub fn refusal(reason: &str) -> Self {
        let reason = if reason.trim().is_empty() { "it gives no reason" } else { reason.trim() };
        Failed::new(EffectErrorKind::Refused, Then::Stop, format!("the model refuses to answer: {reason}"))
    }

    /// The model's price is unknown, and there is a spend cap.
    pub fn unpriced(model: &str) -> Self {
        let reason =
            format!("what the model '{model}' costs is not known, and there is a spend-cap: add its price to convengine.llm.prices");
        Failed::new(EffectErrorKind::Denied, Then::Next, reason)
    }

    /// The provider reported a failure within the answer.
    pub fn reported(body: &Value) -> Self {
        let limited = body.pointer("/error/type").and_then(Value::as_str) == Some("rate_limit_error");
        let kind = if limited { EffectErrorKind::Limited } else { EffectErrorKind::Unavailable };
        Failed::new(kind, Then::Again, format!("the answer broke off: {}", message(body).unwrap_or_else(|| body.to_string())))
    }

    /// The provider answered with an error status.
    pub fn of_status(status: u16, headers: &HeaderMap, body: &str) -> Self {
        let json = serde_json::from_str::<Value>(body).ok();
        let no_model = json.as_ref().and_then(|it| it.pointer("/error/code")).and_then(Value::as_str) == Some("model_not_found");
        let (kind, then) = match status {
            _ if no_model => (EffectErrorKind::NotFound, Then::Next),
            401 | 403 => (EffectErrorKind::Denied, Then::Next),
            404 => (EffectErrorKind::NotFound, Then::Next),
            408 => (EffectErrorKind::Timeout, Then::Again),
            429 => (EffectErrorKind::Limited, Then::Again),
            500.. => (EffectErrorKind::Unavailable, Then::Again),
            _ => (EffectErrorKind::Refused, Then::Next),
        };
        let text = json.as_ref().and_then(message).unwrap_or_else(|| body.to_owned());
        let words: Vec<&str> = text.split_whitespace().collect();
        let suffix = if words.is_empty() { String::new() } else { format!(": {}", words.join(" ")) };
        let mut failed = Failed::new(kind, then, format!("status {status}{suffix}"));
        failed.error.status = Some(status);
        failed.error.retry_after_ms = retry_after(headers, SystemTime::now());
        failed
    }
}

/// Returns the message of an error body in any form that providers use.
fn message(body: &Value) -> Option<String> {
    let known = ["/error/message", "/error", "/message", "/detail"];
    known.iter().find_map(|it| body.pointer(it)?.as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_its_kind_and_what_may_follow() {
        let of = |status: u16| {
            let failed = Failed::of_status(status, &HeaderMap::new(), r#"{"error":{"message":"no\n luck"}}"#);
            assert_eq!((failed.error.status, failed.error.message), (Some(status), format!("status {status}: no luck")));
            (failed.error.kind, failed.then)
        };
        for (status, kind, then) in [
            (302, EffectErrorKind::Refused, Then::Next),
            (400, EffectErrorKind::Refused, Then::Next),
            (401, EffectErrorKind::Denied, Then::Next),
            (403, EffectErrorKind::Denied, Then::Next),
            (404, EffectErrorKind::NotFound, Then::Next),
            (408, EffectErrorKind::Timeout, Then::Again),
            (413, EffectErrorKind::Refused, Then::Next),
            (429, EffectErrorKind::Limited, Then::Again),
            (500, EffectErrorKind::Unavailable, Then::Again),
            (529, EffectErrorKind::Unavailable, Then::Again),
        ] {
            assert_eq!(of(status), (kind, then), "{status}");
        }
        let unknown = Failed::of_status(400, &HeaderMap::new(), r#"{"error":{"message":"x","code":"model_not_found"}}"#);
        assert_eq!(unknown.error.kind, EffectErrorKind::NotFound);
    }

    #[test]
    fn what_a_provider_says_is_found_in_every_form() {
        for (body, suffix) in [
            (r#"{"error":{"message":"a"}}"#, ": a"),
            (r#"{"type":"error","error":{"type":"x","message":"b"}}"#, ": b"),
            (r#"{"error":"c"}"#, ": c"),
            (r#"{"detail":"d"}"#, ": d"),
            ("<html>\n bad\tgateway </html>", ": <html> bad gateway </html>"),
            (r#"{"odd":1}"#, r#": {"odd":1}"#),
            (" ", ""),
        ] {
            assert_eq!(Failed::of_status(500, &HeaderMap::new(), body).error.message, format!("status 500{suffix}"));
        }
    }
}
