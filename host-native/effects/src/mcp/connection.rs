//! A connection to an MCP server: its tools, and calls of them.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use convengine_core::turn::{EffectError, EffectErrorDetail, EffectErrorKind};
use convengine_host_base::tenant_span::tenant_span;
use convengine_settings::secrets::Secrets;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ListToolsRequest, PaginatedRequestParams, ProtocolVersion, RequestId,
    RequestMetaObject, ServerPeerInfo, ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions, QuitReason, RoleClient,
    RunningService, RunningServiceCancellationToken, ServiceError,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use tokio::sync::mpsc::channel;
use tokio::time::Instant;
use tracing::Instrument;

use super::catalog::{McpServer, McpTransport, ProtocolMode};
use super::client_handler::NotificationReceiver;
use super::failure::{call_error, connection_error, excerpt};
use super::outages::Outages;
use super::progress::MAX_PROGRESS_MESSAGES;
use super::tool_list::{self, ToolPages};
use super::transport::{self, ChildProcess};
use super::{McpCall, McpClients, result};
use crate::http::HttpClient;

/// Supported revisions of the protocol.
const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// How long the handshake may take. A server of an earlier revision may leave the first 10 s unanswered.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a list of tools is used unless the server announces another.
pub const LIST_LIFETIME: Duration = Duration::from_secs(60);

/// Maximum pages and tools of a list.
const MAX_PAGES: usize = 64;
const MAX_TOOLS: usize = 4096;

/// Characters of the name and the version of a server that are shown.
const MAX_SERVER_NAME_CHARS: usize = 100;

/// Progress notifications that may wait; more are dropped.
const PROGRESS_CAPACITY: usize = 16;

/// The reason that is logged when a server ends.
pub const ENDED: &str = "it ended or closed the connection";

/// The member of `_meta` with the idempotency key of a call.
const KEY_MEMBER: &str = "io.convengine/idempotency-key";

/// A connection to a server.
#[derive(Debug)]
pub struct Connection {
    server: McpServer,
    peer: Peer<RoleClient>,
    receiver: NotificationReceiver,
    last_used: std::sync::Mutex<Instant>,
    tools: Mutex<Option<ToolList>>,
    /// Whether the server sent a message beyond the limit.
    exceeded: Arc<AtomicBool>,
    /// Whether the server has ended or closed the connection.
    ended: Arc<AtomicBool>,
    outages: Arc<Outages>,
    secrets: Arc<Secrets>,
    /// The hash of the secret that it was opened with.
    secret_hash: Option<[u8; 32]>,
    /// Closes the connection, before its process is killed.
    _closer: Closer,
    /// Killed with the connection.
    _process: Option<ChildProcess>,
}

/// The definitions of the tools of a server.
#[derive(Debug, Clone)]
pub struct ToolList {
    /// In the order of the server.
    pub tools: Arc<Vec<Value>>,
    /// What is wrong with the list: tools that cannot be used, each by its name, and pages that repeat.
    pub problems: Arc<Vec<String>>,
    listed_at: Instant,
}

impl Connection {
    /// Connects to a server.
    ///
    /// # Errors
    /// `Denied` for what settings or network policy forbid, `Timeout` or `Unavailable` for a server that does not answer.
    pub async fn open(clients: &McpClients, http: &HttpClient, server: &McpServer) -> Result<Connection, EffectError> {
        let receiver = NotificationReceiver::default();
        let exceeded = Arc::new(AtomicBool::new(false));
        let lifecycle = lifecycle(server.protocol);
        let mut process = None;
        let opening = async {
            match &server.transport {
                McpTransport::Http(endpoint) => {
                    let transport = transport::open_http(clients, http, server, endpoint)?;
                    receiver.clone().serve_with_lifecycle(transport, lifecycle).await.map_err(|it| handshake_error(server, &it))
                }
                McpTransport::Stdio => {
                    let (child, pipes) = transport::start_process(clients, server, &exceeded)?;
                    process = Some(child);
                    receiver.clone().serve_with_lifecycle(pipes, lifecycle).await.map_err(|it| handshake_error(server, &it))
                }
            }
        };
        let service = tokio::time::timeout(HANDSHAKE_TIMEOUT, opening).await.map_err(|_| {
            let message = format!("the MCP server '{}' did not answer within {} s", server.key, HANDSHAKE_TIMEOUT.as_secs());
            EffectError { status: Some(503), ..EffectError::new(EffectErrorKind::Timeout, message) }
        })??;
        check_revision(server, service.peer().peer_info().as_deref())?;
        let secret_hash = server.secret.as_ref().and_then(|it| clients.secrets.get(it)).as_deref().map(hash_secret);
        // Lists are cached here, with their age.
        service.peer().set_response_cache_config(ClientCacheConfig::disabled()).await;
        spawn_subscription(service.peer().clone(), Arc::clone(&receiver.tools_changed));
        let peer = service.peer().clone();
        let closer = Closer { token: Some(service.cancellation_token()), is_closing: Arc::default() };
        let watch = Watch {
            server: server.key.clone(),
            exceeded: Arc::clone(&exceeded),
            ended: Arc::default(),
            is_closing: Arc::clone(&closer.is_closing),
            outages: Arc::clone(&clients.outages),
        };
        let ended = Arc::clone(&watch.ended);
        tokio::spawn(watch.run(service).instrument(tenant_span(clients.tenant.as_deref())));
        Ok(Connection {
            server: server.clone(),
            peer,
            receiver,
            last_used: std::sync::Mutex::new(Instant::now()),
            tools: Mutex::default(),
            exceeded,
            ended,
            outages: Arc::clone(&clients.outages),
            secrets: Arc::clone(&clients.secrets),
            secret_hash,
            _closer: closer,
            _process: process,
        })
    }

