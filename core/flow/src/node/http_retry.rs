//! HTTP calls with retries, for service nodes and agent tools (docs/spec/flows.md#4.6).

use convengine_config::flow::document::{OutputMapping, ValueTemplate};
use convengine_text::json::{into_members, object};
use convengine_turn::backoff::{Backoff, wait};
use convengine_turn::{EffectContext, EffectError, EffectErrorKind, HttpReply, Map, NoticeBody};
use serde_json::{Value, json};

use super::super::failure::{EFFECT_LIMIT, Failure, effect_failure_code};
use super::super::turn::Turn;
use super::super::turn_record::MAX_EFFECTS;
use super::super::variables::coerce;
use super::http_request::is_retryable;
use super::service_call::{CallRequest, ServiceCall};

/// The result of a call with its attempts.
pub(super) struct CallAttempts {
    /// The reply to the last attempt, with any status.
    pub outcome: Result<HttpReply, EffectError>,
    /// Whether each attempt succeeded.
    pub attempts: Vec<bool>,
    /// Whether an attempt to write may have happened without a usable result: it has no answer, or one that does not say that it was refused.
    pub may_have_acted: bool,
    /// Whether the effect limit of the turn prevented another attempt.
    is_limited: bool,
}

impl CallAttempts {
    /// The number of the last attempt.
    pub fn last_attempt(&self) -> u32 {
        u32::try_from(self.attempts.len()).unwrap_or(u32::MAX)
    }

    /// Returns the reply.
    ///
    /// # Errors
    /// Returns the failure of the last attempt, or of the effect limit.
    pub fn reply(&self) -> Result<&HttpReply, Failure> {
        if self.is_limited {
            let reason = format!("a turn has {MAX_EFFECTS} effects at most");
            return Err(Failure { attempt: self.last_attempt(), ..Failure::new(EFFECT_LIMIT, reason) });
        }
        self.outcome.as_ref().map_err(|error| Failure { attempt: self.last_attempt(), ..Failure::from_effect(error) })
    }
}

/// Makes a call and retries it by its policy. It does not use the turn, so that several calls can run concurrently. `location` is added to
/// its trace, and `effects_left` is the number of effects left in the turn.
pub(super) async fn call_with_retry(effects: &EffectContext, call: &ServiceCall<'_>, location: &Map, effects_left: usize) -> CallAttempts {
    let mut first_key = None;
    let retry = &call.retry;
    let mut backoff = Backoff::new(retry.initial_ms, retry.multiplier, retry.max_ms);
    let mut attempts = Vec::new();
    let mut may_have_acted = false;
    loop {
        if attempts.len() >= effects_left {
            let outcome = Err(EffectError::new(EffectErrorKind::Limited, EFFECT_LIMIT));
            return CallAttempts { outcome, attempts, may_have_acted, is_limited: true };
        }
        let key = effects.next_key();
        let is_last = attempts.len() + 1 >= usize::try_from(call.attempts).unwrap_or(usize::MAX);
        let outcome = call.request.perform(effects, first_key.as_ref(), is_last).await;
        let code = match &outcome {
            Ok(reply) if call.is_success(reply.status) => "ok",
            Ok(reply) => status_failure_code(reply.status),
            Err(error) => effect_failure_code(error),
        };
        attempts.push(code == "ok");
        may_have_acted |= match &outcome {
            Ok(reply) => reply.status != 503 && !(400..500).contains(&reply.status),
            Err(error) => error.may_have_acted(),
        };
        let (name, target) = match &call.request {
            CallRequest::Http(_) => ("status", json!(outcome.as_ref().ok().map(|it| it.status))),
            CallRequest::Tool(request) => ("tool", json!(request.tool_code)),
            CallRequest::Task(request) => ("tool", json!(request.task)),
        };
        let mut trace = object([("attempt", attempts.len().into()), ("code", code.into()), (name, target)]);
        if let Some(trace) = trace.as_object_mut() {
            trace.extend(location.clone());
        }
        effects.publish(NoticeBody::Audit { stage: "service.answer".into(), payload: trace.into() });
        let retry_after = match &outcome {
            Ok(reply) => reply.retry_after_ms,
            Err(error) => error.retry_after_ms,
        };
        let can_retry = code != "ok" && !is_last && is_retryable(retry, &outcome);
        let Some(next) = backoff.next_wait(retry_after).filter(|_| can_retry) else {
            return CallAttempts { outcome, attempts, may_have_acted, is_limited: false };
        };
        wait(effects, next).await;
        first_key.get_or_insert(key);
    }
}

