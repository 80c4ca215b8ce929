//! Server settings, read from command-line options, the environment and a file, in this order of precedence.
//!
//! `sources` merges what they say into one tree, `tree` declares its members for serde, and each module turns its group into settings.

mod admin_token;
mod assistants;
pub mod chains;
mod file;
pub mod files;
mod groups;
mod host_name;
mod http;
mod llm;
mod llm_providers;
mod mcp;
pub mod names;
pub mod network;
mod observe;
mod options;
mod placeholder;
pub mod restate;
mod retention;
mod search_memory;
pub mod secrets;
mod security;
mod share;
mod sources;
pub mod spend_cap;
mod stomp;
mod stream;
mod tables;
mod tenants;
mod tool_database;
mod tree;
mod turn;
mod value;
mod variables;
mod yaml;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use admin_token::AdminToken;
pub use assistants::{AssistantSettings, Plan};
pub use chains::ChainSettings;
pub use files::Roots;
pub use host_name::{HostName, parse_host};
pub use http::HttpSettings;
pub use llm::{LlmSettings, LlmTimeouts, Price, ProviderAccess, ProviderKey};
pub use llm_providers::{NamedProvider, NamedProviders, ProviderKind};
pub use mcp::{EnvValue, McpCommand, McpCommands};
pub use network::NetworkSettings;
pub use observe::LoggingSettings;
pub use options::Options;
pub use restate::{RestateSettings, Runtime};
pub use retention::RetentionSettings;
pub use search_memory::SearchMemory;
pub use security::{AuthMode, GuessingSettings, JwtSettings, KeySet, Rate, Rates, SecuritySettings};
pub use share::ShareSettings;
pub use spend_cap::SpendCap;
pub use stomp::StompSettings;
pub use stream::StreamSettings;
pub use turn::{AuditMode, DEFAULT_BACKGROUND_TURNS, Journaling, ToolTimeouts, TurnSettings};
pub use value::{parse_duration, parse_server_url};

use convengine_core::config::{Config, Severity, Tables};
use serde_json::Value;

use convengine_host_base::exit::Failure;
use convengine_redaction::Redaction;
use convengine_storage::DatabaseConfig;
use convengine_storage::class_pool::PoolSizes;

use crate::secrets::Secrets;
use crate::secrets::key_source::KeySource;
use sources::SettingSources;
use tree::Synchronous;

/// Bytes per gigabyte.
const BYTES_PER_GB: u64 = 1_000_000_000;

/// The settings of the server and its commands.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The database connection.
    pub database: DatabaseConfig,
    /// How many connections read from the database.
    pub pool_sizes: PoolSizes,
    /// `HOST:PORT`.
    pub listen: String,
    /// Language models.
    pub llm: LlmSettings,
    /// Authentication and access.
    pub security: SecuritySettings,
    /// Limits of connections, and the names of the server.
    pub http: HttpSettings,
    /// The part of the process that a tenant may use.
    pub share: ShareSettings,
    /// The size in bytes that the database may reach, if it is known.
    pub database_capacity: Option<u64>,
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
    /// Commands of MCP servers that run as child processes.
    pub mcp_commands: Arc<McpCommands>,
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
    /// Where turns run.
    pub runtime: Runtime,
    /// The Restate cluster.
    pub restate: RestateSettings,
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

/// What the settings of the server and of its tenants have in common.
#[derive(Debug, Clone)]
struct BaseSettings {
    database: String,
    listen: String,
    llm: Vec<String>,
    sources: SettingSources,
}

impl Settings {
    /// Loads the settings.
    ///
    /// # Errors
    /// Exit code 2 with one line per problem.
    pub fn load(options: &Options) -> Result<Settings, Failure> {
        let mut problems = Vec::new();
        let sources = SettingSources::read(options, &mut problems);
        let merged = sources.merge(&mut problems);
        let mut tree = Value::Object(merged.convengine);
        let tenants = tree.as_object_mut().and_then(|it| it.shift_remove("tenants")).unwrap_or_default();
        let administrator = AdminToken::take_from_settings(&mut tree, &mut problems);
        let base = BaseSettings {
            database: merged.database.unwrap_or_else(|| "sqlite:convengine.db".to_owned()),
            listen: merged.listen.unwrap_or_else(|| "127.0.0.1:8080".to_owned()),
            llm: merged.llm,
            sources,
        };
        let mut settings = Settings::from_tree(tree.clone(), &base, &mut problems);
        settings.admin_token = administrator;
        settings.tenants = tenants::read_tenants(&tenants, &tree, &base, &mut problems);
        if problems.is_empty() { Ok(settings) } else { Err(Failure { code: 2, lines: problems }) }
    }

