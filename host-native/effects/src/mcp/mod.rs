//! Calls tools of MCP servers (docs/spec/tools.md#7). A tool is called only as it was approved, and its result is data.

mod bounded_reader;
pub mod catalog;
mod client_handler;
mod connection;
mod definition;
mod failure;
pub mod listing;
mod outages;
mod progress;
mod result;
mod tool_list;
mod transport;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use convengine_core::config::{classify_mcp_tool, split_mcp_code};
use convengine_core::json::into_members;
use convengine_core::json::schema::JsonSchema;
use convengine_core::turn::{
    EffectClass, EffectError, EffectErrorDetail, EffectErrorKind, EffectResult, Map, Reply, ToolReply, ToolRequest,
};
use convengine_redaction::Redaction;
use convengine_settings::McpCommands;
use convengine_settings::secrets::Secrets;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::http::HttpClient;
use catalog::{McpCatalog, McpServer};
pub use connection::LIST_LIFETIME;
use connection::{Connection, ENDED};
pub use definition::{changed_members, digest, pick_definition};
use outages::Outages;
pub use progress::McpProgress;

/// How much earlier than its effect a call times out, so that the error can name the server.
const TIMEOUT_MARGIN: Duration = Duration::from_millis(20);

/// How long a connection stays open that nobody uses.
const IDLE_TIME: Duration = Duration::from_secs(300);

/// How long a retired connection stays open, so that the cancellation of a call reaches the server.
const CANCELLATION_TIME: Duration = Duration::from_secs(1);

/// The connection to a server. A lock of its own, so that a server that is slow to start delays its own calls only.
type Slot = Arc<Mutex<Option<Arc<Connection>>>>;

/// Connections to MCP servers, each used by concurrent calls.
#[derive(Debug)]
pub struct McpClients {
    commands: Arc<McpCommands>,
    secrets: Arc<Secrets>,
    /// The tenant, for log lines.
    tenant: Option<String>,
    outages: Arc<Outages>,
    redaction: Arc<Redaction>,
    /// By key.
    connections: std::sync::Mutex<BTreeMap<String, Slot>>,
}

/// A call of a tool.
pub struct McpCall<'a> {
    /// Its name at the server.
    pub tool: &'a str,
    /// Its arguments.
    pub args: &'a Map,
    /// The idempotency key.
    pub key: &'a str,
    /// Receives its progress.
    pub progress: Option<McpProgress<'a>>,
}

impl McpClients {
    /// Creates clients without connections.
    pub fn new(commands: Arc<McpCommands>, secrets: Arc<Secrets>, redaction: Arc<Redaction>, tenant: Option<String>) -> McpClients {
        let outages = Arc::new(Outages::new(Arc::clone(&secrets)));
        McpClients { commands, secrets, redaction, tenant, outages, connections: std::sync::Mutex::default() }
    }

    /// Does not use the connection to a server for new calls, because it does not answer; open calls keep it.
    pub fn retire(&self, server: &str) {
        self.outages.begin(server, "it did not answer in time");
        let connections = self.connections.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(slot) = connections.get(server)
            && let Ok(mut current) = slot.try_lock()
        {
            // The cancellation of the call is still to be sent.
            let retired = current.take();
            tokio::spawn(async move {
                tokio::time::sleep(CANCELLATION_TIME).await;
                drop(retired);
            });
        }
    }

    /// Whether the settings name the command of a server.
    pub fn has_command(&self, server: &str) -> bool {
        self.commands.contains_key(server)
    }

    /// Returns the connection to a server; connects if there is none, if it has ended or if the server's row has changed.
    ///
    /// # Errors
    /// The failure of connecting.
    pub async fn connect(&self, http: &HttpClient, server: &McpServer) -> Result<Arc<Connection>, EffectError> {
        let slot = {
            let mut connections = self.connections.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            Arc::clone(connections.entry(server.key.clone()).or_default())
        };
        let mut current = slot.lock().await;
        let secret = server.secret.as_ref().and_then(|it| self.secrets.get(it));
        if let Some(open) = current.as_ref().filter(|connection| connection.is_usable(server, secret.as_deref())) {
            open.touch();
            return Ok(Arc::clone(open));
        }
        if current.take().is_some_and(|it| it.is_lost()) {
            self.outages.begin(&server.key, ENDED);
        }
        let opened = Connection::open(self, http, server).await.inspect_err(|error| {
            if [EffectErrorKind::Unavailable, EffectErrorKind::Timeout].contains(&error.kind) {
                self.outages.begin(&server.key, &error.message);
            }
        });
        let opened = Arc::new(opened?);
        self.outages.end(&server.key);
        *current = Some(Arc::clone(&opened));
        tokio::spawn(close_when_idle(Arc::downgrade(&slot), Arc::downgrade(&opened)));
        Ok(opened)
    }
}

/// Closes a connection that nobody uses any more, such as that of a server whose row was removed, and ends its process.
async fn close_when_idle(slot: Weak<Mutex<Option<Arc<Connection>>>>, connection: Weak<Connection>) {
    loop {
        tokio::time::sleep(IDLE_TIME).await;
        let (Some(slot), Some(connection)) = (slot.upgrade(), connection.upgrade()) else { return };
        if connection.idle_time() < IDLE_TIME {
            continue;
        }
        let mut current = slot.lock().await;
        if current.as_ref().is_some_and(|it| Arc::ptr_eq(it, &connection)) {
            *current = None;
        }
        return;
    }
}

