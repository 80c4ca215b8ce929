//! The tools of an agent: those of its node, and the built-in `finish` and `request_human` (docs/spec/flows.md#4.13).

use convengine_config::flow::document::{AgentData, AgentTool, FINISH, FlowTool, Node, REQUEST_HUMAN, is_built_in};
use convengine_text::json::schema::JsonSchema;
use convengine_text::value::EXPRESSION;
use convengine_turn::{EffectErrorDetail, EffectErrorKind, LlmTool, LlmToolCall};
use serde_json::{Value, json};

use super::super::super::Walker;
use super::super::super::failure::Failure;
use super::super::http_request::{self, CallRequest, ServiceCall};
use super::super::http_retry::{CallAttempts, call_with_retry, parse_body, status_failure_code};
use super::built_in::{agent_tools, check_agent_call};
use super::{AgentRun, collected};

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

/// Creates an error result.
pub(super) fn error_result(code: &str, message: &str) -> Value {
    json!({"ok": false, "error": {"code": code, "message": message}})
}

impl<'c> Walker<'c> {
    /// The tools offered to the model. They depend only on the document, and on the task of an AI agent.
    pub(super) fn offered_tools(&self, run: &AgentRun<'c>) -> Vec<LlmTool> {
        let data = run.data;
        let of_agent = run.policy.map(agent_tools).unwrap_or_default();
        let mut tools: Vec<LlmTool> = Vec::new();
        for tool in data.tools.iter().filter_map(|it| self.flow.tool(&it.tool)).filter(|it| run.is_offered(it)) {
            let name = tool.name_for_models();
            // Names must be unique; the first tool wins.
            let is_built_in = |name: &str| is_built_in(name) || of_agent.iter().any(|it| it.name == name);
            if tools.iter().all(|it| it.name != name) && !is_built_in(&name) {
                let description = if tool.description.is_empty() { &tool.name } else { &tool.description }.clone();
                let parameters = tool.input_schema.clone().unwrap_or_else(|| json!({"type": "object"}));
                tools.push(LlmTool { name, description, parameters });
            }
        }
        tools.extend(of_agent);
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
    pub(super) fn check_call(&self, run: &AgentRun<'c>, call: &LlmToolCall) -> CheckedCall<'c> {
        let Some(members) = call.arguments.as_object() else {
            return CheckedCall::Invalid(error_result("invalid_args", "the arguments are no JSON object"));
        };
        match call.name.as_str() {
            FINISH => return CheckedCall::Finish,
            REQUEST_HUMAN if members.get("reason").is_some_and(Value::is_string) => return CheckedCall::RequestHuman,
            REQUEST_HUMAN => return CheckedCall::Invalid(error_result("invalid_args", "'reason' is missing")),
            _ => {}
        }
        if let Some(checked) = run.policy.and_then(|it| check_agent_call(it, &call.name, members)) {
            return checked;
        }
        let Some((listed, tool)) = self.find_offered(run, &call.name) else {
            return CheckedCall::Invalid(error_result("unknown_tool", "there is no tool of this name"));
        };
        match args_violation(tool, &call.arguments).or_else(|| self.find_contradiction(tool, members)) {
            Some(reason) => CheckedCall::Invalid(error_result("invalid_args", &reason)),
            None => CheckedCall::Tool(tool, tool.needs_approval(listed.approval, collected::changes_something(tool))),
        }
    }

    /// The tool that a call names, if the agent may call it now.
    pub(super) fn find_offered_tool(&self, run: &AgentRun<'c>, name: &str) -> Option<&'c FlowTool> {
        self.find_offered(run, name).map(|it| it.1)
    }

    fn find_offered(&self, run: &AgentRun<'c>, name: &str) -> Option<(&'c AgentTool, &'c FlowTool)> {
        let data: &'c AgentData = run.data;
        let mut tools = data.tools.iter().filter_map(|it| Some((it, self.flow.tool(&it.tool)?))).filter(|it| run.is_offered(it.1));
        tools.find(|it| it.1.name_for_models() == name || it.1.id == name)
    }

    /// Converts arguments that a model gives as text where the tool takes a number, and the other way round.
    pub(super) fn coerce_arguments(&self, run: &AgentRun<'c>, calls: &mut [LlmToolCall]) {
        for call in calls {
            let schema = self.find_offered(run, &call.name).and_then(|it| it.1.input_schema.as_ref());
            if let Some(schema) = schema.and_then(|it| JsonSchema::compile(it).ok()) {
                schema.coerce(&mut call.arguments);
            }
        }
    }

    /// Prepares a call.
    pub(super) fn prepare_agent_call(&mut self, node: &'c Node, tool: &'c FlowTool, args: Value, is_approved: bool) -> ReadyCall<'c> {
        match tool.kind.as_str() {
            "http" | "webhook" | "mcp" | "function" => match http_request::prepare_tool_call(self, node, tool, args, is_approved) {
                Ok(call) => ReadyCall::Http(Box::new(call)),
                Err(failure) => ReadyCall::Immediate(error_result(&failure.code, &failure.message)),
            },
            "noop" => ReadyCall::Immediate(json!({"ok": true})),
            _ => ReadyCall::Immediate(error_result("unavailable", "the tool cannot be called here")),
        }
    }

    /// Makes a call; `is_approved` is whether a person has approved it.
    pub(super) async fn call_tool(&mut self, node: &'c Node, tool: &'c FlowTool, args: Value, is_approved: bool) -> Value {
        match self.prepare_agent_call(node, tool, args, is_approved) {
            ReadyCall::Immediate(result) => self.count_immediate_call(result),
            ReadyCall::Http(call) => {
                let attempts = call_with_retry(&self.effects, &call, &self.trace_location(), self.effects_left()).await;
                self.tool_result(&call, &attempts)
            }
        }
    }

    /// Counts a call that needed no request; it is not an effect.
    pub(super) fn count_immediate_call(&mut self, result: Value) -> Value {
        self.state.usage.tool_calls += 1;
        result
    }

    /// Converts a reply to a result for the model: data or an error.
    pub(super) fn tool_result(&mut self, call: &ServiceCall<'c>, attempts: &CallAttempts) -> Value {
        self.record_attempts("tool.call", attempts);
        // The text of a tool that fails is for the model only: authors print the message of a failure.
        if let Err(error) = &attempts.outcome
            && error.detail == Some(EffectErrorDetail::TOOL_ERROR)
        {
            return error_result("tool_error", &error.message);
        }
        if let (Err(error), CallRequest::Tool(_) | CallRequest::Task(_)) = (&attempts.outcome, &call.request)
            && error.kind == EffectErrorKind::Interrupted
        {
            return error_result("interrupted", "the call may have been carried out; do not repeat it without asking the user");
        }
        let outputs = attempts.reply().and_then(|reply| {
            if !(200..300).contains(&reply.status) {
                return Err(Failure::new(status_failure_code(reply.status), format!("the service answered {}", reply.status)));
            }
            let body = parse_body(reply)?;
            self.write_outputs(call.tool.into_iter().flat_map(|it| &it.outputs), &body, &call.extra_roots)?;
            Ok(body)
        });
        match outputs {
            Ok(data) => json!({"ok": true, "data": data}),
            Err(failure) => error_result(&failure.code, &failure.message),
        }
    }
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