    /// Whether the connection is open, and that of the row with the current secret.
    pub fn is_usable(&self, server: &McpServer, secret: Option<&str>) -> bool {
        self.server == *server && self.secret_hash == secret.map(hash_secret) && !self.is_lost() && !self.exceeded.load(Ordering::Relaxed)
    }

    /// Whether the server has ended or closed the connection, noticed or not.
    pub fn is_lost(&self) -> bool {
        self.ended.load(Ordering::Relaxed) || self.peer.is_transport_closed()
    }

    /// Records that the connection is used now.
    pub fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// How long the connection has not been used.
    pub fn idle_time(&self) -> Duration {
        self.last_used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// The name, version and protocol revision of the server.
    pub fn describe(&self) -> Value {
        let info = self.peer.peer_info();
        let about = |info: &ServerPeerInfo| {
            let short = |text: &String| self.secrets.scrub(text).chars().take(MAX_SERVER_NAME_CHARS).collect::<String>();
            let name = info.server_info.as_ref().map(|server| (short(&server.name), short(&server.version)));
            json!({
                "name": name.as_ref().map(|name| &name.0), "version": name.as_ref().map(|name| &name.1),
                "protocol": info.protocol_version.to_string(),
            })
        };
        info.as_deref().map(about).unwrap_or_default()
    }

    /// Returns the definition of a tool.
    ///
    /// # Errors
    /// `NotFound` if the server does not offer it, or the failure of listing.
    pub async fn find_tool(&self, name: &str) -> Result<Value, EffectError> {
        let list = self.list_tools(LIST_LIFETIME).await?;
        let mut named = list.tools.iter().filter(|tool| tool.get("name").and_then(Value::as_str) == Some(name));
        let missing = || {
            let problem = list.problems.iter().find(|problem| problem.starts_with(&tool_list::subject(name)));
            let message = match problem {
                Some(problem) => format!("the MCP server '{}' offers a tool that cannot be used: {problem}", self.server.key),
                None => format!("the MCP server '{}' no longer offers the tool '{name}'", self.server.key),
            };
            EffectError::new(EffectErrorKind::Refused, message).with_detail(EffectErrorDetail::TOOL_CHANGED)
        };
        let found = named.next().ok_or_else(missing)?;
        if named.next().is_some() {
            let message = format!("the MCP server '{}' offers two tools named '{name}'", self.server.key);
            return Err(EffectError::new(EffectErrorKind::Refused, message).with_detail(EffectErrorDetail::TOOL_CHANGED));
        }
        Ok(found.clone())
    }

    /// Lists the tools, unless a list is at most this old.
    ///
    /// # Errors
    /// `Invalid` for a list beyond the limits, or the failure of the request.
    pub async fn list_tools(&self, max_age: Duration) -> Result<ToolList, EffectError> {
        let mut cached = self.tools.lock().await;
        let is_changed = self.receiver.tools_changed.swap(false, Ordering::Relaxed);
        if let Some(list) = cached.as_ref().filter(|list| !is_changed && list.listed_at.elapsed() < max_age) {
            return Ok(list.clone());
        }
        *cached = None;
        let (tools, problems) = self.request_tools().await?;
        let list = ToolList { tools: Arc::new(tools), problems: Arc::new(problems), listed_at: Instant::now() };
        *cached = Some(list.clone());
        Ok(list)
    }

    async fn request_tools(&self) -> Result<(Vec<Value>, Vec<String>), EffectError> {
        let mut pages = ToolPages::default();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let page = self.request_page(cursor).await?;
            // Without secrets, also for the comparison with what was approved.
            let page = serde_json::from_str(&self.secrets.scrub(&page.to_string())).map_err(|error| self.unreadable(&error))?;
            let next = pages.add(&page);
            if pages.tools.len() > MAX_TOOLS {
                break;
            }
            match next {
                Some(next) => cursor = Some(next),
                None => return Ok((pages.tools, pages.problems)),
            }
        }
        let message = format!("the MCP server '{}' lists more than {MAX_TOOLS} tools or {MAX_PAGES} pages", self.server.key);
        Err(EffectError::new(EffectErrorKind::Invalid, message))
    }

