//! The tools of an agent: those of its node, and the built-in `finish` and `request_human` (docs/spec/flows.md#4.13).

use convengine_config::flow::document::{FINISH, FlowTool, Node, REQUEST_HUMAN, is_built_in};
use convengine_turn::{EffectErrorDetail, EffectErrorKind, LlmTool, LlmToolCall};
use serde_json::{Value, json};

use super::super::super::failure::Failure;
use super::super::super::turn::Turn;
use super::super::http_request;
use super::super::http_retry::{CallAttempts, call_with_retry, parse_body, status_failure_code};
use super::super::service_call::{CallRequest, ServiceCall};
use super::built_in::{agent_tools, check_agent_call};
use super::call::{CallOutcome, CallResult, CheckedCall, ReadyCall, args_violation, error_result};
use super::collected::changes_something;
use super::run::AgentRun;
use super::uncertain_calls::MAY_HAVE_ACTED;

impl<'c> Turn<'c> {
    /// The tools offered to the model. They depend only on the document, and on the task of an AI agent.
    pub(super) fn offered_tools(&self, run: &AgentRun<'c>) -> Vec<LlmTool> {
        let data = run.data;
        let policy_tools = run.policy.map(agent_tools).unwrap_or_default();
        let mut tools: Vec<LlmTool> = Vec::new();
        for tool in data.tools.iter().filter_map(|it| self.flow.tool(&it.tool)).filter(|it| run.is_offered(it)) {
            let name = tool.name_for_models();
            // Names must be unique; the first tool wins.
            let is_built_in = |name: &str| is_built_in(name) || policy_tools.iter().any(|it| it.name == name);
            if tools.iter().all(|it| it.name != name) && !is_built_in(&name) {
                let description = if tool.description.is_empty() { &tool.name } else { &tool.description }.clone();
                let parameters = tool.input_schema.as_ref().map_or_else(|| json!({"type": "object"}), |it| it.source.clone());
                tools.push(LlmTool { name, description, parameters });
            }
        }
        tools.extend(policy_tools);
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
        let Some((agent_tool, tool)) = run.find_offered(self.flow, &call.name) else {
            return CheckedCall::Invalid(error_result("unknown_tool", "there is no tool of this name"));
        };
        match args_violation(tool, &call.arguments).or_else(|| self.find_contradiction(tool, members)) {
            Some(reason) => CheckedCall::Invalid(error_result("invalid_args", &reason)),
            None => CheckedCall::Tool(tool, tool.needs_approval(agent_tool.approval, changes_something(tool))),
        }
    }

    /// Converts arguments that a model gives as text where the tool takes a number, and the other way round.
    pub(super) fn coerce_arguments(&self, run: &AgentRun<'c>, calls: &mut [LlmToolCall]) {
        for call in calls {
            let schema = run.find_offered(self.flow, &call.name).and_then(|it| it.1.input_schema.as_ref());
            if let Some(Ok(schema)) = schema.map(|it| &it.compiled) {
                schema.coerce(&mut call.arguments);
            }
        }
    }

    /// The idempotency key of the next call: each call of a session gets its own.
    pub(super) fn new_call_key(&self, node: &Node) -> String {
        format!("{}:{}", self.state.visit_key(&node.id), self.state.usage.tool_calls)
    }

    /// Prepares a call; `key` is its idempotency key if it is an HTTP call that writes.
    pub(super) fn prepare_agent_call(&mut self, tool: &'c FlowTool, args: Value, is_approved: bool, key: String) -> ReadyCall<'c> {
        match tool.kind.as_str() {
            "http" | "webhook" | "mcp" | "function" => match http_request::prepare_tool_call(self, tool, args, is_approved, key) {
                Ok(call) => ReadyCall::Http(Box::new(call)),
                Err(failure) => ReadyCall::Immediate(error_result(&failure.code, &failure.message)),
            },
            "noop" => ReadyCall::Immediate(json!({"ok": true})),
            _ => ReadyCall::Immediate(error_result("unavailable", "the tool cannot be called here")),
        }
    }

    /// Makes a call; `write` is the signature of one that changes something, and `is_approved` whether a person has approved it. A call
    /// that repeats an uncertain one has its key.
    pub(super) async fn call_tool(
        &mut self,
        node: &'c Node,
        tool: &'c FlowTool,
        write: Option<&str>,
        args: Value,
        is_approved: bool,
    ) -> Value {
        let key = write.and_then(|it| self.uncertain_key(it)).unwrap_or_else(|| self.new_call_key(node));
        let call = match self.prepare_agent_call(tool, args, is_approved, key.clone()) {
            ReadyCall::Immediate(result) => return self.count_immediate_call(result),
            ReadyCall::Http(call) => call,
        };
        let key = Some(key).filter(|_| matches!(call.request, CallRequest::Http(_)));
        let noted = write.map(|it| self.note_write(it, key));
        let attempts = call_with_retry(&self.effects, &call, &self.trace_location(), self.record.effects_left()).await;
        let result = self.tool_result(&call, &attempts);
        if let Some(noted) = noted {
            self.settle_write(noted, result.outcome, attempts.outcome.is_ok());
        }
        result.value
    }

    /// Counts a call that needed no request; it is not an effect.
    pub(super) fn count_immediate_call(&mut self, result: Value) -> Value {
        self.state.usage.tool_calls += 1;
        result
    }

    /// Converts a reply to a result for the model: data or an error.
    pub(super) fn tool_result(&mut self, call: &ServiceCall<'c>, attempts: &CallAttempts) -> CallResult {
        self.record_attempts("tool.call", attempts);
        // The text of a tool that fails is for the model only: authors print the message of a failure.
        if let Err(error) = &attempts.outcome
            && error.detail == Some(EffectErrorDetail::TOOL_ERROR)
        {
            return CallResult { value: error_result("tool_error", &error.message), outcome: CallOutcome::Failed };
        }
        let outputs = attempts.reply().and_then(|reply| {
            if !(200..300).contains(&reply.status) {
                return Err(Failure::new(status_failure_code(reply.status), format!("the service answered {}", reply.status)));
            }
            let body = parse_body(reply)?;
            self.write_outputs(call.tool.into_iter().flat_map(|it| &it.outputs), &body, &call.extra_roots)?;
            Ok(body)
        });
        let failure = match outputs {
            Ok(data) => return CallResult { value: json!({"ok": true, "data": data}), outcome: CallOutcome::Done },
            Err(failure) => failure,
        };
        if !(call.tool.is_some_and(changes_something) && attempts.may_have_acted) {
            return CallResult { value: error_result(&failure.code, &failure.message), outcome: CallOutcome::Failed };
        }
        let value = match &attempts.outcome {
            Err(error) if error.kind == EffectErrorKind::Interrupted => error_result("interrupted", MAY_HAVE_ACTED),
            Err(_) => error_result(&failure.code, MAY_HAVE_ACTED),
            Ok(_) => error_result(&failure.code, &format!("{}: {MAY_HAVE_ACTED}", failure.message)),
        };
        CallResult { value, outcome: CallOutcome::Uncertain }
    }
}
