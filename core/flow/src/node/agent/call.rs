//! The calls of an agent, and their results for the model.

use convengine_config::flow::document::{FlowTool, is_built_in};
use convengine_text::json::schema::JsonSchema;
use convengine_text::value::EXPRESSION;
use convengine_turn::LlmToolCall;
use serde_json::{Value, json};

use super::super::service_call::ServiceCall;

/// Maximum calls per reply; the rest is ignored.
const MAX_CALLS: usize = 32;

/// Maximum bytes of a result.
const MAX_RESULT_BYTES: usize = 8 * 1024;

/// A validated call.
pub(super) enum CheckedCall<'c> {
    /// The agent is done.
    Finish,
    /// The agent requests a person.
    RequestHuman,
    /// An AI agent remembers a value.
    Remember,
    /// An AI agent searches its knowledge.
    SearchKnowledge,
    /// A call of a tool, and whether it needs approval.
    Tool(&'c FlowTool, bool),
    /// An invalid call, with the result for the model.
    Invalid(Value),
}

/// A call ready to be made.
pub(super) enum ReadyCall<'c> {
    /// The result is known without a request.
    Immediate(Value),
    /// A service has to be called.
    Http(Box<ServiceCall<'c>>),
}

/// The result of a call that was made.
pub(super) struct CallResult {
    /// The result for the model.
    pub value: Value,
    /// Whether it was carried out.
    pub outcome: CallOutcome,
}

/// Whether a call was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallOutcome {
    /// It was, and its result is known.
    Done,
    /// It was not, or it only reads.
    Failed,
    /// It changes something and may have been, although it has failed.
    Uncertain,
}

/// Creates an error result.
pub(super) fn error_result(code: &str, message: &str) -> Value {
    json!({"ok": false, "error": {"code": code, "message": message}})
}

/// Returns why the arguments of a call are invalid. Arguments that cannot be checked are refused.
pub(super) fn args_violation(tool: &FlowTool, args: &Value) -> Option<String> {
    let schema = tool.input_schema.as_ref()?;
    match JsonSchema::compile(schema) {
        Ok(schema) => schema.find_violation(args),
        Err(reason) => Some(format!("the arguments cannot be checked: {reason}")),
    }
}

/// Gives each call of a reply a unique id, and moves the built-in calls to the end, because they end the run.
pub(super) fn with_unique_ids(calls: Vec<LlmToolCall>, step: &str) -> Vec<LlmToolCall> {
    let mut unique: Vec<LlmToolCall> = Vec::new();
    for mut call in calls.into_iter().take(MAX_CALLS) {
        if call.id.is_empty() || unique.iter().any(|it| it.id == call.id) {
            call.id = format!("call_{step}_{}", unique.len() + 1);
        }
        unique.push(call);
    }
    unique.sort_by_key(|it| is_built_in(&it.name));
    unique
}

/// Serializes a result for the model; a long result is cut and marked as truncated.
pub(super) fn format_result(result: &Value) -> String {
    let text = result.to_string();
    if text.len() <= MAX_RESULT_BYTES {
        return text;
    }
    let part = result.get("data").or_else(|| result.get("error")).map(|it| EXPRESSION.print(it).into_owned()).unwrap_or_default();
    let mut keep = MAX_RESULT_BYTES - 128;
    loop {
        let end = (0..=keep.min(part.len())).rev().find(|it| part.is_char_boundary(*it)).unwrap_or(0);
        let part_kept = part.get(..end).unwrap_or_default();
        let cut = json!({"ok": result.get("ok"), "data": part_kept, "truncated": format!("[cut: {} of {} bytes]", end, part.len())});
        let text = cut.to_string();
        // JSON escapes make the text longer than its content.
        if text.len() <= MAX_RESULT_BYTES || end == 0 {
            return text;
        }
        keep = keep * 3 / 4;
    }
}

#[cfg(test)]
mod tests {
    use convengine_config::flow::document::FINISH;

    use super::*;

    #[test]
    fn long_results_are_cut_and_marked() {
        assert_eq!(format_result(&json!({"ok": true, "data": [1]})), r#"{"ok":true,"data":[1]}"#);
        for data in [json!("ü".repeat(9000)), json!("\"".repeat(9000)), json!({"rows": vec!["x"; 4000]})] {
            let text = format_result(&json!({"ok": true, "data": data}));
            let read: Value = serde_json::from_str(&text).unwrap();
            assert!(text.len() <= MAX_RESULT_BYTES && text.len() > MAX_RESULT_BYTES / 2, "{}", text.len());
            assert!(read["truncated"].as_str().unwrap().starts_with("[cut: ") && read["ok"] == true);
        }
    }

    #[test]
    fn calls_get_unique_ids_and_built_in_calls_come_last() {
        let call = |id: &str, name: &str| LlmToolCall { id: id.to_owned(), name: name.to_owned(), arguments: json!({}) };
        let unique = with_unique_ids(vec![call("a", FINISH), call("a", "x"), call("", "y")], "3_1");
        let shown: Vec<_> = unique.iter().map(|it| (it.id.as_str(), it.name.as_str())).collect();
        assert_eq!(shown, [("call_3_1_2", "x"), ("call_3_1_3", "y"), ("a", FINISH)]);
    }
}
