//! Builds the HTTP requests of service nodes and agent tools: renders templates and lists the secrets to insert.

use serde_json::Value;

use super::super::Walker;
use super::super::failure::Failure;
use crate::config::flow::document::{FlowTemplate, FlowTool, HttpRequestDef, Node, Retry, ServiceData};
use crate::text::interpolation::{Interpolated, OutputContext, TextWithSecrets, percent_encode};
use crate::turn::{EffectClass, EffectError, EffectErrorKind, HttpCaller, HttpReply, HttpRequest, Map, SecretHeader};

/// Default timeout in milliseconds.
const DEFAULT_TIMEOUT_MS: u32 = 10_000;

/// Maximum response bytes of an agent tool.
const MAX_TOOL_RESPONSE_BYTES: u32 = 262_144;

/// The header of the idempotency key.
const IDEMPOTENCY_HEADER: &str = "Idempotency-Key";

/// Content type of JSON.
const JSON_TYPE: &str = "application/json";

/// Content type of multipart forms.
const MULTIPART_TYPE: &str = "multipart/form-data";

/// The header of the request signature.
pub(super) const SIGNATURE_HEADER: &str = "X-Convoship-Signature";
/// The text before the signature.
pub(super) const SIGNATURE_PREFIX: &str = "sha256=";

/// A call ready to be made.
pub(super) struct HttpCall<'c> {
    pub request: HttpRequest,
    pub tool: Option<&'c FlowTool>,
    pub retry: Retry,
    /// Maximum attempts.
    pub attempts: u32,
    /// Successful statuses; all 2xx when empty.
    pub success: &'c [u16],
    /// Extra roots for the templates of its outputs.
    pub extra_roots: Map,
}

impl HttpCall<'_> {
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
pub(super) fn prepare_node_call<'c>(walker: &mut Walker<'c>, node: &'c Node, data: &'c ServiceData) -> Result<HttpCall<'c>, Failure> {
    let tool = match &data.tool_id {
        Some(id) => Some(walker.flow.tool(id).ok_or_else(|| Failure::new("tool_unknown", format!("there is no tool '{id}'")))?),
        None => None,
    };
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

/// Prepares the call of an agent tool. Each call of a session gets its own idempotency key.
pub(super) fn prepare_tool_call<'c>(
    walker: &mut Walker<'c>,
    node: &'c Node,
    tool: &'c FlowTool,
    args: Value,
) -> Result<HttpCall<'c>, Failure> {
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
    tool.effect_class.unwrap_or(method_effect_class(method.unwrap_or("POST")))
}

fn method_effect_class(method: &str) -> EffectClass {
    if ["GET", "HEAD"].contains(&method) { EffectClass::Read } else { EffectClass::Write }
}

fn prepare_call<'c>(walker: &mut Walker<'c>, plan: HttpCallPlan<'c>) -> Result<HttpCall<'c>, Failure> {
    let tool = plan.tool;
    let extra = plan.extra_roots;
    let mut request = render_request(walker, plan.form, plan.caller, &extra, plan.declared_key.is_some())?;
    request.class = plan.class.or_else(|| tool.and_then(|it| it.effect_class)).unwrap_or(method_effect_class(&request.method));
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
    Ok(HttpCall { request, tool, retry: retry.cloned().unwrap_or_default(), attempts, success: plan.success, extra_roots: extra })
}

/// Renders the declared idempotency key. A blank key is refused, because all writes would share it.
fn render_declared_key(walker: &mut Walker<'_>, template: &FlowTemplate, extra: &Map) -> Result<String, Failure> {
    let key = render_part(walker, template, OutputContext::Header, extra, true)?.text;
    if key.trim().is_empty() { Err(Failure::new("template_undefined", "the key of a write is empty")) } else { Ok(key) }
}

