//! `service`: calls a service, and takes values out of its answer. (`convoship.md` 4.6)

use serde_json::{Value, json};

use super::super::Walk;
use super::super::fail::{EFFECT_LIMIT, Failure};
use super::super::variables::coerced;
use super::super::walk::Next;
use super::wire::{self, Call};
use crate::config::flow::document::{Filling, Node, OutputMap, ServiceData};
use crate::json::query::Query;
use crate::text::path::Path;
use crate::turn::{EffectError, EffectErrorKind, HttpReply, Map, SleepRequest};

/// The longest wait that a service may ask for, in milliseconds.
const LONGEST_WAIT_MS: u64 = 10_000;

/// Effects that a turn may have.
const MOST_EFFECTS: usize = 128;

/// Bytes of an answer that the session keeps.
const KEPT: usize = 64 * 1024;

impl<'c> Walk<'c> {
    pub(super) async fn service(&mut self, node: &'c Node, data: &'c ServiceData) -> Next {
        match self.call_service(node, data).await {
            Ok(()) => Next::Port("success".to_owned()),
            Err(failure) => Next::Fail(failure),
        }
    }

    async fn call_service(&mut self, node: &'c Node, data: &'c ServiceData) -> Result<(), Failure> {
        let call = wire::call(self, node, data)?;
        let (reply, attempt) = self.tries(&call).await?;
        let failed = |code: &str, message: String| Failure { attempt, ..Failure::new(code, message) };
        let succeeded = match data.success.as_slice() {
            [] => (200..300).contains(&reply.status),
            listed => listed.contains(&reply.status),
        };
        let body = parsed(&reply.body);
        self.keep_response(&body, json!(reply.status));
        if !succeeded {
            return Err(failed(&status_code(reply.status), format!("the service answered {}", reply.status)));
        }
        for output in call.tool.into_iter().flat_map(|it| &it.outputs).chain(&data.outputs) {
            self.take_output(output, &body, &call.here).map_err(|it| Failure { attempt, ..it })?;
        }
        Ok(())
    }

    /// Tries a call as often as its policy says.
    async fn tries(&mut self, call: &Call<'c>) -> Result<(HttpReply, u32), Failure> {
        let mut request = call.request.clone();
        let retry = &call.retry;
        let mut wait = retry.initial_ms;
        let mut attempt = 1;
        loop {
            if self.debug.effects.len() >= MOST_EFFECTS {
                return Err(Failure { attempt, ..Failure::new(EFFECT_LIMIT, format!("a turn has {MOST_EFFECTS} effects at most")) });
            }
            let key = self.door.next_key();
            let outcome = self.door.perform(request.clone()).await;
            self.state.usage.tool_calls += 1;
            let code = match &outcome {
                Ok(reply) if (200..400).contains(&reply.status) => "ok".to_owned(),
                Ok(reply) => status_code(reply.status),
                Err(error) => error_code(error).to_owned(),
            };
            self.note_effect("http.request", None, if code == "ok" { "ok" } else { "error" }, attempt);
            self.trace("service.answer", json!({"attempt": attempt, "code": code, "status": outcome.as_ref().ok().map(|it| it.status)}));
            let asked = match &outcome {
                Ok(reply) => reply.retry_after_ms,
                Err(error) => error.retry_after_ms,
            };
            let may = attempt < call.attempts && wire::retries(retry, &outcome);
            let pause = asked.unwrap_or(0).max(wait);
            if !may || asked.is_some_and(|it| it > LONGEST_WAIT_MS) {
                return outcome.map(|reply| (reply, attempt)).map_err(|error| {
                    self.keep_response(&Value::Null, Value::Null);
                    Failure { attempt, ..Failure::new(error_code(&error), message_of(&error)) }
                });
            }
            // A wait that fails is a wait that is over.
            let _ = self.door.perform(SleepRequest::of(u32::try_from(pause).unwrap_or(u32::MAX))).await;
            wait = wire::longer(wait, retry.multiplier).min(retry.max_ms);
            request.key.get_or_insert(key);
            attempt += 1;
        }
    }

    /// The answer, for those who look at the session.
    fn keep_response(&mut self, body: &Value, status: Value) {
        let text = body.to_string();
        let kept = match text.len() > KEPT {
            true => {
                let end = (0..=KEPT).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0);
                json!(text.get(..end).unwrap_or_default())
            }
            false => body.clone(),
        };
        for (name, value) in [("response_body", kept), ("response_status", status)] {
            self.state.vars.insert(name.to_owned(), value);
            self.changed(&Path::name(name));
        }
    }

    fn take_output(&mut self, output: &OutputMap, body: &Value, here: &Map) -> Result<(), Failure> {
        let path = Query::compile(&output.path)
            .map_err(|reason| Failure::new("output_missing", format!("the path '{}' cannot be read: {reason}", output.path)))?;
        let value = match (path.value(body), &output.default) {
            (Some(value), _) => value,
            (None, Some(default)) => self.filled(&Filling::from(default.clone()), here.clone()),
            (None, None) if output.required => {
                return Err(Failure::new("output_missing", format!("the answer has nothing at '{}'", output.path)));
            }
            (None, None) => return Ok(()),
        };
        let mismatch = |it: String| Failure::new("type_mismatch", it);
        let value = match output.kind {
            Some(kind) => coerced(value, kind).map_err(|_| mismatch(format!("what is at '{}' is not {}", output.path, kind.name())))?,
            None => value,
        };
        self.write(&output.variable, value).map_err(|it| mismatch(it.0))
    }
}

fn parsed(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_| json!(body))
}

fn status_code(status: u16) -> String {
    if status >= 500 { "status_5xx".to_owned() } else { "status_4xx".to_owned() }
}

/// The failure code of an effect that failed.
pub(super) fn error_code(error: &EffectError) -> &'static str {
    match error.kind {
        EffectErrorKind::Timeout => "timeout",
        EffectErrorKind::Denied => "blocked_target",
        EffectErrorKind::NotFound => "secret_missing",
        EffectErrorKind::Limited => "budget",
        EffectErrorKind::Cancelled | EffectErrorKind::Interrupted => "cancelled",
        EffectErrorKind::Invalid => "response_too_large",
        EffectErrorKind::Mismatch => "parse",
        EffectErrorKind::Unavailable | EffectErrorKind::Refused | EffectErrorKind::CircuitOpen | EffectErrorKind::Unsupported => "network",
    }
}

/// What may be said of it: what a provider said is not.
fn message_of(error: &EffectError) -> String {
    format!("the service could not be asked ({})", error_code(error))
}

/// Values of a call that its templates know as `args`.
pub(super) fn arguments(args: Value) -> Map {
    Map::from_iter([("args".to_owned(), if args.is_null() { json!({}) } else { args })])
}