    /// Sets where turns run, also those of tenants.
    #[must_use]
    pub fn with_runtime(mut self, runtime: Runtime) -> Settings {
        self.tenants.values_mut().for_each(|it| it.runtime = runtime);
        Settings { runtime, ..self }
    }

    /// The workspace of assistants: the tenant name, or `default` without tenants.
    pub fn workspace(&self) -> &str {
        self.tenant.as_deref().unwrap_or("default")
    }

    fn from_tree(tree: Value, base: &BaseSettings, problems: &mut Vec<String>) -> Settings {
        let host = tree::read(&tree, &base.sources, problems);
        tables::check_names(&host.tables, problems);
        tool_database::check(host.tool_database.url.as_deref(), problems);
        let mut secrets = Secrets::read(&tree, problems);
        let variable = |name: &str| std::env::var(name).ok();
        let llm = LlmSettings::new(host.llm, base.llm.clone(), &variable, &mut secrets, problems);
        let roots = host.files.roots.into_iter().map(|(name, path)| (name, path.0)).collect();
        let otlp_endpoint = observe::read_otlp_endpoint(host.telemetry, variable("OTEL_EXPORTER_OTLP_ENDPOINT"), problems);
        check_core(&tree, problems);
        let database = DatabaseConfig { url: base.database.clone(), full_sync: host.database.synchronous == Synchronous::Full };
        let pool_sizes = PoolSizes { user: host.database.connections, background: host.database.background_connections };
        let secrets_key = KeySource::from_tree(&tree, problems).or_else(|| database.key_path().map(KeySource::BesideDatabase));
        Settings {
            database,
            pool_sizes,
            listen: base.listen.clone(),
            llm,
            security: SecuritySettings::new(host.security, problems),
            http: host.http,
            share: host.share,
            database_capacity: host.database.capacity_gb.map(|it| it.saturating_mul(BYTES_PER_GB)),
            admin_token: None,
            stream: StreamSettings::new(host.stream, host.transport),
            turns: TurnSettings::new(&host.turn, &host.audit, host.tools, host.assistants.script_timeout, problems),
            container_url: host.container.url.map(|it| it.0),
            assistants: AssistantSettings::new(&host.assistants),
            chains: ChainSettings::new(&host.chains, host.notify),
            mcp_commands: Arc::new(mcp::read(host.mcp.servers, problems)),
            network: NetworkSettings::new(&host.network, &host.outbound, problems),
            secrets: Arc::new(secrets),
            secrets_key,
            file_roots: Arc::new(files::resolve_roots(&roots, problems)),
            tool_database: host.tool_database.url,
            logging: LoggingSettings::new(host.logging),
            otlp_endpoint,
            runtime: Runtime::default(),
            restate: RestateSettings::new(host.restate, problems),
            retention: host.retention,
            redaction: Arc::new(Redaction::read(&host.privacy.redact, problems)),
            watch_config: host.config.follow.unwrap_or(true),
            tree,
            tenant: None,
            tenants: BTreeMap::new(),
        }
    }
}

/// Adds the problems of the settings that the core reads.
fn check_core(tree: &Value, problems: &mut Vec<String>) {
    // Compiled without rows, so that an invalid row of `ce_config` is not reported as an invalid setting.
    let (_, issues) = Config::compile(&Tables::default(), tree);
    // An invalid pattern does not prevent the start: turns that need it fail, and /readyz reports it.
    let errors = issues.iter().filter(|issue| issue.severity == Severity::Error && !issue.path.ends_with(".sensitive-patterns"));
    problems.extend(errors.map(ToString::to_string));
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
mod tests;
