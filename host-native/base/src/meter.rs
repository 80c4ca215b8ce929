//! Records metrics. Labels never contain ids or user text, so that their cardinality stays low.

use std::sync::Arc;
use std::time::{Duration, Instant};

use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, EmbedReply, LlmReply, Millis, Reply, Request};
use metrics::{Gauge, Label, counter, gauge, histogram};

use crate::metric_names as names;
use crate::work_class::WorkClass;

/// Records the metrics of one tenant, or of a server without tenants. Nearly free without a recorder, as in commands and tests.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    tenant: Option<Arc<str>>,
}

/// Decrements a gauge on drop.
#[derive(Debug)]
pub struct GaugeGuard(Gauge);

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

impl Meter {
    /// Creates a meter for a tenant, or without a name for the server.
    pub fn for_tenant(tenant: Option<&str>) -> Meter {
        Meter { tenant: tenant.map(Arc::from) }
    }

    /// Creates the counters that alerts watch, at zero: one that begins with its first event shows no increase.
    pub fn create_counters(&self) {
        let outcomes = |name: &'static str, label: &'static str, values: &[&'static str]| {
            values.iter().for_each(|value| counter!(name, self.labels([(label, *value)])).increment(0));
        };
        outcomes(names::TURNS_RECOVERED, "outcome", &["finished", "lost", "read_failed"]);
        outcomes(names::REFUSALS, "reason", &["read_failed"]);
        outcomes(names::COMMITS, "outcome", &["rejected", "lost"]);
        outcomes(names::INDEXED, "outcome", &["failed"]);
        for kind in ["llm", "embed"] {
            counter!(names::EFFECTS, self.labels([("kind", kind), ("outcome", "limited")])).increment(0);
        }
        counter!(names::LEASE_FAILURES, self.labels([])).increment(0);
    }

