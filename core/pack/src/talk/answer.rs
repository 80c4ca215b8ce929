//! Parses indented lines: the answers of a turn.

use convengine_config::TASK_MEMBERS;
use convengine_text::json;
use convengine_turn::{EffectError, EffectErrorKind, LLM_PURPOSES, TaskReply};
use serde_json::{Value, json};

use super::super::{PackAnswer, PackError, ScriptedCall};
use super::line::{self, Line};
use super::time;

/// Failures by keyword.
pub(super) const ERROR_KEYWORDS: [(&str, EffectErrorKind); 11] = [
    ("timeout", EffectErrorKind::Timeout),
    ("unavailable", EffectErrorKind::Unavailable),
    ("refused", EffectErrorKind::Refused),
    ("invalid", EffectErrorKind::Invalid),
    ("not_found", EffectErrorKind::NotFound),
    ("denied", EffectErrorKind::Denied),
    ("circuit_open", EffectErrorKind::CircuitOpen),
    ("limited", EffectErrorKind::Limited),
    ("unsupported", EffectErrorKind::Unsupported),
    ("interrupted", EffectErrorKind::Interrupted),
    ("cancelled", EffectErrorKind::Cancelled),
];

/// Parses an answer, such as `llm PURPOSE REPLY +850ms`.
pub(super) fn parse_answer(line: &Line<'_>) -> Result<PackAnswer, PackError> {
    let (kind, rest) = line.split_word();
    let (key, rest) = rest.split_word();
    let call = match kind.text {
        "llm" => ScriptedCall::Llm(parse_purpose(&key)?),
        "task" => ScriptedCall::Task(key.required("the task (bean:method)")?.to_owned()),
        "tool" => ScriptedCall::Tool(key.required("the code of the tool")?.to_owned()),
        "container" => ScriptedCall::Container(key.required("the container (page/section/container)")?.to_owned()),
        _ => return Err(line.error("unknown kind of answer; begin an indented line with llm, task, tool or container")),
    };
    let (answer, delay_ms) = split_delay(rest);
    let text = answer.required("the answer")?;
    let (reply, error) = match parse_failure(&answer) {
        Some(error) => (Value::Null, Some(error)),
        None if text.starts_with(['{', '[', '"']) => {
            (line::parse_json(&answer, "write text that only looks like JSON as a JSON string")?, None)
        }
        None => (Value::from(text), None),
    };
    let reply = if matches!(call, ScriptedCall::Task(_)) && error.is_none() { normalize_task_reply(reply, &answer)? } else { reply };
    Ok(PackAnswer { call, reply, error, delay_ms, line: line.number })
}

/// Normalizes the answer of a task: an object is its reply, any other value is its result.
fn normalize_task_reply(reply: Value, line: &Line<'_>) -> Result<Value, PackError> {
    let Some(members) = reply.as_object() else { return Ok(json!({"result": reply})) };
    if let Some(name) = members.keys().find(|name| !TASK_MEMBERS.contains(&name.as_str())) {
        let known = TASK_MEMBERS.join(", ");
        return Err(line.error(format!("unknown member '{name}' of a task reply; use {known}, or write {{\"result\": …}}")));
    }
    match json::decode::<TaskReply>(&reply) {
        Ok(_) => Ok(reply),
        Err(error) => Err(line.error(format!("invalid task reply: {error}"))),
    }
}

fn parse_purpose(key: &Line<'_>) -> Result<String, PackError> {
    let purpose = key.required("the purpose of the call")?.to_lowercase();
    if LLM_PURPOSES.contains(&purpose.as_str()) {
        return Ok(purpose);
    }
    Err(key.error(format!("unknown purpose '{}'; use one of {}", key.text, LLM_PURPOSES.join(", "))))
}

/// Splits a trailing `+850ms` off.
fn split_delay(line: Line<'_>) -> (Line<'_>, u64) {
    let (before, last) = line.text.rsplit_once(char::is_whitespace).unwrap_or(("", line.text));
    match time::parse_duration(last).and_then(|millis| u64::try_from(millis).ok()) {
        Some(delay) => (Line { text: before.trim_end(), ..line }, delay),
        None => (line, 0),
    }
}

fn parse_failure(answer: &Line<'_>) -> Option<EffectError> {
    if let Some(message) = answer.strip_mark("!") {
        return Some(EffectError::new(EffectErrorKind::Unavailable, message.text));
    }
    let (_, kind) = ERROR_KEYWORDS.iter().find(|it| it.0 == answer.text)?;
    Some(EffectError::new(*kind, format!("the script answers with '{}'", answer.text)))
}
