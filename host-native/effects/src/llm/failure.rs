//! Failures of model calls, and what to do next.

use std::error::Error;
use std::time::{Duration, SystemTime};

use convengine_core::turn::{EffectError, EffectErrorKind};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::retry_after::parse_retry_after;

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextAction {
    /// Retry the same model.
    Retry,
    /// Non-retryable; try the next model.
    TryNextModel,
    /// The model refused; do not ask another one for a second opinion.
    Stop,
}

/// A failed model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFailure {
    /// The error for the core.
    pub error: EffectError,
    /// What to do next.
    pub next_action: NextAction,
    /// Whether the provider may bill the attempt although its usage is unknown.
    pub may_be_billed: bool,
}

impl ModelFailure {
    /// Creates a failure.
    pub fn new(kind: EffectErrorKind, next_action: NextAction, message: impl Into<String>) -> Self {
        ModelFailure { error: EffectError::new(kind, message), next_action, may_be_billed: false }
    }

    /// Marks a failure after which the provider may bill the attempt.
    #[must_use]
    pub fn billed(self) -> Self {
        ModelFailure { may_be_billed: true, ..self }
    }

    /// There was no response, or its connection broke.
    pub fn unreachable(error: reqwest::Error) -> Self {
        // The URL may contain a password.
        let error = error.without_url();
        let then = if error.is_builder() { NextAction::TryNextModel } else { NextAction::Retry };
        let mut reason: &dyn Error = &error;
        while let Some(source) = reason.source() {
            reason = source;
        }
        ModelFailure::new(EffectErrorKind::Unavailable, then, format!("cannot be reached: {reason}"))
    }

    /// The model did not begin to answer in time. It would hang again, so the next one is tried.
    pub fn hung(limit: Duration) -> Self {
        let message = format!("no response within {} ms; convengine.llm.response-timeout is the limit", limit.as_millis());
        ModelFailure::new(EffectErrorKind::Timeout, NextAction::TryNextModel, message).billed()
    }

    /// The model paused for too long within its answer.
    pub fn stalled(limit: Duration) -> Self {
        let message = format!("the answer stopped for {} ms; convengine.llm.idle-timeout is the limit", limit.as_millis());
        ModelFailure::new(EffectErrorKind::Timeout, NextAction::TryNextModel, message).billed()
    }

    /// The answer ended prematurely.
    pub fn truncated() -> Self {
        ModelFailure::new(EffectErrorKind::Unavailable, NextAction::Retry, "the response was cut off before its end").billed()
    }

    /// The answer cannot be used.
    pub fn unreadable(reason: impl std::fmt::Display) -> Self {
        ModelFailure::new(EffectErrorKind::Invalid, NextAction::TryNextModel, format!("the answer cannot be used: {reason}")).billed()
    }

    /// The provider sends several answers.
    pub fn several_choices() -> Self {
        ModelFailure::unreadable("it has several choices instead of one: the server must not set n above 1")
    }

    /// The model refused to answer.
    pub fn refusal(reason: &str) -> Self {
        let reason = if reason.trim().is_empty() { "it gives no reason" } else { reason.trim() };
        ModelFailure::new(EffectErrorKind::Refused, NextAction::Stop, format!("the model refuses to answer: {reason}")).billed()
    }

    /// The settings do not list the model among those of its provider.
    pub fn unknown_model(provider: &str, model: &str, models: &[String]) -> Self {
        let known = models.join(", ");
        let reason = format!(
            "the provider '{provider}' has no model '{model}'; use one of {known}, or add it to convengine.llm.providers.{provider}.models"
        );
        ModelFailure::new(EffectErrorKind::Denied, NextAction::TryNextModel, reason)
    }

    /// The model's price is unknown, and there is a spend cap.
    pub fn unpriced(model: &str) -> Self {
        let reason =
            format!("what the model '{model}' costs is not known, and there is a spend-cap: add its price to convengine.llm.prices");
        ModelFailure::new(EffectErrorKind::Denied, NextAction::TryNextModel, reason)
    }