    /// The tenant's name.
    pub fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }

    /// Increments a gauge until the returned guard is dropped.
    pub fn track(&self, name: &'static str) -> GaugeGuard {
        let gauge = gauge!(name, self.labels([]));
        gauge.increment(1.0);
        GaugeGuard(gauge)
    }

    /// Increments a gauge of a class of work until the returned guard is dropped.
    pub fn track_class(&self, name: &'static str, class: WorkClass) -> GaugeGuard {
        let gauge = gauge!(name, self.labels([("class", class.label())]));
        gauge.increment(1.0);
        GaugeGuard(gauge)
    }

    /// Records how long a turn waited before it ran.
    pub fn record_turn_wait(&self, class: WorkClass, wait: Duration) {
        histogram!(names::TURN_WAIT, self.labels([("class", class.label())])).record(wait);
    }

    /// Records how long work waited for a connection to read from the database.
    pub fn record_connection_wait(&self, class: WorkClass, wait: Duration) {
        histogram!(names::CONNECTION_WAIT, self.labels([("class", class.label())])).record(wait);
    }

    /// Records how long rows waited before they were written.
    pub fn record_writer_wait(&self, class: WorkClass, wait: Duration) {
        histogram!(names::WRITER_WAIT, self.labels([("class", class.label())])).record(wait);
    }

    /// Records how long the oldest due timer has been due.
    pub fn record_timer_lag(&self, lag: Duration) {
        gauge!(names::TIMER_LAG, self.labels([])).set(lag.as_secs_f64());
    }

    /// Records the numbers of schedules that are due and that fail.
    pub fn record_schedules(&self, due: i64, failing: i64) {
        gauge!(names::SCHEDULES_DUE, self.labels([])).set(due as f64);
        gauge!(names::SCHEDULES_FAILING, self.labels([])).set(failing as f64);
    }

    /// Records that the leases of open turns could not be renewed.
    pub fn record_lease_failure(&self) {
        counter!(names::LEASE_FAILURES, self.labels([])).increment(1);
    }

    /// Records a stored turn.
    pub fn record_turn(&self, outcome: &str, duration: Duration) {
        counter!(names::TURNS, self.labels([("outcome", outcome)])).increment(1);
        histogram!(names::TURN_DURATION, self.labels([])).record(duration);
    }

    /// Records a turn recovered after a crash.
    pub fn record_recovery(&self, outcome: &'static str) {
        counter!(names::TURNS_RECOVERED, self.labels([("outcome", outcome)])).increment(1);
    }

    /// Records a rejected message.
    pub fn record_refusal(&self, reason: &'static str) {
        counter!(names::REFUSALS, self.labels([("reason", reason)])).increment(1);
    }

    /// Records a completed effect.
    pub fn record_effect(&self, request: &Request, answer: &EffectResult, duration: Duration) {
        let kind = effect_kind(request);
        counter!(names::EFFECTS, self.labels([("kind", kind), ("outcome", answer_outcome(answer))])).increment(1);
        histogram!(names::EFFECT_DURATION, self.labels([("kind", kind)])).record(duration);
    }

    /// Records a model call with its tokens and cost.
    pub fn record_model_call(
        &self,
        (provider, model): (&str, &str),
        purpose: &str,
        answer: Result<&Reply, EffectErrorKind>,
        duration: Duration,
    ) {
        let outcome = answer.map_or_else(error_label, |_| "ok");
        let call_labels = [("provider", provider), ("model", model), ("purpose", purpose), ("outcome", outcome)];
        let model_labels = [("provider", provider), ("model", model)];
        counter!(names::MODEL_CALLS, self.labels(call_labels)).increment(1);
        histogram!(names::MODEL_CALL_DURATION, self.labels(model_labels)).record(duration);
        let Ok(Reply::Llm(LlmReply { usage: Some(usage), .. }) | Reply::Embed(EmbedReply { usage: Some(usage), .. })) = answer else {
            return;
        };
        for (direction, tokens) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
            let labels = self.labels([("provider", provider), ("model", model), ("direction", direction)]);
            counter!(names::MODEL_TOKENS, labels).increment(tokens);
        }
        if let Some(cost) = usage.cost_micros {
            counter!(names::MODEL_COST, self.labels(model_labels)).increment(cost);
        }
    }

    /// Records a call of a tool of an MCP server, in a turn or by hand, with its error if it has failed.
    pub fn record_mcp_call(&self, server: &str, error: Option<&EffectError>) {
        let outcome = error.map_or("ok", |it| error_label(it.kind));
        counter!(names::MCP_CALLS, self.labels([("server", server), ("outcome", outcome)])).increment(1);
    }

    /// Records a writer transaction with its number of parts.
    pub fn record_commit(&self, outcome: &'static str, parts: usize, since: Instant) {
        counter!(names::COMMITS, self.labels([("outcome", outcome)])).increment(1);
        histogram!(names::COMMIT_DURATION, self.labels([])).record(since.elapsed());
        histogram!(names::COMMIT_PARTS, self.labels([])).record(u32::try_from(parts).unwrap_or(u32::MAX));
    }

    /// Records how many knowledge sources wait to be indexed.
    pub fn record_waiting_sources(&self, sources: u32) {
        gauge!(names::INDEXING_WAITING, self.labels([])).set(sources);
    }

    /// Records the end of the indexing of a knowledge source.
    pub fn record_indexing(&self, outcome: &'static str, duration: Duration) {
        counter!(names::INDEXED, self.labels([("outcome", outcome)])).increment(1);
        histogram!(names::INDEXING_DURATION, self.labels([])).record(duration);
    }

    /// Records an HTTP request.
    pub fn record_request(&self, route: &str, method: &str, status: u16, duration: Duration) {
        let labels = self.labels([("route", route), ("method", method), ("status", &status.to_string())]);
        counter!(names::HTTP_REQUESTS, labels).increment(1);
        histogram!(names::HTTP_DURATION, self.labels([("route", route), ("method", method)])).record(duration);
    }

    /// Records an entry of the security log.
    pub fn record_security_event(&self, action: &'static str, outcome: &'static str) {
        counter!(names::SECURITY_EVENTS, self.labels([("action", action), ("outcome", outcome)])).increment(1);
    }

    /// Records the time at which the signing keys of tokens were fetched.
    pub fn record_signing_keys(&self, at: Millis) {
        gauge!(names::SIGNING_KEYS_FETCHED, self.labels([])).set(at as f64 / 1000.0);
    }

    /// Records a credential that was refused, or throttled.
    pub fn record_rejected_credential(&self, outcome: &'static str) {
        counter!(names::REJECTED_CREDENTIALS, self.labels([("outcome", outcome)])).increment(1);
    }

    /// Records the delivery of events to a number of subscribers.
    pub fn record_stream_events(&self, events: usize, subscribers: usize) {
        counter!(names::STREAM_EVENTS, self.labels([])).increment(u64::try_from(events.saturating_mul(subscribers)).unwrap_or(u64::MAX));
    }

    /// Records subscribers disconnected because they fell behind.
    pub fn record_dropped_subscribers(&self, subscribers: usize) {
        counter!(names::STREAMS_DROPPED, self.labels([])).increment(u64::try_from(subscribers).unwrap_or(u64::MAX));
    }

    fn labels<const N: usize>(&self, own: [(&'static str, &str); N]) -> Vec<Label> {
        let tenant = self.tenant.as_ref().map(|name| Label::new("tenant", name.to_string()));
        tenant.into_iter().chain(own.into_iter().map(|(name, value)| Label::new(name, value.to_owned()))).collect()
    }
}

/// The metric label for the kind of an effect.
pub fn effect_kind(request: &Request) -> &'static str {
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
        Request::Knowledge(_) => "knowledge",
        Request::Script(_) => "script",
        Request::PhraseSearch(_) => "phrase_search",
    }
}

/// The metric label for the outcome of an effect.
pub fn answer_outcome(answer: &EffectResult) -> &'static str {
    match answer {
        EffectResult::Ok(_) => "ok",
        EffectResult::Error(error) => error_label(error.kind),
    }
}

/// The metric label for an effect error.
pub fn error_label(kind: EffectErrorKind) -> &'static str {
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