    /// Requests a page of the list as the server sends it: one tool that the protocol does not allow leaves the others readable.
    async fn request_page(&self, cursor: Option<String>) -> Result<Value, EffectError> {
        let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let request = ListToolsRequest { method: Default::default(), params, extensions: Default::default() };
        let options = PeerRequestOptions::no_options();
        let handle = self.peer.send_request_with_option(ClientRequest::ListToolsRequest(request), options).await;
        let handle = handle.map_err(|it| self.to_effect_error(&it))?;
        let mut guard = CancelOnDrop { peer: self.peer.clone(), id: Some(handle.id.clone()) };
        let answer = handle.await_response().await;
        guard.id = None;
        self.note_answer(answer.is_ok());
        match answer {
            Ok(ServerResult::ListToolsResult(page)) => serde_json::to_value(page).map_err(|error| self.unreadable(&error)),
            Ok(ServerResult::CustomResult(page)) if page.0.get("tools").is_some_and(Value::is_array) => Ok(page.0),
            Ok(_) => Err(self.to_effect_error(&ServiceError::UnexpectedResponse)),
            Err(error) => Err(self.to_effect_error(&error)),
        }
    }

    /// Calls a tool. A call that is dropped is cancelled at the server.
    ///
    /// # Errors
    /// `Refused` with the text of a tool that answers with an error, or the failure of the call.
    pub async fn call(&self, call: &McpCall<'_>) -> Result<String, EffectError> {
        let mut params = CallToolRequestParams::new(call.tool.to_owned()).with_arguments(call.args.clone());
        let mut meta = RequestMetaObject::default();
        meta.0.0.insert(KEY_MEMBER.to_owned(), json!(call.key));
        params.meta = Some(meta);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let handle = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let handle = handle.map_err(|it| self.to_effect_error(&it))?;
        let token = handle.progress_token.clone();
        let (sender, mut progress) = channel(PROGRESS_CAPACITY);
        self.receiver.watch(&token, sender);
        let mut guard = CancelOnDrop { peer: self.peer.clone(), id: Some(handle.id.clone()) };
        let mut answer = std::pin::pin!(handle.await_response());
        let mut published = 0;
        let outcome = loop {
            tokio::select! {
                outcome = &mut answer => break outcome,
                Some(step) = progress.recv() => {
                    if let Some(subscribers) = call.progress.filter(|_| published < MAX_PROGRESS_MESSAGES) {
                        published += 1;
                        subscribers.publish(&step);
                    }
                }
            }
        };
        guard.id = None;
        self.receiver.unwatch(&token);
        self.note_answer(outcome.is_ok());
        match outcome {
            Ok(ServerResult::CallToolResult(result)) => {
                let result = serde_json::to_value(result).map_err(|error| self.unreadable(&error))?;
                result::to_text(&self.server.key, &result)
            }
            Ok(ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_)) => result::to_text(&self.server.key, &json!({})),
            // One with content that the library does not know.
            Ok(ServerResult::CustomResult(result)) if result::is_result(&result.0) => result::to_text(&self.server.key, &result.0),
            Ok(ServerResult::InputRequiredResult(_)) => {
                let message =
                    format!("the tool '{}' of the MCP server '{}' requests input, which is not supported", call.tool, self.server.key);
                Err(EffectError::new(EffectErrorKind::Refused, message).with_detail(EffectErrorDetail::TOOL_ERROR))
            }
            Ok(_) => Err(self.to_effect_error(&ServiceError::UnexpectedResponse)),
            Err(error) => Err(self.to_effect_error(&error)),
        }
    }

    fn to_effect_error(&self, error: &ServiceError) -> EffectError {
        let is_too_long = self.exceeded.load(Ordering::Relaxed);
        if matches!(error, ServiceError::TransportClosed) && !is_too_long {
            self.ended.store(true, Ordering::Relaxed);
        }
        let error = call_error(&self.server.key, error, is_too_long);
        if error.kind == EffectErrorKind::Unavailable {
            self.outages.begin(&self.server.key, &error.message);
        }
        error
    }

    /// The error of an answer that is not JSON, or is not any more once its secrets are removed.
    fn unreadable(&self, error: &serde_json::Error) -> EffectError {
        let message = format!("the answer of the MCP server '{}' cannot be read: {error}", self.server.key);
        EffectError::new(EffectErrorKind::Invalid, message)
    }

    /// Records that the server answers, whatever the answer is.
    fn note_answer(&self, is_answer: bool) {
        if is_answer {
            self.outages.end(&self.server.key);
        }
    }
}

