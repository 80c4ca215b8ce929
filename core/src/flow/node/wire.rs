//! Builds the HTTP requests of service nodes and agent tools: renders templates and lists the secrets to insert.

use serde_json::Value;

use super::super::Walk;
use super::super::fail::Failure;
use crate::config::flow::document::{FlowTool, Node, RequestForm, Retry, ServiceData, Template};
use crate::text::braces::{Place, Rendered, Sealed, encoded};
use crate::turn::{Class, EffectError, EffectErrorKind, HttpCaller, HttpReply, HttpRequest, Map, SecretHeader};

/// Default timeout in milliseconds.
const TIMEOUT_MS: u32 = 10_000;

/// Maximum response bytes of an agent tool.
const MAX_RESPONSE_BYTES: u32 = 262_144;

/// The header of the idempotency key.
const KEY_HEADER: &str = "Idempotency-Key";

/// Content type of JSON.
const JSON: &str = "application/json";

/// Content type of multipart forms.
const MULTIPART: &str = "multipart/form-data";

/// The header of the request signature.
const SIGNATURE: &str = "X-Convoship-Signature";

/// A call ready to be made.
pub(super) struct Call<'c> {
    pub request: HttpRequest,
    pub tool: Option<&'c FlowTool>,
    pub retry: Retry,
    /// Maximum attempts.
    pub attempts: u32,
    /// Successful statuses; all 2xx when empty.
    pub success: &'c [u16],
    /// Extra roots for the templates of its outputs.
    pub here: Map,
}

impl Call<'_> {
    /// Whether a status is successful.
    pub fn succeeds(&self, status: u16) -> bool {
        if self.success.is_empty() { (200..300).contains(&status) } else { self.success.contains(&status) }
    }
}

/// The parts of a call before its templates are rendered.
struct Plan<'c> {
    form: &'c RequestForm,
    tool: Option<&'c FlowTool>,
    caller: HttpCaller,
    /// Extra roots for its templates.
    here: Map,
    class: Option<Class>,
    timeout_ms: Option<u32>,
    max_bytes: u32,
    retry: Option<&'c Retry>,
    success: &'c [u16],
    /// The idempotency key of a write in the document.
    own_key: Option<&'c Template>,
    /// The default idempotency key of a write.
    key: String,
}

/// Prepares the call of a service node.
pub(super) fn of_node<'c>(walker: &mut Walk<'c>, node: &'c Node, data: &'c ServiceData) -> Result<Call<'c>, Failure> {
    let tool = match &data.tool_id {
        Some(id) => Some(walker.flow.tool(id).ok_or_else(|| Failure::new("tool_unknown", format!("there is no tool '{id}'")))?),
        None => None,
    };
    let form = data.request.as_ref().or_else(|| tool.and_then(|it| it.request.as_ref()));
    let form = form.ok_or_else(|| Failure::new("tool_unknown", "neither the node nor its tool says what to ask"))?;
    let plan = Plan {
        form,
        tool,
        caller: HttpCaller::Tool(tool.map_or_else(|| walker.place(node), |it| it.id.clone())),
        here: walker.arguments(data),
        class: data.effect_class,
        timeout_ms: data.timeout_ms,
        max_bytes: data.max_response_bytes,
        retry: data.retry.as_ref(),
        success: &data.success,
        own_key: data.idempotency_key.as_ref(),
        key: walker.visit_key(node),
    };
    call(walker, plan)
}

/// Prepares the call of an agent tool. Each call of a session gets its own idempotency key.
pub(super) fn of_tool<'c>(walker: &mut Walk<'c>, node: &'c Node, tool: &'c FlowTool, args: Value) -> Result<Call<'c>, Failure> {
    let form = tool.request.as_ref().ok_or_else(|| Failure::new("tool_unknown", "the tool does not say what to ask"))?;
    let key = format!("{}:{}", walker.visit_key(node), walker.state.usage.tool_calls);
    let plan = Plan {
        form,
        tool: Some(tool),
        caller: HttpCaller::Tool(tool.id.clone()),
        here: arguments(args),
        class: None,
        timeout_ms: None,
        max_bytes: MAX_RESPONSE_BYTES,
        retry: None,
        success: &[],
        own_key: None,
        key,
    };
    call(walker, plan)
}

/// The effect class of a tool: declared, or derived from its method.
pub(super) fn class_of(tool: &FlowTool) -> Class {
    let method = tool.request.as_ref().map(|it| it.method.as_str());
    tool.effect_class.unwrap_or(by_method(method.unwrap_or("POST")))
}

fn by_method(method: &str) -> Class {
    if ["GET", "HEAD"].contains(&method) { Class::Read } else { Class::Write }
}

