//! `instruction_agent` nodes: a model talks and calls tools until its task is done (docs/spec/flows.md#4.13).
//!
//! Tool results reach the model as data in separate messages. Its instructions, its tools and the calls that need approval depend only on
//! the document and on the state when the node was entered.

mod approval;
mod briefing;
mod built_in;
mod call;
mod collected;
mod guardrail;
mod memory;
mod run;
mod step_explanation;
mod task;
mod tool_calls;
mod tools;
mod uncertain_calls;

use convengine_config::flow::agent_memory_variable_of;
use convengine_config::flow::document::{AgentData, AgentPolicy, MemoryReset, Node};
use convengine_turn::{EffectError, EffectErrorDetail, EffectErrorKind, LlmDialogue, LlmMessage, LlmReply, LlmRequest};
use serde_json::{Value, json};

use self::call::with_unique_ids;
use self::memory::Memory;
use self::run::{AgentRun, AgentTransition};
use self::step_explanation::AgentStepEnd;
use super::super::failure::{EFFECT_LIMIT, Failure};
use super::super::transition::{GraphReturn, Transition};
use super::super::turn::Turn;
use super::RunNode;
use crate::state::{Awaiting, AwaitingKind, FlowEvent};

impl RunNode for AgentData {
    async fn run<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition {
        turn.enter_agent(node, self).await
    }

    async fn on_event<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node, awaiting: Awaiting) -> Transition {
        turn.on_agent_event(node, self, awaiting).await
    }

    fn reprompt<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition {
        turn.await_agent_again(node, self)
    }
}

impl<'c> Turn<'c> {
    /// Enters an agent node: sends the greeting, or passes the input to the model.
    async fn enter_agent(&mut self, node: &'c Node, data: &'c AgentData) -> Transition {
        // Its model may be another than the one that was told, or have forgotten it.
        self.state.forget_awareness();
        let mut run = AgentRun::load(self.view(), node, data);
        if data.memory.reset == MemoryReset::OnEnter {
            run.memory = Memory::default();
        }
        run.memory.start_run();
        let instructions = self.render_text(&data.instructions);
        run.memory.instructions = self.redactions().redact_text(&instructions);
        run.memory.instructions.extend(run.policy.map(briefing::policy_instructions));
        self.trace("agent.enter", json!({"node": node.id}));
        if let Some(greeting) = &data.greeting {
            self.send_localized(greeting, &self.state.node_key(&node.id));
            return self.close_agent(run, AgentTransition::AwaitInput);
        }
        match self.initial_input() {
            Some(text) => self.on_agent_message(run, &text).await,
            None => self.close_agent(run, AgentTransition::AwaitInput),
        }
    }

    /// Handles the event that an agent waits for.
    async fn on_agent_event(&mut self, node: &'c Node, data: &'c AgentData, awaiting: Awaiting) -> Transition {
        let mut run = AgentRun::load(self.view(), node, data);
        let is_decision = matches!(self.event, FlowEvent::Approval { .. });
        if run.memory.pending_calls.is_empty() && is_decision {
            // The call no longer exists.
            return self.close_agent(run, AgentTransition::AwaitInput);
        }
        if run.memory.pending_calls.is_empty() {
            let text = self.redacted_input_text();
            return self.on_agent_message(run, &text).await;
        }
        if is_decision {
            return if self.on_approval(&mut run).await { self.continue_run(run).await } else { Transition::Wait(awaiting) };
        }
        // Messages during an approval reach the model after the calls, and count as turns (docs/spec/flow-rulings.md#32).
        if run.memory.turns < data.max_turns {
            let text = self.redacted_input_text();
            run.memory.pending_inputs.push(self.redactions().redact_text(&text));
        }
        run.memory.turns = data.max_turns.saturating_add(1).min(run.memory.turns + 1);
        self.warn("approval.pending", json!({"node": node.id}));
        self.store_memory(&run);
        Transition::Wait(awaiting)
    }

    /// Waits again for the same input.
    fn await_agent_again(&mut self, node: &'c Node, data: &'c AgentData) -> Transition {
        let run = AgentRun::load(self.view(), node, data);
        Transition::Wait(self.agent_awaiting(&run))
    }

    /// The user input that leads to the agent; an answer that a slot has consumed does not count.
    fn initial_input(&self) -> Option<String> {
        let is_input = self.event.is_input();
        if is_input && (self.trigger.is_some() || !self.is_event_consumed) {
            return Some(self.redacted_input_text());
        }
        let has_intent = self.state.stack.iter().any(|it| it.intent_id.is_some());
        let last_intent = self.state.vars.get("_last_intent").filter(|_| has_intent)?;
        last_intent.get("text")?.as_str().map(str::to_owned).filter(|it| !it.is_empty())
    }

    /// The text of the event, or its history entry when a slot has redacted it.
    fn redacted_input_text(&self) -> String {
        let history_text = self.state.history.iter().rev().find(|it| it.role == "user").map(|it| it.text.as_str()).unwrap_or_default();
        let text = self.event.input_text();
        if text.starts_with(history_text) { text } else { history_text.to_owned() }
    }

