//! Calls of services as often as their policy says, for service nodes and for the tools of agents. (`convoship.md` 4.6)

use serde_json::{Value, json};

use super::super::Walk;
use super::super::fail::{EFFECT_LIMIT, Failure};
use super::super::variables::coerced;
use super::wire::{self, Call};
use crate::config::flow::document::{Filling, OutputMap};
use crate::json::query::Query;
use crate::turn::{Door, EffectError, EffectErrorKind, HttpReply, Map, NoticeBody, SleepRequest};

/// The longest wait that a service may ask for, in milliseconds.
const LONGEST_WAIT_MS: u64 = 10_000;

/// Failures that the host tells apart.
const CODES: [&str; 5] = ["dns", "tls", "blocked_target", "response_too_large", "budget"];

/// Effects that a turn may have.
pub(super) const MOST_EFFECTS: usize = 128;

/// What became of a call.
pub(super) struct Tried {
    /// The answer to the last attempt, whatever its status.
    pub outcome: Result<HttpReply, EffectError>,
    /// Whether each attempt brought an answer that is no error.
    pub attempts: Vec<bool>,
    /// Whether there would have been another attempt, had the turn not asked for as much as it may.
    limited: bool,
}

impl Tried {
    /// The number of the last attempt.
    pub fn attempt(&self) -> u32 {
        u32::try_from(self.attempts.len()).unwrap_or(u32::MAX)
    }

    /// The answer.
    pub fn reply(&self) -> Result<&HttpReply, Failure> {
        if self.limited {
            let reason = format!("a turn has {MOST_EFFECTS} effects at most");
            return Err(Failure { attempt: self.attempt(), ..Failure::new(EFFECT_LIMIT, reason) });
        }
        self.outcome.as_ref().map_err(|it| Failure { attempt: self.attempt(), ..Failure::new(error_code(it), message_of(it)) })
    }
}

/// Tries a call as often as its policy says. It needs nothing of the walk, so that several may be tried at the same time; `place` is
/// what its trace says beside the attempt, and `most` how many attempts the turn has left.
pub(super) async fn tries(door: &Door, call: &Call<'_>, place: &Map, most: usize) -> Tried {
    let mut request = call.request.clone();
    let retry = &call.retry;
    let mut wait = retry.initial_ms.min(retry.max_ms);
    let mut attempts = Vec::new();
    loop {
        if attempts.len() >= most {
            let outcome = Err(EffectError::new(EffectErrorKind::Limited, EFFECT_LIMIT));
            return Tried { outcome, attempts, limited: true };
        }
        let key = door.next_key();
        let outcome = door.perform(request.clone()).await;
        let code = match &outcome {
            Ok(reply) if call.succeeds(reply.status) => "ok",
            Ok(reply) => status_code(reply.status),
            Err(error) => error_code(error),
        };
        attempts.push(code == "ok");
        let mut told = json!({"attempt": attempts.len(), "code": code, "status": outcome.as_ref().ok().map(|it| it.status)});
        if let Some(told) = told.as_object_mut() {
            told.extend(place.clone());
        }
        door.notice(NoticeBody::Audit { stage: "service.answer".to_owned(), payload: told });
        let asked = match &outcome {
            Ok(reply) => reply.retry_after_ms,
            Err(error) => error.retry_after_ms,
        };
        let tried = u32::try_from(attempts.len()).unwrap_or(u32::MAX);
        let may = code != "ok" && tried < call.attempts && wire::retries(retry, &outcome);
        let pause = asked.unwrap_or(0).max(wait);
        if !may || asked.is_some_and(|it| it > LONGEST_WAIT_MS) {
            return Tried { outcome, attempts, limited: false };
        }
        // A wait that fails is a wait that is over.
        let _ = door.perform(SleepRequest::of(u32::try_from(pause).unwrap_or(u32::MAX))).await;
        wait = wire::longer(wait, retry.multiplier).min(retry.max_ms);
        request.key.get_or_insert(key);
    }
}

