//! Service calls for tools and tasks: rendering, retries and response mapping. (docs/spec/architecture.md#D7)

mod fill;

pub use fill::TemplateScope;

use convengine_config::{HttpCall, ResponseMapping, ValueSource};
use convengine_text::json::path::JsonPath;
use convengine_text::value::TEMPLATE;
use convengine_turn::backoff::{Backoff, MAX_RETRY_AFTER_MS, wait};
use convengine_turn::{
    BreakerPolicy, EffectClass, EffectError, EffectErrorKind, HttpCaller, HttpReply, HttpRequest, Map, Millis, RetryConditions,
};
use serde_json::{Value, json};

use crate::step_context::StepContext;

/// Characters of an error body that are passed on to the planner.
const MAX_EXCERPT_CHARS: usize = 300;

/// The final answer of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceReply {
    /// The envelope for tools: `{status, attempt, latencyMs, mapped}`.
    pub envelope: Value,
    /// The mapped answer only.
    pub mapped: Value,
}

/// Calls a service, with retries.
///
/// # Errors
/// The request cannot be rendered, the host's error of the last attempt, or the error status of the service.
pub async fn call_service(
    cx: &StepContext<'_>,
    caller: HttpCaller,
    call: &HttpCall,
    values: &Map,
    arguments: &Map,
) -> Result<ServiceReply, EffectError> {
    let mut request = build_request(cx, caller, call, values, arguments)?;
    let policy = &call.policy;
    let mut backoff = Backoff::new(policy.initial_backoff_ms.into(), policy.backoff_multiplier, policy.max_backoff_ms.into());
    let mut attempt = 1;
    let mut may_have_acted = false;
    loop {
        let is_last = attempt >= policy.max_attempts;
        if let Some(breaker) = request.breaker.as_mut().filter(|_| is_last) {
            breaker.retries = RetryConditions::default();
        }
        let requested_at = cx.effects.now();
        let key = cx.effects.next_key();
        let outcome = cx.effects.perform(request.clone()).await;
        let (failure, status) = match outcome {
            Ok(reply) if (200..300).contains(&reply.status) => {
                return map_reply(call, &reply, attempt, cx.effects.now().saturating_sub(requested_at));
            }
            Ok(reply) => (refusal_error(&reply, attempt), Some(reply.status)),
            // What an earlier attempt may have done is not undone by one that was not sent.
            Err(error) => (EffectError { unsent: error.unsent && !may_have_acted, ..error }, None),
        };
        may_have_acted |= failure.may_have_acted();
        let next = backoff.next_wait(failure.retry_after_ms).filter(|it| *it <= MAX_RETRY_AFTER_MS);
        let Some(next) = next.filter(|_| !is_last && can_retry(call, status, &failure)) else { return Err(failure) };
        wait(&cx.effects, next).await;
        request.key.get_or_insert(key);
        attempt += 1;
    }
}

fn build_request(
    cx: &StepContext<'_>,
    caller: HttpCaller,
    call: &HttpCall,
    values: &Map,
    arguments: &Map,
) -> Result<HttpRequest, EffectError> {
    let filled = TemplateScope { session: &cx.session, values };
    let invalid = |reason: String| EffectError::new(EffectErrorKind::Invalid, reason);
    let mut headers = text_pairs(&filled.render_args(&call.headers));
    let body = match &call.body {
        ValueSource::Empty => None,
        ValueSource::AllArguments => Some(Value::Object(arguments.clone()).to_string()),
        ValueSource::Templates(args) => Some(Value::Object(filled.render_args(args)).to_string()),
    };
    if body.is_some() && !headers.iter().any(|it| it.0.eq_ignore_ascii_case("content-type")) {
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    }
    let query = match &call.query {
        ValueSource::Empty => Map::new(),
        ValueSource::AllArguments => arguments.clone(),
        ValueSource::Templates(args) => filled.render_args(args),
    };
    let path = fill::render_path(&call.path, &filled).map_err(invalid)?;
    let policy = &call.policy;
    let retries = RetryConditions { statuses: policy.retry_status_codes.clone(), io: policy.retry_on_io_exception };
    let breaker = policy.circuit_breaker_enabled.then_some(BreakerPolicy {
        threshold: policy.circuit_failure_threshold,
        open_ms: policy.circuit_open_ms,
        retries,
        only_outages: false,
    });
    let class = EffectClass::from_method(&call.method);
    Ok(HttpRequest {
        caller,
        class,
        idempotent: class == EffectClass::Write && call.idempotent,
        method: call.method.clone(),
        url: format!("{}{path}{}", call.origin, fill::encode_query(&text_pairs(&query))),
        headers,
        body,
        auth: call.auth.clone(),
        connect_timeout_ms: policy.connect_timeout_ms,
        timeout_ms: policy.read_timeout_ms,
        max_bytes: policy.max_response_bytes,
        key: None,
        breaker,
        secrets: Vec::new(),
        sign: None,
    })
}

