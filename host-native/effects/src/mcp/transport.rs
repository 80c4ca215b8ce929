//! Opens the transport of a server: a child process by the command of the settings, or streamable HTTP.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use convengine_core::turn::{EffectError, EffectErrorDetail, EffectErrorKind};
use convengine_redaction::Redaction;
use convengine_settings::secrets::Secrets;
use convengine_settings::{EnvValue, McpCommand};
use reqwest::Url;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::bounded_reader::BoundedReader;
use super::catalog::McpServer;
use super::{McpClients, hide};
use crate::http::HttpClient;

/// Maximum bytes of a message.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// How long connecting to the address of a server may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Characters of a line of the error output that are logged.
const MAX_LINE_CHARS: usize = 1000;

/// Bytes of an error page that are read.
const MAX_ERROR_BYTES: usize = 4096;

/// Variables of the environment that a child process inherits.
const INHERITED_VARIABLES: [&str; 5] = ["PATH", "HOME", "LANG", "TMPDIR", "USER"];

/// A child process that is killed with its descendants when dropped.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        let id = self.child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(group) = id {
            // It may have ended already.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// The ends of a child process.
pub type Pipes = (BoundedReader<ChildStdout>, ChildStdin);

/// Starts the command of a server. `exceeded` is set when one of its messages is too long.
///
/// # Errors
/// `Denied` without a command, `NotFound` for an unknown secret, `Unavailable` when it cannot be started.
pub fn start_process(clients: &McpClients, server: &McpServer, exceeded: &Arc<AtomicBool>) -> Result<(ChildProcess, Pipes), EffectError> {
    let key = &server.key;
    let Some(command) = clients.commands.get(key) else {
        let message = format!("no setting names the command of the MCP server '{key}': set convengine.mcp.servers.{key}.command");
        return Err(EffectError::new(EffectErrorKind::Denied, message));
    };
    let mut child = build_command(command, &clients.secrets)?.spawn().map_err(|error| {
        let message = format!("the MCP server '{key}' cannot be started: '{}': {error}", command.program);
        EffectError { status: Some(503), ..EffectError::new(EffectErrorKind::Unavailable, message) }
    })?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let child = ChildProcess { child };
    let (Some(input), Some(output), Some(errors)) = pipes else {
        return Err(EffectError::new(EffectErrorKind::Unavailable, format!("the MCP server '{key}' has no standard streams")));
    };
    tokio::spawn(log_errors(key.clone(), errors, Arc::clone(&clients.secrets), Arc::clone(&clients.redaction)));
    Ok((child, (BoundedReader::new(output, MAX_MESSAGE_BYTES, Arc::clone(exceeded)), input)))
}

/// Builds the command with an environment of its own, because that of the server has keys of models and databases.
fn build_command(command: &McpCommand, secrets: &Secrets) -> Result<Command, EffectError> {
    let mut built = Command::new(&command.program);
    built.args(&command.args).env_clear().kill_on_drop(true).process_group(0);
    built.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    built.envs(INHERITED_VARIABLES.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
    for (name, value) in &command.env {
        match value {
            EnvValue::Plain(text) => built.env(name, text),
            EnvValue::Secret(secret) => built.env(name, secret_value(secrets, secret)?),
        };
    }
    if let Some(folder) = &command.cwd {
        built.current_dir(folder);
    }
    Ok(built)
}

/// Logs the error output of a server, without secrets and redacted. A line is cut last, so that no part of a secret is left at its end.
async fn log_errors(server: String, errors: ChildStderr, secrets: Arc<Secrets>, redaction: Arc<Redaction>) {
    let mut lines = BufReader::new(BoundedReader::new(errors, MAX_MESSAGE_BYTES, Arc::default())).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let line: String = hide(&secrets, &redaction, &line).chars().take(MAX_LINE_CHARS).collect();
        tracing::info!(server, "MCP server: {line}");
    }
}

/// Opens streamable HTTP within the network policy.
///
/// # Errors
/// `Denied` for a private address that is not allowed, `NotFound` for an unknown secret.
pub fn open_http(
    clients: &McpClients,
    http: &HttpClient,
    server: &McpServer,
    endpoint: &str,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, EffectError> {
    let invalid = |error: &dyn std::fmt::Display| {
        EffectError::new(EffectErrorKind::Invalid, format!("the address of the MCP server '{}' is invalid: {error}", server.key))
    };
    let url = Url::parse(endpoint).map_err(|it| invalid(&it))?;
    let client = http.checked_client(&url, CONNECT_TIMEOUT)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(endpoint)
        .max_sse_event_size(MAX_MESSAGE_BYTES)
        .max_json_response_size(MAX_MESSAGE_BYTES)
        .max_error_response_size(MAX_ERROR_BYTES);
    if let Some(name) = &server.secret {
        config = config.auth_header(secret_value(&clients.secrets, name)?);
    }
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

fn secret_value(secrets: &Secrets, name: &str) -> Result<String, EffectError> {
    let missing = || {
        let message = format!("the secret '{name}' is not stored: store it at /v1/secrets");
        EffectError::new(EffectErrorKind::NotFound, message).with_detail(EffectErrorDetail::SECRET_MISSING)
    };
    secrets.get(name).ok_or_else(missing)
}
