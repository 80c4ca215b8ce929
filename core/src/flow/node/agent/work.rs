//! The calls of a step: those that only read go together, others one after the other, and what ends the stay comes last.

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
    /// Makes the calls that are open, up to one for which a person has to be asked.
    pub(super) async fn works(&mut self, stay: &mut Stay<'c>) -> Then {
        if self.all_read(stay) {
            self.reads(stay).await;
        }
        while let Some(call) = stay.memory.open.first().cloned() {
            match self.judged(stay.data, &call) {
                Judged::Wrong(result) => self.answers(stay, &call, result),
                Judged::Tool(tool, true) => {
                    self.trace("agent.approval", json!({"node": stay.node.id, "call_id": call.id, "tool": tool.id, "state": "asked"}));
                    return Then::Ask;
                }
                Judged::Tool(tool, false) => {
                    let result = self.calls(stay.node, tool, call.arguments.clone()).await;
                    self.answers(stay, &call, result);
                }
                Judged::RequestHuman => {
                    self.answers(stay, &call, json!({"ok": true}));
                    return self.ends_stay(stay, &call, "handoff");
                }
                Judged::Finish => match self.finishes(stay.data, &call) {
                    Ok(()) => {
                        self.answers(stay, &call, json!({"ok": true}));
                        return self.ends_stay(stay, &call, "done");
                    }
                    Err(reason) => {
                        self.answers(stay, &call, failed("output_invalid", &reason));
                        if std::mem::replace(&mut stay.repaired, true) {
                            self.close_open(stay);
                            return Then::Fail(Failure::new("output_invalid", reason));
                        }
                    }
                },
            }
        }
        let said = std::mem::take(&mut stay.memory.said);
        stay.memory.messages.extend(said.into_iter().map(LlmMessage::user));
        if self.has_come_to_its_end(stay) {
            return Then::Leave("done");
        }
        if stay.memory.turns > stay.data.max_turns { Then::Leave("max_turns") } else { Then::On }
    }

    /// Whether several tools are called, all to read, and nobody has to say yes to any of them.
    fn all_read(&self, stay: &Stay<'c>) -> bool {
        let mut tools = 0;
        let calls = stay.memory.open.iter().filter(|it| !is_built_in(&it.name));
        let all = calls.map(|it| self.judged(stay.data, it)).all(|it| match it {
            Judged::Tool(tool, approval) => {
                tools += 1;
                !approval && wire::class_of(tool) == Class::Read
            }
            Judged::Wrong(_) | Judged::Finish | Judged::RequestHuman => true,
        });
        all && tools > 1
    }

    /// Makes calls that only read, all at the same time; their results stand in the order of the calls.
    async fn reads(&mut self, stay: &mut Stay<'c>) {
        let (calls, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut stay.memory.open).into_iter().partition(|it| !is_built_in(&it.name));
        let mut made = Vec::new();
        for call in &calls {
            made.push(match self.judged(stay.data, call) {
                Judged::Tool(tool, _) => self.ready(stay.node, tool, call.arguments.clone()),
                Judged::Wrong(result) => Ready::Answered(result),
                Judged::Finish | Judged::RequestHuman => continue,
            });
        }
        let (door, here, left) = (self.door.clone(), self.here(), self.effects_left());
        let asks: Vec<_> = made.iter().filter_map(|it| if let Ready::Asks(call) = it { Some(call) } else { None }).collect();
        // What is left is shared: together they must not ask for more, and the first ones get what is over.
        let (share, over) = (left / asks.len().max(1), left % asks.len().max(1));
        let mut attempts: Vec<Pending<'_, Tried>> = Vec::new();
        for (at, call) in asks.into_iter().enumerate() {
            attempts.push(Box::pin(tries(&door, call, &here, share + usize::from(at < over))));
        }
        let mut tried = together(attempts).await.into_iter();
        for (call, ready) in calls.iter().zip(&made) {
            let result = match ready {
                Ready::Answered(result) => result.clone(),
                Ready::Asks(asked) => match tried.next() {
                    Some(tried) => self.result(asked, &tried),
                    None => failed("cancelled", "the call was not made"),
                },
            };
            self.tells(stay, call, &result);
        }
        stay.memory.open = rest;
    }

    /// Answers the call that is the first of those that are open.
    pub(super) fn answers(&mut self, stay: &mut Stay<'c>, call: &LlmToolCall, result: Value) {
        self.tells(stay, call, &result);
        stay.memory.open.retain(|it| it.id != call.id);
    }

    /// Puts a result where the model reads it.
    fn tells(&mut self, stay: &mut Stay<'c>, call: &LlmToolCall, result: &Value) {
        let code = result.pointer("/error/code").cloned();
        let redactions = self.redactions();
        let args = redactions.value(call.arguments.clone());
        let told = json!({
            "node": stay.node.id, "call_id": call.id, "tool": call.name, "args": args, "ok": result.get("ok"), "code": code,
        });
        self.trace("agent.tool", told);
        let result = redactions.value(result.clone());
        stay.memory.messages.push(LlmMessage::tool(&call.id, content(&result)));
    }

    /// Writes the output of an agent; the error is why it cannot be.
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

    /// Leaves the node by what a call says; calls behind it are not made.
    fn ends_stay(&mut self, stay: &mut Stay<'c>, call: &LlmToolCall, port: &'static str) -> Then {
        self.close_open(stay);
        let member = if call.name == FINISH { "outcome" } else { "reason" };
        let said = self.redactions().value(call.arguments.get(member).cloned().unwrap_or_default());
        self.trace("agent.finish", json!({"node": stay.node.id, "by": call.name, member: said}));
        Then::Leave(port)
    }

    /// Answers all calls that are not made any more.
    fn close_open(&mut self, stay: &mut Stay<'c>) {
        for call in std::mem::take(&mut stay.memory.open) {
            self.tells(stay, &call, &failed("cancelled", "the task has ended"));
        }
    }

    /// The id of the tool that a call names.
    pub(super) fn tool_of(&self, data: &'c AgentData, call: &LlmToolCall) -> String {
        let named = |it: Judged<'c>| if let Judged::Tool(FlowTool { id, .. }, _) = it { Some(id.clone()) } else { None };
        named(self.judged(data, call)).unwrap_or_else(|| call.name.clone())
    }
}