fn call<'c>(walker: &mut Walk<'c>, plan: Plan<'c>) -> Result<Call<'c>, Failure> {
    let tool = plan.tool;
    let extra = plan.here;
    let mut request = request(walker, plan.form, plan.caller, &extra, plan.own_key.is_some())?;
    request.class = plan.class.or_else(|| tool.and_then(|it| it.effect_class)).unwrap_or(by_method(&request.method));
    request.timeout_ms = plan.timeout_ms.or_else(|| tool.and_then(|it| it.timeout_ms)).unwrap_or(TIMEOUT_MS).min(60_000);
    request.connect_timeout_ms = request.timeout_ms;
    request.max_bytes = plan.max_bytes;
    let retry = plan.retry.or_else(|| tool.and_then(|it| it.retry.as_ref()));
    let writes = matches!(request.class, Class::Write | Class::Irreversible);
    // Reads are tried three times, writes once; only a write with a declared key is retried (docs/spec/flow-rulings.md#3, #4).
    let attempts = match retry {
        _ if writes && plan.own_key.is_none() => 1,
        Some(retry) => retry.max_attempts,
        None if writes => 1,
        None => 3,
    };
    if writes {
        let key = match plan.own_key {
            Some(template) => own_key(walker, template, &extra)?,
            None => plan.key,
        };
        // A header in the document takes precedence over the default key.
        if !request.headers.iter().any(|it| it.0.eq_ignore_ascii_case(KEY_HEADER)) {
            request.headers.push((KEY_HEADER.to_owned(), key));
        }
        request.idempotent = plan.own_key.is_some();
    }
    if let Some(secret) = tool.and_then(|it| it.signing_secret.clone()) {
        request.sign = Some(SecretHeader { header: SIGNATURE.to_owned(), prefix: "sha256=".to_owned(), secret });
    }
    Ok(Call { request, tool, retry: retry.cloned().unwrap_or_default(), attempts, success: plan.success, here: extra })
}

/// Renders the declared idempotency key. A blank key is refused, because all writes would share it.
fn own_key(walker: &mut Walk<'_>, template: &Template, extra: &Map) -> Result<String, Failure> {
    let key = sealed(walker, template, Place::Header, extra, true)?.text;
    if key.trim().is_empty() { Err(Failure::new("template_undefined", "the key of a write is empty")) } else { Ok(key) }
}

/// Renders a request; `keyed` omits the idempotency header of the document.
fn request(walker: &mut Walk<'_>, form: &RequestForm, caller: HttpCaller, extra: &Map, keyed: bool) -> Result<HttpRequest, Failure> {
    let mut secrets = Vec::new();
    // Undefined names are allowed in the query, not in the path.
    let (path, query) = parted(&form.url.source);
    let mut url = sealed(walker, &path.into(), Place::Url, extra, true)?;
    if !query.is_empty() {
        let query = sealed(walker, &query.into(), Place::Url, extra, false)?;
        url.secrets.extend(query.secrets.into_iter().map(|(at, secret)| (url.text.len() + at, secret)));
        url.text.push_str(&query.text);
    }
    note(&mut secrets, "url", &url);
    for (name, value) in &form.query {
        url.text.push(if url.text.contains('?') { '&' } else { '?' });
        url.text.push_str(&encoded(name));
        url.text.push('=');
        let value = sealed(walker, value, Place::Query, extra, false)?;
        let from = url.text.len();
        secrets.extend(value.secrets.iter().map(|(at, secret)| format!("url {} {secret}", from + at)));
        url.text.push_str(&value.text);
    }
    let mut headers = Vec::new();
    for (name, value) in form.headers.iter().filter(|it| !keyed || !it.0.eq_ignore_ascii_case(KEY_HEADER)) {
        let value = sealed(walker, value, Place::Header, extra, true)?;
        note(&mut secrets, &headers.len().to_string(), &value);
        headers.push((name.clone(), value.text));
    }
    let mut body = None;
    if let Some(filling) = &form.body
        && form.body_type.as_deref() != Some("none")
    {
        let Body { sealed, kind, part } = walker.body(filling, form.body_type.as_deref(), extra);
        note(&mut secrets, part, &sealed);
        let of_author = headers.iter_mut().find(|it: &&mut (String, String)| it.0.eq_ignore_ascii_case("content-type"));
        match of_author {
            // Only this value has the boundary.
            Some(header) if kind.starts_with(MULTIPART) => header.1 = kind,
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
        connect_timeout_ms: TIMEOUT_MS,
        timeout_ms: TIMEOUT_MS,
        max_bytes: 0,
        class: Class::Read,
        idempotent: false,
        key: None,
        breaker: None,
        secrets,
        sign: None,
    })
}

