//! Nested programs: a node of a workflow graph runs another document with a state of its own (docs/spec/flows.md#9).
//!
//! While it runs, the walker stands in the nested document; the one that runs it is put aside. So a turn that is canceled in between loses
//! nothing, and what the turn produces is in one record.

use std::mem::{replace, swap, take};

use convengine_config::flow::Flow;
use convengine_config::flow::document::{Node, NodeKind, OnError, ProgramData, ProgramKind};
use convengine_text::date::Date;
use convengine_text::json::into_members;
use convengine_text::variable_path::VariablePath;
use convengine_turn::{CHILDREN, Map};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Walker;
use crate::failure::Failure;
use crate::session_start::new_session;
use crate::slot_values::IntentTrigger;
use crate::state::{FlowEvent, FlowUsage, SessionState, SessionStatus};
use crate::transition::Transition;
use crate::turn::Turn;

/// A program that is put aside while a node of it runs another one.
pub(super) struct OuterProgram<'c> {
    flow: &'c Flow,
    state: SessionState,
    event: FlowEvent,
    trigger: Option<IntentTrigger>,
    is_event_consumed: bool,
    entered_fallbacks: Vec<String>,
    summary: Option<String>,
    /// The node, and what it runs.
    node: &'c Node,
    data: &'c ProgramData,
    /// The usage of the nested program before.
    usage: FlowUsage,
}

impl OuterProgram<'_> {
    /// Whether its node says what happens when the nested program fails.
    fn handles_failure(&self) -> bool {
        let is_wired = || self.flow.graph(&self.flow.document.root).is_some_and(|it| it.is_wired(&self.node.id, "error"));
        self.node.on_error == OnError::Continue || self.node.on_error == OnError::Port && is_wired()
    }
}

/// The failure of a node whose document has failed, with the code of what has failed there.
fn program_failure(data: &ProgramData, vars: &Map) -> Failure {
    let code = vars.get("_error").and_then(|error| error.get("code")?.as_str()).map(|it| [" with ", it].concat()).unwrap_or_default();
    Failure::new("program_failed", format!("the {} '{}' has failed{code}", data.kind.name(), data.id))
}

impl<'c> Walker<'c> {
    /// Runs the document of a node from its start.
    pub(super) async fn start_program(&mut self, node: &'c Node) -> Transition {
        let NodeKind::Program(data) = &node.kind else { return Transition::EndTurn };
        let Some(flow) = self.root_flow.find_bound(data) else {
            return Transition::Fail(Failure::new("program_missing", format!("unknown {} '{}'", data.kind.name(), data.id)));
        };
        if self.outer.len() >= self.turn.settings().max_call_depth {
            let message = format!("programs run each other more than {} deep", self.turn.settings().max_call_depth);
            return Transition::Fail(Failure::new("call_depth", message));
        }
        match data.kind {
            ProgramKind::Workflow => self.turn.trace("workflow.subworkflow.enter", json!({"node": node.id, "workflow": data.id})),
            ProgramKind::Assistant | ProgramKind::Agent => {
                self.turn.trace("workflow.agent.hop", json!({"node": node.id, "agent": data.id}))
            }
        }
        let params = data.inputs.as_ref().map(|template| into_members(self.turn.render_json(template, Map::new()))).unwrap_or_default();
        let caller = &self.turn.state;
        let start = FlowEvent::Start {
            params,
            locale: Some(caller.locale.clone()),
            time_zone: Some(caller.time_zone.clone()),
            channel: Some(caller.channel.clone()),
            user: caller.user.clone(),
            visitor: caller.visitor.clone(),
            trigger: None,
        };
        // Each visit has keys of its own.
        let session = format!("{}/{}.{}", caller.session_id, node.id, caller.visits(&node.id));
        let at = Date::from_millis(self.turn.effects.now()).to_rfc3339_millis();
        let mut state = new_session(flow, caller.snapshot.trim_start_matches("sha256:"), &session, &start, &at);
        let message = self.turn.event.clone();
        // An AI agent takes up the message even if an agent of the workflow has.
        let is_for_program = flow.kind == ProgramKind::Agent || !self.turn.is_event_consumed;
        let has_message = message.is_input() && is_for_program;
        if flow.kind == ProgramKind::Workflow {
            // A nested graph begins at once, and its nodes read the message.
            state.history.extend(self.turn.state.history.iter().rev().find(|it| it.role == "user").cloned());
            self.enter_program(node, data, flow, state, message, self.turn.is_event_consumed);
            Box::pin(self.run_nodes()).await;
            let consumed = self.turn.is_event_consumed;
            let next = self.leave_program();
            self.turn.is_event_consumed |= consumed;
            return next;
        }
        self.enter_program(node, data, flow, state, start, false);
        self.turn.state.seq = 1;
        Box::pin(self.dispatch_event()).await;
        if !has_message || self.turn.state.status != SessionStatus::Active || !self.turn.record.stop_reason.is_empty() {
            return self.leave_program();
        }
        // The message that led here is for the assistant or the AI agent.
        self.turn.event = message;
        self.turn.is_event_consumed = false;
        Box::pin(self.dispatch_event()).await;
        let next = self.leave_program();
        self.turn.is_event_consumed = true;
        next
    }

