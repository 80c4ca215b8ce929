//! Tasks that an extension carries out: it is started, asks for what its manifest allows, and ends with a patch. (`architecture.md` 12)

use serde_json::{Value, json};

use super::said::{Asked, End, Said, Wish};
use super::{Call, publish};
use crate::config::Extension;
use crate::llm::{self, Prompts};
use crate::turn::{
    Answer, Class, EffectError, EffectErrorKind, ExtensionRequest, HttpCaller, HttpRequest, LlmMode, Reply, SecretHeader, SleepRequest,
    TaskReply,
};
use crate::turning::Turning;

/// The form of messages that extensions are spoken to in.
const ABI: u32 = 1;

/// How often an extension may ask in one call.
const ROUNDS: usize = 8;

/// What it may ask for at once.
const AT_ONCE: usize = 8;

/// Milliseconds for a call of a service, and bytes of its answer.
const HTTP_TIMEOUT_MS: u32 = 10_000;
const HTTP_BYTES: u32 = 1_048_576;

/// Has an extension carry a task out.
pub(super) async fn call(t: &mut Turning<'_>, name: &str, call: &Call) -> Result<TaskReply, EffectError> {
    let config = t.config;
    let Some(extension) = config.extensions.find(name) else {
        let reason = format!("there is no extension '{name}': add it to the pack, or import one that has it");
        return Err(EffectError::new(EffectErrorKind::NotFound, reason));
    };
    let mut messages = vec![start(t, call)];
    for _ in 0..ROUNDS {
        let request = ExtensionRequest {
            extension: extension.name.clone(),
            module: extension.module.clone(),
            messages: messages.clone(),
            memory_bytes: extension.memory_bytes,
            timeout_ms: extension.timeout_ms,
        };
        let said = t.door.perform(request).await?.said;
        let said: Said = serde_json::from_value(said).map_err(|it| broken(name, &it.to_string()))?;
        said.notices.iter().for_each(|it| publish::publication(t, it));
        match said.end {
            Some(End::Patch(changes)) => return Ok(changes.reply()),
            Some(End::Fault { code, message }) => {
                return Err(EffectError::new(EffectErrorKind::Refused, format!("the extension '{name}' failed with {code}: {message}")));
            }
            None => messages.push(answers(t, extension, said.effects).await?),
        }
    }
    Err(broken(name, &format!("it asked more than {ROUNDS} times")))
}

fn start(t: &Turning<'_>, call: &Call) -> Value {
    let mut what = json!({"task": call.task});
    let place = match (&call.input, call.place) {
        // A hook is told its step and moment, and has no other input.
        (Some(input), Some(place)) if call.called_for == crate::turn::TaskUse::Hook => {
            vec![("hook", json!(place)), ("step", input.get("step").cloned().unwrap_or_default())]
        }
        (_, Some(place)) => vec![("transform", json!(place))],
        (_, None) => Vec::new(),
    };
    what.as_object_mut().into_iter().for_each(|it| it.extend(place.iter().map(|(key, value)| ((*key).to_owned(), value.clone()))));
    // Below 2^53, so that every language keeps the number.
    let seed = t.door.random() >> 11;
    json!({"abi": ABI, "call": what, "input": call.input, "view": t.session.task_view(), "at": t.door.now(), "seed": seed})
}

/// Answers what an extension asks for, in its order.
async fn answers(t: &mut Turning<'_>, extension: &Extension, asked: Vec<Asked>) -> Result<Value, EffectError> {
    if asked.is_empty() || asked.len() > AT_ONCE {
        return Err(broken(&extension.name, &format!("it has to end, or to ask for 1 to {AT_ONCE} things at once")));
    }
    let mut completions = Vec::with_capacity(asked.len());
    for Asked { id, request } in asked {
        let outcome = match allowed(extension, &request) {
            Ok(()) => perform(t, extension, request).await,
            Err(reason) => Err(EffectError::new(EffectErrorKind::Denied, reason)),
        };
        completions.push(json!({"id": id, "at": t.door.now(), "outcome": Answer::from(outcome)}));
    }
    Ok(json!({"completions": completions}))
}

/// Whether the manifest allows a request.
fn allowed(extension: &Extension, wish: &Wish) -> Result<(), String> {
    let kind = wish.kind();
    if !extension.requests.iter().any(|it| it == kind) {
        return Err(format!("the extension may not ask for '{kind}': add it to its 'requests'"));
    }
    let Wish::Http { url, secret, .. } = wish else { return Ok(()) };
    let host = host(url).ok_or("the address has no host")?;
    if !extension.may_call(&host) {
        return Err(format!("the extension may not call '{host}': add it to its 'hosts'"));
    }
    match secret {
        Some(secret) if !extension.secrets.contains(secret) => {
            Err(format!("the extension may not send the secret '{secret}': add it to its 'secrets'"))
        }
        Some(_) | None => Ok(()),
    }
}

/// `host` or `host:port` of an address; nothing when it is none, or when it carries a user, whose name could pass for a host.
fn host(url: &str) -> Option<String> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))
        .or_else(|| url.starts_with(crate::turn::STUB).then_some(url))?;
    let host = rest.split(['/', '?', '#', '\\']).next()?;
    (!host.is_empty() && !host.contains('@')).then(|| host.to_ascii_lowercase())
}

async fn perform(t: &mut Turning<'_>, extension: &Extension, wish: Wish) -> Result<Reply, EffectError> {
    match wish {
        Wish::Http { method, url, headers, body, secret } => {
            let method = method.to_uppercase();
            let auth = secret.map(|secret| SecretHeader { header: "Authorization".to_owned(), prefix: "Bearer ".to_owned(), secret });
            let request = HttpRequest {
                caller: HttpCaller::Extension(extension.name.clone()),
                class: if ["GET", "HEAD"].contains(&method.as_str()) { Class::Read } else { Class::Write },
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
            t.door.perform(request).await.map(Reply::Http)
        }
        Wish::Llm { system, user, schema } => {
            let mode = if schema.is_some() { LlmMode::JsonStrict } else { LlmMode::Text };
            llm::ask(t, "agent", mode, Prompts { system, user, hint: None }, schema).await.map(Reply::Llm)
        }
        Wish::Sleep { ms } => t.door.perform(SleepRequest::of(ms)).await.map(|()| Reply::Slept),
    }
}

fn broken(name: &str, reason: &str) -> EffectError {
    EffectError::new(EffectErrorKind::Invalid, format!("the extension '{name}' does not keep to the protocol: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_what_is_called_and_nothing_else() {
        for (url, expected) in [
            ("https://Rates.example:443/a?b", Some("rates.example:443")),
            ("http://rates.example", Some("rates.example")),
            ("http://rates.example@evil.example/", None),
            ("http://evil.example\\@rates.example/", Some("evil.example")),
            ("file:///etc/passwd", None),
            ("https:///x", None),
        ] {
            assert_eq!(host(url).as_deref(), expected, "{url}");
        }
    }
}
