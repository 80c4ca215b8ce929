//! The planner's reply, parsed strictly. (docs/spec/tools.md#2.4)

use convengine_text::json::{canonical, read_object};
use convengine_turn::Map;
use serde_json::Value;

/// The answer when no plan can be parsed.
const INVALID_PLAN_ANSWER: &str = "I could not work out how to find that. Please put the question another way.";

/// The answer when a plan names no tool.
pub(super) const NO_TOOL_ANSWER: &str = "I could not find a next step for that. Please put it another way.";

/// Members that a reply may have.
const MEMBERS: [&str; 5] = ["action", "tool_code", "args", "answer", "operation_tag"];

/// The next action of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanAction {
    /// Call a tool.
    Call,
    /// Answer the user.
    Answer,
}

impl PlanAction {
    /// The spelling in replies, rules and audits.
    pub fn name(self) -> &'static str {
        match self {
            PlanAction::Call => "CALL_TOOL",
            PlanAction::Answer => "ANSWER",
        }
    }
}

/// The model's next step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub action: PlanAction,
    /// The tool to call.
    pub code: Option<String>,
    pub args: Map,
    pub answer: Option<String>,
    pub tag: Option<String>,
}

/// Why a reply is not a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InvalidPlan {
    /// What is wrong, for the model.
    pub reason: String,
    /// The answer to the user when the retry fails as well.
    pub answer: &'static str,
}

impl Plan {
    /// A plan that answers the user.
    pub fn from_answer(text: &str) -> Plan {
        Plan { action: PlanAction::Answer, code: None, args: Map::new(), answer: Some(text.to_owned()), tag: None }
    }

    /// What identifies the planned call: the tool and its arguments.
    pub fn signature(&self) -> String {
        format!("{} {}", self.code.as_deref().unwrap_or_default().to_uppercase(), canonical::to_text(&self.args))
    }

    /// Parses a reply.
    pub fn parse(reply: &str) -> Result<Plan, InvalidPlan> {
        let unusable = |reason: String| InvalidPlan { reason, answer: INVALID_PLAN_ANSWER };
        let members = read_object(reply).map_err(|reason| unusable(format!("it is not one JSON object: {reason}")))?;
        if let Some(key) = members.keys().find(|key| !MEMBERS.contains(&key.as_str())) {
            return Err(unusable(format!("it has the member '{key}', which is not one of {}", MEMBERS.join(", "))));
        }
        let text = |key: &str| text_member(&members, key).map_err(unusable);
        let args = match members.get("args") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(args)) => args.clone(),
            // Written twice.
            Some(Value::String(text)) => serde_json::from_str(text).map_err(|_| unusable("expected an object in 'args'".to_owned()))?,
            Some(_) => return Err(unusable("expected an object in 'args'".to_owned())),
        };
        let (named, code, answer, tag) = (text("action")?, text("tool_code")?, text("answer")?, text("operation_tag")?);
        let action = match named.map(|it| it.to_uppercase()).as_deref() {
            Some("CALL_TOOL") => PlanAction::Call,
            Some("ANSWER") => PlanAction::Answer,
            Some(_) => return Err(unusable("'action' is neither CALL_TOOL nor ANSWER".to_owned())),
            None if code.is_some() => PlanAction::Call,
            None => PlanAction::Answer,
        };
        match action {
            PlanAction::Answer => Ok(Plan { action, code: None, args: Map::new(), answer, tag }),
            PlanAction::Call if code.is_some() => Ok(Plan { action, code, args, answer, tag }),
            PlanAction::Call => {
                Err(InvalidPlan { reason: "'action' is CALL_TOOL without a 'tool_code'".to_owned(), answer: NO_TOOL_ANSWER })
            }
        }
    }
}

/// A trimmed string member; `None` for null and blank.
fn text_member(members: &Map, key: &str) -> Result<Option<String>, String> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim().to_owned()).filter(|it| !it.is_empty())),
        Some(_) => Err(format!("'{key}' is neither a string nor null")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn replies_become_plans() {
        let plan = Plan::parse("```json\n{\"action\": \"call_tool\", \"tool_code\": \" a.b \", \"answer\": \"x\"}\n```").unwrap();
        assert_eq!((plan.action, plan.code.as_deref(), plan.args.len()), (PlanAction::Call, Some("a.b"), 0));
        let plan = Plan::parse(&json!({"tool_code": "a.b", "args": {"n": 1}}).to_string()).unwrap();
        assert_eq!((plan.action, json!(plan.args)), (PlanAction::Call, json!({"n": 1})));
        let written = Plan::parse(&json!({"tool_code": "a.b", "args": "{\"n\": 1}"}).to_string()).unwrap();
        assert_eq!(written.args, plan.args, "arguments that are written twice");
        let plan = Plan::parse(
            &json!({"action": "ANSWER", "tool_code": "a.b", "args": {"n": 1}, "answer": " done ", "operation_tag": "T"}).to_string(),
        )
        .unwrap();
        assert_eq!(plan, Plan { tag: Some("T".to_owned()), ..Plan::from_answer("done") });
        assert_eq!(Plan::parse(r#"{"action": null, "args": null}"#).unwrap().answer, None);
    }

    #[test]
    fn invalid_replies_are_explained() {
        for (reply, reason, answer) in [
            (json!("hello").to_string(), "not one JSON object", INVALID_PLAN_ANSWER),
            (json!({"action": "ANSWER", "surprise": 1}).to_string(), "'surprise'", INVALID_PLAN_ANSWER),
            (json!({"action": "CLARIFY"}).to_string(), "neither CALL_TOOL nor ANSWER", INVALID_PLAN_ANSWER),
            (json!({"tool_code": "a", "args": [1]}).to_string(), "'args'", INVALID_PLAN_ANSWER),
            (json!({"answer": 7}).to_string(), "'answer'", INVALID_PLAN_ANSWER),
            (json!({"action": "CALL_TOOL", "tool_code": " "}).to_string(), "without a 'tool_code'", NO_TOOL_ANSWER),
        ] {
            let unusable = Plan::parse(&reply).unwrap_err();
            assert!(unusable.reason.contains(reason), "{reply}: {}", unusable.reason);
            assert_eq!(unusable.answer, answer, "{reply}");
        }
    }
}
