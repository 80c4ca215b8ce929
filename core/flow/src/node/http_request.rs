//! Builds the HTTP requests of service nodes and agent tools: renders templates and lists the secrets to insert.

use convengine_config::flow::document::{FlowTemplate, FlowTool, HttpRequestDef, Node, Retry, ServiceData};
use convengine_text::interpolation::OutputContext;
use convengine_turn::{
    BreakerPolicy, EffectClass, EffectError, EffectErrorKind, HttpCaller, HttpReply, Map, RetryConditions, SecretHeader,
};
use serde_json::Value;

use super::super::failure::Failure;
use super::super::request_renderer::{DEFAULT_TIMEOUT_MS, IDEMPOTENCY_HEADER, RequestRenderer, SIGNATURE_HEADER, SIGNATURE_PREFIX};
use super::super::turn::Turn;
use super::remote_tool::{is_remote, prepare_remote_call};
use super::service_call::{CallRequest, ServiceCall};

/// The name of a timeout in a retry policy.
const TIMEOUT: &str = "timeout";

/// The name of a service that is not reached in a retry policy.
const NETWORK: &str = "network";

/// Outages in a row after which a service is not called for a while, and for how many milliseconds (docs/spec/flows.md#4.6).
const BREAKER_THRESHOLD: u32 = 5;
const BREAKER_OPEN_MS: u32 = 30_000;

/// Maximum response bytes of an agent tool.
const MAX_TOOL_RESPONSE_BYTES: u32 = 262_144;

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
pub(super) fn prepare_node_call<'c>(turn: &mut Turn<'c>, node: &'c Node, data: &'c ServiceData) -> Result<ServiceCall<'c>, Failure> {
    let tool = match &data.tool_id {
        Some(id) => Some(turn.flow.tool(id).ok_or_else(|| Failure::new("tool_unknown", format!("unknown tool '{id}'")))?),
        None => None,
    };
    if let Some(tool) = tool.filter(|it| is_remote(it)) {
        let args = turn.args_roots(data).shift_remove("args").unwrap_or_default();
        let retry = data.retry.as_ref().or(tool.retry.as_ref());
        return prepare_remote_call(tool, args, data.timeout_ms, retry, false, &turn.state.session_id);
    }
    let form = data.request.as_ref().or_else(|| tool.and_then(|it| it.request.as_ref()));
    let form = form.ok_or_else(|| Failure::new("tool_unknown", "neither the node nor its tool says what to ask"))?;
    let plan = HttpCallPlan {
        form,
        tool,
        caller: HttpCaller::Tool(tool.map_or_else(|| turn.state.node_key(&node.id), |it| it.id.clone())),
        extra_roots: turn.args_roots(data),
        class: data.effect_class,
        timeout_ms: data.timeout_ms,
        max_bytes: data.max_response_bytes,
        retry: data.retry.as_ref(),
        success: &data.success,
        declared_key: data.idempotency_key.as_ref(),
        default_key: turn.state.visit_key(&node.id),
    };
    prepare_call(turn, plan)
}

/// Prepares the call of an agent tool; `is_approved` is whether a person has approved it, and `key` the idempotency key of a write.
pub(super) fn prepare_tool_call<'c>(
    turn: &mut Turn<'c>,
    tool: &'c FlowTool,
    args: Value,
    is_approved: bool,
    key: String,
) -> Result<ServiceCall<'c>, Failure> {
    if is_remote(tool) {
        return prepare_remote_call(tool, args, None, tool.retry.as_ref(), is_approved, &turn.state.session_id);
    }
    let form = tool.request.as_ref().ok_or_else(|| Failure::new("tool_unknown", "the tool does not say what to ask"))?;
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
    prepare_call(turn, plan)
}

fn prepare_call<'c>(turn: &mut Turn<'c>, plan: HttpCallPlan<'c>) -> Result<ServiceCall<'c>, Failure> {
    let tool = plan.tool;
    let extra = plan.extra_roots;
    let mut request = turn.with_renderer(&extra, |it| it.render(plan.form, plan.caller, plan.declared_key.is_some()))?;
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
            Some(template) => render_declared_key(turn, template, &extra)?,
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
fn render_declared_key(turn: &mut Turn<'_>, template: &FlowTemplate, extra: &Map) -> Result<String, Failure> {
    let key = turn.with_renderer(extra, |it| it.render_part(template, OutputContext::Header, true))?.text;
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

impl<'c> Turn<'c> {
    /// Renders the extra roots for the templates of a service node.
    pub(crate) fn args_roots(&mut self, data: &'c ServiceData) -> Map {
        args_roots(data.args.as_ref().map(|it| self.render_json(it, Map::new())).unwrap_or_default())
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
