//! Logging and tracing settings: `convengine.logging` and `convengine.telemetry`.

use reqwest::Url;
use tracing_subscriber::EnvFilter;

use super::groups::groups;
use super::value::{FromText, choose, scalar};

/// Log output settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggingSettings {
    /// Whether to write JSON lines instead of text.
    pub json: bool,
    /// The filter in `RUST_LOG` syntax; `RUST_LOG` itself takes precedence.
    pub level: Option<String>,
}

groups! {
    /// `logging.*`
    pub(super) struct LoggingTree {
        format: Option<LogFormat> as "scalar",
        level: Option<LogFilter> as "scalar",
    }

    /// `telemetry.*`
    pub(super) struct TelemetryTree {
        pub(super) otlp: OtlpTree,
    }

    /// `telemetry.otlp.*`
    pub(super) struct OtlpTree {
        pub(super) endpoint: Option<String> as "scalar",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogFormat {
    Text,
    Json,
}

impl FromText for LogFormat {
    fn from_text(text: &str) -> Result<LogFormat, String> {
        choose(text, &[("text", LogFormat::Text), ("json", LogFormat::Json)])
    }
}

/// A filter in `RUST_LOG` syntax.
#[derive(Debug, Clone)]
struct LogFilter(String);

impl FromText for LogFilter {
    fn from_text(text: &str) -> Result<LogFilter, String> {
        match EnvFilter::try_new(text) {
            Ok(_) => Ok(LogFilter(text.to_owned())),
            Err(error) => Err(format!("invalid filter '{text}': {error}; use a value such as info or warn,TARGET=debug")),
        }
    }
}

impl LoggingSettings {
    pub(super) fn new(tree: LoggingTree) -> LoggingSettings {
        LoggingSettings { json: tree.format == Some(LogFormat::Json), level: tree.level.map(|it| it.0) }
    }
}

/// Reads the address of the trace collector from the setting, else from the standard OpenTelemetry variable.
pub(super) fn read_otlp_endpoint(tree: TelemetryTree, variable: Option<String>, problems: &mut Vec<String>) -> Option<String> {
    let set = tree.otlp.endpoint.map(|it| ("convengine.telemetry.otlp.endpoint", it));
    let variable =
        variable.map(|address| address.trim().to_owned()).filter(|it| !it.is_empty()).map(|it| ("OTEL_EXPORTER_OTLP_ENDPOINT", it));
    let (name, address) = set.or(variable)?;
    let is_usable =
        |url: &Url| ["http", "https"].contains(&url.scheme()) && url.has_host() && url.username().is_empty() && url.password().is_none();
    if Url::parse(&address).is_ok_and(|it| is_usable(&it)) {
        return Some(address);
    }
    // The value is omitted: it may contain a password.
    problems.push(format!("{name}: invalid collector address; use http://HOST:4318 and put API keys into OTEL_EXPORTER_OTLP_HEADERS"));
    None
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tree::read_test_tree;
    use super::*;

    #[test]
    fn values_are_read_or_rejected_with_advice() {
        let read = |tree: Value, variable: Option<String>| {
            let (tree, mut problems) = read_test_tree(&tree);
            (LoggingSettings::new(tree.logging), read_otlp_endpoint(tree.telemetry, variable, &mut problems), problems)
        };
        let tree = json!({"logging": {"format": "json", "level": "info"}, "telemetry": {"otlp": {"endpoint": "http://127.0.0.1:4318"}}});
        let json = LoggingSettings { json: true, level: Some("info".to_owned()) };
        let variable = || Some("http://collector:4318/".to_owned());
        assert_eq!(read(tree, variable()), (json, Some("http://127.0.0.1:4318".to_owned()), Vec::new()));
        assert_eq!(read(json!({}), variable()), (LoggingSettings::default(), variable(), Vec::new()));
        assert_eq!(read(json!({}), Some(" ".to_owned())), (LoggingSettings::default(), None, Vec::new()));
        let tree = json!({"logging": {"format": "xml", "level": "a=b=c"}, "telemetry": {"otlp": {"endpoint": "http://user:hidden@x"}}});
        let (logging, endpoint, problems) = read(tree, None);
        assert_eq!((logging, endpoint, problems.len()), (LoggingSettings::default(), None, 3), "{problems:?}");
        assert!(problems[0].contains("text or json") && problems[2].contains("use http://") && !problems[2].contains("hidden"));
        assert_eq!(read(json!({}), Some("nowhere".to_owned())).2.len(), 1);
    }
}
