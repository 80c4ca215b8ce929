//! Rule actions, parsed from `action` and `action_value`. (docs/spec/data-and-api.md#6.6)

use convengine_text::json::path::JsonPath;
use convengine_text::json::trim_text;
use convengine_text::task::TaskName;
use convengine_turn::Map;
use serde_json::Value;

use crate::code::to_upper_code;
use crate::dialogue_act::DialogueAct;
use crate::issue::Issue;
use crate::row::TableRow;

/// The actions.
pub const NAMES: [&str; 9] = [
    "SET_INTENT",
    "SET_STATE",
    "SET_DIALOGUE_ACT",
    "SET_INPUT_PARAM",
    "SET_JSON",
    "GET_CONTEXT",
    "GET_SCHEMA_JSON",
    "GET_SESSION",
    "SET_TASK",
];

/// A compiled action.
#[derive(Debug, Clone)]
pub enum RuleAction {
    /// Sets the intent.
    SetIntent(String),
    /// Sets the state.
    SetState(String),
    /// Sets the dialogue act.
    SetDialogueAct(SetDialogueAct),
    /// Sets parameters.
    SetInputParam(Vec<(String, Value)>),
    /// Copies the first value at a path to a parameter.
    SetJson {
        /// The parameter.
        key: String,
        /// The path as written, for the audit.
        source: String,
        /// The compiled path.
        path: JsonPath,
    },
    /// Copies the context to a parameter.
    GetContext(String),
    /// Copies the collected schema values to a parameter.
    GetSchemaJson(String),
    /// Copies the session view to a parameter.
    GetSession(String),
    /// Calls a task.
    SetTask(TaskName),
}

/// The value of `SET_DIALOGUE_ACT`.
#[derive(Debug, Clone)]
pub struct SetDialogueAct {
    /// The act.
    pub act: DialogueAct,
    /// Its confidence, when given.
    pub confidence: Option<f64>,
    /// Its source, when given.
    pub source: Option<String>,
    /// The rewritten query, when given; an inner `None` clears it.
    pub standalone_query: Option<Option<String>>,
}

impl RuleAction {
    pub(super) fn compile(row: &TableRow<'_>, name: &str, value: Option<&str>) -> Result<RuleAction, Issue> {
        let invalid = |reason: String| row.error("action_value", reason, "the value is corrected");
        let text = value.unwrap_or_default();
        match to_upper_code(name).as_str() {
            "SET_INTENT" => parse_code(text).map(RuleAction::SetIntent).map_err(invalid),
            "SET_STATE" => parse_code(text).map(RuleAction::SetState).map_err(invalid),
            "SET_DIALOGUE_ACT" => parse_dialogue_act(text).map(RuleAction::SetDialogueAct).map_err(invalid),
            "SET_INPUT_PARAM" => parse_assignments(text).map(RuleAction::SetInputParam).map_err(invalid),
            "SET_JSON" => parse_set_json(text).map_err(invalid),
            "GET_CONTEXT" => Ok(RuleAction::GetContext(key_or(text, "context"))),
            "GET_SCHEMA_JSON" => Ok(RuleAction::GetSchemaJson(key_or(text, "schema_json"))),
            "GET_SESSION" => Ok(RuleAction::GetSession(key_or(text, "session"))),
            "SET_TASK" => TaskName::parse(text).map(RuleAction::SetTask).ok_or_else(|| invalid(format!("'{text}' is not bean:method"))),
            _ => Err(row.error("action", format!("'{name}' is not an action"), "it names one, such as SET_STATE")),
        }
    }
}

fn parse_code(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("is blank".to_owned()) } else { Ok(text.to_owned()) }
}

fn key_or(text: &str, default: &str) -> String {
    if text.trim().is_empty() { default.to_owned() } else { text.to_owned() }
}

