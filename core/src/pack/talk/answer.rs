//! Indented lines: the answers of a turn.

use serde_json::{Value, json};

use super::super::{Asked, PackAnswer, PackError};
use super::line::{self, Line};
use super::time;
use crate::config::TASK_MEMBERS;
use crate::turn::{EffectError, EffectErrorKind, PURPOSES, TaskReply};

/// Words that stand for a failure.
const KINDS: [(&str, EffectErrorKind); 11] = [
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

/// Reads `llm PURPOSE REPLY +850ms` and its like.
pub(super) fn read(line: &Line<'_>) -> Result<PackAnswer, PackError> {
    let (kind, rest) = line.word();
    let (key, rest) = rest.word();
    let asked = match kind.text {
        "llm" => Asked::Llm(purpose(&key)?),
        "task" => Asked::Task(key.required("the task, as bean:method,")?.to_owned()),
        "tool" => Asked::Tool(key.required("the code of the tool")?.to_owned()),
        "container" => Asked::Container(key.required("the container, as page/section/container,")?.to_owned()),
        _ => return Err(line.error("an indented line is an answer; begin it with llm, task, tool or container")),
    };
    let (said, delay_ms) = delayed(rest);
    let text = said.required("the answer")?;
    let (reply, error) = match failure(&said) {
        Some(error) => (Value::Null, Some(error)),
        None if text.starts_with(['{', '[', '"']) => {
            (line::json(&said, "write text that only looks like JSON in quotes, as JSON text")?, None)
        }
        None => (Value::from(text), None),
    };
    let reply = if matches!(asked, Asked::Task(_)) && error.is_none() { of_task(reply, &said)? } else { reply };
    Ok(PackAnswer { asked, reply, error, delay_ms, line: line.number })
}

/// A task's answer is an object that says what it returns and changes; any other value is what it returns.
fn of_task(reply: Value, said: &Line<'_>) -> Result<Value, PackError> {
    let Some(members) = reply.as_object() else { return Ok(json!({"result": reply})) };
    if let Some(name) = members.keys().find(|it| !TASK_MEMBERS.contains(&it.as_str())) {
        let known = TASK_MEMBERS.join(", ");
        return Err(said.error(format!("'{name}' is nothing that a task answers; use {known}, or write {{\"result\": …}}")));
    }
    match serde_json::from_value::<TaskReply>(reply.clone()) {
        Ok(_) => Ok(reply),
        Err(error) => Err(said.error(format!("a task cannot answer this: {error}"))),
    }
}

fn purpose(key: &Line<'_>) -> Result<String, PackError> {
    let purpose = key.required("the purpose of the call")?.to_lowercase();
    if PURPOSES.contains(&purpose.as_str()) {
        return Ok(purpose);
    }
    Err(key.error(format!("'{}' is no purpose of a call; use one of {}", key.text, PURPOSES.join(", "))))
}

/// Takes `+850ms` off the end.
fn delayed(line: Line<'_>) -> (Line<'_>, u64) {
    let (before, last) = line.text.rsplit_once(char::is_whitespace).unwrap_or(("", line.text));
    match time::duration(last).and_then(|it| u64::try_from(it).ok()) {
        Some(delay) => (Line { text: before.trim_end(), ..line }, delay),
        None => (line, 0),
    }
}

fn failure(said: &Line<'_>) -> Option<EffectError> {
    if let Some(message) = said.after("!") {
        return Some(EffectError::new(EffectErrorKind::Unavailable, message.text));
    }
    let (_, kind) = KINDS.iter().find(|it| it.0 == said.text)?;
    Some(EffectError::new(*kind, format!("the script answers with '{}'", said.text)))
}