impl Turn<'_> {
    /// Counts and records the attempts of a call.
    pub(super) fn record_attempts(&mut self, kind: &str, call_attempts: &CallAttempts) {
        for (attempt, ok) in (1..).zip(&call_attempts.attempts) {
            self.state.usage.tool_calls += 1;
            self.record.record_effect(kind, None, if *ok { "ok" } else { "error" }, attempt);
        }
    }

    /// The current graph and node, for traces.
    pub(super) fn trace_location(&self) -> Map {
        let location = self.state.frame().map(|it| json!({"graph": it.graph, "node": it.node}));
        into_members(location.unwrap_or_default())
    }

    /// Writes the outputs of a response, all of them or none. Templates of defaults can read the extra roots of the call.
    ///
    /// # Errors
    /// Returns `output_missing` or `type_mismatch`.
    pub(super) fn write_outputs<'o>(
        &mut self,
        outputs: impl Iterator<Item = &'o OutputMapping>,
        body: &Value,
        extra: &Map,
    ) -> Result<(), Failure> {
        let mut values = Vec::new();
        for output in outputs {
            let default = |value: &Value| self.render_json(&ValueTemplate::from(value.clone()), extra.clone());
            values.extend(read_output(output, body, default)?.map(|it| (&output.variable, it)));
        }
        let before = self.snapshot_variables();
        for (variable, value) in values {
            if let Err(rejected) = self.write_variable(variable, value) {
                self.restore_variables(before);
                return Err(rejected.into());
            }
        }
        Ok(())
    }
}

/// Reads an output of a response; `None` when it is absent and not required. `render_default` renders a default.
///
/// # Errors
/// Returns `output_missing` or `type_mismatch`.
pub fn read_output(output: &OutputMapping, body: &Value, render_default: impl FnOnce(&Value) -> Value) -> Result<Option<Value>, Failure> {
    let query = output
        .path
        .query
        .as_ref()
        .map_err(|reason| Failure::new("output_missing", format!("the path '{}' cannot be read: {reason}", output.path.source)))?;
    let value = match (query.value(body), &output.default) {
        (Some(value), _) => value,
        (None, Some(default)) => render_default(default),
        (None, None) if output.required => {
            return Err(Failure::new("output_missing", format!("the answer has nothing at '{}'", output.path.source)));
        }
        (None, None) => return Ok(None),
    };
    let Some(kind) = output.kind else { return Ok(Some(value)) };
    let mismatch = |_| Failure::new("type_mismatch", format!("what is at '{}' is not {}", output.path.source, kind.name_with_article()));
    coerce(value, kind).map(Some).map_err(mismatch)
}

/// Parses a response body: JSON, or else text.
///
/// # Errors
/// Returns `parse` when the content type is JSON and the body is not.
pub fn parse_body(reply: &HttpReply) -> Result<Value, Failure> {
    if reply.broken_json {
        return Err(Failure::new("parse", "the response declares JSON but cannot be parsed"));
    }
    Ok(serde_json::from_str(&reply.body).unwrap_or_else(|_| json!(reply.body)))
}

/// The failure code of an unsuccessful status; statuses below 400 share the code of 4xx.
pub fn status_failure_code(status: u16) -> &'static str {
    if status >= 500 { "status_5xx" } else { "status_4xx" }
}
