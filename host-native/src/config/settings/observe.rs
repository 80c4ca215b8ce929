//! Logging and tracing settings: `convengine.logging` and `convengine.telemetry`.

use reqwest::Url;
use serde_json::Value;
use tracing_subscriber::EnvFilter;

/// Log output settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggingSettings {
    /// Whether to write JSON lines instead of text.
    pub json: bool,
    /// The filter in `RUST_LOG` syntax; `RUST_LOG` itself takes precedence.
    pub level: Option<String>,
}

impl LoggingSettings {
    /// Reads the settings from a normalized tree.
    pub(super) fn from_tree(tree: &Value, problems: &mut Vec<String>) -> LoggingSettings {
        let json = match read_text(tree, "/logging/format").as_deref() {
            None | Some("text") => false,
            Some("json") => true,
            Some(other) => {
                problems.push(format!("convengine.logging.format: unknown value '{other}'; use text or json"));
                false
            }
        };
        let level = read_text(tree, "/logging/level").filter(|it| match EnvFilter::try_new(it) {
            Ok(_) => true,
            Err(error) => {
                let line = format!("invalid filter '{it}': {error}; use a value such as info or warn,TARGET=debug");
                problems.push(format!("convengine.logging.level: {line}"));
                false
            }
        });
        LoggingSettings { json, level }
    }
}

/// Reads the address of the trace collector from the setting, else from the standard OpenTelemetry variable.
pub(super) fn read_otlp_endpoint(tree: &Value, variable: Option<String>, problems: &mut Vec<String>) -> Option<String> {
    let set = read_text(tree, "/telemetry/otlp/endpoint").map(|it| ("convengine.telemetry.otlp.endpoint", it));
    let variable = variable.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).map(|it| ("OTEL_EXPORTER_OTLP_ENDPOINT", it));
    let (name, address) = set.or(variable)?;
    let is_usable =
        |it: &Url| ["http", "https"].contains(&it.scheme()) && it.has_host() && it.username().is_empty() && it.password().is_none();
    if Url::parse(&address).is_ok_and(|it| is_usable(&it)) {
        return Some(address);
    }
    // The value is omitted: it may contain a password.
    problems.push(format!("{name}: invalid collector address; use http://HOST:4318 and put API keys into OTEL_EXPORTER_OTLP_HEADERS"));
    None
}

fn read_text(tree: &Value, path: &str) -> Option<String> {
    let value = tree.pointer(path).filter(|it| !it.is_null())?;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Some(text.trim().to_owned()).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_read_or_rejected_with_advice() {
        let mut problems = Vec::new();
        let tree = json!({"logging": {"format": "json", "level": "info"}, "telemetry": {"otlp": {"endpoint": "http://127.0.0.1:4318"}}});
        assert_eq!(LoggingSettings::from_tree(&tree, &mut problems), LoggingSettings { json: true, level: Some("info".to_owned()) });
        let variable = || Some("http://collector:4318/".to_owned());
        assert_eq!(read_otlp_endpoint(&tree, variable(), &mut problems).as_deref(), Some("http://127.0.0.1:4318"));
        assert_eq!(read_otlp_endpoint(&json!({}), variable(), &mut problems), variable());
        assert_eq!(
            (read_otlp_endpoint(&json!({}), Some(" ".to_owned()), &mut problems), LoggingSettings::from_tree(&json!({}), &mut problems)),
            Default::default()
        );
        assert_eq!(problems, [""; 0]);
        let tree = json!({"logging": {"format": "xml", "level": "a=b=c"}, "telemetry": {"otlp": {"endpoint": "http://user:hidden@x"}}});
        assert_eq!(LoggingSettings::from_tree(&tree, &mut problems), LoggingSettings::default());
        assert_eq!(read_otlp_endpoint(&tree, None, &mut problems), None);
        assert_eq!(read_otlp_endpoint(&json!({}), Some("nowhere".to_owned()), &mut problems), None);
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert!(
            problems[0].contains("text or json") && problems[2..].iter().all(|it| it.contains("use http://") && !it.contains("hidden"))
        );
    }
}
