//! Reports a turn to operators: metrics, a log line and a trace.

use std::time::{Instant, SystemTime};

use convengine_core::turn::{Outcome, TurnInput};
use convengine_host_base::metric_names::attribute;
use convengine_host_base::trace_ids;
use opentelemetry::KeyValue;
use opentelemetry::trace::{Link, SpanContext, SpanId, SpanKind};

use super::spans::{SpanDescription, build_span};
use crate::Turns;
use crate::refusal::Refusal;
use crate::stream::is_blocked;

/// A running turn as observed for metrics, logs and traces.
#[derive(Debug)]
pub struct TurnObserver {
    turn: String,
    conversation: String,
    config: String,
    caller: Option<SpanContext>,
    received: Instant,
    effects: usize,
}

impl TurnObserver {
    /// Creates the observer of a new turn; `caller` is the span of the request that sent the message.
    pub fn new(input: &TurnInput, config: &str, received: Instant, caller: Option<SpanContext>) -> TurnObserver {
        let (turn, conversation, config) = (input.turn.clone(), input.conversation.clone(), config.to_owned());
        TurnObserver { turn, conversation, config, caller, received, effects: 0 }
    }

    /// Adds to the number of requested effects.
    pub fn add_effects(&mut self, effects: usize) {
        self.effects += effects;
    }

    /// Reports the end of the turn.
    pub fn finish(self, turns: &Turns, outcome: Result<&Outcome, &Refusal>) {
        let (outcome, failed) = match outcome {
            Ok(outcome) => {
                let word = outcome_label(outcome);
                turns.meter.record_turn(&word, self.received.elapsed());
                let failed = if outcome.fault.is_some() { Some("fault") } else { None };
                (word, failed)
            }
            Err(refusal) => (refusal_reason(refusal).to_owned(), Some("unstored")),
        };
        let duration_ms = u64::try_from(self.received.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(outcome, duration_ms, effects = self.effects, "turn completed");
        if turns.traces.is_on() {
            self.send_trace(turns, outcome, failed);
        }
    }

    fn send_trace(self, turns: &Turns, outcome: String, failed: Option<&'static str>) {
        let mut attributes = vec![
            KeyValue::new(attribute::TURN, self.turn.clone()),
            KeyValue::new(attribute::CONVERSATION, self.conversation),
            KeyValue::new(attribute::OUTCOME, outcome),
            KeyValue::new(attribute::EFFECTS, i64::try_from(self.effects).unwrap_or(i64::MAX)),
            KeyValue::new(attribute::CONFIG, self.config),
        ];
        attributes.extend(turns.meter.tenant().map(|tenant| KeyValue::new(attribute::TENANT, tenant.to_owned())));
        let named = SpanDescription { name: "turn".to_owned(), kind: SpanKind::Server, attributes };
        let now = SystemTime::now();
        let from = now.checked_sub(self.received.elapsed()).unwrap_or(now);
        let mut root = build_span(&self.turn, SpanId::INVALID, named, from, failed);
        // A link instead of a parent: the trace id is that of the turn, not of the caller.
        root.links.links.extend(self.caller.map(|caller| Link::new(caller, Vec::new(), 0)));
        turns.traces.send(root);
    }
}

fn outcome_label(outcome: &Outcome) -> String {
    match &outcome.fault {
        Some(fault) => fault.code.clone(),
        None if is_blocked(outcome) => "blocked".to_owned(),
        None => "ok".to_owned(),
    }
}

/// The metric label for a refusal.
pub fn refusal_reason(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Busy(_) => "busy",
        Refusal::Load(_) => "read_failed",
        Refusal::Commit(error) => error.label(),
        Refusal::KeyReused | Refusal::EventIdReused => "other_message",
        Refusal::SessionExists => "conflict",
        Refusal::QuotaExceeded(_) => "quota_exceeded",
        Refusal::ForeignConversation => "foreign",
        Refusal::SessionEnded => "closed",
        Refusal::Run(_) => "run",
        Refusal::StaleTimer => "deadline_exceeded",
        Refusal::Unreachable(_) => "unreachable",
        Refusal::Internal(_) => "defect",
    }
}

/// The caller's span from the request headers.
pub fn caller_span(headers: &axum::http::HeaderMap) -> Option<SpanContext> {
    headers.get("traceparent").and_then(|value| trace_ids::parse_traceparent(value.to_str().ok()?))
}
