//! Logs the failures of models and tasks, without secrets and without texts of users.

use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, HttpCaller, LlmRequest, Reply, Request};

/// The length of a part of a request, in characters, that a logged message may not repeat.
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
        (_, EffectResult::Error(error)) if error.kind != EffectErrorKind::Cancelled => {
            if let Some((provider, task)) = task_of(request) {
                let (status, kind) = (error.status, kind_name(error));
                tracing::error!(provider, task, status, kind, "task failed");
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
    let (status, kind, cause) = (error.status, kind_name(error), quotable(&error.message, sent));
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
    serde_json::to_value(error.kind).ok().and_then(|it| it.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The message of a provider, unless it repeats what it was sent, which may be what a user wrote.
fn quotable<'m>(message: &'m str, sent: &[String]) -> Option<&'m str> {
    let characters: Vec<(usize, char)> = message.char_indices().collect();
    let part = |at: usize| {
        let end = characters.get(at + REPEATED_CHARS).map_or(message.len(), |it| it.0);
        message.get(characters.get(at).map_or(0, |it| it.0)..end).unwrap_or_default()
    };
    let repeats = |text: &String| {
        let whole = text.trim();
        let is_in_message = whole.chars().nth(SHORT_CHARS).is_some() && message.contains(whole);
        is_in_message || (0..characters.len().saturating_sub(REPEATED_CHARS - 1)).any(|at| text.contains(part(at)))
    };
    (!sent.iter().any(repeats)).then_some(message)
}

#[cfg(test)]
mod tests {
    use super::quotable;

    #[test]
    fn a_message_that_repeats_a_text_is_not_logged() {
        let sent = ["my card is 4111 1111 1111 1111".to_owned(), "Answer politely. my card is 4111 1111 1111 1111".to_owned()];
        assert_eq!(quotable("incorrect API key", &sent), Some("incorrect API key"));
        for message in ["cannot parse 'my card is 4111 1111'", "unexpected: my card is 4111 1111 1111 1111", "é 1111 1111 1111 é"] {
            assert_eq!(quotable(message, &sent), None, "{message}");
        }
        assert_eq!(quotable("no such model", &["no".to_owned()]), Some("no such model"));
        assert_eq!(quotable("bad value: Sigrid", &["Sigrid".to_owned()]), None);
        assert_eq!(quotable("busy", &[String::new()]), Some("busy"));
    }
}
