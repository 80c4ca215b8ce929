//! The request of a service node: its templates filled, its secrets named.

use serde_json::Value;

use super::super::Walk;
use super::super::fail::Failure;
use super::service::arguments;
use crate::config::flow::document::{FlowTool, Node, RequestForm, Retry, ServiceData};
use crate::text::braces::{Place, Rendered, Sealed};
use crate::turn::{Class, EffectError, EffectErrorKind, HttpCaller, HttpReply, HttpRequest, Map, SecretHeader};

/// Milliseconds that a service has where nothing else is said.
const TIMEOUT_MS: u32 = 10_000;

/// The header of a write's key.
const KEY_HEADER: &str = "Idempotency-Key";

/// The header of a signature.
const SIGNATURE: &str = "X-Convoship-Signature";

/// A call that is ready to be made.
pub(super) struct Call<'c> {
    pub request: HttpRequest,
    pub tool: Option<&'c FlowTool>,
    pub retry: Retry,
    /// How often it may be tried.
    pub attempts: u32,
    /// What templates of its outputs can name beside the session.
    pub here: Map,
}

/// Fills the request of a node.
pub(super) fn call<'c>(walk: &mut Walk<'c>, node: &'c Node, data: &'c ServiceData) -> Result<Call<'c>, Failure> {
    let tool = match &data.tool_id {
        Some(id) => Some(walk.flow.tool(id).ok_or_else(|| Failure::new("tool_unknown", format!("there is no tool '{id}'")))?),
        None => None,
    };
    let form = data.request.as_ref().or_else(|| tool.and_then(|it| it.request.as_ref()));
    let form = form.ok_or_else(|| Failure::new("tool_unknown", "neither the node nor its tool says what to ask"))?;
    let args = data.args.as_ref().map(|it| walk.filled(it, Map::new())).unwrap_or_default();
    let caller = match tool {
        Some(tool) => HttpCaller::Tool(tool.id.clone()),
        None => HttpCaller::Tool(walk.place(node)),
    };
    let here = arguments(args);
    let mut request = request(walk, form, caller, &here)?;
    let given = data.effect_class.or_else(|| tool.and_then(|it| it.effect_class));
    let reads = ["GET", "HEAD"].contains(&request.method.as_str());
    request.class = given.unwrap_or(if reads { Class::Read } else { Class::Write });
    request.timeout_ms = data.timeout_ms.or_else(|| tool.and_then(|it| it.timeout_ms)).unwrap_or(TIMEOUT_MS).min(60_000);
    request.connect_timeout_ms = request.timeout_ms;
    request.max_bytes = data.max_response_bytes;
    let retry = data.retry.as_ref().or_else(|| tool.and_then(|it| it.retry.as_ref()));
    let writes = matches!(request.class, Class::Write | Class::Irreversible);
    let own_key = data.idempotency_key.as_ref();
    if writes {
        let key = match own_key {
            Some(template) => walk.text(template),
            None => {
                let visit = walk.state.counters.visits.get(&walk.place(node)).copied().unwrap_or_default();
                format!("{}:{}:{}:{visit}", walk.state.session_id, walk.state.turn, walk.place(node))
            }
        };
        // The author's own words win over a key that nobody wrote.
        if own_key.is_some() {
            request.headers.retain(|it| !it.0.eq_ignore_ascii_case(KEY_HEADER));
        }
        if !request.headers.iter().any(|it| it.0.eq_ignore_ascii_case(KEY_HEADER)) {
            request.headers.push((KEY_HEADER.to_owned(), key));
        }
        request.idempotent = own_key.is_some();
    }
    if let Some(secret) = tool.and_then(|it| it.signing_secret.clone()) {
        request.sign = Some(SecretHeader { header: SIGNATURE.to_owned(), prefix: "sha256=".to_owned(), secret });
    }
    // Rulings 3 and 4: reads are tried three times, writes once; a write is tried again only with its author's own key.
    let attempts = match retry {
        _ if writes && own_key.is_none() => 1,
        Some(retry) => retry.max_attempts,
        None if writes => 1,
        None => 3,
    };
    Ok(Call { request, tool, retry: retry.cloned().unwrap_or_default(), attempts, here })
}

