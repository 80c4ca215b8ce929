//! Runs the tool calls of a step: reads concurrently, others in order, and the built-in calls last.

use convengine_config::flow::document::{AgentData, AgentOutput, FINISH, FlowTool, REQUEST_HUMAN, SEARCH_KNOWLEDGE, is_built_in};
use convengine_text::json::schema::JsonSchema;
use convengine_turn::{BoxFuture, CallApproval, CallApprovalEvent, EffectClass, LlmMessage, LlmToolCall, Map, join};
use serde_json::{Value, json};

use super::super::super::failure::Failure;
use super::super::super::turn::Turn;
use super::super::http_retry::{CallAttempts, call_with_retry};
use super::super::service_call::tool_effect_class;
use super::call::{CheckedCall, ReadyCall, error_result, format_result};
use super::run::{AgentRun, AgentTransition};

impl<'c> Turn<'c> {
    /// Makes the open calls, up to the first one that needs approval.
    pub(super) async fn run_tool_calls(&mut self, run: &mut AgentRun<'c>) -> AgentTransition {
        if self.are_all_reads(run) {
            self.run_reads_concurrently(run).await;
        }
        while let Some(call) = run.memory.pending_calls.first().cloned() {
            match self.check_call(run, &call) {
                CheckedCall::Invalid(result) => self.answer_call(run, &call, result),
                CheckedCall::Remember => {
                    let result = self.remember(run, &call);
                    self.answer_call(run, &call, result);
                }
                CheckedCall::SearchKnowledge => {
                    let result = match self.refuse_call(run, SEARCH_KNOWLEDGE, None) {
                        Some(refusal) => refusal,
                        None => {
                            run.count_call(SEARCH_KNOWLEDGE);
                            self.search_agent_knowledge(run, &call).await
                        }
                    };
                    self.answer_call(run, &call, result);
                }
                CheckedCall::Tool(tool, needs_approval) => {
                    if let Some(refusal) = self.refuse_call(run, &tool.id, Some(tool)) {
                        self.answer_call(run, &call, refusal);
                        continue;
                    }
                    let signature = self.write_signature(tool, &call.arguments);
                    if let Some(refusal) = signature.as_ref().and_then(|it| self.refuse_uncertain_call(it)) {
                        self.answer_call(run, &call, refusal);
                        continue;
                    }
                    if !needs_approval {
                        let args = self.with_redacted_values(tool, call.arguments.clone());
                        let result = self.call_counted_tool(run, tool, signature.as_deref(), args, false).await;
                        self.answer_call(run, &call, result);
                        continue;
                    }
                    self.note_waiting_call(tool);
                    let state = self.effects.take_transition(CallApproval::Planned, CallApprovalEvent::Ask).map(CallApproval::name);
                    self.trace("agent.approval", json!({"node": run.node.id, "call_id": call.id, "tool": tool.id, "state": state}));
                    return AgentTransition::AwaitApproval;
                }
                CheckedCall::RequestHuman => {
                    self.answer_call(run, &call, json!({"ok": true}));
                    return self.end_run(run, &call, "handoff");
                }
                CheckedCall::Finish => match self.write_agent_output(run.data, &call) {
                    Ok(()) => {
                        self.answer_call(run, &call, json!({"ok": true}));
                        return self.end_run(run, &call, "done");
                    }
                    Err(reason) => {
                        self.answer_call(run, &call, error_result("output_invalid", &reason));
                        if std::mem::replace(&mut run.is_output_rejected, true) {
                            self.cancel_open_calls(run);
                            return AgentTransition::Fail(Failure::new("output_invalid", reason));
                        }
                    }
                },
            }
        }
        let inputs = std::mem::take(&mut run.memory.pending_inputs);
        run.memory.messages.extend(inputs.into_iter().map(LlmMessage::user));
        if self.is_exit_condition_true(run) {
            return AgentTransition::Leave("done");
        }
        if run.memory.turns > run.data.max_turns { AgentTransition::Leave("max_turns") } else { AgentTransition::Continue }
    }

    /// Whether the exit condition of the agent is true.
    pub(super) fn is_exit_condition_true(&mut self, run: &AgentRun<'c>) -> bool {
        let Some(condition) = run.data.exit_when.as_ref() else { return false };
        let is_reached = self.is_condition_true(condition, Map::new());
        self.note_exit_condition(condition, is_reached);
        if is_reached {
            self.trace("agent.finish", json!({"node": run.node.id, "by": "exit_when"}));
        }
        is_reached
    }

    /// Whether there are several tool calls, all of them reads without approval.
    fn are_all_reads(&self, run: &AgentRun<'c>) -> bool {
        let mut tools = 0;
        let calls = run.memory.pending_calls.iter().filter(|it| !is_built_in(&it.name));
        let all = calls.map(|it| self.check_call(run, it)).all(|checked| match checked {
            CheckedCall::Tool(tool, approval) => {
                tools += 1;
                !approval && tool_effect_class(tool) == EffectClass::Read
            }
            CheckedCall::Remember | CheckedCall::SearchKnowledge => false,
            CheckedCall::Invalid(_) | CheckedCall::Finish | CheckedCall::RequestHuman => true,
        });
        all && tools > 1
    }

