//! The tools of an agent: those of its node, and the built-in `finish` and `request_human` (docs/spec/flows.md#4.13).

use serde_json::{Value, json};

use super::super::super::Walk;
use super::super::super::fail::Failure;
use super::super::attempt::{Tried, parsed, status_code, tries};
use super::super::wire::{self, Call};
use crate::config::flow::document::{AgentData, AgentTool, Approval, FINISH, FlowTool, Node, REQUEST_HUMAN, is_built_in};
use crate::json::schema::JsonSchema;
use crate::turn::{Class, LlmTool, LlmToolCall};

/// Maximum calls per reply; the rest is ignored.
const MOST_CALLS: usize = 32;

/// Maximum bytes of a result.
const LONGEST_RESULT: usize = 8 * 1024;

/// A validated call.
pub(super) enum Judged<'c> {
    /// The agent is done.
    Finish,
    /// The agent requests a person.
    RequestHuman,
    /// A call of a tool, and whether it needs approval.
    Tool(&'c FlowTool, bool),
    /// An invalid call, with the result for the model.
    Wrong(Value),
}

/// A call ready to be made.
pub(super) enum Ready<'c> {
    /// The result is known without a request.
    Answered(Value),
    /// A service has to be called.
    Asks(Box<Call<'c>>),
}

/// Creates an error result.
pub(super) fn failed(code: &str, message: &str) -> Value {
    json!({"ok": false, "error": {"code": code, "message": message}})
}