    /// The provider reported a failure within the answer.
    pub fn from_error_event(body: &Value) -> Self {
        let limited = body.pointer("/error/type").and_then(Value::as_str) == Some("rate_limit_error");
        let kind = if limited { EffectErrorKind::Limited } else { EffectErrorKind::Unavailable };
        ModelFailure::new(
            kind,
            NextAction::Retry,
            format!("the response was cut off: {}", error_message(body).unwrap_or_else(|| body.to_string())),
        )
    }

    /// The provider answered with an error status.
    pub fn from_status(status: u16, headers: &HeaderMap, body: &str) -> Self {
        let json = serde_json::from_str::<Value>(body).ok();
        let no_model = json.as_ref().and_then(|it| it.pointer("/error/code")).and_then(Value::as_str) == Some("model_not_found");
        let (kind, then) = match status {
            _ if no_model => (EffectErrorKind::NotFound, NextAction::TryNextModel),
            401 | 403 => (EffectErrorKind::Denied, NextAction::TryNextModel),
            404 => (EffectErrorKind::NotFound, NextAction::TryNextModel),
            408 => (EffectErrorKind::Timeout, NextAction::Retry),
            429 => (EffectErrorKind::Limited, NextAction::Retry),
            500.. => (EffectErrorKind::Unavailable, NextAction::Retry),
            _ => (EffectErrorKind::Refused, NextAction::TryNextModel),
        };
        let text = json.as_ref().and_then(error_message).unwrap_or_else(|| body.to_owned());
        let words: Vec<&str> = text.split_whitespace().collect();
        let suffix = if words.is_empty() { String::new() } else { format!(": {}", words.join(" ")) };
        let mut failed = ModelFailure::new(kind, then, format!("status {status}{suffix}"));
        failed.error.status = Some(status);
        failed.error.retry_after_ms = parse_retry_after(headers, SystemTime::now());
        failed
    }
}

/// Returns the message of an error body in any form that providers use.
fn error_message(body: &Value) -> Option<String> {
    let known = ["/error/message", "/error", "/message", "/detail", ""];
    known.iter().find_map(|path| body.pointer(path)?.as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_its_kind_and_next_action() {
        let classify = |status: u16| {
            let failed = ModelFailure::from_status(status, &HeaderMap::new(), r#"{"error":{"message":"no\n luck"}}"#);
            assert_eq!((failed.error.status, failed.error.message), (Some(status), format!("status {status}: no luck")));
            (failed.error.kind, failed.next_action)
        };
        for (status, kind, then) in [
            (302, EffectErrorKind::Refused, NextAction::TryNextModel),
            (400, EffectErrorKind::Refused, NextAction::TryNextModel),
            (401, EffectErrorKind::Denied, NextAction::TryNextModel),
            (403, EffectErrorKind::Denied, NextAction::TryNextModel),
            (404, EffectErrorKind::NotFound, NextAction::TryNextModel),
            (408, EffectErrorKind::Timeout, NextAction::Retry),
            (413, EffectErrorKind::Refused, NextAction::TryNextModel),
            (429, EffectErrorKind::Limited, NextAction::Retry),
            (500, EffectErrorKind::Unavailable, NextAction::Retry),
            (529, EffectErrorKind::Unavailable, NextAction::Retry),
        ] {
            assert_eq!(classify(status), (kind, then), "{status}");
        }
        let unknown = ModelFailure::from_status(400, &HeaderMap::new(), r#"{"error":{"message":"x","code":"model_not_found"}}"#);
        assert_eq!(unknown.error.kind, EffectErrorKind::NotFound);
    }

    #[test]
    fn error_messages_are_found_in_every_form() {
        for (body, suffix) in [
            (r#"{"error":{"message":"a"}}"#, ": a"),
            (r#"{"type":"error","error":{"type":"x","message":"b"}}"#, ": b"),
            (r#"{"error":"c"}"#, ": c"),
            (r#"{"detail":"d"}"#, ": d"),
            ("<html>\n bad\tgateway </html>", ": <html> bad gateway </html>"),
            (r#"{"odd":1}"#, r#": {"odd":1}"#),
            (" ", ""),
        ] {
            assert_eq!(ModelFailure::from_status(500, &HeaderMap::new(), body).error.message, format!("status 500{suffix}"));
        }
    }
}