    /// Makes read calls concurrently; the results are in the order of the calls.
    async fn run_reads_concurrently(&mut self, run: &mut AgentRun<'c>) {
        let (calls, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut run.memory.pending_calls).into_iter().partition(|it| !is_built_in(&it.name));
        let mut prepared = Vec::new();
        for call in &calls {
            prepared.push(match self.check_call(run, call) {
                CheckedCall::Tool(tool, _) => match self.refuse_call(run, &tool.id, Some(tool)) {
                    Some(refusal) => ReadyCall::Immediate(refusal),
                    None => {
                        run.count_call(&tool.id);
                        self.prepare_agent_call(tool, call.arguments.clone(), false, self.new_call_key(run.node))
                    }
                },
                CheckedCall::Invalid(result) => ReadyCall::Immediate(result),
                CheckedCall::Finish | CheckedCall::RequestHuman | CheckedCall::Remember | CheckedCall::SearchKnowledge => continue,
            });
        }
        let (effects, location, left) = (self.effects.clone(), self.trace_location(), self.record.effects_left());
        let http_calls: Vec<_> =
            prepared.iter().filter_map(|ready| if let ReadyCall::Http(call) = ready { Some(call) } else { None }).collect();
        // The remaining effects are divided among the calls; the first calls get the remainder.
        let (share, remainder) = (left / http_calls.len().max(1), left % http_calls.len().max(1));
        let mut attempts: Vec<BoxFuture<'_, CallAttempts>> = Vec::new();
        for (at, call) in http_calls.into_iter().enumerate() {
            attempts.push(Box::pin(call_with_retry(&effects, call, &location, share + usize::from(at < remainder))));
        }
        let mut results = join(attempts).await.into_iter();
        for (call, ready) in calls.iter().zip(&prepared) {
            let result = match ready {
                ReadyCall::Immediate(result) => result.clone(),
                ReadyCall::Http(prepared_call) => match results.next() {
                    Some(attempts) => self.tool_result(prepared_call, &attempts).value,
                    None => error_result("cancelled", "the call was not made"),
                },
            };
            self.append_result(run, call, &result);
        }
        run.memory.pending_calls = rest;
    }

    /// Makes a call and counts it; `write` is the signature of one that changes something, and `is_approved` whether a person has approved
    /// it.
    pub(super) async fn call_counted_tool(
        &mut self,
        run: &mut AgentRun<'c>,
        tool: &'c FlowTool,
        write: Option<&str>,
        args: Value,
        is_approved: bool,
    ) -> Value {
        run.count_call(&tool.id);
        self.call_tool(run.node, tool, write, args, is_approved).await
    }

    /// Appends the result of an open call and removes the call.
    pub(super) fn answer_call(&mut self, run: &mut AgentRun<'c>, call: &LlmToolCall, result: Value) {
        self.append_result(run, call, &result);
        run.memory.pending_calls.retain(|it| it.id != call.id);
    }

    /// Appends a redacted result to the dialogue.
    fn append_result(&mut self, run: &mut AgentRun<'c>, call: &LlmToolCall, result: &Value) {
        self.note_call(call, result);
        let code = result.pointer("/error/code").cloned();
        let redactions = self.redactions();
        let args = redactions.redact_value(call.arguments.clone());
        let payload = json!({
            "node": run.node.id, "call_id": call.id, "tool": call.name, "args": args, "ok": result.get("ok"), "code": code,
        });
        self.trace(if run.policy.is_some() { "tool" } else { "agent.tool" }, payload);
        let result = redactions.redact_value(result.clone());
        run.memory.messages.push(LlmMessage::tool(&call.id, format_result(&result)));
    }

    /// Writes the output of an agent.
    ///
    /// # Errors
    /// Returns why the output is invalid.
    fn write_agent_output(&mut self, data: &AgentData, call: &LlmToolCall) -> Result<(), String> {
        let Some(AgentOutput { variable, schema }) = &data.output else { return Ok(()) };
        let mut output = call.arguments.get("output").cloned();
        if let Some(schema) = schema {
            let schema = JsonSchema::compile(schema).map_err(|it| format!("the output cannot be checked: {it}"))?;
            let violation = match &mut output {
                Some(output) => {
                    schema.coerce(output);
                    schema.find_violation(output)
                }
                None => Some("'output' is missing".to_owned()),
            };
            violation.map_or(Ok(()), Err)?;
        }
        output.map_or(Ok(()), |output| self.write_variable(variable, output).map_err(|it| it.0))
    }

    /// Ends the run by a built-in call; later calls are canceled.
    fn end_run(&mut self, run: &mut AgentRun<'c>, call: &LlmToolCall, port: &'static str) -> AgentTransition {
        self.cancel_open_calls(run);
        let member = if call.name == FINISH { "outcome" } else { "reason" };
        let reason = self.redactions().redact_value(call.arguments.get(member).cloned().unwrap_or_default());
        self.trace("agent.finish", json!({"node": run.node.id, "by": call.name, member: reason}));
        if run.policy.is_some() && call.name == REQUEST_HUMAN {
            self.set_handoff_reason(&reason);
        }
        AgentTransition::Leave(port)
    }

    /// Cancels the open calls.
    fn cancel_open_calls(&mut self, run: &mut AgentRun<'c>) {
        for call in std::mem::take(&mut run.memory.pending_calls) {
            self.append_result(run, &call, &error_result("cancelled", "the task has ended"));
        }
    }

    /// The id of the called tool, or the name in the call when it is unknown.
    pub(super) fn called_tool_id(&self, run: &AgentRun<'c>, call: &LlmToolCall) -> String {
        let tool_id =
            |checked: CheckedCall<'c>| if let CheckedCall::Tool(FlowTool { id, .. }, _) = checked { Some(id.clone()) } else { None };
        tool_id(self.check_call(run, call)).unwrap_or_else(|| call.name.clone())
    }
}