/// Renders a request; `keyed` omits the idempotency header of the document.
fn render_request(
    walker: &mut Walker<'_>,
    form: &HttpRequestDef,
    caller: HttpCaller,
    extra: &Map,
    keyed: bool,
) -> Result<HttpRequest, Failure> {
    let mut secrets = Vec::new();
    // Undefined names are allowed in the query, not in the path.
    let (path, query) = split_url(&form.url.source);
    let mut url = render_part(walker, &path.into(), OutputContext::Url, extra, true)?;
    if !query.is_empty() {
        let query = render_part(walker, &query.into(), OutputContext::Url, extra, false)?;
        url.secrets.extend(query.secrets.into_iter().map(|(at, secret)| (url.text.len() + at, secret)));
        url.text.push_str(&query.text);
    }
    record_secrets(&mut secrets, "url", &url);
    for (name, value) in &form.query {
        url.text.push(if url.text.contains('?') { '&' } else { '?' });
        url.text.push_str(&percent_encode(name));
        url.text.push('=');
        let value = render_part(walker, value, OutputContext::Query, extra, false)?;
        let from = url.text.len();
        secrets.extend(value.secrets.iter().map(|(at, secret)| format!("url {} {secret}", from + at)));
        url.text.push_str(&value.text);
    }
    let mut headers = Vec::new();
    for (name, value) in form.headers.iter().filter(|it| !keyed || !it.0.eq_ignore_ascii_case(IDEMPOTENCY_HEADER)) {
        let value = render_part(walker, value, OutputContext::Header, extra, true)?;
        record_secrets(&mut secrets, &headers.len().to_string(), &value);
        headers.push((name.clone(), value.text));
    }
    let mut body = None;
    if let Some(filling) = &form.body
        && form.body_type.as_deref() != Some("none")
    {
        let RenderedBody { sealed, kind, part } = walker.render_body(filling, form.body_type.as_deref(), extra);
        record_secrets(&mut secrets, part, &sealed);
        let of_author = headers.iter_mut().find(|it: &&mut (String, String)| it.0.eq_ignore_ascii_case("content-type"));
        match of_author {
            // Only this value has the boundary.
            Some(header) if kind.starts_with(MULTIPART_TYPE) => header.1 = kind,
            Some(_) => {}
            None => headers.push(("Content-Type".to_owned(), kind)),
        }
        body = Some(sealed.text);
    }
    Ok(HttpRequest {
        caller,
        method: form.method.clone(),
        url: url.text,
        headers,
        body,
        auth: None,
        connect_timeout_ms: DEFAULT_TIMEOUT_MS,
        timeout_ms: DEFAULT_TIMEOUT_MS,
        max_bytes: 0,
        class: EffectClass::Read,
        idempotent: false,
        key: None,
        breaker: None,
        secrets,
        sign: None,
    })
}