/// Closes a connection when it is dropped.
struct Closer {
    token: Option<RunningServiceCancellationToken>,
    /// So that the end of the connection is no outage.
    is_closing: Arc<AtomicBool>,
}

impl fmt::Debug for Closer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closer").finish_non_exhaustive()
    }
}

impl Drop for Closer {
    fn drop(&mut self) {
        self.is_closing.store(true, Ordering::Relaxed);
        if let Some(token) = self.token.take() {
            token.cancel();
        }
    }
}

/// Notices the end of a server, or of the connection to it, also while nobody calls it.
struct Watch {
    server: String,
    exceeded: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
    is_closing: Arc<AtomicBool>,
    outages: Arc<Outages>,
}

impl Watch {
    async fn run(self, service: RunningService<RoleClient, NotificationReceiver>) {
        let reason = service.waiting().await;
        let is_closed = self.is_closing.load(Ordering::Relaxed) || matches!(reason, Ok(QuitReason::Cancelled));
        // A call may have noticed it before.
        if is_closed || self.ended.swap(true, Ordering::Relaxed) {
            return;
        }
        let is_too_long = self.exceeded.load(Ordering::Relaxed);
        self.outages.begin(&self.server, if is_too_long { "it sent a message that is too long" } else { ENDED });
    }
}

/// Cancels a call at the server unless it has ended.
struct CancelOnDrop {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        tokio::spawn(async move {
            let reason = Some("the turn timed out or was cancelled".to_owned());
            let cancelled = rmcp::model::CancelledNotificationParam::new(Some(id), reason);
            let _ = peer.notify_cancelled(cancelled).await;
        });
    }
}

/// Checks that the server speaks a known revision of the protocol.
fn check_revision(server: &McpServer, info: Option<&ServerPeerInfo>) -> Result<(), EffectError> {
    let revision = info.map(|it| it.protocol_version.to_string()).unwrap_or_default();
    if REVISIONS.contains(&revision.as_str()) {
        return Ok(());
    }
    let message = format!("the MCP server '{}' speaks the unsupported revision '{}'", server.key, excerpt(&revision));
    Err(EffectError { status: Some(503), ..EffectError::new(EffectErrorKind::Unavailable, message) })
}

fn hash_secret(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Returns how a connection begins. With `auto`, a server without `server/discover` is asked to initialize.
fn lifecycle(mode: ProtocolMode) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match mode {
        ProtocolMode::Auto => ClientLifecycleMode::Auto { preferred_versions, legacy_version: Some(ProtocolVersion::V_2025_11_25) },
        ProtocolMode::Stateless => ClientLifecycleMode::Discover { preferred_versions },
        ProtocolMode::Initialize => ClientLifecycleMode::Initialize,
    }
}

fn handshake_error(server: &McpServer, error: &ClientInitializeError) -> EffectError {
    connection_error(&server.key, error)
}

/// Follows announcements of other tools in the revision that has no notifications without a subscription.
fn spawn_subscription(peer: Peer<RoleClient>, tools_changed: Arc<AtomicBool>) {
    let announces = |info: &ServerPeerInfo| {
        let is_declared = info.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true));
        is_declared && info.protocol_version == ProtocolVersion::V_2026_07_28
    };
    if !peer.peer_info().as_deref().is_some_and(announces) {
        return;
    }
    tokio::spawn(async move {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let Ok(mut subscription) = peer.listen(filter).await else { return };
        while let Ok(Some(_)) = subscription.next().await {
            tools_changed.store(true, Ordering::Relaxed);
        }
    });
}