    async fn on_agent_message(&mut self, mut run: AgentRun<'c>, text: &str) -> Transition {
        // A message above the limit does not reach the model (docs/spec/flow-rulings.md#32).
        if run.memory.turns >= run.data.max_turns {
            self.explain_agent(&run, AgentStepEnd::TurnLimit);
            return self.close_agent(run, AgentTransition::Leave("max_turns"));
        }
        run.memory.turns += 1;
        self.begin_agent_turn(&mut run, text);
        run.memory.messages.push(LlmMessage::user(text));
        self.run_steps(run).await
    }

    /// Runs steps until the agent waits, leaves or fails.
    async fn run_steps(&mut self, mut run: AgentRun<'c>) -> Transition {
        for step in 1..=run.max_steps() {
            self.begin_agent_step(&run, Some(step));
            if self.record.effects_left() == 0 {
                self.end_agent_step(&run, AgentStepEnd::EffectLimit);
                self.warn("guard.effect_limit", json!({"effects": self.record.debug.effects.len()}));
                self.record.stop_reason = EFFECT_LIMIT;
                return self.end_turn_at_limit(run);
            }
            if let Some(reason) = self.refuse_step(&mut run) {
                self.end_agent_step(&run, AgentStepEnd::Limit(reason));
                self.record.stop_reason = reason;
                return self.end_turn_at_limit(run);
            }
            let transition = self.run_step(&mut run, step).await;
            self.end_agent_step(&run, AgentStepEnd::Taken(&transition));
            match transition {
                AgentTransition::Continue => {}
                transition @ (AgentTransition::AwaitInput
                | AgentTransition::AwaitApproval
                | AgentTransition::Leave(_)
                | AgentTransition::Fail(_)) => return self.close_agent(run, transition),
            }
        }
        self.explain_agent(&run, AgentStepEnd::StepLimit);
        self.warn("agent.max_steps", json!({"node": run.node.id}));
        self.record.stop_reason = "max_steps";
        self.end_turn_at_limit(run)
    }

    /// Makes the calls that are left after an approval, then goes on.
    async fn continue_run(&mut self, mut run: AgentRun<'c>) -> Transition {
        let transition = self.run_tool_calls(&mut run).await;
        self.end_agent_step(&run, AgentStepEnd::Taken(&transition));
        match transition {
            AgentTransition::Continue => self.run_steps(run).await,
            transition @ (AgentTransition::AwaitInput
            | AgentTransition::AwaitApproval
            | AgentTransition::Leave(_)
            | AgentTransition::Fail(_)) => self.close_agent(run, transition),
        }
    }

    /// Ends the turn of an agent at a limit; the user gets the error message if the model has sent no text.
    fn end_turn_at_limit(&mut self, run: AgentRun<'c>) -> Transition {
        if !run.has_sent_text {
            self.send_error();
        }
        self.close_agent(run, AgentTransition::AwaitInput)
    }

    async fn run_step(&mut self, run: &mut AgentRun<'c>, step: u32) -> AgentTransition {
        self.prune_memory(run);
        let kind = if run.policy.is_some() { "think" } else { "agent.step" };
        self.trace(kind, json!({"node": run.node.id, "step": step, "messages": run.memory.messages.len()}));
        run.memory.progress.steps += u32::from(run.policy.is_some());
        let request = self.build_agent_request(run);
        let LlmReply { text, provider, model, tool_calls, .. } = match self.ask_model(request, 1).await {
            Ok(reply) => reply,
            Err(error) => return AgentTransition::Fail(model_failure(&error)),
        };
        (self.record.debug.provider, self.record.debug.model) = (json!(provider), json!(model));
        if text.trim().is_empty() && tool_calls.is_empty() {
            return AgentTransition::Fail(Failure::new("parse", "the model has neither said anything nor called a tool"));
        }
        let text = self.mask_reply(run, text);
        // The text is sent before the calls are made (docs/spec/flow-rulings.md#33).
        run.has_sent_text |= !text.trim().is_empty();
        self.send_text(&text);
        if run.policy.is_some() && !text.trim().is_empty() {
            self.trace("ask", json!({"node": run.node.id, "text": text}));
        }
        let mut calls = with_unique_ids(tool_calls, &format!("{}_{step}", self.event_number));
        self.coerce_arguments(run, &mut calls);
        run.memory.pending_calls = calls;
        run.memory.messages.push(LlmMessage::assistant(text, run.memory.pending_calls.clone()));
        self.fill_open_calls(run);
        if run.memory.pending_calls.is_empty() {
            return if self.is_exit_condition_true(run) { AgentTransition::Leave("done") } else { AgentTransition::AwaitInput };
        }
        self.run_tool_calls(run).await
    }