/// Splits a URL into the part before the query and the query with its `?`. Placeholders are skipped; the fragment is dropped.
fn split_url(url: &str) -> (String, String) {
    let (mut is_placeholder, mut query, mut end) = (false, None, url.len());
    for (at, character) in url.char_indices() {
        let rest = url.get(at..).unwrap_or_default();
        is_placeholder = if is_placeholder { !rest.starts_with("}}") } else { rest.starts_with("{{") };
        match character {
            '?' if !is_placeholder && query.is_none() => query = Some(at),
            '#' if !is_placeholder => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let query = query.unwrap_or(end);
    (url.get(..query).unwrap_or_default().to_owned(), url.get(query..end).unwrap_or_default().to_owned())
}

fn record_secrets(secrets: &mut Vec<String>, part: &str, sealed: &TextWithSecrets) {
    secrets.extend(sealed.secrets.iter().map(|(at, secret)| format!("{part} {at} {secret}")));
}

/// Renders a part of a request; with `strict`, an undefined name is an error.
fn render_part(
    walker: &mut Walker<'_>,
    template: &FlowTemplate,
    place: OutputContext,
    extra: &Map,
    strict: bool,
) -> Result<TextWithSecrets, Failure> {
    let Ok(interpolation) = &template.compiled else {
        return Err(Failure::new("template_undefined", format!("the template '{}' cannot be read", template.source)));
    };
    let Interpolated { output: part, undefined } = interpolation.render_with_secrets(&walker.scope_with(extra.clone()), place);
    walker.warn_undefined(&undefined);
    match undefined.first().filter(|_| strict) {
        Some(name) => Err(Failure::new("template_undefined", format!("'{name}' is not defined"))),
        None => Ok(part),
    }
}

/// Whether the retry policy covers an outcome.
pub(super) fn is_retryable(retry: &Retry, outcome: &Result<HttpReply, EffectError>) -> bool {
    let listed = |it: &Value| retry.on.contains(it);
    match outcome {
        Ok(reply) => listed(&Value::from(reply.status)),
        Err(error) => match error.kind {
            EffectErrorKind::Timeout => listed(&Value::from("timeout")),
            EffectErrorKind::Unavailable | EffectErrorKind::Interrupted => listed(&Value::from("network")),
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

/// The next wait, in milliseconds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "milliseconds are small")]
pub(super) fn next_wait_ms(wait: u64, multiplier: f64) -> u64 {
    ((wait as f64 * multiplier).round() as u64).max(1)
}

/// Wraps arguments in the root `args`.
fn args_roots(args: Value) -> Map {
    Map::from_iter([("args".to_owned(), if args.is_null() { Value::Object(Map::new()) } else { args })])
}

impl<'c> Walker<'c> {
    /// Renders the extra roots for the templates of a service node.
    pub(in crate::flow) fn args_roots(&mut self, data: &'c ServiceData) -> Map {
        args_roots(data.args.as_ref().map(|it| self.render_json(it, Map::new())).unwrap_or_default())
    }

    /// The idempotency key of a visit of a node in a turn.
    pub(super) fn visit_key(&self, node: &Node) -> String {
        let visit = self.state.counters.visits.get(&self.node_key(node)).copied().unwrap_or_default();
        format!("{}:{}:{}:{visit}", self.state.session_id, self.state.turn, self.node_key(node))
    }

    /// Renders the body of a request.
    fn render_body(&mut self, filling: &crate::config::flow::document::ValueTemplate, kind: Option<&str>, extra: &Map) -> RenderedBody {
        let Ok(tree) = &filling.compiled else {
            let sealed = TextWithSecrets { text: filling.source.to_string(), secrets: Vec::new() };
            return RenderedBody { sealed, kind: JSON_TYPE.to_owned(), part: "json" };
        };
        let names = self.scope_with(extra.clone());
        let (rendered, kind, part) = match (kind, &filling.source) {
            (Some("form"), _) => (tree.render_form(&names), "application/x-www-form-urlencoded".to_owned(), "form"),
            (Some("multipart"), _) => {
                let Interpolated { output: members, undefined } = tree.render_members(&names);
                let (body, boundary) = encode_multipart(members);
                (Interpolated { output: body, undefined }, format!("{MULTIPART_TYPE}; boundary={boundary}"), "body")
            }
            (Some("text") | None, Value::String(source)) => {
                (render_plain_text(source, &names), "text/plain; charset=utf-8".to_owned(), "body")
            }
            // A text is JSON already, unless it is a single placeholder, whose value is converted to JSON.
            _ => (tree.render_text(&names).unwrap_or_else(|| tree.render_with_secrets(&names)), JSON_TYPE.to_owned(), "json"),
        };
        self.warn_undefined(&rendered.undefined);
        RenderedBody { sealed: rendered.output, kind, part }
    }
}

/// A rendered body.
struct RenderedBody {
    sealed: TextWithSecrets,
    /// Its content type.
    kind: String,
    /// How secrets are escaped in it: as JSON (`json`), form-encoded (`form`), or not at all (`body`).
    part: &'static str,
}

/// Encodes a multipart form (RFC 7578). Returns the body and its boundary, which is a hash of all parts.
fn encode_multipart(members: Vec<(&str, TextWithSecrets)>) -> (TextWithSecrets, String) {
    let name = |it: &str| it.replace('\r', "%0D").replace('\n', "%0A").replace('"', "%22");
    let mut hash = crate::json::canonical::Hasher::default();
    members.iter().for_each(|(name, value)| hash.add_json(&serde_json::json!([name, value.text])));
    let boundary = format!("part-{:.32}", hash.finish());
    let mut body = TextWithSecrets::default();
    for (member, value) in members {
        body.text.push_str(&format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n", name(member)));
        let from = body.text.len();
        body.secrets.extend(value.secrets.into_iter().map(|(at, secret)| (from + at, secret)));
        body.text.push_str(&value.text);
        body.text.push_str("\r\n");
    }
    body.text.push_str(&format!("--{boundary}--\r\n"));
    (body, boundary)
}

fn render_plain_text(source: &str, names: &dyn crate::text::names::NameResolver) -> Interpolated<TextWithSecrets> {
    crate::text::interpolation::Interpolation::parse(source)
        .map(|it| it.render_with_secrets(names, OutputContext::Text))
        .unwrap_or_default()
}
