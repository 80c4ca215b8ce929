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

use crate::clock;
use crate::config::settings::LoggingSettings;

/// What no filter logs: messages of MCP peers, which contain what tools return, and unknown parameters of database addresses, whose values may
/// be passwords.
const NEVER: &str = "rmcp=off,sqlx_postgres::options=off,sqlx_postgres::options::parse=off";

/// The default filter. Omits slow-query lines, as lock waits are logged separately; logs deletions and the return of MCP servers at info level.
const DEFAULT_FILTER: &str =
    "warn,sqlx::query=off,convengine_host::ops::forget=info,convengine_host::ops::retention=info,convengine_effects::mcp::outages=info";

/// Initializes logging to standard error. `RUST_LOG` takes precedence over the settings.
pub fn init(logging: &LoggingSettings) {
    let directives = logging.level.as_ref().map_or_else(|| DEFAULT_FILTER.to_owned(), |it| format!("sqlx::query=off,{it}"));
    let renamed = with_all_crates;
    let from_env = std::env::var(EnvFilter::DEFAULT_ENV).ok();
    let from_env = from_env.and_then(|it| EnvFilter::try_new(renamed(&format!("{NEVER},{it}"))).ok());
    let filter = from_env.unwrap_or_else(|| EnvFilter::new(renamed(&format!("{NEVER},{directives}"))));
    // An error would be printed where nobody reads any more, which panics.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    if logging.json {
        log.fmt_fields(JsonFields::new()).event_format(JsonFormat).init();
    } else {
        log.with_ansi(std::io::stderr().is_terminal()).init();
    }
}

/// The crates of the host, each with its path in filters that name the host, if it had one.
const CRATES: [(&str, Option<&str>); 7] = [
    ("convengine_access", Some("::auth")),
    ("convengine_effects", Some("::effects")),
    ("convengine_host_base", None),
    ("convengine_page", None),
    ("convengine_redaction", Some("::ops::redaction")),
    ("convengine_settings", Some("::config::settings")),
    ("convengine_storage", Some("::storage")),
];

/// Applies what a filter says about the host to all of its crates. Existing filters name it by its former name.
fn with_all_crates(directives: &str) -> String {
    let directives = directives.replace("convengine_server", "convengine_host");
    let of_crates = directives.split(',').filter_map(|directive| {
        let level = directive.trim().strip_prefix("convengine_host")?;
        if level.starts_with('=') {
            return Some(CRATES.map(|(name, _)| format!("{name}{level}")).join(","));
        }
        CRATES.iter().find_map(|(name, path)| level.strip_prefix((*path)?).map(|rest| format!("{name}{rest}")))
    });
    let more: Vec<String> = of_crates.collect();
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
        let now = now.map_or(0, |it| Millis::try_from(it.as_millis()).unwrap_or(Millis::MAX));
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
