//! Log output: plain text, or one JSON object per line.

use std::fmt;
use std::io::IsTerminal;

use convengine_core::turn::Millis;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use convengine_host_base::clock;
use convengine_settings::LoggingSettings;

/// What no filter logs: messages of MCP peers, which contain what tools return, and unknown parameters of database addresses, whose values may
/// be passwords.
const NEVER: &str = "rmcp=off,sqlx_postgres::options=off,sqlx_postgres::options::parse=off";

/// The default filter. Omits slow-query lines, as lock waits are logged separately; logs deletions and the return of MCP servers at info level.
const DEFAULT_FILTER: &str =
    "warn,sqlx::query=off,convengine_host::ops::retention=info,convengine_turns::forget=info,convengine_effects::mcp::outages=info";

/// Initializes logging to standard error. `RUST_LOG` takes precedence over the settings.
pub fn init(logging: &LoggingSettings) {
    let directives = logging.level.as_ref().map_or_else(|| DEFAULT_FILTER.to_owned(), |it| format!("sqlx::query=off,{it}"));
    let renamed = with_all_crates;
    let from_env = std::env::var(EnvFilter::DEFAULT_ENV).ok();
    let from_env = from_env.and_then(|filter| EnvFilter::try_new(renamed(&format!("{NEVER},{filter}"))).ok());
    let filter = from_env.unwrap_or_else(|| EnvFilter::new(renamed(&format!("{NEVER},{directives}"))));
    // An error would be printed where nobody reads any more, which panics.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    if logging.json {
        log.fmt_fields(JsonFields::new()).event_format(JsonFormat).init();
    } else {
        log.with_ansi(std::io::stderr().is_terminal()).init();
    }
}

/// What has left the crate of the host: its former path, and its crate or module now.
const MOVED: [(&str, &str); 32] = [
    ("::api::error", "convengine_access::api_error"),
    ("::api::mcp::stdio", "convengine_host::mcp_stdio"),
    ("::api::page", "convengine_page"),
    ("::api::turn_refusal", "convengine_turns::error_response"),
    ("::api::worker_health", "convengine_host::restate::worker_health"),
    ("::auth", "convengine_access"),
    ("::clock", "convengine_host_base::clock"),
    ("::config", "convengine_content::config"),
    ("::config::pack_file", "convengine_host_base::pack_file"),
    ("::config::secrets", "convengine_settings::secrets"),
    ("::config::settings", "convengine_settings"),
    ("::effects", "convengine_effects"),
    ("::effects", "convengine_turns::effects"),
    ("::effects::knowledge", "convengine_content::knowledge::effect"),
    ("::effects::mcp_approval", "convengine_content::mcp_approval"),
    ("::effects::tls", "convengine_host_base::tls"),
    ("::ops::audit", "convengine_turns::audit"),
    ("::ops::forget", "convengine_turns::forget"),
    ("::ops::observe", "convengine_host_base"),
    ("::ops::observe", "convengine_turns::observe"),
    ("::ops::redaction", "convengine_redaction"),
    ("::ops::snapshot", "convengine_content::config::snapshot"),
    ("::runtime", "convengine_turns"),
    ("::runtime::assistant", "convengine_content"),
    ("::runtime::assistant", "convengine_turns"),
    ("::runtime::assistant::run", "convengine_turns::running_session"),
    ("::runtime::blocking", "convengine_host_base::blocking_share"),
    ("::runtime::charged_call", "convengine_content::charged_call"),
    ("::runtime::repeated_task", "convengine_storage::repeated_task"),
    ("::runtime::restate", "convengine_restate"),
    ("::runtime::spend_cap", "convengine_content::spend_cap"),
    ("::storage", "convengine_storage"),
];

/// Applies what a filter says about a part of the host to what has left that part. Existing filters name the host by its former name.
fn with_all_crates(directives: &str) -> String {
    let directives = directives.replace("convengine_server", "convengine_host");
    let of_moved = directives.split(',').filter_map(|directive| {
        let rest = directive.trim().strip_prefix("convengine_host")?;
        let (path, level) = rest.split_at(rest.find(['=', '[']).unwrap_or(rest.len()));
        let within = |outer: &str, inner: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
        let moved = MOVED.iter().filter_map(|(former, now)| match path.strip_prefix(former) {
            Some(deeper) if within(former, path) => Some(format!("{now}{deeper}{level}")),
            _ => within(path, former).then(|| format!("{now}{level}")),
        });
        Some(moved.collect::<Vec<_>>().join(","))
    });
    let more: Vec<String> = of_moved.filter(|it| !it.is_empty()).collect();
    // What a filter says itself comes later and wins.
    [more.join(","), directives].iter().filter(|it| !it.is_empty()).cloned().collect::<Vec<_>>().join(",")
}

/// Formats each event as a flat JSON object with its own fields and those of its request and turn.
struct JsonFormat;

impl<S, N> FormatEvent<S, N> for JsonFormat
where
    S: Subscriber + for<'l> LookupSpan<'l>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut line = Map::new();
        let metadata = event.metadata();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |elapsed| Millis::try_from(elapsed.as_millis()).unwrap_or(Millis::MAX));
        line.insert("timestamp".to_owned(), clock::format_iso(now).into());
        line.insert("level".to_owned(), metadata.level().as_str().into());
        line.insert("target".to_owned(), metadata.target().into());
        let mut event_fields = FieldVisitor::default();
        event.record(&mut event_fields);
        // The message comes first for readability.
        line.extend(event_fields.0.shift_remove("message").map(|it| ("message".to_owned(), it)));
        for span in context.event_scope().into_iter().flat_map(|it| it.from_root()) {
            let extensions = span.extensions();
            let Some(fields) = extensions.get::<FormattedFields<N>>() else { continue };
            let Ok(Value::Object(members)) = serde_json::from_str(&fields.fields) else { continue };
            for (name, value) in members {
                // Prefixes `id` with the span name.
                let name = if name == "id" { format!("{}Id", span.name()) } else { name };
                line.insert(name, value);
            }
        }
        line.extend(event_fields.0);
        writeln!(writer, "{}", Value::Object(line))
    }
}

#[derive(Default)]
struct FieldVisitor(Map<String, Value>);

impl FieldVisitor {
    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for FieldVisitor {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.insert(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_the_host_reach_what_has_left_it() {
        let added = |filter: &str| with_all_crates(filter).strip_suffix(filter).map(|rest| rest.trim_end_matches(',').to_owned());
        assert_eq!(
            added("warn,convengine_host::effects::mcp=debug").as_deref(),
            Some("convengine_effects::mcp=debug,convengine_turns::effects::mcp=debug")
        );
        assert_eq!(
            added("convengine_host::api=info").as_deref(),
            Some(
                "convengine_access::api_error=info,convengine_host::mcp_stdio=info,convengine_page=info,convengine_turns::error_response=info,\
                 convengine_host::restate::worker_health=info"
            )
        );
        assert_eq!(added("convengine_host::authority=info").as_deref(), Some(""));
        assert_eq!(added("convengine_host::runtime::writer=info").as_deref(), Some("convengine_turns::writer=info"));
        for whole in ["convengine_host", "convengine_host=debug", "convengine_host[turn]=debug"] {
            let found = with_all_crates(whole);
            let level = whole.trim_start_matches("convengine_host");
            for (_, now) in MOVED {
                assert!(found.split(',').any(|directive| directive == format!("{now}{level}")), "{whole}: {found}");
            }
        }
        assert_eq!(with_all_crates("convengine_server::storage=info"), "convengine_storage=info,convengine_host::storage=info");
    }
}
