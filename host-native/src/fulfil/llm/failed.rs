//! Why a model gave no answer, and what may be done about it.

use std::error::Error;
use std::time::SystemTime;

use convengine_core::turn::{EffectError, EffectErrorKind};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::fulfil::retry_after::retry_after;

/// What may follow a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The same model may be asked again.
    Again,
    /// It would fail again; another model may answer.
    Next,
    /// The model has spoken, and another one is not asked for another opinion.
    Stop,
}

/// A call without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// What the core gets.
    pub error: EffectError,
    /// What may follow.
    pub then: Then,
}

impl Failed {
    /// A failure in words.
    pub fn new(kind: EffectErrorKind, then: Then, message: impl Into<String>) -> Self {
        Failed { error: EffectError::new(kind, message), then }
    }

    /// No answer came, or its connection broke.
    pub fn unreachable(error: reqwest::Error) -> Self {
        // An address may hold a password.
        let error = error.without_url();
        let then = if error.is_builder() { Then::Next } else { Then::Again };
        let mut reason: &dyn Error = &error;
        while let Some(source) = reason.source() {
            reason = source;
        }
        Failed::new(EffectErrorKind::Unavailable, then, format!("cannot be reached: {reason}"))
    }

    /// The answer ended before its end.
    pub fn truncated() -> Self {
        Failed::new(EffectErrorKind::Unavailable, Then::Again, "the answer broke off before its end")
    }

    /// The answer cannot be used.
    pub fn unreadable(reason: impl std::fmt::Display) -> Self {
        Failed::new(EffectErrorKind::Invalid, Then::Next, format!("the answer cannot be used: {reason}"))
    }

    /// The model does not want to answer.
    pub fn refusal(reason: &str) -> Self {
        let reason = if reason.trim().is_empty() { "it gives no reason" } else { reason.trim() };
        Failed::new(EffectErrorKind::Refused, Then::Stop, format!("the model refuses to answer: {reason}"))
    }

    /// What a model costs is not known, and there is a limit to what may be spent.
    pub fn unpriced(model: &str) -> Self {
        let reason =
            format!("what the model '{model}' costs is not known, and there is a spend-cap: add its price to convengine.llm.prices");
        Failed::new(EffectErrorKind::Denied, Then::Next, reason)
    }

    /// The provider reports a failure within an answer that began well.
    pub fn reported(body: &Value) -> Self {
        let limited = body.pointer("/error/type").and_then(Value::as_str) == Some("rate_limit_error");
        let kind = if limited { EffectErrorKind::Limited } else { EffectErrorKind::Unavailable };
        Failed::new(kind, Then::Again, format!("the answer broke off: {}", message(body).unwrap_or_else(|| body.to_string())))
    }

    /// The provider answered with an error.
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
        let said = json.as_ref().and_then(message).unwrap_or_else(|| body.to_owned());
        let said: Vec<&str> = said.split_whitespace().collect();
        let said = if said.is_empty() { String::new() } else { format!(": {}", said.join(" ")) };
        let mut failed = Failed::new(kind, then, format!("status {status}{said}"));
        failed.error.status = Some(status);
        failed.error.retry_after_ms = retry_after(headers, SystemTime::now());
        failed
    }
}

/// The message of an error in the forms in which providers give it.
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
        for (body, said) in [
            (r#"{"error":{"message":"a"}}"#, ": a"),
            (r#"{"type":"error","error":{"type":"x","message":"b"}}"#, ": b"),
            (r#"{"error":"c"}"#, ": c"),
            (r#"{"detail":"d"}"#, ": d"),
            ("<html>\n bad\tgateway </html>", ": <html> bad gateway </html>"),
            (r#"{"odd":1}"#, r#": {"odd":1}"#),
            (" ", ""),
        ] {
            assert_eq!(Failed::of_status(500, &HeaderMap::new(), body).error.message, format!("status 500{said}"));
        }
    }
}
