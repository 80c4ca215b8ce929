//! Server settings, read from command-line options, the environment and a file, in this order of precedence.

mod assistants;
pub mod chains;
mod file;
pub mod files;
mod llm;
pub mod network;
mod observe;
mod placeholder;
mod retention;
mod security;
pub mod spend_cap;
mod stomp;
mod stream;
mod tenants;
mod tool_database;
mod turn;
mod yaml;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use assistants::AssistantSettings;
pub use chains::ChainSettings;
pub use files::Roots;
pub use llm::{LlmSettings, Price, ProviderAccess, ProviderKey};
pub use network::NetworkSettings;
pub use observe::LoggingSettings;
pub use retention::RetentionSettings;
pub use security::{AuthMode, JwtSettings, KeySet, Rate, Rates, SecuritySettings};
pub use spend_cap::SpendCap;
pub use stomp::StompSettings;
pub use stream::StreamSettings;
pub use turn::{AuditMode, Journaling, TurnSettings, parse_duration};

use convengine_core::config::settings::normalize;
use convengine_core::config::{Config, Severity, Tables};
use serde_json::{Map, Value};

use crate::arguments::Options;
use crate::auth::admin_token::AdminToken;
use crate::config::secrets::Secrets;
use crate::config::secrets::key_source::KeySource;
use crate::exit::Failure;
use crate::ops::redaction::Redaction;
use crate::storage::DatabaseConfig;
use file::SettingsFile;

/// The settings of the server and its commands.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The database connection.
    pub database: DatabaseConfig,
    /// `HOST:PORT`.
    pub listen: String,
    /// Language models.
    pub llm: LlmSettings,
    /// Authentication and access.
    pub security: SecuritySettings,
    /// The token of the assistants administrator, if one is set.
    pub admin_token: Option<AdminToken>,
    /// Event streams that the server offers.
    pub stream: StreamSettings,
    /// The base URL of the container service, if one is configured.
    pub container_url: Option<String>,
    /// Turn durability.
    pub turns: TurnSettings,
    /// Limits of assistants.
    pub assistants: AssistantSettings,
    /// Leases and channels of chains.
    pub chains: ChainSettings,
    /// Private addresses that tools and tasks may call.
    pub network: NetworkSettings,
    /// Secrets of tools and models.
    pub secrets: Arc<Secrets>,
    /// Where the keys that seal stored secrets are; absent without any.
    pub secrets_key: Option<KeySource>,
    /// Directories that tools may read.
    pub file_roots: Arc<Roots>,
    /// The database that tools query; absent for the engine's own.
    pub tool_database: Option<String>,
    /// Log output.
    pub logging: LoggingSettings,
    /// The OTLP endpoint of the trace collector; absent if traces are off.
    pub otlp_endpoint: Option<String>,
    /// Retention periods.
    pub retention: RetentionSettings,
    /// What is redacted from stored data.
    pub redaction: Arc<Redaction>,
    /// Whether to pick up configurations activated by other processes.
    pub watch_config: bool,
    /// The normalized tree below `convengine`.
    pub tree: Value,
    /// The tenant that these settings belong to, if any.
    pub tenant: Option<String>,
    /// The settings of each tenant; empty without tenants.
    pub tenants: BTreeMap<String, Settings>,
}

/// Settings that are not in the tree.
#[derive(Debug, Clone, Default)]
struct BaseSettings {
    database: String,
    listen: String,
    llm: Vec<String>,
}

impl Settings {
    /// Loads the settings.
    ///
    /// # Errors
    /// Exit code 2 with one line per problem.
    pub fn load(options: &Options) -> Result<Settings, Failure> {
        let mut problems = Vec::new();
        let file = options.settings.as_deref().map_or_else(SettingsFile::default, |it| file::read(it, &mut problems));
        let mut tree = normalize(&Value::Object(file.convengine));
        // Not read by clap, where a single option would replace the whole variable.
        let variable = std::env::var("CONVENGINE_SET").unwrap_or_default();
        for set in variable.lines().filter(|it| !it.trim().is_empty()).chain(options.set.iter().map(String::as_str)) {
            apply_override(&mut tree, set, &mut problems);
        }
        let tenants = tree.as_object_mut().and_then(|it| it.shift_remove("tenants")).unwrap_or_default();
        let administrator = AdminToken::take_from_settings(&mut tree, &mut problems);
        let pick = |option: &Option<String>, file: Option<String>, default: &str| option.clone().or(file).unwrap_or(default.to_owned());
        let base = BaseSettings {
            database: pick(&options.database, file.database, "sqlite:convengine.db"),
            listen: pick(&options.listen, file.listen, "127.0.0.1:8080"),
            llm: llm::resolve_model_specs(&options.llm, file.llm),
        };
        let mut settings = Settings::from_tree(tree.clone(), &base, &mut problems);
        settings.admin_token = administrator;
        if problems.is_empty() {
            settings.tenants = tenants::read_tenants(&tenants, &tree, &base, &mut problems);
        }
        if problems.is_empty() { Ok(settings) } else { Err(Failure { code: 2, lines: problems }) }
    }

    /// The workspace of assistants: the tenant name, or `default` without tenants.
    pub fn workspace(&self) -> &str {
        self.tenant.as_deref().unwrap_or("default")
    }