fn request(walk: &mut Walk<'_>, form: &RequestForm, caller: HttpCaller, here: &Map) -> Result<HttpRequest, Failure> {
    let mut secrets = Vec::new();
    // What is not defined may be left out of a query, not out of a path.
    let (path, query) = before_query(&form.url.source);
    let mut url = sealed(walk, &path.into(), Place::Url, here, true)?;
    if !query.is_empty() {
        let query = sealed(walk, &query.into(), Place::Url, here, false)?;
        url.secrets.extend(query.secrets.into_iter().map(|(at, secret)| (url.text.len() + at, secret)));
        url.text.push_str(&query.text);
    }
    note(&mut secrets, "url", &url);
    for (name, value) in &form.query {
        url.text.push(if url.text.contains('?') { '&' } else { '?' });
        url.text.push_str(name);
        url.text.push('=');
        let value = sealed(walk, value, Place::Url, here, false)?;
        let from = url.text.len();
        secrets.extend(value.secrets.iter().map(|(at, secret)| format!("url {} {secret}", from + at)));
        url.text.push_str(&value.text);
    }
    let mut headers = Vec::new();
    for (name, value) in &form.headers {
        let value = sealed(walk, value, Place::Header, here, true)?;
        note(&mut secrets, &headers.len().to_string(), &value);
        headers.push((name.clone(), value.text));
    }
    let mut body = None;
    if let Some(filling) = &form.body
        && form.body_type.as_deref() != Some("none")
    {
        let (sealed, kind) = walk.body(filling, form.body_type.as_deref(), here);
        note(&mut secrets, "body", &sealed);
        if !headers.iter().any(|it: &(String, String)| it.0.eq_ignore_ascii_case("content-type")) {
            headers.push(("Content-Type".to_owned(), kind.to_owned()));
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

/// An address up to its query, and the query with its question mark; one within a hole begins none.
fn before_query(url: &str) -> (String, String) {
    let mut within = false;
    for (at, character) in url.char_indices() {
        let rest = url.get(at..).unwrap_or_default();
        within = if within { !rest.starts_with("}}") } else { rest.starts_with("{{") };
        if character == '?' && !within {
            let (path, query) = url.split_at(at);
            return (path.to_owned(), query.to_owned());
        }
    }
    (url.to_owned(), String::new())
}

fn note(secrets: &mut Vec<String>, part: &str, sealed: &Sealed) {
    secrets.extend(sealed.secrets.iter().map(|(at, secret)| format!("{part} {at} {secret}")));
}

/// A part of a request; a name that is not defined fails the address and the headers.
fn sealed(
    walk: &mut Walk<'_>,
    template: &crate::config::flow::document::Template,
    place: Place,
    here: &Map,
    strict: bool,
) -> Result<Sealed, Failure> {
    let Ok(braces) = &template.compiled else {
        return Err(Failure::new("template_undefined", format!("the template '{}' cannot be read", template.source)));
    };
    let Rendered { said, undefined } = braces.sealed(&walk.scope_with(here.clone()), place);
    walk.undefined(&undefined);
    match undefined.first().filter(|_| strict) {
        Some(name) => Err(Failure::new("template_undefined", format!("'{name}' is not defined"))),
        None => Ok(said),
    }
}

/// Whether another attempt may do better.
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

/// The next wait.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "milliseconds are small")]
pub(super) fn longer(wait: u64, multiplier: f64) -> u64 {
    ((wait as f64 * multiplier).round() as u64).max(1)
}

impl<'c> Walk<'c> {
    /// The body of a request and its type.
    fn body(&mut self, filling: &crate::config::flow::document::Filling, kind: Option<&str>, here: &Map) -> (Sealed, &'static str) {
        let Ok(tree) = &filling.compiled else {
            return (Sealed { text: filling.source.to_string(), secrets: Vec::new() }, "application/json");
        };
        match (kind, &filling.source) {
            (Some("form"), _) => {
                let Rendered { said, undefined } = tree.form(&self.scope_with(here.clone()));
                self.undefined(&undefined);
                (said, "application/x-www-form-urlencoded")
            }
            (Some("text"), Value::String(source)) | (None, Value::String(source)) => {
                let braces = crate::text::braces::Braces::parse(source);
                let rendered = braces.map(|it| it.sealed(&self.scope_with(here.clone()), Place::Text)).unwrap_or_default();
                self.undefined(&rendered.undefined);
                (rendered.said, "text/plain; charset=utf-8")
            }
            _ => {
                let Rendered { said, undefined } = tree.sealed(&self.scope_with(here.clone()));
                self.undefined(&undefined);
                (said, "application/json")
            }
        }
    }
}