/// Names and texts; nulls are skipped.
fn text_pairs(values: &Map) -> Vec<(String, String)> {
    let pair = |(name, value): (&String, &Value)| (name.clone(), TEMPLATE.print(value).into_owned());
    values.iter().filter(|(name, value)| !name.trim().is_empty() && !value.is_null()).map(pair).collect()
}

/// Whether another attempt may succeed without executing anything twice.
fn can_retry(call: &HttpCall, status: Option<u16>, failure: &EffectError) -> bool {
    let policy = &call.policy;
    match status {
        // 429 and 503 mean that nothing was executed; after other statuses only an idempotent call is retried.
        Some(status @ (429 | 503)) => policy.retry_status_codes.contains(&status),
        Some(status) => call.idempotent && policy.retry_status_codes.contains(&status),
        None => failure.kind.is_outage() && call.idempotent && policy.retry_on_io_exception,
    }
}

fn refusal_error(reply: &HttpReply, attempt: u32) -> EffectError {
    let kind = match reply.status {
        401 | 403 => EffectErrorKind::Denied,
        404 => EffectErrorKind::NotFound,
        429 => EffectErrorKind::Limited,
        500.. => EffectErrorKind::Unavailable,
        _ => EffectErrorKind::Refused,
    };
    let excerpt: String = reply.body.trim().chars().take(MAX_EXCERPT_CHARS).collect();
    let suffix = if (400..500).contains(&reply.status) && !excerpt.is_empty() { format!(": {excerpt}") } else { String::new() };
    let message = format!("the service answered with status {} in attempt {attempt}{suffix}", reply.status);
    EffectError { status: Some(reply.status), retry_after_ms: reply.retry_after_ms, ..EffectError::new(kind, message) }
}

fn map_reply(call: &HttpCall, reply: &HttpReply, attempt: u32, latency_ms: Millis) -> Result<ServiceReply, EffectError> {
    let mapped = map_body(&call.mapping, &reply.body).map_err(|it| EffectError::new(EffectErrorKind::Invalid, it))?;
    let envelope = json!({"status": reply.status, "attempt": attempt, "latencyMs": latency_ms, "mapped": mapped});
    Ok(ServiceReply { envelope, mapped })
}

/// Maps a response body. (docs/spec/tools.md#3.3)
fn map_body(mapping: &ResponseMapping, body: &str) -> Result<Value, String> {
    let raw = || match body.trim() {
        "" => json!({}),
        text => serde_json::from_str(text).unwrap_or_else(|_| json!({"text": body})),
    };
    let at = |path: &JsonPath, document: &Value| {
        path.value(document).ok_or_else(|| "the answer has nothing at a path of its mapping".to_owned())
    };
    match mapping {
        ResponseMapping::RawJson => Ok(raw()),
        ResponseMapping::Text => Ok(Value::from(body)),
        ResponseMapping::JsonPath(path) => at(path, &raw()),
        ResponseMapping::Fields(fields) => {
            let document = raw();
            let field =
                |(name, path): &(String, JsonPath)| Ok((name.clone(), at(path, &document).map_err(|error| format!("{error}: '{name}'"))?));
            fields.iter().map(field).collect::<Result<Map, String>>().map(Value::Object)
        }
    }
}