fn parse_dialogue_act(text: &str) -> Result<SetDialogueAct, String> {
    let object = serde_json::from_str::<Map>(text).ok();
    let member = |names: [&str; 2]| names.iter().find_map(|name| object.as_ref()?.get(*name).cloned());
    let name = if object.is_some() { member(["dialogueAct", "dialogue_act"]) } else { Some(Value::from(text)) };
    let name = name.as_ref().and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let Some(act) = DialogueAct::parse(&name) else { return Err(format!("'{name}' is not a dialogue act")) };
    let words = |value: Value| trim_text(Some(&value));
    Ok(SetDialogueAct {
        act,
        confidence: member(["confidence", "confidence"]).and_then(|it| it.as_f64()),
        source: member(["source", "dialogueActSource"]).and_then(words),
        standalone_query: member(["standaloneQuery", "standalone_query"]).map(words),
    })
}

/// Parses JSON `{key, value}`, a list of these, or a plain object; else `key:value`, or `key` alone for true.
fn parse_assignments(text: &str) -> Result<Vec<(String, Value)>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("is blank".to_owned());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(object)) => assignments_from_object(object),
        Ok(Value::Array(items)) => {
            let each = |item: Value| match item {
                Value::Object(object) => assignments_from_object(object),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    Err("the list has an item that is not an object".to_owned())
                }
            };
            items.into_iter().map(each).collect::<Result<Vec<_>, _>>().map(|assignments| assignments.into_iter().flatten().collect())
        }
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | Err(_) => assignments_from_text(text),
    }
}

fn assignments_from_object(object: Map) -> Result<Vec<(String, Value)>, String> {
    if let Some(key) = object.get("key") {
        let key = trim_text(Some(key)).ok_or("the member 'key' is not a name")?;
        return Ok(vec![(key, object.get("value").cloned().unwrap_or(Value::Null))]);
    }
    Ok(object.into_iter().filter(|(key, _)| !key.trim().is_empty()).map(|(key, value)| (key.trim().to_owned(), value)).collect())
}

fn assignments_from_text(text: &str) -> Result<Vec<(String, Value)>, String> {
    let Some((key, value)) = text.split_once(':') else {
        return Ok(vec![(text.to_owned(), Value::Bool(true))]);
    };
    if key.trim().is_empty() {
        return Err("has no parameter name before ':'".to_owned());
    }
    Ok(vec![(key.trim().to_owned(), parse_scalar(value.trim()))])
}

fn parse_scalar(text: &str) -> Value {
    match text.to_ascii_lowercase().as_str() {
        "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ if text.contains('.') => text.parse::<f64>().ok().filter(|it| it.is_finite()).map_or_else(|| Value::from(text), Value::from),
        _ => text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from),
    }
}

fn parse_set_json(text: &str) -> Result<RuleAction, String> {
    let text = text.trim();
    let (key, source) = text.split_once(':').unwrap_or((text, text));
    let (key, source) = (key.trim(), source.trim());
    if source.is_empty() {
        return Err("has no path; write target:$.path".to_owned());
    }
    let key = if key.is_empty() { "llm_json" } else { key };
    let path = JsonPath::compile(source)?;
    Ok(RuleAction::SetJson { key: key.to_owned(), source: source.to_owned(), path })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parameters_are_read_in_every_form() {
        let read = |text: &str| Value::Object(parse_assignments(text).unwrap().into_iter().collect());
        assert_eq!(read(r#"{"a": 1, "b": null}"#), json!({"a": 1, "b": null}));
        assert_eq!(read(r#"{"key": "a", "value": [1]}"#), json!({"a": [1]}));
        assert_eq!(read(r#"[{"key": "a", "value": 1}, {"b": 2}]"#), json!({"a": 1, "b": 2}));
        assert_eq!(read("a: 12"), json!({"a": 12}));
        assert_eq!(read("a:1.50"), json!({"a": 1.5}));
        assert_eq!(read("a:TRUE"), json!({"a": true}));
        assert_eq!(read("a:x:y"), json!({"a": "x:y"}));
        assert_eq!(read("a:"), json!({"a": ""}));
        assert_eq!(read("flag"), json!({"flag": true}));
        assert!(parse_assignments("  ").is_err());
        assert!(parse_assignments(":x").is_err());
    }
}
