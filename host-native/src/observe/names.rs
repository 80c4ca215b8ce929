//! All names that operators see, in one place each: those of the numbers, and those of the attributes of traces.

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows while the process lives.
    Counter,
    /// It goes up and down.
    Gauge,
    /// How often something took how many seconds.
    Seconds,
    /// How often something had how many items.
    Items,
}

impl Kind {
    /// The type that Prometheus knows.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Seconds | Kind::Items => "histogram",
        }
    }
}

/// A number that a server tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name, with its unit.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What it says.
    pub help: &'static str,
}

macro_rules! metrics {
    ($($constant:ident = $kind:ident $name:literal, $help:literal;)+) => {
        $(#[doc = $help] pub const $constant: &str = $name;)+

        /// All numbers.
        pub const METRICS: &[Metric] = &[$(Metric { name: $name, kind: Kind::$kind, help: $help },)+];
    };
}

metrics! {
    TURNS = Counter "convengine_turns_total", "Turns that have ended, by outcome: ok, blocked, or the error code.";
    TURN_DURATION = Seconds "convengine_turn_duration_seconds", "From the message to its stored answer.";
    TURNS_RUNNING = Gauge "convengine_turns_running", "Turns that run.";
    TURNS_WAITING = Gauge "convengine_turns_waiting", "Messages that wait for the turn before theirs.";
    TURNS_RECOVERED = Counter "convengine_turns_recovered_total",
        "Turns that a process left behind, by outcome: finished, lost (the journal no longer fits), unreadable.";
    REFUSALS = Counter "convengine_refusals_total", "Messages without an answer, by reason.";
    EFFECTS = Counter "convengine_effects_total", "What turns have asked for, by kind and outcome.";
    EFFECT_DURATION = Seconds "convengine_effect_duration_seconds", "How long that took, by kind.";
    MODEL_CALLS = Counter "convengine_model_calls_total", "Calls of models, by provider, model, purpose and outcome.";
    MODEL_CALL_DURATION = Seconds "convengine_model_call_duration_seconds", "How long a model took with all attempts, by provider and model.";
    MODEL_TOKENS = Counter "convengine_model_tokens_total", "Tokens, by provider, model and direction: input, output.";
    MODEL_COST = Counter "convengine_model_cost_micros_total", "What they cost, in millionths of the currency of convengine.llm.prices.";
    COMMITS = Counter "convengine_commits_total", "Transactions of the writer, by outcome.";
    COMMIT_DURATION = Seconds "convengine_commit_duration_seconds", "How long the writer's transactions took.";
    COMMIT_PARTS = Items "convengine_commit_parts", "How many turns, or parts of turns, one transaction held.";
    STREAMS_OPEN = Gauge "convengine_streams_open", "Listeners that are connected.";
    STREAMS_DROPPED = Counter "convengine_stream_listeners_dropped_total", "Listeners that were hung up because they fell behind.";
    STREAM_EVENTS = Counter "convengine_stream_events_total", "Events that were handed to listeners, each time one.";
    SPANS_EXPORTED = Counter "convengine_trace_spans_exported_total", "Spans that the collector has taken.";
    SPANS_DROPPED = Counter "convengine_trace_spans_dropped_total", "Spans that were given up, by reason: full, failed.";
    HTTP_REQUESTS = Counter "convengine_http_requests_total", "Requests, by route, method and status.";
    HTTP_DURATION = Seconds "convengine_http_request_duration_seconds", "Until the answer begins, by route and method.";
    CONFIG_INFO = Gauge "convengine_config_info", "Always 1; the label is the hash of the configuration that new turns run on.";
    CONFIG_ISSUES = Gauge "convengine_config_issues", "Issues of that configuration, by severity.";
    MEMORY = Gauge "convengine_process_resident_memory_bytes", "Memory of the process.";
    CPU = Counter "convengine_process_cpu_seconds_total", "Time on processors.";
    FILES = Gauge "convengine_process_open_files", "Open files and connections.";
}

/// Names of the OpenTelemetry conventions, those for generative models among them, which are still being worked on; and our own.
pub mod attribute {
    /// What a model was asked for; always `chat` or `embeddings`.
    pub const OPERATION: &str = "gen_ai.operation.name";
    /// Who offers the model.
    pub const PROVIDER: &str = "gen_ai.provider.name";
    /// The same by its older name, which collectors still look for.
    pub const SYSTEM: &str = "gen_ai.system";
    /// The model that was asked.
    pub const REQUEST_MODEL: &str = "gen_ai.request.model";
    /// The model that answered.
    pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
    /// Tokens of the prompt.
    pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
    /// Tokens of the answer.
    pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
    /// The conversation.
    pub const CONVERSATION: &str = "gen_ai.conversation.id";
    /// The tool's code or group.
    pub const TOOL: &str = "gen_ai.tool.name";
    /// Why something failed.
    pub const ERROR: &str = "error.type";
    /// The status that a service answered with.
    pub const STATUS: &str = "http.response.status_code";
    /// The turn's id.
    pub const TURN: &str = "convengine.turn.id";
    /// How the turn ended.
    pub const OUTCOME: &str = "convengine.turn.outcome";
    /// How many effects it had.
    pub const EFFECTS: &str = "convengine.turn.effects";
    /// The hash of the configuration.
    pub const CONFIG: &str = "convengine.config.hash";
    /// The kind of an effect.
    pub const KIND: &str = "convengine.effect.kind";
    /// What a model was called for.
    pub const PURPOSE: &str = "convengine.model.purpose";
    /// What the call cost, in millionths of the currency.
    pub const COST: &str = "convengine.model.cost_micros";
    /// The tenant.
    pub const TENANT: &str = "convengine.tenant";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_say_what_they_count_and_in_which_unit() {
        let names: BTreeSet<&str> = METRICS.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), METRICS.len(), "a name twice");
        for metric in METRICS {
            assert!(metric.name.starts_with("convengine_") && metric.help.ends_with('.'), "{metric:?}");
            assert_eq!(metric.name.ends_with("_total"), metric.kind == Kind::Counter, "{metric:?}");
            assert_eq!(metric.name.ends_with("_seconds"), metric.kind == Kind::Seconds, "{metric:?}");
        }
    }
}
