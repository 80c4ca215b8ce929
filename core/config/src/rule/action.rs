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

/// Reads the value of an action.
type ReadValue = fn(&str) -> Result<RuleAction, String>;

/// The actions by their names, each with how its value is read.
const ACTIONS: [(&str, ReadValue); 9] = [
    ("SET_INTENT", |value| parse_code(value).map(RuleAction::SetIntent)),
    ("SET_STATE", |value| parse_code(value).map(RuleAction::SetState)),
    ("SET_DIALOGUE_ACT", |value| parse_dialogue_act(value).map(RuleAction::SetDialogueAct)),
    ("SET_INPUT_PARAM", |value| parse_assignments(value).map(RuleAction::SetInputParam)),
    ("SET_JSON", parse_set_json),
    ("GET_CONTEXT", |value| Ok(RuleAction::GetContext(key_or(value, "context")))),
    ("GET_SCHEMA_JSON", |value| Ok(RuleAction::GetSchemaJson(key_or(value, "schema_json")))),
    ("GET_SESSION", |value| Ok(RuleAction::GetSession(key_or(value, "session")))),
    ("SET_TASK", |value| parse_task(value).map(RuleAction::SetTask)),
];

/// The names of the actions.
pub const NAMES: [&str; ACTIONS.len()] = {
    let mut names = [""; ACTIONS.len()];
    let mut rest: &[(&str, ReadValue)] = &ACTIONS;
    let mut to_name: &mut [&str] = &mut names;
    while let ([(name, _), others @ ..], [to, unnamed @ ..]) = (rest, to_name) {
        *to = *name;
        (rest, to_name) = (others, unnamed);
    }
    names
};

/// A compiled action. Other rows and lint know of it by its methods.
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
    /// Compiles the action of a row of `ce_rule`.
    ///
    /// # Errors
    /// If it names no action, or the value does not suit the action.
    pub fn from_row(row: &TableRow<'_>) -> Result<RuleAction, Issue> {
        let name = row.code("action").unwrap_or_default();
        let code = to_upper_code(&name);
        let Some((_, read_value)) = ACTIONS.iter().find(|it| it.0 == code) else {
            return Err(row.error("action", format!("'{name}' is not an action"), "it names one, such as SET_STATE"));
        };
        let value = row.text("action_value").unwrap_or_default();
        read_value(&value).map_err(|reason| row.error("action_value", reason, "the value is corrected"))
    }

    /// The intent that it sets.
    pub fn target_intent(&self) -> Option<&str> {
        if let RuleAction::SetIntent(intent) = self { Some(intent) } else { None }
    }

    /// The state that it sets.
    pub fn target_state(&self) -> Option<&str> {
        if let RuleAction::SetState(state) = self { Some(state) } else { None }
    }

    /// The task that it calls, which may set intent, state, context and parameters.
    pub fn task(&self) -> Option<&TaskName> {
        if let RuleAction::SetTask(task) = self { Some(task) } else { None }
    }

    /// The parameters that it sets, with their values where the row has them.
    pub fn set_params(&self) -> Vec<(&str, Option<&Value>)> {
        match self {
            RuleAction::SetInputParam(values) => values.iter().map(|(key, value)| (key.as_str(), Some(value))).collect(),
            RuleAction::SetJson { key, .. }
            | RuleAction::GetContext(key)
            | RuleAction::GetSchemaJson(key)
            | RuleAction::GetSession(key) => vec![(key, None)],
            RuleAction::SetIntent(_) | RuleAction::SetState(_) | RuleAction::SetDialogueAct(_) | RuleAction::SetTask(_) => Vec::new(),
        }
    }

    /// The path from which it copies a value, as written.
    pub fn source_path(&self) -> Option<&str> {
        if let RuleAction::SetJson { source, .. } = self { Some(source) } else { None }
    }

    /// Whether it changes intent or state, or may.
    pub fn may_transition(&self) -> bool {
        self.target_intent().is_some() || self.target_state().is_some() || self.task().is_some()
    }
}

fn parse_code(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("is blank".to_owned()) } else { Ok(text.to_owned()) }
}

fn parse_task(text: &str) -> Result<TaskName, String> {
    TaskName::parse(text).ok_or_else(|| format!("'{text}' is not bean:method"))
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
