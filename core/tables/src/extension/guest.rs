//! Tasks that an extension runs: it starts, requests effects that its manifest allows, and ends with a patch.
//! (docs/spec/architecture.md#12)

use convengine_config::Extension;
use convengine_text::json;
use convengine_turn::{
    EffectClass, EffectError, EffectErrorKind, EffectResult, ExtensionRequest, HttpCaller, HttpRequest, LlmMode, Reply, SecretHeader,
    SleepRequest, TaskReply,
};
use serde_json::{Value, json};

use super::TaskCall;
use super::message::{CallEnd, ExtensionMessage, GuestHttp, GuestLlm, GuestRequest, GuestSleep, NumberedRequest};
use super::publish::Publisher;
use crate::llm::{self, Prompts};
use crate::step_context::StepContext;

/// Version of the message format.
const ABI_VERSION: u32 = 1;

/// Messages with requests that an extension may send per call.
const MAX_ROUNDS: usize = 8;

/// Requests per message.
const MAX_REQUESTS_PER_MESSAGE: usize = 8;

/// Timeout of a service call in milliseconds, and the maximum size of its answer in bytes.
const HTTP_TIMEOUT_MS: u32 = 10_000;
const HTTP_BYTES: u32 = 1_048_576;

/// Runs a task as an extension call.
pub(super) async fn call_extension(cx: &mut StepContext<'_>, name: &str, call: &TaskCall) -> Result<TaskReply, EffectError> {
    let config = cx.config;
    let Some(extension) = config.extensions.find(name) else {
        let reason = format!("unknown extension '{name}': add it to the pack, or import one that has it");
        return Err(EffectError::new(EffectErrorKind::NotFound, reason));
    };
    let mut messages = vec![start_message(cx, call)];
    for _ in 0..MAX_ROUNDS {
        let request = ExtensionRequest {
            extension: extension.name.clone(),
            module: extension.module.clone(),
            messages: messages.clone(),
            memory_bytes: extension.memory_bytes,
            timeout_ms: extension.timeout_ms,
        };
        let output = cx.effects.perform(request).await?.message;
        let output: ExtensionMessage = json::decode(&output).map_err(|error| protocol_error(name, &error.to_string()))?;
        let publisher = Publisher::with_templates(&call.task);
        output.notices.iter().for_each(|it| publisher.publish(cx, it));
        match output.end {
            Some(CallEnd::Patch(changes)) => return Ok(changes.into_reply()),
            Some(CallEnd::Fault { code, message }) => {
                return Err(EffectError::new(EffectErrorKind::Refused, format!("the extension '{name}' failed with {code}: {message}")));
            }
            None => messages.push(answer_requests(cx, extension, output.effects).await?),
        }
    }
    Err(protocol_error(name, &format!("it asked more than {MAX_ROUNDS} times")))
}

fn start_message(cx: &StepContext<'_>, call: &TaskCall) -> Value {
    let mut target = json!({"task": call.task});
    let members = match (&call.input, call.placement) {
        // A hook gets its step and moment only.
        (Some(input), Some(members)) if call.called_for == convengine_turn::TaskUse::Hook => {
            vec![("hook", json!(members)), ("step", input.get("step").cloned().unwrap_or_default())]
        }
        (_, Some(members)) => vec![("transform", json!(members))],
        (_, None) => Vec::new(),
    };
    let container = call.container.as_ref().map(|it| ("container", json!(it)));
    if let Some(target) = target.as_object_mut() {
        target.extend(members.into_iter().chain(container).map(|(key, value)| (key.to_owned(), value)));
    }
    // Below 2^53, so that every language can represent the number exactly.
    let seed = cx.effects.random() >> 11;
    json!({"abi": ABI_VERSION, "call": target, "input": call.input, "view": cx.session.task_view(), "at": cx.effects.now(), "seed": seed})
}

