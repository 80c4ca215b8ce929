//! Logs the failures of models and tasks, without secrets and without texts of users.

use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, HttpCaller, LlmRequest, Reply, Request};
use serde_json::Value;

/// The length of a part of a request, in characters, that is left out of a logged message.
const REPEATED_CHARS: usize = 12;

/// Texts of at most this length, such as `ok`, stand in many messages by chance and tell nothing.
const SHORT_CHARS: usize = 5;

/// Logs the failure of a model or a task; `provider` is the model's.
pub fn log_failure(request: &Request, outcome: &EffectResult, provider: Option<(&str, &str)>) {
    match (request, outcome) {
        (Request::Llm(it), EffectResult::Error(error)) => {
            log_model_failure(provider, &it.purpose, &llm_texts(it), error, "model call failed");
        }
        (Request::Embed(it), EffectResult::Error(error)) => {
            log_model_failure(provider, "embed", &it.texts, error, "model call failed");
        }
        (Request::PhraseSearch(it), EffectResult::Error(error)) => {
            log_model_failure(provider, "embed", std::slice::from_ref(&it.text), error, "cannot compare a message with phrases");
        }
        (_, EffectResult::Error(error)) if error.kind != EffectErrorKind::Cancelled => {
            if let Some((provider, task)) = task_of(request) {
                let (status, kind, cause) = (error.status, kind_name(error), quote(&error.message, &texts_of(request)));
                tracing::error!(provider, task, status, kind, cause, "task failed");
            }
        }
        (_, EffectResult::Ok(Reply::Http(reply))) if reply.status >= 400 => {
            if let Some((provider, task)) = task_of(request) {
                tracing::error!(provider, task, status = reply.status, kind = "refused", "task failed");
            }
        }
        _ => {}
    }
}

/// The texts of a model call, which its failure may not show.
pub fn llm_texts(request: &LlmRequest) -> Vec<String> {
    vec![request.user_text.clone(), request.prompt().to_string()]
}

/// Logs the failure of a model; `sent` are the texts that it got.
pub fn log_model_failure(provider: Option<(&str, &str)>, purpose: &str, sent: &[String], error: &EffectError, what: &str) {
    let (provider, model) = provider.unwrap_or(("none", ""));
    let (status, kind, cause) = (error.status, kind_name(error), quote(&error.message, sent));
    tracing::error!(provider, model, purpose, status, kind, cause, "{what}");
}

fn task_of(request: &Request) -> Option<(&'static str, &str)> {
    match request {
        Request::Task(it) => Some(("host", &it.task)),
        Request::Extension(it) => Some(("extension", &it.extension)),
        Request::Http(it) => match &it.caller {
            HttpCaller::Task(task) => Some(("service", task)),
            _ => None,
        },
        _ => None,
    }
}

/// The kind of an error as it is stored.
fn kind_name(error: &EffectError) -> String {
    if let Some(detail) = &error.detail {
        return detail.code().to_owned();
    }
    serde_json::to_value(error.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default()
}

/// All texts of a request.
fn texts_of(request: &Request) -> Vec<String> {
    let (mut texts, mut open) = (Vec::new(), Vec::from_iter(serde_json::to_value(request)));
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => texts.push(text),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.into_iter().map(|it| it.1)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    texts
}

/// The message of a provider, with an ellipsis from the first to the last character that repeats what it was sent, which may be what a
/// user wrote.
fn quote(message: &str, sent: &[String]) -> String {
    let characters: Vec<usize> = message.char_indices().map(|it| it.0).chain([message.len()]).collect();
    let windows = characters.iter().zip(characters.iter().skip(REPEATED_CHARS)).map(|(from, to)| (*from, *to));
    let repeated = windows.filter(|(from, to)| message.get(*from..*to).is_some_and(|part| sent.iter().any(|text| text.contains(part))));
    let whole = sent.iter().map(|it| it.trim()).filter(|text| text.chars().nth(SHORT_CHARS).is_some());
    let whole = whole.flat_map(|text| message.match_indices(text).map(|(at, found)| (at, at + found.len())));
    let parts: Vec<(usize, usize)> = repeated.chain(whole).collect();
    let (Some(from), Some(to)) = (parts.iter().map(|it| it.0).min(), parts.iter().map(|it| it.1).max()) else { return message.to_owned() };
    let (before, repeated) = message.split_at(from);
    let (repeated, after) = repeated.split_at(to - from);
    // The rest of a word that is repeated in part goes, too.
    let is_word = |it: char| it.is_alphanumeric();
    let before = if repeated.starts_with(is_word) { before.trim_end_matches(is_word) } else { before };
    let after = if repeated.ends_with(is_word) { after.trim_start_matches(is_word) } else { after };
    format!("{before}…{after}")
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn what_a_message_repeats_is_left_out() {
        let sent = ["my card is 4111 1111 1111 1111".to_owned(), "Answer politely. my card is 4111 1111 1111 1111".to_owned()];
        assert_eq!(quote("incorrect API key", &sent), "incorrect API key");
        for (message, logged) in [
            ("cannot parse 'my card is 4111 1111'", "cannot parse '…'"),
            ("unexpected: my card is 4111 1111 1111 1111", "unexpected:…"),
            ("é 1111 1111 1111 é", "é…é"),
            ("no 4111 1111 1111, but 5 and 1111 1111 1111 end", "no…end"),
        ] {
            assert_eq!(quote(message, &sent), logged.to_owned(), "{message}");
        }
        assert_eq!(quote("no such model", &["no".to_owned()]), "no such model");
        assert_eq!(quote("bad value: Sigrid!", &["Sigrid".to_owned()]), "bad value: …!");
        assert_eq!(quote("busy", &[String::new()]), "busy");
    }
}
