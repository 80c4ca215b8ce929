//! Builds the HTTP requests of service nodes and agent tools: renders templates and lists the secrets to insert.

use convengine_config::flow::document::{FlowTemplate, FlowTool, HttpRequestDef, Node, Retry, ServiceData};
use convengine_text::interpolation::OutputContext;
use convengine_turn::{
    BreakerPolicy, EffectClass, EffectContext, EffectError, EffectErrorDetail, EffectErrorKind, HttpCaller, HttpReply, HttpRequest, Map,
    Operation, RetryConditions, SecretHeader, TaskRequest, ToolRequest,
};
use serde_json::Value;

use super::super::Walker;
use super::super::failure::Failure;
use super::super::request_renderer::{DEFAULT_TIMEOUT_MS, IDEMPOTENCY_HEADER, RequestRenderer};
use super::remote_tool;

/// The name of a timeout in a retry policy.
const TIMEOUT: &str = "timeout";

/// The name of a service that is not reached in a retry policy.
const NETWORK: &str = "network";

/// Outages in a row after which a service is not called for a while, and for how many milliseconds (docs/spec/flows.md#4.6).
const BREAKER_THRESHOLD: u32 = 5;
const BREAKER_OPEN_MS: u32 = 30_000;

/// Maximum response bytes of an agent tool.
const MAX_TOOL_RESPONSE_BYTES: u32 = 262_144;

/// The header of the request signature.
pub(super) const SIGNATURE_HEADER: &str = "X-Convoship-Signature";
/// The text before the signature.
pub(super) const SIGNATURE_PREFIX: &str = "sha256=";

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
            CallRequest::Tool(request) => effects.perform(request).await.map(|it| reply(it.text)).map_err(name_unknown_tool),
            CallRequest::Task(request) => effects.perform(request).await.map(|it| reply(it.result.to_string())).map_err(name_unknown_tool),
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

/// Distinguishes a server, task or extension that does not exist from a missing secret.
fn name_unknown_tool(error: EffectError) -> EffectError {
    let is_unknown = error.kind == EffectErrorKind::NotFound && error.detail.is_none();
    if is_unknown { error.with_detail(EffectErrorDetail::TOOL_UNKNOWN) } else { error }
}

impl ServiceCall<'_> {
    /// Whether a status is successful.
    pub fn is_success(&self, status: u16) -> bool {
        if self.success.is_empty() { (200..300).contains(&status) } else { self.success.contains(&status) }
    }
}

/// The parts of a call before its templates are rendered.
struct HttpCallPlan<'c> {
    form: &'c HttpRequestDef,
    tool: Option<&'c FlowTool>,
    caller: HttpCaller,
    /// Extra roots for its templates.
    extra_roots: Map,
    class: Option<EffectClass>,
    timeout_ms: Option<u32>,
    max_bytes: u32,
    retry: Option<&'c Retry>,
    success: &'c [u16],
    /// The idempotency key of a write in the document.
    declared_key: Option<&'c FlowTemplate>,
    /// The default idempotency key of a write.
    default_key: String,
}

/// Prepares the call of a service node.
pub(super) fn prepare_node_call<'c>(walker: &mut Walker<'c>, node: &'c Node, data: &'c ServiceData) -> Result<ServiceCall<'c>, Failure> {
    let tool = match &data.tool_id {
        Some(id) => Some(walker.flow.tool(id).ok_or_else(|| Failure::new("tool_unknown", format!("unknown tool '{id}'")))?),
        None => None,
    };
    if let Some(tool) = tool.filter(|it| remote_tool::is_remote(it)) {
        return remote_tool::prepare_node_call(walker, tool, data);
    }
    let form = data.request.as_ref().or_else(|| tool.and_then(|it| it.request.as_ref()));
    let form = form.ok_or_else(|| Failure::new("tool_unknown", "neither the node nor its tool says what to ask"))?;
    let plan = HttpCallPlan {
        form,
        tool,
        caller: HttpCaller::Tool(tool.map_or_else(|| walker.node_key(node), |it| it.id.clone())),
        extra_roots: walker.args_roots(data),
        class: data.effect_class,
        timeout_ms: data.timeout_ms,
        max_bytes: data.max_response_bytes,
        retry: data.retry.as_ref(),
        success: &data.success,
        declared_key: data.idempotency_key.as_ref(),
        default_key: walker.visit_key(node),
    };
    prepare_call(walker, plan)
}

/// Prepares the call of an agent tool; `is_approved` is whether a person has approved it. Each call of a session gets its own idempotency key.
pub(super) fn prepare_tool_call<'c>(
    walker: &mut Walker<'c>,
    node: &'c Node,
    tool: &'c FlowTool,
    args: Value,
    is_approved: bool,
) -> Result<ServiceCall<'c>, Failure> {
    if remote_tool::is_remote(tool) {
        return remote_tool::prepare_tool_call(walker, tool, args, is_approved);
    }
    let form = tool.request.as_ref().ok_or_else(|| Failure::new("tool_unknown", "the tool does not say what to ask"))?;
    let key = format!("{}:{}", walker.visit_key(node), walker.state.usage.tool_calls);
    let plan = HttpCallPlan {
        form,
        tool: Some(tool),
        caller: HttpCaller::Tool(tool.id.clone()),
        extra_roots: args_roots(args),
        class: None,
        timeout_ms: None,
        max_bytes: MAX_TOOL_RESPONSE_BYTES,
        retry: None,
        success: &[],
        declared_key: None,
        default_key: key,
    };
    prepare_call(walker, plan)
}

