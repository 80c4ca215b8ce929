//! I4 and I8: replies reveal neither secrets nor internals.

use convengine_core::turn::{EffectResult, NoticeBody};
use serde_json::Value;

use super::TurnUnderTest;
use crate::simulate::fault::{KEY, SECRET};

/// I4: the message of a failed effect appears in the audit and the context only: not in a reply, fault or progress message, unless the
/// row of the text prints it. The value of a secret appears nowhere.
pub(super) fn check_secrets(scene: &TurnUnderTest<'_>) -> Option<String> {
    let outcome = &scene.run.outcome;
    let leak = |text: &str| text.contains(SECRET).then(|| excerpt(text));
    if let Some(text) = outcome.fault.as_ref().and_then(|it| leak(&it.message)) {
        return Some(format!("the fault contains the message: {text}"));
    }
    let reply = outcome.payload.as_ref().and_then(|it| leak(&it.value));
    if let Some(text) = reply.filter(|_| !scene.rows.has_reason_in_reply(scene.run)) {
        return Some(format!("the reply contains the message: {text}"));
    }
    for notice in &scene.run.notices {
        let NoticeBody::Verbose(it) = &notice.body else { continue };
        let shown = [Some(&it.text), it.message.as_ref(), it.error_message.as_ref()];
        let shown = shown.into_iter().flatten().find_map(|it| leak(it)).filter(|_| !scene.rows.has_reason_in_progress(it));
        if let Some(text) = shown.or_else(|| find_repeated_error(&it.metadata, "")) {
            return Some(format!("a progress message contains the message: {text}"));
        }
    }
    find_secret(scene).map(|it| format!("{it} contains the value of a secret"))
}

/// Members of a progress message's facts that may contain an error (docs/decisions/0037-progress-messages.md).
const ERROR_MEMBERS: [&str; 1] = ["error"];

/// Returns the first member of the facts that repeats an error although it may not.
fn find_repeated_error(facts: &Value, name: &str) -> Option<String> {
    match facts {
        Value::String(text) if text.contains(SECRET) && !ERROR_MEMBERS.contains(&name) => Some(format!("{name}: {}", excerpt(text))),
        Value::Array(items) => items.iter().find_map(|it| find_repeated_error(it, name)),
        Value::Object(members) => members.iter().find_map(|(name, it)| find_repeated_error(it, name)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Returns where the value of a secret appears.
fn find_secret(scene: &TurnUnderTest<'_>) -> Option<&'static str> {
    // Only faults introduce the value.
    scene.fault?;
    let run = scene.run;
    let requests: Vec<_> = run.answered.iter().map(|it| &it.effect.request).collect();
    let places = [
        ("a notice", serde_json::to_string(&run.notices)),
        ("the end of the turn", serde_json::to_string(&run.outcome)),
        ("the journal", serde_json::to_string(&run.journal.entries)),
        ("a request", serde_json::to_string(&requests)),
    ];
    places.into_iter().find(|place| place.1.as_ref().is_ok_and(|text| text.contains(KEY))).map(|it| it.0)
}

/// Signs of template syntax, SQL, class names and debug output.
const INTERNAL_SYNTAX: [&str; 16] =
    ["{{", "}}", "#{", "${", "[[", "[(", "th:", "select ", "SELECT ", "Exception", "java.", "Some(", "Err(", "Ok(", "::", "panicked"];

/// I8: a reply or a fault shows no internals, unless they came in with the message or an answer.
pub(super) fn check_internals(scene: &TurnUnderTest<'_>) -> Option<String> {
    // The texts of an undisturbed turn are those that its pack expects.
    scene.fault?;
    let outcome = &scene.run.outcome;
    let shown = outcome.payload.as_ref().map(|it| &it.value).or(outcome.fault.as_ref().map(|it| &it.message))?;
    if scene.baseline_replies.contains(shown) || (shown.contains(SECRET) && scene.rows.has_reason_in_reply(scene.run)) {
        return None;
    }
    let words = split_texts(shown);
    let mut seen = INTERNAL_SYNTAX.iter().filter(|mark| words.iter().any(|word| word.contains(**mark)));
    let found = seen.find(|it| !is_from_input(scene, it))?;
    Some(format!("'{found}' is visible: {}", excerpt(shown)))
}

/// Splits a text into the part outside embedded JSON and the texts of that JSON, whose brackets are not template syntax.
fn split_texts(text: &str) -> Vec<String> {
    let (mut found, mut outside, mut rest) = (Vec::new(), String::new(), text);
    while let Some(letter) = rest.chars().next() {
        if matches!(letter, '{' | '[') {
            let mut read = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            if let Some(Ok(json)) = read.next() {
                collect_texts(&json, &mut found);
                rest = rest.get(read.byte_offset()..).unwrap_or_default();
                continue;
            }
        }
        outside.push(letter);
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
    found.push(outside);
    found
}

/// Collects the texts of a value and the names of its members.
fn collect_texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|it| collect_texts(it, found)),
        Value::Object(members) => {
            for (name, value) in members {
                found.push(name.clone());
                collect_texts(value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns whether a text of the turn's input, or of an answer that is not an error, contains `mark`.
fn is_from_input(scene: &TurnUnderTest<'_>, mark: &str) -> bool {
    let answers = scene.run.answered.iter().filter(|answered| matches!(answered.answer, EffectResult::Ok(_)));
    let answers = answers.map(|answered| serde_json::to_value(&answered.answer).unwrap_or_default());
    let input = serde_json::to_value(&scene.run.input).unwrap_or_default();
    let mut texts = Vec::new();
    std::iter::once(input).chain(answers).for_each(|it| collect_texts(&it, &mut texts));
    texts.iter().any(|it| it.contains(mark))
}

/// Returns an excerpt of a text: around the secret, or else its beginning.
fn excerpt(text: &str) -> String {
    let skipped = text.find(SECRET).and_then(|it| text.get(..it)).map_or(0, |before| before.chars().count().saturating_sub(160));
    text.chars().skip(skipped).take(260).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_of_json_are_not_template_syntax() {
        assert_eq!(split_texts(r#"ok {"a":{"b":[[1]]}} {{x}}"#).last().map(String::as_str), Some("ok  {{x}}"));
        assert!(split_texts(r#"{"a":"{{x}}"}"#).contains(&"{{x}}".to_owned()));
    }
}
