//! Counts what happens. A label is never an id and never what a user or an author has written, so that there are few of each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use convengine_core::turn::{Answer, EffectErrorKind, LlmReply, Reply, Request};
use metrics::{Gauge, Label, counter, gauge, histogram};

use super::names;

/// Counts for one tenant, or for a server without tenants. Without a recorder, as in commands and tests, it costs next to nothing.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    tenant: Option<Arc<str>>,
}

/// What is there until it is dropped.
#[derive(Debug)]
pub struct Counted(Gauge);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

impl Meter {
    /// Counts for a tenant; without a name, for the server.
    pub fn of(tenant: Option<&str>) -> Meter {
        Meter { tenant: tenant.map(Arc::from) }
    }

    /// The tenant's name.
    pub fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }

    /// Counts one of several things that are there at the same time.
    pub fn counted(&self, name: &'static str) -> Counted {
        let gauge = gauge!(name, self.labels([]));
        gauge.increment(1.0);
        Counted(gauge)
    }

    /// A turn has ended and is stored.
    pub fn turn(&self, outcome: &str, took: Duration) {
        counter!(names::TURNS, self.labels([("outcome", outcome)])).increment(1);
        histogram!(names::TURN_DURATION, self.labels([])).record(took);
    }

    /// A turn that was left behind has come to an end.
    pub fn recovered(&self, outcome: &'static str) {
        counter!(names::TURNS_RECOVERED, self.labels([("outcome", outcome)])).increment(1);
    }

    /// A message got no answer.
    pub fn refused(&self, reason: &'static str) {
        counter!(names::REFUSALS, self.labels([("reason", reason)])).increment(1);
    }

    /// An effect was answered.
    pub fn effect(&self, request: &Request, answer: &Answer, took: Duration) {
        let kind = kind(request);
        counter!(names::EFFECTS, self.labels([("kind", kind), ("outcome", outcome(answer))])).increment(1);
        histogram!(names::EFFECT_DURATION, self.labels([("kind", kind)])).record(took);
    }

    /// A model has answered, or has not.
    pub fn model(&self, (provider, model): (&str, &str), purpose: &str, answer: Result<&Reply, EffectErrorKind>, took: Duration) {
        let outcome = answer.map_or_else(word, |_| "ok");
        let of_call = [("provider", provider), ("model", model), ("purpose", purpose), ("outcome", outcome)];
        let of_model = [("provider", provider), ("model", model)];
        counter!(names::MODEL_CALLS, self.labels(of_call)).increment(1);
        histogram!(names::MODEL_CALL_DURATION, self.labels(of_model)).record(took);
        let Ok(Reply::Llm(LlmReply { usage: Some(usage), .. })) = answer else { return };
        for (direction, tokens) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
            let labels = self.labels([("provider", provider), ("model", model), ("direction", direction)]);
            counter!(names::MODEL_TOKENS, labels).increment(tokens);
        }
        if let Some(cost) = usage.cost_micros {
            counter!(names::MODEL_COST, self.labels(of_model)).increment(cost);
        }
    }

    /// The writer has ended a transaction of so many parts.
    pub fn commit(&self, outcome: &'static str, parts: usize, since: Instant) {
        counter!(names::COMMITS, self.labels([("outcome", outcome)])).increment(1);
        histogram!(names::COMMIT_DURATION, self.labels([])).record(since.elapsed());
        histogram!(names::COMMIT_PARTS, self.labels([])).record(u32::try_from(parts).unwrap_or(u32::MAX));
    }

    /// A request was answered.
    pub fn request(&self, route: &str, method: &str, status: u16, took: Duration) {
        let labels = self.labels([("route", route), ("method", method), ("status", &status.to_string())]);
        counter!(names::HTTP_REQUESTS, labels).increment(1);
        histogram!(names::HTTP_DURATION, self.labels([("route", route), ("method", method)])).record(took);
    }

    /// So many events were handed to so many listeners.
    pub fn told(&self, events: usize, listeners: usize) {
        counter!(names::STREAM_EVENTS, self.labels([])).increment(u64::try_from(events.saturating_mul(listeners)).unwrap_or(u64::MAX));
    }

    /// Listeners were hung up because they fell behind.
    pub fn dropped(&self, listeners: usize) {
        counter!(names::STREAMS_DROPPED, self.labels([])).increment(u64::try_from(listeners).unwrap_or(u64::MAX));
    }

    fn labels<const N: usize>(&self, own: [(&'static str, &str); N]) -> Vec<Label> {
        let tenant = self.tenant.as_ref().map(|it| Label::new("tenant", it.to_string()));
        tenant.into_iter().chain(own.into_iter().map(|(name, value)| Label::new(name, value.to_owned()))).collect()
    }
}

/// The kind of an effect.
pub fn kind(request: &Request) -> &'static str {
    match request {
        Request::Llm(_) => "llm",
        Request::Embed(_) => "embed",
        Request::Task(_) => "task",
        Request::Tool(_) => "tool",
        Request::Container(_) => "container",
        Request::Sleep(_) => "sleep",
        Request::Http(_) => "http",
        Request::Sql(_) => "sql",
        Request::Extension(_) => "extension",
    }
}

/// How an effect was answered.
pub fn outcome(answer: &Answer) -> &'static str {
    match answer {
        Answer::Ok(_) => "ok",
        Answer::Error(error) => word(error.kind),
    }
}

/// The word for a failure.
pub fn word(kind: EffectErrorKind) -> &'static str {
    match kind {
        EffectErrorKind::Timeout => "timeout",
        EffectErrorKind::Unavailable => "unavailable",
        EffectErrorKind::Refused => "refused",
        EffectErrorKind::Invalid => "invalid",
        EffectErrorKind::NotFound => "not_found",
        EffectErrorKind::Denied => "denied",
        EffectErrorKind::CircuitOpen => "circuit_open",
        EffectErrorKind::Limited => "limited",
        EffectErrorKind::Unsupported => "unsupported",
        EffectErrorKind::Interrupted => "interrupted",
        EffectErrorKind::Cancelled => "cancelled",
        EffectErrorKind::Mismatch => "mismatch",
    }
}