    fn from_tree(tree: Value, base: &BaseSettings, problems: &mut Vec<String>) -> Settings {
        let text = |key: &str| tree.pointer(key).map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned));
        let full_sync = match text("/database/synchronous").as_deref() {
            Some("full") => true,
            None | Some("normal") => false,
            Some(other) => {
                problems.push(format!("convengine.database.synchronous: unknown value '{other}'; use normal or full"));
                false
            }
        };
        let security = SecuritySettings::from_tree(&tree, problems);
        let stream = StreamSettings::from_tree(&tree, problems);
        let turns = TurnSettings::from_tree(&tree, problems);
        let network = NetworkSettings::from_tree(&tree, problems);
        let assistants = AssistantSettings::from_tree(&tree, problems);
        let chains = ChainSettings::from_tree(&tree, problems);
        let file_roots = Arc::new(files::read_roots(&tree, problems));
        let tool_database = tool_database::read(&tree, problems);
        let mut secrets = Secrets::read(&tree, problems);
        let llm = LlmSettings::from_tree(&tree, &|name| std::env::var(name).ok(), &mut secrets, problems);
        let secrets = Arc::new(secrets);
        let database = DatabaseConfig { url: base.database.clone(), full_sync };
        let secrets_key = KeySource::from_tree(&tree, problems).or_else(|| database.key_path().map(KeySource::BesideDatabase));
        let logging = LoggingSettings::from_tree(&tree, problems);
        let otlp_endpoint = observe::read_otlp_endpoint(&tree, std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT").ok(), problems);
        let retention = RetentionSettings::from_tree(&tree, problems);
        let redaction = Arc::new(Redaction::read(&tree, problems));
        let watch_config = read_bool(&tree, "/config/follow", true, problems);
        let container_url = text("/container/url").map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
        if let Some(url) = container_url.as_ref().filter(|it| !it.starts_with("http://") && !it.starts_with("https://")) {
            problems.push(format!("convengine.container.url: '{url}' is not an HTTP URL; set one that starts with http:// or https://"));
        }
        // Compiled without rows, so that an invalid row of `ce_config` is not reported as an invalid setting.
        let (_, issues) = Config::compile(&Tables::default(), &tree);
        // An invalid pattern does not prevent the start: turns that need it fail, and /readyz reports it.
        let errors = issues.iter().filter(|it| it.severity == Severity::Error && !it.path.ends_with(".sensitive-patterns"));
        problems.extend(errors.map(ToString::to_string));
        Settings {
            database,
            listen: base.listen.clone(),
            llm: LlmSettings { model_specs: base.llm.clone(), ..llm },
            security,
            admin_token: None,
            stream,
            turns,
            container_url,
            assistants,
            chains,
            network,
            secrets,
            secrets_key,
            file_roots,
            tool_database,
            logging,
            otlp_endpoint,
            retention,
            redaction,
            watch_config,
            tree,
            tenant: None,
            tenants: BTreeMap::new(),
        }
    }
}

/// Reads a Boolean setting.
fn read_bool(tree: &Value, path: &str, default: bool, problems: &mut Vec<String>) -> bool {
    let Some(value) = tree.pointer(path).filter(|it| !it.is_null()) else { return default };
    convengine_core::config::settings::parse_bool(value).unwrap_or_else(|| {
        problems.push(format!("convengine{}: {value} is not a Boolean; use true or false", path.replace('/', ".")));
        default
    })
}

/// Applies `convengine.a.b=value` to the tree; the value is parsed as JSON if possible, else used as a string.
fn apply_override(tree: &mut Value, set: &str, problems: &mut Vec<String>) {
    let parts = set.split_once('=').and_then(|(key, value)| Some((key.trim().strip_prefix("convengine.")?, value)));
    let Some((key, value)) = parts.filter(|it| it.0.split('.').all(|it| !it.is_empty())) else {
        problems.push(format!("--set {set}: invalid setting; use convengine.KEY=VALUE"));
        return;
    };
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    let nested = key.rsplit('.').fold(value, |inner, it| Value::Object(Map::from_iter([(it.to_owned(), inner)])));
    merge(tree, normalize(&nested));
}

/// Merges the tree `over` into `under`; values of `over` win.
pub fn merge(under: &mut Value, over: Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                merge(under.entry(key).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_option_wins_over_the_file_in_either_spelling() {
        let mut tree = normalize(&json!({"flow": {"dialogueAct": {"resolute": "LLM_ONLY", "llmThreshold": 0.5}}}));
        let mut problems = Vec::new();
        apply_override(&mut tree, "convengine.flow.dialogue-act.resolute=REGEX_ONLY", &mut problems);
        apply_override(&mut tree, "convengine.config.strict=true", &mut problems);
        assert_eq!(tree, json!({"flow": {"dialogue-act": {"resolute": "REGEX_ONLY", "llm-threshold": 0.5}}, "config": {"strict": true}}));
        assert!(problems.is_empty());
    }

    #[test]
    fn every_problem_is_reported_on_its_own_line() {
        let set = ["x=1", "convengine.database.synchronous=sometimes", "convengine."];
        let options = Options { set: set.map(str::to_owned).to_vec(), ..Options::default() };
        let failure = Settings::load(&options).expect_err("invalid settings");
        assert_eq!((failure.code, failure.lines.len()), (2, 3));
    }
}
