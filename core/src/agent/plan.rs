//! The planner's reply, parsed strictly. (docs/spec/tools.md#2.4)

use serde_json::Value;

use crate::llm;
use crate::turn::Map;

/// The answer when no plan can be parsed.
const PLAN_ERROR: &str = "I could not work out how to find that. Please put the question another way.";

/// The answer when a plan names no tool.
pub(super) const UNSAFE_STEP: &str = "I could not find a next step for that. Please put it another way.";

/// Members that a reply may have.
const MEMBERS: [&str; 5] = ["action", "tool_code", "args", "answer", "operation_tag"];

/// The next action of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Call a tool.
    Call,
    /// Answer the user.
    Answer,
}

impl Action {
    /// The spelling in replies, rules and audits.
    pub fn name(self) -> &'static str {
        match self {
            Action::Call => "CALL_TOOL",
            Action::Answer => "ANSWER",
        }
    }
}

/// The model's next step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub action: Action,
    /// The tool to call.
    pub code: Option<String>,
    pub args: Map,
    pub answer: Option<String>,
    pub tag: Option<String>,
}

/// Why a reply is not a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unusable {
    /// What is wrong, for the model.
    pub reason: String,
    /// The answer to the user when the retry fails as well.
    pub answer: &'static str,
}

impl Plan {
    /// A plan that answers the user.
    pub fn answer(text: &str) -> Plan {
        Plan { action: Action::Answer, code: None, args: Map::new(), answer: Some(text.to_owned()), tag: None }
    }

    /// Parses a reply.
    pub fn parse(reply: &str) -> Result<Plan, Unusable> {
        let unusable = |reason: String| Unusable { reason, answer: PLAN_ERROR };
        let members: Map = serde_json::from_str(llm::unfenced(reply)).map_err(|it| unusable(format!("it is not one JSON object: {it}")))?;
        if let Some(key) = members.keys().find(|it| !MEMBERS.contains(&it.as_str())) {
            return Err(unusable(format!("it has the member '{key}', which is not one of {}", MEMBERS.join(", "))));
        }
        let text = |key: &str| text(&members, key).map_err(unusable);
        let args = match members.get("args") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(args)) => args.clone(),
            Some(_) => return Err(unusable("'args' is no object".to_owned())),
        };
        let (named, code, answer, tag) = (text("action")?, text("tool_code")?, text("answer")?, text("operation_tag")?);
        let action = match named.map(|it| it.to_uppercase()).as_deref() {
            Some("CALL_TOOL") => Action::Call,
            Some("ANSWER") => Action::Answer,
            Some(_) => return Err(unusable("'action' is neither CALL_TOOL nor ANSWER".to_owned())),
            None if code.is_some() => Action::Call,
            None => Action::Answer,
        };
        match action {
            Action::Answer => Ok(Plan { action, code: None, args: Map::new(), answer, tag }),
            Action::Call if code.is_some() => Ok(Plan { action, code, args, answer, tag }),
            Action::Call => Err(Unusable { reason: "'action' is CALL_TOOL without a 'tool_code'".to_owned(), answer: UNSAFE_STEP }),
        }
    }
}

/// A trimmed string member; `None` for null and blank.
fn text(members: &Map, key: &str) -> Result<Option<String>, String> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim().to_owned()).filter(|it| !it.is_empty())),
        Some(_) => Err(format!("'{key}' is neither a text nor null")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn replies_become_plans() {
        let plan = Plan::parse("```json\n{\"action\": \"call_tool\", \"tool_code\": \" a.b \", \"answer\": \"x\"}\n```").unwrap();
        assert_eq!((plan.action, plan.code.as_deref(), plan.args.len()), (Action::Call, Some("a.b"), 0));
        let plan = Plan::parse(&json!({"tool_code": "a.b", "args": {"n": 1}}).to_string()).unwrap();
        assert_eq!((plan.action, json!(plan.args)), (Action::Call, json!({"n": 1})));
        let plan = Plan::parse(
            &json!({"action": "ANSWER", "tool_code": "a.b", "args": {"n": 1}, "answer": " done ", "operation_tag": "T"}).to_string(),
        )
        .unwrap();
        assert_eq!(plan, Plan { tag: Some("T".to_owned()), ..Plan::answer("done") });
        assert_eq!(Plan::parse(r#"{"action": null, "args": null}"#).unwrap().answer, None);
    }

    #[test]
    fn bad_replies_say_what_is_wrong() {
        for (reply, reason, answer) in [
            (json!("hello").to_string(), "not one JSON object", PLAN_ERROR),
            (json!({"action": "ANSWER", "surprise": 1}).to_string(), "'surprise'", PLAN_ERROR),
            (json!({"action": "CLARIFY"}).to_string(), "neither CALL_TOOL nor ANSWER", PLAN_ERROR),
            (json!({"tool_code": "a", "args": [1]}).to_string(), "'args'", PLAN_ERROR),
            (json!({"answer": 7}).to_string(), "'answer'", PLAN_ERROR),
            (json!({"action": "CALL_TOOL", "tool_code": " "}).to_string(), "without a 'tool_code'", UNSAFE_STEP),
        ] {
            let unusable = Plan::parse(&reply).unwrap_err();
            assert!(unusable.reason.contains(reason), "{reply}: {}", unusable.reason);
            assert_eq!(unusable.answer, answer, "{reply}");
        }
    }
}