/// The effect class of a tool: declared, or derived from its method.
pub(super) fn tool_effect_class(tool: &FlowTool) -> EffectClass {
    let method = tool.request.as_ref().map(|it| it.method.as_str());
    tool.effect_class.unwrap_or(EffectClass::from_method(method.unwrap_or("POST")))
}

fn prepare_call<'c>(walker: &mut Walker<'c>, plan: HttpCallPlan<'c>) -> Result<ServiceCall<'c>, Failure> {
    let tool = plan.tool;
    let extra = plan.extra_roots;
    let mut request = walker.with_renderer(&extra, |it| it.render(plan.form, plan.caller, plan.declared_key.is_some()))?;
    request.class = plan.class.or_else(|| tool.and_then(|it| it.effect_class)).unwrap_or(EffectClass::from_method(&request.method));
    request.timeout_ms = plan.timeout_ms.or_else(|| tool.and_then(|it| it.timeout_ms)).unwrap_or(DEFAULT_TIMEOUT_MS).min(60_000);
    request.connect_timeout_ms = request.timeout_ms;
    request.max_bytes = plan.max_bytes;
    let retry = plan.retry.or_else(|| tool.and_then(|it| it.retry.as_ref()));
    let writes = matches!(request.class, EffectClass::Write | EffectClass::Irreversible);
    // Reads are tried three times, writes once; only a write with a declared key is retried (docs/spec/flow-rulings.md#3, #4).
    let attempts = match retry {
        _ if writes && plan.declared_key.is_none() => 1,
        Some(retry) => retry.max_attempts,
        None if writes => 1,
        None => 3,
    };
    if writes {
        let key = match plan.declared_key {
            Some(template) => render_declared_key(walker, template, &extra)?,
            None => plan.default_key,
        };
        // A header in the document takes precedence over the default key.
        if !request.headers.iter().any(|it| it.0.eq_ignore_ascii_case(IDEMPOTENCY_HEADER)) {
            request.headers.push((IDEMPOTENCY_HEADER.to_owned(), key));
        }
        request.idempotent = plan.declared_key.is_some();
    }
    if let Some(secret) = tool.and_then(|it| it.signing_secret.clone()) {
        request.sign = Some(SecretHeader::new(SIGNATURE_HEADER, SIGNATURE_PREFIX, secret));
    }
    let retry = retry.cloned().unwrap_or_default();
    request.breaker = Some(BreakerPolicy {
        threshold: BREAKER_THRESHOLD,
        open_ms: BREAKER_OPEN_MS,
        retries: retry_conditions(&retry),
        only_outages: true,
    });
    let request = CallRequest::Http(Box::new(request));
    Ok(ServiceCall { request, tool, retry, attempts, success: plan.success, extra_roots: extra })
}

/// Renders the declared idempotency key. A blank key is refused, because all writes would share it.
fn render_declared_key(walker: &mut Walker<'_>, template: &FlowTemplate, extra: &Map) -> Result<String, Failure> {
    let key = walker.with_renderer(extra, |it| it.render_part(template, OutputContext::Header, true))?.text;
    if key.trim().is_empty() { Err(Failure::new("template_undefined", "the key of a write is empty")) } else { Ok(key) }
}

/// Whether the retry policy covers an outcome.
pub fn is_retryable(retry: &Retry, outcome: &Result<HttpReply, EffectError>) -> bool {
    let listed = |it: &Value| retry.on.contains(it);
    match outcome {
        Ok(reply) => listed(&Value::from(reply.status)),
        Err(error) => match error.kind {
            EffectErrorKind::Timeout => listed(&Value::from(TIMEOUT)),
            EffectErrorKind::Unavailable | EffectErrorKind::Interrupted => listed(&Value::from(NETWORK)),
            EffectErrorKind::Refused
            | EffectErrorKind::Invalid
            | EffectErrorKind::NotFound
            | EffectErrorKind::Denied
            | EffectErrorKind::CircuitOpen
            | EffectErrorKind::Limited
            | EffectErrorKind::Unsupported
            | EffectErrorKind::Cancelled
            | EffectErrorKind::Mismatch => false,
        },
    }
}

/// The failures that a retry policy covers.
fn retry_conditions(retry: &Retry) -> RetryConditions {
    let statuses = retry.on.iter().filter_map(|it| u16::try_from(it.as_u64()?).ok()).collect();
    RetryConditions { statuses, io: retry.on.iter().any(|it| it == NETWORK || it == TIMEOUT) }
}

/// Wraps arguments in the root `args`.
fn args_roots(args: Value) -> Map {
    Map::from_iter([("args".to_owned(), if args.is_null() { Value::Object(Map::new()) } else { args })])
}

impl<'c> Walker<'c> {
    /// Renders the extra roots for the templates of a service node.
    pub(crate) fn args_roots(&mut self, data: &'c ServiceData) -> Map {
        args_roots(data.args.as_ref().map(|it| self.render_json(it, Map::new())).unwrap_or_default())
    }

    /// The idempotency key of a visit of a node in a turn.
    pub(super) fn visit_key(&self, node: &Node) -> String {
        let visit = self.state.counters.visits.get(&self.node_key(node)).copied().unwrap_or_default();
        format!("{}:{}:{}:{visit}", self.state.session_id, self.state.turn, self.node_key(node))
    }

    /// Renders with the names of the session and extra roots, and warns about undefined ones.
    fn with_renderer<T>(&mut self, extra: &Map, render: impl FnOnce(&mut RequestRenderer<'_>) -> T) -> T {
        let (rendered, undefined) = {
            let names = self.scope_with(extra.clone());
            let mut renderer = RequestRenderer::new(&names);
            (render(&mut renderer), renderer.undefined)
        };
        undefined.iter().for_each(|it| self.warn_undefined(it));
        rendered
    }
}
