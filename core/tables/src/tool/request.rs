//! A tool request, as stored in a parameter.

use convengine_config::canonical_tool_group;
use convengine_turn::Map;
use serde_json::{Value, json};

/// A requested tool call; without a code, the group selects the tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool.
    pub code: Option<String>,
    /// The group, normalized.
    pub group: Option<String>,
    /// The arguments.
    pub args: Map,
}

impl ToolCall {
    /// Parses an object, or a string that contains one; `None` for anything else.
    pub fn parse(value: &Value) -> Option<ToolCall> {
        let of_text = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let members = of_text.as_ref().unwrap_or(value).as_object()?;
        let code = |name: &str| members.get(name)?.as_str().map(str::trim).filter(|code| !code.is_empty()).map(str::to_owned);
        Some(ToolCall {
            code: code("tool_code"),
            group: code("tool_group").map(|it| canonical_tool_group(&it)),
            args: members.get("args").and_then(Value::as_object).cloned().unwrap_or_default(),
        })
    }

    /// The request as rules and audits see it.
    pub fn to_json(&self) -> Value {
        json!({"tool_code": self.code, "tool_group": self.group, "args": self.args})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_in_both_forms() {
        let read = |value: Value| ToolCall::parse(&value).map(|call| call.to_json());
        let expected = json!({"tool_code": "a.b", "tool_group": "CALCULATOR_TRANSFORM", "args": {"n": 1}});
        assert_eq!(read(json!({"tool_code": " a.b ", "tool_group": "calc", "args": {"n": 1}})), Some(expected.clone()));
        assert_eq!(read(json!(r#"{"tool_code":"a.b","tool_group":"TRANSFORM","args":{"n":1}}"#)), Some(expected));
        assert_eq!(read(json!({"tool_code": " ", "args": [1]})), Some(json!({"tool_code": null, "tool_group": null, "args": {}})));
        assert_eq!((read(json!("no json")), read(json!(7)), read(json!("[1]"))), (None, None, None));
    }
}
