//! All names visible to operators: metrics with their help texts, and trace attributes.

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only increases while the process lives.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A histogram of durations in seconds.
    Seconds,
    /// A histogram of item counts.
    Items,
}

impl Kind {
    /// The Prometheus type name.
    pub fn prometheus_type(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Seconds | Kind::Items => "histogram",
        }
    }
}

/// A metric exposed by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The name including the unit.
    pub name: &'static str,
    /// The kind.
    pub kind: Kind,
    /// The help text.
    pub help: &'static str,
}

macro_rules! metrics {
    ($($constant:ident = $kind:ident $name:literal, $help:literal;)+) => {
        $(#[doc = $help] pub const $constant: &str = $name;)+

        /// All metrics.
        pub const METRICS: &[Metric] = &[$(Metric { name: $name, kind: Kind::$kind, help: $help },)+];
    };
}

metrics! {
    TURNS = Counter "convengine_turns_total", "Completed turns by outcome: ok, blocked or the error code.";
    TURN_DURATION = Seconds "convengine_turn_duration_seconds", "Time from receiving a message to storing its answer.";
    TURNS_RUNNING = Gauge "convengine_turns_running", "Turns currently running.";
    TURNS_WAITING = Gauge "convengine_turns_waiting", "Messages waiting for an earlier turn of their conversation.";
    BACKGROUND_TURNS_RUNNING = Gauge "convengine_background_turns_running", "Turns of timers, chains and recovery currently running.";
    BACKGROUND_TURNS_WAITING = Gauge "convengine_background_turns_waiting", "Turns of timers, chains and recovery waiting to run.";
    TURN_WAIT = Seconds "convengine_turn_wait_seconds", "Time that turns wait before they run, by class: user or background.";
    CONNECTION_WAIT = Seconds "convengine_database_connection_wait_seconds",
        "Time that work waits for a connection to read from the database, by class: user or background.";
    WRITER_QUEUE = Gauge "convengine_writer_queue", "Turns or parts of turns that wait to be written, by class: user or background.";
    WRITER_WAIT = Seconds "convengine_writer_wait_seconds", "Time in the write queue, by class.";
    TIMER_LAG = Gauge "convengine_timer_lag_seconds", "How long the oldest timer that is due and not running has been due.";
    SCHEDULES_DUE = Gauge "convengine_schedules_due", "Schedules of chains that are due and not started.";
    SCHEDULES_FAILING = Gauge "convengine_schedules_failing", "Due schedules of chains whose last attempts have failed.";
    LEASE_FAILURES = Counter "convengine_lease_failures_total", "Attempts to renew the leases of open turns that have failed.";
    TURNS_RECOVERED = Counter "convengine_turns_recovered_total",
        "Turns recovered after a crash, by outcome: finished, lost (the journal no longer matches) or read_failed.";
    REFUSALS = Counter "convengine_refusals_total", "Rejected messages by reason.";
    EFFECTS = Counter "convengine_effects_total", "Effects requested by turns, by kind and outcome.";
    EFFECT_DURATION = Seconds "convengine_effect_duration_seconds", "Effect duration by kind.";
    MODEL_CALLS = Counter "convengine_model_calls_total", "Model calls by provider, model, purpose and outcome.";
    MODEL_CALL_DURATION = Seconds "convengine_model_call_duration_seconds", "Model call duration including retries, by provider and model.";
    MODEL_TOKENS = Counter "convengine_model_tokens_total", "Tokens by provider, model and direction: input or output.";
    MODEL_COST = Counter "convengine_model_cost_micros_total", "Model cost in millionths of the currency of convengine.llm.prices.";
    MCP_CALLS = Counter "convengine_mcp_calls_total", "Calls of tools of MCP servers by server and outcome.";
    COMMITS = Counter "convengine_commits_total", "Writer transactions by outcome.";
    COMMIT_DURATION = Seconds "convengine_commit_duration_seconds", "Writer transaction duration.";
    COMMIT_PARTS = Items "convengine_commit_parts", "Turns or parts of turns per writer transaction.";
    REJECTED_CREDENTIALS = Counter "convengine_rejected_credentials_total",
        "Wrong credentials by outcome: refused, or throttled because their address has sent too many.";
    SECURITY_EVENTS = Counter "convengine_security_events_total",
        "Entries of the security log by action and outcome: started, succeeded, refused or failed.";
    SIGNING_KEYS_FETCHED = Gauge "convengine_signing_keys_fetched_timestamp",
        "Time at which the signing keys of tokens were last fetched, in seconds since the Unix epoch.";
    INDEXING_WAITING = Gauge "convengine_indexing_waiting", "Knowledge sources that wait to be indexed or are being indexed.";
    INDEXING_RUNNING = Gauge "convengine_indexing_running", "Knowledge sources that the process indexes now.";
    INDEXED = Counter "convengine_indexed_sources_total", "Knowledge sources indexed in the background, by outcome: ok or failed.";
    INDEXING_DURATION = Seconds "convengine_indexing_duration_seconds", "Time to index a knowledge source in the background.";
    STREAMS_OPEN = Gauge "convengine_streams_open", "Connected stream subscribers.";
    STREAMS_DROPPED = Counter "convengine_stream_listeners_dropped_total", "Stream subscribers disconnected because they fell behind.";
    STREAM_EVENTS = Counter "convengine_stream_events_total", "Events delivered to stream subscribers, counted once per subscriber.";
    SPANS_EXPORTED = Counter "convengine_trace_spans_exported_total", "Spans accepted by the collector.";
    SPANS_DROPPED = Counter "convengine_trace_spans_dropped_total", "Dropped spans by reason: full or failed.";
    HTTP_REQUESTS = Counter "convengine_http_requests_total", "HTTP requests by route, method and status.";
    HTTP_DURATION = Seconds "convengine_http_request_duration_seconds", "Time until the response begins, by route and method.";
    TENANTS_DOWN = Gauge "convengine_tenants_down", "Tenants that cannot serve; a server without tenants counts as one.";
    DATABASE_BYTES = Gauge "convengine_database_bytes", "Size of the database.";
    DATABASE_LIMIT_BYTES = Gauge "convengine_database_limit_bytes",
        "Size that the database may reach: convengine.database.capacity-gb, on SQLite else what the disk holds.";
    LIMIT_USED = Gauge "convengine_limit_used_ratio",
        "Used share of a cap or quota by limit: spend_cap, sessions or imports.";
    CONFIG_INFO = Gauge "convengine_config_info", "Always 1; the hash label identifies the configuration of new turns.";
    CONFIG_ISSUES = Gauge "convengine_config_issues", "Issues of the current configuration by severity.";
    MEMORY = Gauge "convengine_process_resident_memory_bytes", "Resident memory of the process.";
    CPU = Counter "convengine_process_cpu_seconds_total", "CPU time of the process.";
    FILES = Gauge "convengine_process_open_files", "Open file descriptors of the process.";
}

/// Trace attribute names: the OpenTelemetry semantic conventions, including the unfinished ones for generative AI, and our own.
pub mod attribute {
    /// The model operation: `chat` or `embeddings`.
    pub const OPERATION: &str = "gen_ai.operation.name";
    /// The model provider.
    pub const PROVIDER: &str = "gen_ai.provider.name";
    /// The provider under its older name, which collectors still read.
    pub const SYSTEM: &str = "gen_ai.system";
    /// The requested model.
    pub const REQUEST_MODEL: &str = "gen_ai.request.model";
    /// The model that responded.
    pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
    /// Tokens of the prompt.
    pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
    /// Tokens of the completion.
    pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
    /// The conversation id.
    pub const CONVERSATION: &str = "gen_ai.conversation.id";
    /// The tool's code or group.
    pub const TOOL: &str = "gen_ai.tool.name";
    /// Why something failed.
    pub const ERROR: &str = "error.type";
    /// The status code of a service response.
    pub const STATUS: &str = "http.response.status_code";
    /// The turn id.
    pub const TURN: &str = "convengine.turn.id";
    /// The outcome of the turn.
    pub const OUTCOME: &str = "convengine.turn.outcome";
    /// The number of effects of the turn.
    pub const EFFECTS: &str = "convengine.turn.effects";
    /// The hash of the configuration.
    pub const CONFIG: &str = "convengine.config.hash";
    /// The kind of an effect.
    pub const KIND: &str = "convengine.effect.kind";
    /// The purpose of a model call.
    pub const PURPOSE: &str = "convengine.model.purpose";
    /// The cost of the call in millionths of the currency.
    pub const COST: &str = "convengine.model.cost_micros";
    /// The tenant.
    pub const TENANT: &str = "convengine.tenant";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn metric_names_include_type_and_unit() {
        let names: BTreeSet<&str> = METRICS.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), METRICS.len(), "duplicate name");
        for metric in METRICS {
            assert!(metric.name.starts_with("convengine_") && metric.help.ends_with('.'), "{metric:?}");
            assert_eq!(metric.name.ends_with("_total"), metric.kind == Kind::Counter, "{metric:?}");
            assert!(metric.kind != Kind::Seconds || metric.name.ends_with("_seconds"), "{metric:?}");
        }
    }
}
