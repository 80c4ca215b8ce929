//! What reaches other systems: a part of a host.

use std::sync::Arc;
use std::time::Duration;

use convengine_host_base::blocking_share::BlockingShare;
use convengine_host_base::exit::Failure;
use convengine_redaction::Redaction;
use convengine_settings::secrets::Secrets;
use convengine_settings::{Roots, Settings, ToolTimeouts};

use crate::container::Containers;
use crate::http::HttpClient;
use crate::llm::Models;
use crate::mcp::McpClients;
use crate::sql::ToolDatabase;

/// What the effects of a server or tenant reach other systems with.
#[derive(Debug)]
pub struct Outbound {
    /// Model providers.
    pub models: Models,
    /// The container service, if configured.
    pub containers: Containers,
    /// The HTTP client for tools and flow nodes.
    pub http: HttpClient,
    /// Connections to MCP servers.
    pub mcp: McpClients,
    /// The database that SQL tools query.
    pub queries: ToolDatabase,
    /// The directories that file tools may read.
    pub file_roots: Arc<Roots>,
    /// Secret values, redacted from all output.
    pub secrets: Arc<Secrets>,
    /// Redaction of what comes in.
    pub redaction: Arc<Redaction>,
    /// The threads for work that blocks.
    pub blocking: BlockingShare,
    /// How long tools may take.
    pub tool_timeouts: ToolTimeouts,
    /// The time limit of scripts, if it is set.
    pub script_timeout: Option<Duration>,
}

impl Outbound {
    /// Creates the clients of these settings beside those of models. Nothing is connected yet.
    ///
    /// # Errors
    /// Returns exit code 2 for invalid settings, 3 when a client cannot be created.
    pub fn new(settings: &Settings, models: Models) -> Result<Outbound, Failure> {
        let database_url = settings.tool_database.as_ref().unwrap_or(&settings.database.url);
        Ok(Outbound {
            models,
            containers: Containers::new(settings.container_url.clone(), Arc::clone(&settings.secrets))?,
            http: HttpClient::new(settings.network.clone(), Arc::clone(&settings.secrets)),
            mcp: McpClients::new(
                Arc::clone(&settings.mcp_commands),
                Arc::clone(&settings.secrets),
                Arc::clone(&settings.redaction),
                settings.tenant.clone(),
            ),
            queries: ToolDatabase::from_url(database_url)?,
            file_roots: Arc::clone(&settings.file_roots),
            secrets: Arc::clone(&settings.secrets),
            redaction: Arc::clone(&settings.redaction),
            blocking: BlockingShare::new(settings.share.blocking_threads),
            tool_timeouts: settings.turns.tools,
            script_timeout: settings.turns.script_timeout,
        })
    }
}