/// Answers the requests of an extension, in their order.
async fn answer_requests(cx: &mut StepContext<'_>, extension: &Extension, requests: Vec<NumberedRequest>) -> Result<Value, EffectError> {
    if requests.is_empty() || requests.len() > MAX_REQUESTS_PER_MESSAGE {
        return Err(protocol_error(
            &extension.name,
            &format!("it has to end, or to ask for 1 to {MAX_REQUESTS_PER_MESSAGE} things at once"),
        ));
    }
    let mut completions = Vec::with_capacity(requests.len());
    for NumberedRequest { id, request } in requests {
        let outcome = match check_allowed(extension, &request) {
            Ok(()) => perform_request(cx, extension, request).await,
            Err(reason) => Err(EffectError::new(EffectErrorKind::Denied, reason)),
        };
        completions.push(json!({"id": id, "at": cx.effects.now(), "outcome": EffectResult::from(outcome)}));
    }
    Ok(json!({"completions": completions}))
}

/// Checks a request against the manifest.
fn check_allowed(extension: &Extension, request: &GuestRequest) -> Result<(), String> {
    let kind = request.kind();
    if !extension.requests.iter().any(|it| it == kind) {
        return Err(format!("the extension may not ask for '{kind}': add it to its 'requests'"));
    }
    let GuestRequest::Http(GuestHttp { url, secret, .. }) = request else { return Ok(()) };
    let host = parse_host(url).ok_or("the address has no host")?;
    if !extension.can_call(&host) {
        return Err(format!("the extension may not call '{host}': add it to its 'hosts'"));
    }
    match secret {
        Some(secret) if !extension.secrets.contains(secret) => {
            Err(format!("the extension may not send the secret '{secret}': add it to its 'secrets'"))
        }
        Some(_) | None => Ok(()),
    }
}

/// `host` or `host:port` of a URL; `None` when it is invalid or has a user part, which could pass for a host.
fn parse_host(url: &str) -> Option<String> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))
        .or_else(|| url.starts_with(convengine_turn::STUB_ADDRESS).then_some(url))?;
    let host = rest.split(['/', '?', '#', '\\']).next()?;
    (!host.is_empty() && !host.contains('@')).then(|| host.to_ascii_lowercase())
}

async fn perform_request(cx: &mut StepContext<'_>, extension: &Extension, request: GuestRequest) -> Result<Reply, EffectError> {
    match request {
        GuestRequest::Http(GuestHttp { method, url, headers, body, secret }) => {
            let method = method.to_uppercase();
            let auth = secret.map(SecretHeader::bearer);
            let request = HttpRequest {
                caller: HttpCaller::Extension(extension.name.clone()),
                class: EffectClass::from_method(&method),
                idempotent: ["PUT", "DELETE"].contains(&method.as_str()),
                method,
                url,
                headers,
                body,
                auth,
                connect_timeout_ms: HTTP_TIMEOUT_MS,
                timeout_ms: HTTP_TIMEOUT_MS,
                max_bytes: HTTP_BYTES,
                key: None,
                breaker: None,
                secrets: Vec::new(),
                sign: None,
            };
            cx.effects.perform(request).await.map(Reply::Http)
        }
        GuestRequest::Llm(GuestLlm { system, user, schema }) => {
            let mode = if schema.is_some() { LlmMode::JsonStrict } else { LlmMode::Text };
            llm::call_model(cx, "agent", mode, Prompts { system, user, hint: None }, schema).await.map(Reply::Llm)
        }
        GuestRequest::Sleep(GuestSleep { ms }) => cx.effects.perform(SleepRequest::new(ms)).await.map(|()| Reply::Slept),
    }
}

fn protocol_error(name: &str, reason: &str) -> EffectError {
    EffectError::new(EffectErrorKind::Invalid, format!("the extension '{name}' does not keep to the protocol: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_real_host_is_parsed() {
        for (url, expected) in [
            ("https://Rates.example:443/a?b", Some("rates.example:443")),
            ("http://rates.example", Some("rates.example")),
            ("http://rates.example@evil.example/", None),
            ("http://evil.example\\@rates.example/", Some("evil.example")),
            ("file:///etc/passwd", None),
            ("https:///x", None),
        ] {
            assert_eq!(parse_host(url).as_deref(), expected, "{url}");
        }
    }
}
