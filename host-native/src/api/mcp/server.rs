//! The requests of the protocol, for one caller.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use convengine_access::caller::Caller;
use convengine_access::client_address::ClientAddress;
use convengine_access::scope::Scopes;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData as McpError, ServerHandler};

use super::changes::Published;
use super::{prompts, resources, tools};
use crate::api::host::Host;

/// The supported revisions of the protocol.
const VERSIONS: [ProtocolVersion; 3] = [ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// How long a subscription over HTTP lasts.
const SUBSCRIPTION_TIME: Duration = Duration::from_secs(60);

/// Methods whose parameters are checked when a message is read; with wrong ones it is that of an unknown method.
const METHODS: [&str; 4] = ["tools/call", "tools/list", "resources/read", "prompts/get"];

const INSTRUCTIONS: &str = "ConvEngine runs assistants: flow documents and table configurations whose conversations are deterministic. \
    Each ask_ tool talks to one of them; pass the id that it returns to continue. To build one, read \
    convengine://reference/packs, write a pack, then use lint, import as a dry run, and play; import with dry_run=false changes the server. \
    After a turn that surprises you, use explain_turn, replay and compare.";

/// What the server can send to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Responses only: each request has a connection of its own. Revisions with subscriptions have those too.
    Responses,
    /// Notifications at any time.
    Anything,
}

/// The server of one caller.
#[derive(Debug, Clone)]
pub struct McpServer {
    host: Arc<Host>,
    caller: Caller,
    client: ClientAddress,
    delivery: Delivery,
}

impl McpServer {
    /// Creates the server of a caller at an address.
    pub fn new(host: Arc<Host>, caller: Caller, client: ClientAddress, delivery: Delivery) -> McpServer {
        McpServer { host, caller, client, delivery }
    }

    /// The tenant's conversations.
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// The caller.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The address of the caller.
    pub fn client(&self) -> ClientAddress {
        self.client
    }

    /// Whether the caller has a scope.
    pub fn permits(&self, needed: Scopes) -> bool {
        self.caller.scopes().is_sufficient_for(needed)
    }
}

/// The error for a request with invalid parameters.
pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> McpError {
    ErrorData::invalid_params(message, None)
}

/// The error for a failure of the database; details are logged.
pub fn database_error(error: &sqlx::Error) -> McpError {
    tracing::error!(%error, "cannot access the database");
    ErrorData::internal_error("database is unavailable; try again later", None)
}

impl ServerHandler for McpServer {
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&VERSIONS)
    }

    fn get_info(&self) -> ServerConfig {
        let all = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().enable_resources();
        let capabilities = if self.permits(Scopes::ADMIN) { all.enable_prompts().build() } else { all.build() };
        let about = Implementation::new("convengine", env!("CARGO_PKG_VERSION")).with_title("ConvEngine");
        ServerConfig::new(capabilities).with_server_info(about).with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, McpError> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        if self.delivery == Delivery::Responses
            && let Some(tools) = result.capabilities.tools.as_mut()
        {
            // The revisions with this request have no subscriptions.
            tools.list_changed = None;
        }
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.delivery == Delivery::Responses {
            return;
        }
        let (host, peer) = (Arc::clone(&self.host), context.peer);
        tokio::spawn(async move {
            let Ok(mut published) = Published::read(&host.content).await else { return };
            loop {
                tokio::select! {
                    () = host.turns.streams.wait_closed() => return,
                    () = published.wait_for_change(&host.content) => {}
                }
                if peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.intersection(&SubscriptionFilter::builder().tools_list_changed().build()))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), McpError> {
        let mut published = Published::read(&self.host.content).await.map_err(|it| database_error(&it))?;
        let is_wanted = context.accepted().tools_list_changed == Some(true);
        // The client asks again, with credentials that may have been revoked.
        let end = tokio::time::Instant::now() + SUBSCRIPTION_TIME;
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = tokio::time::sleep_until(end), if self.delivery == Delivery::Responses => return Ok(()),
                () = self.host.turns.streams.wait_closed() => return Ok(()),
                () = published.wait_for_change(&self.host.content), if is_wanted => {
                    if context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, McpError> {
        tools::list(self, request.and_then(|it| it.cursor).as_deref()).await
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, McpError> {
        tools::call(self, request, context).await.map(CallToolResponse::from)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, McpError> {
        resources::list(self, request.and_then(|it| it.cursor).as_deref()).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, McpError> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates(self)))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, McpError> {
        resources::read(self, &request.uri).await.map(ReadResourceResponse::from)
    }

    async fn on_custom_request(&self, request: CustomRequest, context: RequestContext<RoleServer>) -> Result<CustomResult, McpError> {
        let has_initialize = context.protocol_version().is_none_or(|it| it.has_initialize());
        if METHODS.contains(&request.method.as_str()) || (has_initialize && request.method == "initialize") {
            return Err(invalid_params(format!(
                "the parameters of {} are invalid; send an object as the protocol describes",
                request.method
            )));
        }
        let message = format!("unknown method '{}'", request.method.chars().take(100).collect::<String>());
        Err(McpError::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }

    async fn list_prompts(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListPromptsResult, McpError> {
        let all = if self.permits(Scopes::ADMIN) { prompts::list() } else { Vec::new() };
        Ok(ListPromptsResult::with_all_items(all))
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, _: RequestContext<RoleServer>) -> Result<GetPromptResponse, McpError> {
        if !self.permits(Scopes::ADMIN) {
            return Err(invalid_params("prompts need the scope admin; use a key that has it"));
        }
        prompts::render(&request.name, &request.arguments.unwrap_or_default()).map(GetPromptResponse::from).map_err(invalid_params)
    }
}