impl Walk<'_> {
    /// Counts and notes the attempts of a call.
    pub(super) fn note_attempts(&mut self, kind: &str, tried: &Tried) {
        for (attempt, ok) in (1..).zip(&tried.attempts) {
            self.state.usage.tool_calls += 1;
            self.note_effect(kind, None, if *ok { "ok" } else { "error" }, attempt);
        }
    }

    /// How many effects the turn may still have.
    pub(super) fn effects_left(&self) -> usize {
        MOST_EFFECTS.saturating_sub(self.debug.effects.len())
    }

    /// What a trace of a call says of its place.
    pub(super) fn here(&self) -> Map {
        let place = self.frame().map(|it| json!({"graph": it.graph, "node": it.node}));
        crate::json::members(place.unwrap_or_default())
    }

    /// Takes values out of an answer, all of them or none; templates of their defaults know what the call's know.
    pub(super) fn take_outputs<'o>(
        &mut self,
        outputs: impl Iterator<Item = &'o OutputMap>,
        body: &Value,
        here: &Map,
    ) -> Result<(), Failure> {
        let mut taken = Vec::new();
        for output in outputs {
            taken.extend(self.output(output, body, here)?.map(|it| (&output.variable, it)));
        }
        let before = self.before();
        for (variable, value) in taken {
            if let Err(reason) = self.write(variable, value) {
                self.put_back(before);
                return Err(Failure::new("type_mismatch", reason.0));
            }
        }
        Ok(())
    }

    /// The value of an output; nothing when it is not there and nobody says that it has to be.
    fn output(&mut self, output: &OutputMap, body: &Value, here: &Map) -> Result<Option<Value>, Failure> {
        let path = Query::compile(&output.path)
            .map_err(|reason| Failure::new("output_missing", format!("the path '{}' cannot be read: {reason}", output.path)))?;
        let value = match (path.value(body), &output.default) {
            (Some(value), _) => value,
            (None, Some(default)) => self.filled(&Filling::from(default.clone()), here.clone()),
            (None, None) if output.required => {
                return Err(Failure::new("output_missing", format!("the answer has nothing at '{}'", output.path)));
            }
            (None, None) => return Ok(None),
        };
        let Some(kind) = output.kind else { return Ok(Some(value)) };
        let mismatch = |_| Failure::new("type_mismatch", format!("what is at '{}' is not {}", output.path, kind.name()));
        coerced(value, kind).map(Some).map_err(mismatch)
    }
}

/// What an answer says: JSON, or a text.
///
/// # Errors
/// It says that it is JSON, and is none.
pub(super) fn parsed(reply: &HttpReply) -> Result<Value, Failure> {
    if reply.broken_json {
        return Err(Failure::new("parse", "the answer says that it is JSON, and it is none"));
    }
    Ok(serde_json::from_str(&reply.body).unwrap_or_else(|_| json!(reply.body)))
}

/// The failure code of a status that is no success; there is none of its own for those below 400.
pub(super) fn status_code(status: u16) -> &'static str {
    if status >= 500 { "status_5xx" } else { "status_4xx" }
}

/// The failure code of an effect that failed.
pub(super) fn error_code(error: &EffectError) -> &'static str {
    let known = error.detail.as_ref().and_then(|it| CODES.into_iter().find(|code| *code == it.code()));
    if let Some(code) = known {
        return code;
    }
    match error.kind {
        EffectErrorKind::Timeout => "timeout",
        EffectErrorKind::Denied => "blocked_target",
        EffectErrorKind::NotFound => "secret_missing",
        EffectErrorKind::Cancelled | EffectErrorKind::Interrupted => "cancelled",
        EffectErrorKind::Mismatch => "parse",
        EffectErrorKind::Unavailable
        | EffectErrorKind::Invalid
        | EffectErrorKind::Limited
        | EffectErrorKind::Refused
        | EffectErrorKind::CircuitOpen
        | EffectErrorKind::Unsupported => "network",
    }
}

/// What may be said of it: what a provider said is not.
fn message_of(error: &EffectError) -> String {
    format!("the service could not be asked ({})", error_code(error))
}