impl<'c> Walk<'c> {
    /// The tools offered to the model. They depend only on the document.
    pub(super) fn agent_tools(&self, data: &AgentData) -> Vec<LlmTool> {
        let mut tools: Vec<LlmTool> = Vec::new();
        for tool in data.tools.iter().filter_map(|it| self.flow.tool(&it.tool)) {
            let name = tool.offered();
            // Names must be unique; the first tool wins.
            if tools.iter().all(|it| it.name != name) && !is_built_in(&name) {
                let description = if tool.description.is_empty() { &tool.name } else { &tool.description }.clone();
                let parameters = tool.input_schema.clone().unwrap_or_else(|| json!({"type": "object"}));
                tools.push(LlmTool { name, description, parameters });
            }
        }
        let output = data.output.as_ref().and_then(|it| it.schema.clone()).unwrap_or_else(|| json!({}));
        let built_in = |name: &str, description: &str, parameters: Value| LlmTool {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters,
        };
        tools.push(built_in(
            FINISH,
            "Ends your task once it is done; 'outcome' says in a few words how it ended, 'output' is its result.",
            json!({"type": "object", "properties": {"outcome": {"type": "string"}, "output": output}}),
        ));
        tools.push(built_in(
            REQUEST_HUMAN,
            "Hands the conversation over to a person.",
            json!({"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]}),
        ));
        tools
    }

    /// Validates a call: its name, its arguments and its need for approval.
    pub(super) fn judged(&self, data: &'c AgentData, call: &LlmToolCall) -> Judged<'c> {
        let Some(members) = call.arguments.as_object() else {
            return Judged::Wrong(failed("invalid_args", "the arguments are no JSON object"));
        };
        match call.name.as_str() {
            FINISH => return Judged::Finish,
            REQUEST_HUMAN if members.get("reason").is_some_and(Value::is_string) => return Judged::RequestHuman,
            REQUEST_HUMAN => return Judged::Wrong(failed("invalid_args", "'reason' is missing")),
            _ => {}
        }
        let tools = data.tools.iter().filter_map(|it| Some((it, self.flow.tool(&it.tool)?)));
        let mut fitting = tools.filter(|it| it.1.offered() == call.name || it.1.id == call.name);
        let Some((listed, tool)) = fitting.next() else {
            return Judged::Wrong(failed("unknown_tool", "there is no tool of this name"));
        };
        match breach(tool, &call.arguments) {
            Some(reason) => Judged::Wrong(failed("invalid_args", &reason)),
            None => Judged::Tool(tool, needs_approval(listed, tool)),
        }
    }

    /// Prepares a call.
    pub(super) fn ready(&mut self, node: &'c Node, tool: &'c FlowTool, args: Value) -> Ready<'c> {
        match tool.kind.as_str() {
            "http" | "webhook" => match wire::of_tool(self, node, tool, args) {
                Ok(call) => Ready::Asks(Box::new(call)),
                Err(failure) => Ready::Answered(failed(&failure.code, &failure.message)),
            },
            "noop" => Ready::Answered(json!({"ok": true})),
            _ => Ready::Answered(failed("unavailable", "the tool cannot be called here")),
        }
    }

    /// Makes a call.
    pub(super) async fn calls(&mut self, node: &'c Node, tool: &'c FlowTool, args: Value) -> Value {
        match self.ready(node, tool, args) {
            Ready::Answered(result) => self.nobody_asked(result),
            Ready::Asks(call) => {
                let attempts = tries(&self.door, &call, &self.here(), self.effects_left()).await;
                self.result(&call, &attempts)
            }
        }
    }

    /// Counts a call that needed no request; it is not an effect.
    pub(super) fn nobody_asked(&mut self, result: Value) -> Value {
        self.state.usage.tool_calls += 1;
        result
    }

    /// Converts a reply to a result for the model: data or an error.
    pub(super) fn result(&mut self, call: &Call<'c>, attempts: &Tried) -> Value {
        self.note_attempts("tool.call", attempts);
        let outputs = attempts.reply().and_then(|reply| {
            if !(200..300).contains(&reply.status) {
                return Err(Failure::new(status_code(reply.status), format!("the service answered {}", reply.status)));
            }
            let body = parsed(reply)?;
            self.take_outputs(call.tool.into_iter().flat_map(|it| &it.outputs), &body, &call.here)?;
            Ok(body)
        });
        match outputs {
            Ok(data) => json!({"ok": true, "data": data}),
            Err(failure) => failed(&failure.code, &failure.message),
        }
    }
}

/// Returns why the arguments of a call are invalid. Arguments that cannot be checked are refused.
pub(super) fn breach(tool: &FlowTool, args: &Value) -> Option<String> {
    let schema = tool.input_schema.as_ref()?;
    match JsonSchema::compile(schema) {
        Ok(schema) => schema.check(args),
        Err(reason) => Some(format!("the arguments cannot be checked: {reason}")),
    }
}

fn needs_approval(listed: &AgentTool, tool: &FlowTool) -> bool {
    let of_node = match listed.approval {
        Some(Approval::Always) => true,
        Some(Approval::Write) => wire::class_of(tool) != Class::Read,
        Some(Approval::Never) | None => false,
    };
    of_node || tool.sensitive
}

/// Gives each call of a reply a unique id, and moves the built-in calls to the end, because they end the run.
pub(super) fn told_apart(calls: Vec<LlmToolCall>, step: &str) -> Vec<LlmToolCall> {
    let mut unique: Vec<LlmToolCall> = Vec::new();
    for mut call in calls.into_iter().take(MOST_CALLS) {
        if call.id.is_empty() || unique.iter().any(|it| it.id == call.id) {
            call.id = format!("call_{step}_{}", unique.len() + 1);
        }
        unique.push(call);
    }
    unique.sort_by_key(|it| is_built_in(&it.name));
    unique
}

/// Serializes a result for the model; a long result is cut and marked as truncated.
pub(super) fn content(result: &Value) -> String {
    let text = result.to_string();
    if text.len() <= LONGEST_RESULT {
        return text;
    }
    let part = result.get("data").or_else(|| result.get("error")).map(crate::text::plain_text).unwrap_or_default();
    let mut keep = LONGEST_RESULT - 128;
    loop {
        let end = (0..=keep.min(part.len())).rev().find(|it| part.is_char_boundary(*it)).unwrap_or(0);
        let part_kept = part.get(..end).unwrap_or_default();
        let cut = json!({"ok": result.get("ok"), "data": part_kept, "truncated": format!("[cut: {} of {} bytes]", end, part.len())});
        let text = cut.to_string();
        // JSON escapes make the text longer than its content.
        if text.len() <= LONGEST_RESULT || end == 0 {
            return text;
        }
        keep = keep * 3 / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_results_are_cut_and_say_so() {
        assert_eq!(content(&json!({"ok": true, "data": [1]})), r#"{"ok":true,"data":[1]}"#);
        for data in [json!("ü".repeat(9000)), json!("\"".repeat(9000)), json!({"rows": vec!["x"; 4000]})] {
            let text = content(&json!({"ok": true, "data": data}));
            let read: Value = serde_json::from_str(&text).unwrap();
            assert!(text.len() <= LONGEST_RESULT && text.len() > LONGEST_RESULT / 2, "{}", text.len());
            assert!(read["truncated"].as_str().unwrap().starts_with("[cut: ") && read["ok"] == true);
        }
    }

    #[test]
    fn calls_are_told_apart_and_what_ends_the_stay_comes_last() {
        let call = |id: &str, name: &str| LlmToolCall { id: id.to_owned(), name: name.to_owned(), arguments: json!({}) };
        let unique = told_apart(vec![call("a", FINISH), call("a", "x"), call("", "y")], "3_1");
        let shown: Vec<_> = unique.iter().map(|it| (it.id.as_str(), it.name.as_str())).collect();
        assert_eq!(shown, [("call_3_1_2", "x"), ("call_3_1_3", "y"), ("a", FINISH)]);
    }
}