/// Splits a URL into the part before the query and the query with its `?`. Placeholders are skipped; the fragment is dropped.
fn parted(url: &str) -> (String, String) {
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

fn note(secrets: &mut Vec<String>, part: &str, sealed: &Sealed) {
    secrets.extend(sealed.secrets.iter().map(|(at, secret)| format!("{part} {at} {secret}")));
}

/// Renders a part of a request; with `strict`, an undefined name is an error.
fn sealed(walker: &mut Walk<'_>, template: &Template, place: Place, extra: &Map, strict: bool) -> Result<Sealed, Failure> {
    let Ok(interpolation) = &template.compiled else {
        return Err(Failure::new("template_undefined", format!("the template '{}' cannot be read", template.source)));
    };
    let Rendered { said: part, undefined } = interpolation.sealed(&walker.scope_with(extra.clone()), place);
    walker.undefined(&undefined);
    match undefined.first().filter(|_| strict) {
        Some(name) => Err(Failure::new("template_undefined", format!("'{name}' is not defined"))),
        None => Ok(part),
    }
}

/// Whether the retry policy covers an outcome.
pub(super) fn retries(retry: &Retry, outcome: &Result<HttpReply, EffectError>) -> bool {
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
pub(super) fn longer(wait: u64, multiplier: f64) -> u64 {
    ((wait as f64 * multiplier).round() as u64).max(1)
}

/// Wraps arguments in the root `args`.
fn arguments(args: Value) -> Map {
    Map::from_iter([("args".to_owned(), if args.is_null() { Value::Object(Map::new()) } else { args })])
}

impl<'c> Walk<'c> {
    /// Renders the extra roots for the templates of a service node.
    pub(in crate::flow) fn arguments(&mut self, data: &'c ServiceData) -> Map {
        arguments(data.args.as_ref().map(|it| self.filled(it, Map::new())).unwrap_or_default())
    }

    /// The idempotency key of a visit of a node in a turn.
    fn visit_key(&self, node: &Node) -> String {
        let visit = self.state.counters.visits.get(&self.place(node)).copied().unwrap_or_default();
        format!("{}:{}:{}:{visit}", self.state.session_id, self.state.turn, self.place(node))
    }

    /// Renders the body of a request.
    fn body(&mut self, filling: &crate::config::flow::document::Filling, kind: Option<&str>, extra: &Map) -> Body {
        let Ok(tree) = &filling.compiled else {
            let sealed = Sealed { text: filling.source.to_string(), secrets: Vec::new() };
            return Body { sealed, kind: JSON.to_owned(), part: "json" };
        };
        let names = self.scope_with(extra.clone());
        let (rendered, kind, part) = match (kind, &filling.source) {
            (Some("form"), _) => (tree.form(&names), "application/x-www-form-urlencoded".to_owned(), "form"),
            (Some("multipart"), _) => {
                let Rendered { said: members, undefined } = tree.members(&names);
                let (body, boundary) = in_parts(members);
                (Rendered { said: body, undefined }, format!("{MULTIPART}; boundary={boundary}"), "body")
            }
            (Some("text") | None, Value::String(source)) => (whole(source, &names), "text/plain; charset=utf-8".to_owned(), "body"),
            // A text is JSON already, unless it is a single placeholder, whose value is converted to JSON.
            _ => (tree.text(&names).unwrap_or_else(|| tree.sealed(&names)), JSON.to_owned(), "json"),
        };
        self.undefined(&rendered.undefined);
        Body { sealed: rendered.said, kind, part }
    }
}

/// A rendered body.
struct Body {
    sealed: Sealed,
    /// Its content type.
    kind: String,
    /// How secrets are escaped in it: as JSON (`json`), form-encoded (`form`), or not at all (`body`).
    part: &'static str,
}

/// Encodes a multipart form (RFC 7578). Returns the body and its boundary, which is a hash of all parts.
fn in_parts(members: Vec<(&str, Sealed)>) -> (Sealed, String) {
    let name = |it: &str| it.replace('\r', "%0D").replace('\n', "%0A").replace('"', "%22");
    let mut hash = crate::json::canon::Hasher::default();
    members.iter().for_each(|(name, value)| hash.json(&serde_json::json!([name, value.text])));
    let boundary = format!("part-{:.32}", hash.finish());
    let mut body = Sealed::default();
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

fn whole(source: &str, names: &dyn crate::text::names::Names) -> Rendered<Sealed> {
    crate::text::braces::Braces::parse(source).map(|it| it.sealed(names, Place::Text)).unwrap_or_default()
}
