//! Runs the tool calls of a step: reads concurrently, others in order, and the built-in calls last.

use serde_json::{Value, json};

use super::super::super::Walk;
use super::super::super::fail::Failure;
use super::super::attempt::{Tried, tries};
use super::super::wire;
use super::tools::{Judged, Ready, content, failed};
use super::{Stay, Then};
use crate::config::flow::document::{AgentData, AgentOutput, FINISH, FlowTool, is_built_in};
use crate::json::schema::JsonSchema;
use crate::turn::{Class, LlmMessage, LlmToolCall, Pending, together};

impl<'c> Walk<'c> {
    /// Makes the open calls, up to the first one that needs approval.
    pub(super) async fn works(&mut self, run: &mut Stay<'c>) -> Then {
        if self.all_read(run) {
            self.reads(run).await;
        }
        while let Some(call) = run.memory.open.first().cloned() {
            match self.judged(run.data, &call) {
                Judged::Wrong(result) => self.answers(run, &call, result),
                Judged::Tool(tool, true) => {
                    self.trace("agent.approval", json!({"node": run.node.id, "call_id": call.id, "tool": tool.id, "state": "asked"}));
                    return Then::Ask;
                }
                Judged::Tool(tool, false) => {
                    let result = self.calls(run.node, tool, call.arguments.clone()).await;
                    self.answers(run, &call, result);
                }
                Judged::RequestHuman => {
                    self.answers(run, &call, json!({"ok": true}));
                    return self.ends_stay(run, &call, "handoff");
                }
                Judged::Finish => match self.finishes(run.data, &call) {
                    Ok(()) => {
                        self.answers(run, &call, json!({"ok": true}));
                        return self.ends_stay(run, &call, "done");
                    }
                    Err(reason) => {
                        self.answers(run, &call, failed("output_invalid", &reason));
                        if std::mem::replace(&mut run.repaired, true) {
                            self.close_open(run);
                            return Then::Fail(Failure::new("output_invalid", reason));
                        }
                    }
                },
            }
        }
        let inputs = std::mem::take(&mut run.memory.said);
        run.memory.messages.extend(inputs.into_iter().map(LlmMessage::user));
        if self.has_come_to_its_end(run) {
            return Then::Leave("done");
        }
        if run.memory.turns > run.data.max_turns { Then::Leave("max_turns") } else { Then::On }
    }

    /// Whether there are several tool calls, all of them reads without approval.
    fn all_read(&self, run: &Stay<'c>) -> bool {
        let mut tools = 0;
        let calls = run.memory.open.iter().filter(|it| !is_built_in(&it.name));
        let all = calls.map(|it| self.judged(run.data, it)).all(|it| match it {
            Judged::Tool(tool, approval) => {
                tools += 1;
                !approval && wire::class_of(tool) == Class::Read
            }
            Judged::Wrong(_) | Judged::Finish | Judged::RequestHuman => true,
        });
        all && tools > 1
    }

    /// Makes read calls concurrently; the results are in the order of the calls.
    async fn reads(&mut self, run: &mut Stay<'c>) {
        let (calls, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut run.memory.open).into_iter().partition(|it| !is_built_in(&it.name));
        let mut prepared = Vec::new();
        for call in &calls {
            prepared.push(match self.judged(run.data, call) {
                Judged::Tool(tool, _) => self.ready(run.node, tool, call.arguments.clone()),
                Judged::Wrong(result) => Ready::Answered(result),
                Judged::Finish | Judged::RequestHuman => continue,
            });
        }
        let (effects, location, left) = (self.door.clone(), self.here(), self.effects_left());
        let http_calls: Vec<_> = prepared.iter().filter_map(|it| if let Ready::Asks(call) = it { Some(call) } else { None }).collect();
        // The remaining effects are divided among the calls; the first calls get the remainder.
        let (share, over) = (left / http_calls.len().max(1), left % http_calls.len().max(1));
        let mut attempts: Vec<Pending<'_, Tried>> = Vec::new();
        for (at, call) in http_calls.into_iter().enumerate() {
            attempts.push(Box::pin(tries(&effects, call, &location, share + usize::from(at < over))));
        }
        let mut results = together(attempts).await.into_iter();
        for (call, ready) in calls.iter().zip(&prepared) {
            let result = match ready {
                Ready::Answered(result) => result.clone(),
                Ready::Asks(prepared_call) => match results.next() {
                    Some(attempts) => self.result(prepared_call, &attempts),
                    None => failed("cancelled", "the call was not made"),
                },
            };
            self.tells(run, call, &result);
        }
        run.memory.open = rest;
    }

    /// Appends the result of an open call and removes the call.
    pub(super) fn answers(&mut self, run: &mut Stay<'c>, call: &LlmToolCall, result: Value) {
        self.tells(run, call, &result);
        run.memory.open.retain(|it| it.id != call.id);
    }

    /// Appends a redacted result to the dialogue.
    fn tells(&mut self, run: &mut Stay<'c>, call: &LlmToolCall, result: &Value) {
        let code = result.pointer("/error/code").cloned();
        let redactions = self.redactions();
        let args = redactions.value(call.arguments.clone());
        let payload = json!({
            "node": run.node.id, "call_id": call.id, "tool": call.name, "args": args, "ok": result.get("ok"), "code": code,
        });
        self.trace("agent.tool", payload);
        let result = redactions.value(result.clone());
        run.memory.messages.push(LlmMessage::tool(&call.id, content(&result)));
    }

    /// Writes the output of an agent.
    ///
    /// # Errors
    /// Returns why the output is invalid.
    fn finishes(&mut self, data: &AgentData, call: &LlmToolCall) -> Result<(), String> {
        let Some(AgentOutput { variable, schema }) = &data.output else { return Ok(()) };
        let output = call.arguments.get("output");
        if let Some(schema) = schema {
            let schema = JsonSchema::compile(schema).map_err(|it| format!("the output cannot be checked: {it}"))?;
            let breach = match output {
                Some(output) => schema.check(output),
                None => Some("'output' is missing".to_owned()),
            };
            breach.map_or(Ok(()), Err)?;
        }
        output.map_or(Ok(()), |it| self.write(variable, it.clone()).map_err(|it| it.0))
    }

    /// Ends the run by a built-in call; later calls are canceled.
    fn ends_stay(&mut self, run: &mut Stay<'c>, call: &LlmToolCall, port: &'static str) -> Then {
        self.close_open(run);
        let member = if call.name == FINISH { "outcome" } else { "reason" };
        let reason = self.redactions().value(call.arguments.get(member).cloned().unwrap_or_default());
        self.trace("agent.finish", json!({"node": run.node.id, "by": call.name, member: reason}));
        Then::Leave(port)
    }

    /// Cancels the open calls.
    fn close_open(&mut self, run: &mut Stay<'c>) {
        for call in std::mem::take(&mut run.memory.open) {
            self.tells(run, &call, &failed("cancelled", "the task has ended"));
        }
    }

    /// The id of the called tool, or the name in the call when it is unknown.
    pub(super) fn tool_of(&self, data: &'c AgentData, call: &LlmToolCall) -> String {
        let named = |it: Judged<'c>| if let Judged::Tool(FlowTool { id, .. }, _) = it { Some(id.clone()) } else { None };
        named(self.judged(data, call)).unwrap_or_else(|| call.name.clone())
    }
}