/// Hides secrets and what the redaction rules remove in a text of a server that is shown or logged.
pub fn hide(secrets: &Secrets, redaction: &Redaction, text: &str) -> String {
    redaction.redact_tool_text(secrets.scrub(text).into_owned())
}

/// Calls the tool of a request as it was approved; `deadline` is that of the effect.
pub async fn execute(
    clients: &McpClients,
    http: &HttpClient,
    catalog: &McpCatalog,
    request: &ToolRequest,
    key: &str,
    progress: Option<McpProgress<'_>>,
    deadline: Instant,
) -> EffectResult {
    let call = call_approved(clients, http, catalog, request, key, progress);
    let outcome = timeout_at(deadline - TIMEOUT_MARGIN, call).await.unwrap_or_else(|_| {
        let server = request.tool_code.as_deref().and_then(split_mcp_code).map(|code| code.0).unwrap_or_default();
        clients.retire(server);
        let message = format!("the MCP server '{server}' did not answer in time; see convengine.tools.timeout");
        Err(EffectError::new(EffectErrorKind::Timeout, message))
    });
    match outcome {
        Ok(text) => EffectResult::Ok(Reply::Tool(ToolReply { text: clients.secrets.scrub(&text).into_owned() })),
        Err(error) => EffectResult::Error(EffectError { message: clients.secrets.scrub(&error.message).into_owned(), ..error }),
    }
}

async fn call_approved(
    clients: &McpClients,
    http: &HttpClient,
    catalog: &McpCatalog,
    request: &ToolRequest,
    key: &str,
    progress: Option<McpProgress<'_>>,
) -> Result<String, EffectError> {
    let code = request.tool_code.as_deref().unwrap_or_default();
    let Some((server, tool)) = split_mcp_code(code) else {
        return Err(EffectError::new(EffectErrorKind::Invalid, format!("'{code}' is not a code of the form mcp.SERVER.TOOL")));
    };
    let server = catalog.enabled_server(server)?;
    server.check_allowed(tool)?;
    let approved = catalog.approved(code)?;
    check_approval(catalog, code, approved, request)?;
    let args = take_arguments(approved, &request.args)?;
    let connection = clients.connect(http, server).await?;
    let offered = connection.find_tool(tool).await?;
    check_unchanged(server, tool, approved, &offered)?;
    let text = connection.call(&McpCall { tool, args: &args, key, progress }).await?;
    check_result(server, approved, &text)?;
    Ok(text)
}

/// Checks that a tool is still what was approved.
///
/// # Errors
/// `Refused` with what changed.
pub fn check_unchanged(server: &McpServer, tool: &str, approved: &Value, offered: &Value) -> Result<(), EffectError> {
    let changes = changed_members(approved, offered);
    if changes.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the tool '{tool}' of the MCP server '{}' is not what was approved: its {} changed; review and approve it again",
        server.key,
        changes.join(", ")
    );
    Err(EffectError::new(EffectErrorKind::Refused, message).with_detail(EffectErrorDetail::TOOL_CHANGED))
}

/// Checks that a person has approved the call if the row of the tool demands it, whatever a document says of the tool.
fn check_approval(catalog: &McpCatalog, code: &str, approved: &Value, request: &ToolRequest) -> Result<(), EffectError> {
    let is_approved = request.spec.as_deref().is_some_and(|spec| spec.get("approved") == Some(&Value::Bool(true)));
    let claims_read = request.spec.as_deref().is_some_and(|spec| spec.get("effect").and_then(Value::as_str) == Some("read"));
    if claims_read && classify_mcp_tool(approved).0 != EffectClass::Read {
        let message =
            format!("the document says that the tool '{code}' only reads, its approved definition does not: correct 'effect_class'");
        return Err(EffectError::new(EffectErrorKind::Denied, message).with_detail(EffectErrorDetail::TOOL_DENIED));
    }
    let is_needed = catalog.needs_approval(code, approved);
    if is_approved || !is_needed {
        return Ok(());
    }
    let message = format!("each call of the tool '{code}' has to be approved: set its approval to 'never', or let an agent ask");
    Err(EffectError::new(EffectErrorKind::Denied, message).with_detail(EffectErrorDetail::TOOL_DENIED))
}

/// Checks a result against the approved schema, if the tool has one that can be checked.
fn check_result(server: &McpServer, approved: &Value, text: &str) -> Result<(), EffectError> {
    let Some(schema) = approved.get("outputSchema").and_then(|schema| JsonSchema::compile(schema).ok()) else { return Ok(()) };
    let violation = match serde_json::from_str(text) {
        Ok(result) => schema.find_violation(&result),
        Err(_) => Some("it is not JSON".to_owned()),
    };
    let Some(violation) = violation else { return Ok(()) };
    let message = format!("the result of the MCP server '{}' does not match the output schema: {violation}", server.key);
    Err(EffectError::new(EffectErrorKind::Invalid, message))
}

/// Checks arguments against the approved schema, because the server may not. Returns them, with numbers that a model gave as text converted.
fn take_arguments(approved: &Value, args: &Map) -> Result<Map, EffectError> {
    let invalid = |message: String| EffectError::new(EffectErrorKind::Invalid, message);
    let Some(schema) = approved.get("inputSchema") else { return Ok(args.clone()) };
    let schema = JsonSchema::compile(schema).map_err(|reason| invalid(format!("the arguments cannot be checked: {reason}")))?;
    let mut args = Value::Object(args.clone());
    schema.coerce(&mut args);
    match schema.find_violation(&args) {
        Some(violation) => Err(invalid(format!("the arguments do not match the input schema: {violation}"))),
        None => Ok(into_members(args)),
    }
}