    /// Delivers the event to the document that has the conversation.
    pub(super) async fn continue_program(&mut self) {
        let Some((node, data)) = self.turn.view().running_program() else { return };
        if self.turn.event.is_input() {
            self.turn.state.turn += 1;
        }
        let state = self.turn.view().child_state(&node.id).and_then(|state| SessionState::deserialize(state).ok());
        let next = match self.root_flow.find_bound(data).zip(state) {
            Some((flow, mut state)) => {
                state.seq += 1;
                state.last_event_at.clone_from(&self.turn.state.last_event_at);
                // The user may have signed in meanwhile.
                state.user.clone_from(&self.turn.state.user);
                state.visitor.clone_from(&self.turn.state.visitor);
                self.enter_program(node, data, flow, state, self.turn.event.clone(), false);
                Box::pin(self.dispatch_event()).await;
                let next = self.leave_program();
                self.turn.is_event_consumed = true;
                next
            }
            None => {
                self.turn.remove_child(&node.id);
                Transition::Fail(Failure::new("program_missing", format!("the {} '{}' no longer exists", data.kind.name(), data.id)))
            }
        };
        Box::pin(self.walk_on(node, next)).await;
    }

    /// Puts the program aside and stands in the document of a node.
    fn enter_program(
        &mut self,
        node: &'c Node,
        data: &'c ProgramData,
        flow: &'c Flow,
        mut state: SessionState,
        event: FlowEvent,
        is_event_consumed: bool,
    ) {
        let usage = state.usage;
        // They outlive the programs that have made them.
        state.uncertain_calls = take(&mut self.turn.state.uncertain_calls);
        self.outer.push(OuterProgram {
            flow: replace(&mut self.turn.flow, flow),
            state: replace(&mut self.turn.state, state),
            event: replace(&mut self.turn.event, event),
            trigger: self.turn.trigger.take(),
            is_event_consumed: replace(&mut self.turn.is_event_consumed, is_event_consumed),
            entered_fallbacks: take(&mut self.entered_fallbacks),
            summary: self.turn.summary.take(),
            node,
            data,
            usage,
        });
        self.turn.is_nested = true;
    }

    /// Ends the turn of the program in which the walker stands.
    pub(crate) fn close_program(&mut self) {
        self.turn.redact_explanations();
        self.turn.store_pending_values();
        self.turn.store_afternoon();
        self.set_timers();
    }

