//! A call of a service or a tool, ready to be made (docs/spec/flows.md#4.6).

use convengine_config::flow::document::{FlowTool, Retry};
use convengine_turn::{
    EffectClass, EffectContext, EffectError, EffectErrorDetail, EffectErrorKind, HttpReply, HttpRequest, Map, Operation, RetryConditions,
    TaskRequest, ToolRequest,
};

/// A call ready to be made.
pub(super) struct ServiceCall<'c> {
    pub request: CallRequest,
    pub tool: Option<&'c FlowTool>,
    pub retry: Retry,
    /// Maximum attempts.
    pub attempts: u32,
    /// Successful statuses; all 2xx when empty.
    pub success: &'c [u16],
    /// Extra roots for the templates of its outputs.
    pub extra_roots: Map,
}

/// What a call sends.
#[derive(Clone)]
pub(super) enum CallRequest {
    /// A request of an HTTP service.
    Http(Box<HttpRequest>),
    /// A call of a tool of an MCP server.
    Tool(ToolRequest),
    /// A call of a function.
    Task(TaskRequest),
}

impl CallRequest {
    /// What a call may change.
    pub fn class(&self) -> EffectClass {
        match self {
            CallRequest::Http(request) => request.class,
            CallRequest::Tool(request) => request.class(),
            CallRequest::Task(request) => request.class(),
        }
    }

    /// Sends it once. `key` is the idempotency key of the first attempt, if this is a later one; a failure of the last attempt counts for
    /// the circuit breaker.
    pub async fn perform(&self, effects: &EffectContext, key: Option<&String>, is_last: bool) -> Result<HttpReply, EffectError> {
        let reply = |body| HttpReply { status: 200, body, retry_after_ms: None, broken_json: false };
        match self.clone() {
            CallRequest::Http(mut request) => {
                if let Some(key) = key {
                    request.key.get_or_insert_with(|| key.clone());
                }
                if let Some(breaker) = request.breaker.as_mut().filter(|_| is_last) {
                    breaker.retries = RetryConditions::default();
                }
                effects.perform(*request).await
            }
            CallRequest::Tool(request) => effects.perform(request).await.map(|answer| reply(answer.text)).map_err(name_unknown_tool),
            CallRequest::Task(request) => {
                effects.perform(request).await.map(|answer| reply(answer.result.to_string())).map_err(name_unknown_tool)
            }
        }
    }

    /// The kind in the debug information of a turn, for the call of a node.
    pub fn kind(&self) -> &'static str {
        match self {
            CallRequest::Http(_) => "http.request",
            CallRequest::Tool(_) | CallRequest::Task(_) => "tool.call",
        }
    }
}

impl ServiceCall<'_> {
    /// Whether a status is successful.
    pub fn is_success(&self, status: u16) -> bool {
        if self.success.is_empty() { (200..300).contains(&status) } else { self.success.contains(&status) }
    }
}

/// The effect class of a tool: declared, or derived from its method.
pub(super) fn tool_effect_class(tool: &FlowTool) -> EffectClass {
    let method = tool.request.as_ref().map(|it| it.method.as_str());
    tool.effect_class.unwrap_or(EffectClass::from_method(method.unwrap_or("POST")))
}

/// Distinguishes a server, task or extension that does not exist from a missing secret.
fn name_unknown_tool(error: EffectError) -> EffectError {
    let is_unknown = error.kind == EffectErrorKind::NotFound && error.detail.is_none();
    if is_unknown { error.with_detail(EffectErrorDetail::TOOL_UNKNOWN) } else { error }
}