    fn build_agent_request(&self, run: &AgentRun<'c>) -> LlmRequest {
        let data = run.data;
        let alias = data.model.as_deref().unwrap_or("default");
        // A name that is not an alias is the name of a model.
        let own_name = || Some(alias.to_owned()).filter(|it| it != "default");
        let dialogue = LlmDialogue {
            messages: run.memory.messages.clone(),
            tools: self.offered_tools(run),
            model: self.settings().models.get(alias).cloned().or_else(own_name),
            temperature: data.temperature,
            is_masked: run.policy.is_some_and(AgentPolicy::masks_replies),
        };
        let request = self.new_model_request("agent", &self.agent_system_text(run), String::new());
        LlmRequest { dialogue: Some(Box::new(dialogue)), ..request }
    }

    /// Ends the turn of an agent, or leaves its node.
    fn close_agent(&mut self, mut run: AgentRun<'c>, transition: AgentTransition) -> Transition {
        let is_escalated = matches!(transition, AgentTransition::AwaitInput) && self.check_escalation(&run);
        if is_escalated {
            self.explain_agent(&run, AgentStepEnd::Escalated);
        }
        let transition = if is_escalated { AgentTransition::Leave("handoff") } else { transition };
        let port = match transition {
            AgentTransition::Continue | AgentTransition::AwaitInput | AgentTransition::AwaitApproval => {
                self.prune_memory(&mut run);
                self.store_memory(&run);
                return Transition::Wait(self.agent_awaiting(&run));
            }
            AgentTransition::Leave(port) => Ok(port),
            AgentTransition::Fail(failure) => Err(failure),
        };
        self.trace("agent.leave", json!({"node": run.node.id, "port": port.as_ref().map_or("error", |it| it)}));
        if run.data.memory.reset == MemoryReset::OnExit {
            self.state.vars.shift_remove(&run.variable);
            self.state.vars.shift_remove(&agent_memory_variable_of(&run.node.id));
        } else {
            run.memory.pending_calls.clear();
            self.prune_memory(&mut run);
            self.store_memory(&run);
        }
        // Within a workflow, the node that runs an AI agent has these ports.
        let is_exit = run.policy.is_some() && self.is_nested && port != Ok("done");
        let node_transition = port.map_or_else(Transition::Fail, |port| Transition::Port(port.to_owned()));
        if is_exit { leave_nested_agent(node_transition) } else { node_transition }
    }

    /// Redacts the memory and trims it to its limits.
    fn prune_memory(&self, run: &mut AgentRun<'c>) {
        let redactions = self.redactions();
        run.memory.messages.iter_mut().for_each(|it| redactions.redact_message(it));
        run.memory.trim(&run.data.memory);
    }

    fn store_memory(&mut self, run: &AgentRun<'c>) {
        let older_variable = agent_memory_variable_of(&run.node.id);
        if older_variable != run.variable {
            self.state.vars.shift_remove(&older_variable);
        }
        self.state.vars.insert(run.variable.clone(), run.memory.to_stored());
    }

    fn agent_awaiting(&self, run: &AgentRun<'c>) -> Awaiting {
        let new = |kind: AwaitingKind| Awaiting::new(kind, &run.node.id, Vec::new(), self.effects.now());
        let Some(call) = run.memory.pending_calls.first() else { return new(AwaitingKind::Agent) };
        // docs/spec/flow-rulings.md#34
        let call: Value = json!({"call_id": call.id, "tool": self.called_tool_id(run, call), "args": call.arguments});
        Awaiting { call: Some(call), ..new(AwaitingKind::Approval) }
    }
}

/// Ends an AI agent within a workflow; `transition` is that of the node that runs it.
fn leave_nested_agent(transition: Transition) -> Transition {
    Transition::Return(GraphReturn { exit: "handoff".to_owned(), caller_transition: Some(Box::new(transition)), ..GraphReturn::default() })
}

/// Converts the error of a model call to a failure.
fn model_failure(error: &EffectError) -> Failure {
    let code = match error.kind {
        EffectErrorKind::Limited if error.detail == Some(EffectErrorDetail::BUDGET) => "budget",
        EffectErrorKind::Timeout => "timeout",
        EffectErrorKind::Cancelled | EffectErrorKind::Interrupted => "cancelled",
        EffectErrorKind::Invalid | EffectErrorKind::Mismatch => "parse",
        EffectErrorKind::Unavailable
        | EffectErrorKind::Limited
        | EffectErrorKind::Refused
        | EffectErrorKind::NotFound
        | EffectErrorKind::Denied
        | EffectErrorKind::CircuitOpen
        | EffectErrorKind::Unsupported => "unavailable",
    };
    Failure::new(code, format!("the model could not be called ({code})"))
}

#[cfg(test)]
mod tests {
    use convengine_turn::{EffectError, EffectErrorDetail, EffectErrorKind};

    use super::model_failure;

    #[test]
    fn a_limit_of_calls_and_an_exhausted_budget_are_told_apart() {
        let limited = EffectError::new(EffectErrorKind::Limited, "too many calls a minute");
        assert_eq!(model_failure(&limited).code, "unavailable");
        assert_eq!(model_failure(&limited.with_detail(EffectErrorDetail::BUDGET)).code, "budget");
    }
}