    /// Returns to the program that was put aside. It takes over what the nested one waits for, or what it returns.
    pub(super) fn leave_program(&mut self) -> Transition {
        // Its document knows which of its values are private.
        self.close_program();
        let Some(outer) = self.outer.pop() else { return Transition::EndTurn };
        self.turn.is_nested = !self.outer.is_empty();
        let mut child = replace(&mut self.turn.state, outer.state);
        self.turn.state.uncertain_calls = take(&mut child.uncertain_calls);
        let flow = replace(&mut self.turn.flow, outer.flow);
        self.turn.event = outer.event;
        self.turn.trigger = outer.trigger;
        self.turn.is_event_consumed = outer.is_event_consumed;
        self.entered_fallbacks = outer.entered_fallbacks;
        self.turn.summary = outer.summary;
        self.turn.state.usage.add_difference(outer.usage, child.usage);
        // The nested document knows what of the message is redacted.
        if flow.kind == ProgramKind::Assistant
            && self.turn.event.is_input()
            && let Some(entry) = child.history.iter().rev().find(|entry| entry.role == "user" && entry.turn == child.turn)
        {
            self.turn.adopt_user_text(&entry.text);
        }
        self.turn.state.status = SessionStatus::Active;
        self.turn.state.handoff = None;
        self.turn.state.awaiting = None;
        match child.status {
            SessionStatus::Completed | SessionStatus::Abandoned => {
                self.turn.remove_child(&outer.node.id);
                self.turn.write_program_outputs(outer.data, &child.vars);
                self.nested_exit.take().unwrap_or_else(Transition::out)
            }
            SessionStatus::Failed => {
                self.turn.remove_child(&outer.node.id);
                Transition::Fail(program_failure(outer.data, &child.vars))
            }
            SessionStatus::Active | SessionStatus::HandedOff => {
                self.turn.state.status = child.status;
                self.turn.state.handoff.clone_from(&child.handoff);
                self.turn.state.awaiting.clone_from(&child.awaiting);
                let children = self.turn.state.vars.entry(CHILDREN.to_owned()).or_insert_with(|| json!({}));
                if let Some(children) = children.as_object_mut() {
                    children.insert(outer.node.id.clone(), serde_json::to_value(&child).unwrap_or_default());
                }
                Transition::EndTurn
            }
        }
    }

    /// Whether a failure that nothing handles leaves the document by the node that runs it. That of a workflow always does; an assistant says
    /// its error message and has the conversation on, unless a document around it says what happens then.
    pub(super) fn propagates_failure(&self) -> bool {
        match self.turn.flow.kind {
            ProgramKind::Workflow => !self.outer.is_empty(),
            ProgramKind::Assistant => {
                let mut outer_programs = self.outer.iter().rev().take_while(|it| it.node.on_error != OnError::Stop);
                outer_programs.any(OuterProgram::handles_failure)
            }
            ProgramKind::Agent => false,
        }
    }

    /// Sends the error message of the outermost document that has one, or that of the engine.
    pub(super) fn send_outermost_error(&mut self) {
        let index = self.outer.iter().position(|it| it.flow.document.settings.error_message.is_some());
        self.swap_with_outer(index);
        self.turn.send_error();
        self.swap_with_outer(index);
    }

    /// Exchanges the document in which the walker stands with one that is put aside.
    fn swap_with_outer(&mut self, index: Option<usize>) {
        if let Some(outer) = index.and_then(|it| self.outer.get_mut(it)) {
            swap(&mut self.turn.flow, &mut outer.flow);
            swap(&mut self.turn.state, &mut outer.state);
            swap(&mut self.turn.event, &mut outer.event);
        }
    }

    /// Ends nested programs in the middle of a turn.
    pub(crate) fn leave_all_programs(&mut self) {
        while !self.outer.is_empty() {
            self.leave_program();
        }
    }
}

impl Turn<'_> {
    /// The history has what the user said, as a nested document may show it.
    fn adopt_user_text(&mut self, text: &str) {
        let turn = self.state.turn;
        match self.state.history.iter_mut().rev().find(|entry| entry.role == "user" && entry.turn == turn) {
            Some(entry) => text.clone_into(&mut entry.text),
            None => self.append_history("user", text.to_owned()),
        }
    }

    fn write_program_outputs(&mut self, data: &ProgramData, vars: &Map) {
        for (name, variable) in &data.outputs {
            let value = VariablePath::parse(name).ok().and_then(|path| path.find(vars).cloned());
            if let Some(value) = value
                && self.write_variable(variable, value).is_err()
            {
                self.warn("output.type_mismatch", json!({"variable": variable.to_string()}));
            }
        }
    }

    fn remove_child(&mut self, node: &str) {
        let Some(children) = self.state.vars.get_mut(CHILDREN).and_then(Value::as_object_mut) else { return };
        children.shift_remove(node);
        if children.is_empty() {
            self.state.vars.shift_remove(CHILDREN);
        }
    }
}
