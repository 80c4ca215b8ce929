//! Nested programs: a node of a workflow graph runs another document with a state of its own (docs/spec/flows.md#9).
//!
//! While it runs, the walker stands in the nested document; the one that runs it is put aside. So a turn that is canceled in between loses
//! nothing, and what the turn produces is in one record.

use std::iter::successors;
use std::mem::{replace, swap, take};

use convengine_config::flow::Flow;
use convengine_config::flow::document::{Node, NodeKind, OnError, ProgramData, ProgramKind};
use convengine_text::date::Date;
use convengine_text::variable_path::VariablePath;
use convengine_turn::{CHILDREN, Map};
use serde::Deserialize;
use serde_json::{Value, json};

use super::button_input::SHOWN_BUTTONS;
use super::failure::Failure;
use super::frames::into_members;
use super::timers::SESSION_TIMER;
use super::walk::Transition;
use super::{IntentTrigger, Walker, new_session};
use crate::state::{FlowEvent, FlowUsage, SessionState, SessionStatus};

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

/// Returns the state of the document that has the conversation of a stored session: its own, or that of the innermost one that it runs.
///
/// ```
/// use convengine_flow::active_state;
/// use serde_json::json;
///
/// let child = json!({"program": "agent", "stack": [], "vars": {}});
/// let state = json!({"program": "workflow", "stack": [{"node": "talk"}], "vars": {"_child": {"talk": child}}});
/// assert_eq!(active_state(&state)["program"], "agent");
/// assert_eq!(active_state(&child), &child, "it runs no other");
/// ```
pub fn active_state(mut state: &Value) -> &Value {
    while let Some((_, child)) = running_child(state) {
        state = child;
    }
    state
}

/// Returns the document that has the conversation of a stored session: its own, or the innermost one that it runs. Where the state names a
/// document that `root` is not bound to, the last one that it is bound to.
pub fn active_document<'c>(root: &'c Flow, mut state: &Value) -> &'c Flow {
    let mut flow = root;
    while let Some((node, child)) = running_child(state) {
        let Some(NodeKind::Program(data)) = flow.node(&flow.document.root, node).map(|it| &it.kind) else { break };
        let Some(bound) = root.find_bound(data) else { break };
        (flow, state) = (bound, child);
    }
    flow
}

/// Returns the options that a stored session offers, each with its `id`: those that it waits for, and those that its latest message has
/// shown; also of the documents that it runs. What a client sends as the id of a button is one of these, or stale.
///
/// ```
/// use convengine_flow::list_offered_options;
/// use serde_json::json;
///
/// let state = json!({"awaiting": {"kind": "button", "options": [{"id": "yes"}, {"id": "no"}]}, "stack": []});
/// let ids: Vec<_> = list_offered_options(&state).map(|option| &option["id"]).collect();
/// assert_eq!(ids, ["yes", "no"]);
/// ```
pub fn list_offered_options(state: &Value) -> impl Iterator<Item = &Value> {
    let states = successors(Some(state), |&it| Some(running_child(it)?.1));
    let lists = states.flat_map(|it| [it.pointer("/awaiting/options"), it.get("vars").and_then(|it| it.get(SHOWN_BUTTONS))]);
    lists.flatten().filter_map(Value::as_array).flatten()
}

/// The node of a stored state that runs another document, and the state of that.
fn running_child(state: &Value) -> Option<(&str, &Value)> {
    let node = state.get("stack")?.as_array()?.last()?.get("node")?.as_str()?;
    Some((node, state.get("vars")?.get(CHILDREN)?.get(node)?))
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
    let code = vars.get("_error").and_then(|it| it.get("code")?.as_str()).map(|it| [" with ", it].concat()).unwrap_or_default();
    Failure::new("program_failed", format!("the {} '{}' has failed{code}", data.kind.name(), data.id))
}

impl<'c> Walker<'c> {
    /// Runs the document of a node from its start.
    pub(super) async fn start_program(&mut self, node: &'c Node, data: &'c ProgramData) -> Transition {
        let Some(flow) = self.root_flow.find_bound(data) else {
            return Transition::Fail(Failure::new("program_missing", format!("unknown {} '{}'", data.kind.name(), data.id)));
        };
        if self.outer.len() >= self.settings().max_call_depth {
            let message = format!("programs run each other more than {} deep", self.settings().max_call_depth);
            return Transition::Fail(Failure::new("call_depth", message));
        }
        match data.kind {
            ProgramKind::Workflow => self.trace("workflow.subworkflow.enter", json!({"node": node.id, "workflow": data.id})),
            ProgramKind::Assistant | ProgramKind::Agent => self.trace("workflow.agent.hop", json!({"node": node.id, "agent": data.id})),
        }
        let params = data.inputs.as_ref().map(|it| into_members(self.render_json(it, Map::new()))).unwrap_or_default();
        let start = FlowEvent::Start {
            params,
            locale: Some(self.state.locale.clone()),
            time_zone: Some(self.state.time_zone.clone()),
            channel: Some(self.state.channel.clone()),
            user: self.state.user.clone(),
            visitor: self.state.visitor.clone(),
            trigger: None,
        };
        // Each visit has keys of its own.
        let visit = self.state.counters.visits.get(&self.node_key(node)).copied().unwrap_or_default();
        let session = format!("{}/{}.{visit}", self.state.session_id, node.id);
        let at = Date::from_millis(self.effects.now()).to_rfc3339_millis();
        let snapshot = self.state.snapshot.trim_start_matches("sha256:").to_owned();
        let mut state = new_session(flow, &snapshot, &session, &start, &at);
        let message = self.event.clone();
        // An AI agent takes up the message even if an agent of the workflow has.
        let is_for_program = flow.kind == ProgramKind::Agent || !self.is_event_consumed;
        let has_message = matches!(message, FlowEvent::Message { .. } | FlowEvent::Button { .. }) && is_for_program;
        if flow.kind == ProgramKind::Workflow {
            // A nested graph begins at once, and its nodes read the message.
            state.history.extend(self.state.history.iter().rev().find(|it| it.role == "user").cloned());
            self.enter_program(node, data, flow, state, message, self.is_event_consumed);
            Box::pin(self.run_nodes()).await;
            let consumed = self.is_event_consumed;
            let next = self.leave_program();
            self.is_event_consumed |= consumed;
            return next;
        }
        self.enter_program(node, data, flow, state, start, false);
        self.state.seq = 1;
        Box::pin(self.dispatch_event()).await;
        if !has_message || self.state.status != SessionStatus::Active || !self.record.stop_reason.is_empty() {
            return self.leave_program();
        }
        // The message that led here is for the assistant or the AI agent.
        self.event = message;
        self.is_event_consumed = false;
        Box::pin(self.dispatch_event()).await;
        let next = self.leave_program();
        self.is_event_consumed = true;
        next
    }

    /// The node whose document has the conversation, with what it runs; `None` if the program itself has it.
    pub(super) fn running_program(&self) -> Option<(&'c Node, &'c ProgramData)> {
        let node = self.current_node()?;
        let NodeKind::Program(data) = &node.kind else { return None };
        self.child_state(&node.id).is_some().then_some((node, &**data))
    }

    /// Whether an event is for the program itself, although another document has the conversation.
    pub(super) fn is_own_event(&self) -> bool {
        match &self.event {
            FlowEvent::End { .. } => true,
            FlowEvent::Timer { timer_id } => timer_id == SESSION_TIMER,
            FlowEvent::Start { .. }
            | FlowEvent::Message { .. }
            | FlowEvent::Button { .. }
            | FlowEvent::Approval { .. }
            | FlowEvent::HandoffStatus { .. }
            | FlowEvent::HandoffMessage { .. } => false,
        }
    }

    /// Delivers the event to the document that has the conversation.
    pub(super) async fn continue_program(&mut self, node: &'c Node, data: &'c ProgramData) {
        if matches!(self.event, FlowEvent::Message { .. } | FlowEvent::Button { .. }) {
            self.state.turn += 1;
        }
        let state = self.child_state(&node.id).and_then(|it| SessionState::deserialize(it).ok());
        let next = match self.root_flow.find_bound(data).zip(state) {
            Some((flow, mut state)) => {
                state.seq += 1;
                state.last_event_at.clone_from(&self.state.last_event_at);
                // The user may have signed in meanwhile.
                state.user.clone_from(&self.state.user);
                state.visitor.clone_from(&self.state.visitor);
                self.enter_program(node, data, flow, state, self.event.clone(), false);
                Box::pin(self.dispatch_event()).await;
                let next = self.leave_program();
                self.is_event_consumed = true;
                next
            }
            None => {
                self.remove_child(&node.id);
                Transition::Fail(Failure::new("program_missing", format!("the {} '{}' no longer exists", data.kind.name(), data.id)))
            }
        };
        if self.apply_transition(node, next).await {
            Box::pin(self.run_nodes()).await;
        }
    }

    /// Puts the program aside and stands in the document of a node.
    fn enter_program(
        &mut self,
        node: &'c Node,
        data: &'c ProgramData,
        flow: &'c Flow,
        state: SessionState,
        event: FlowEvent,
        is_event_consumed: bool,
    ) {
        let usage = state.usage;
        self.outer.push(OuterProgram {
            flow: replace(&mut self.flow, flow),
            state: replace(&mut self.state, state),
            event: replace(&mut self.event, event),
            trigger: self.trigger.take(),
            is_event_consumed: replace(&mut self.is_event_consumed, is_event_consumed),
            entered_fallbacks: take(&mut self.entered_fallbacks),
            summary: self.summary.take(),
            node,
            data,
            usage,
        });
    }

    /// Returns to the program that was put aside. It takes over what the nested one waits for, or what it returns.
    pub(super) fn leave_program(&mut self) -> Transition {
        // Its document knows which of its values are private.
        self.redact_explanations();
        self.store_pending_values();
        self.set_timers();
        let Some(outer) = self.outer.pop() else { return Transition::EndTurn };
        let child = replace(&mut self.state, outer.state);
        let flow = replace(&mut self.flow, outer.flow);
        self.event = outer.event;
        self.trigger = outer.trigger;
        self.is_event_consumed = outer.is_event_consumed;
        self.entered_fallbacks = outer.entered_fallbacks;
        self.summary = outer.summary;
        self.state.usage.add_difference(outer.usage, child.usage);
        // The nested document knows what of the message is redacted.
        if flow.kind == ProgramKind::Assistant
            && matches!(self.event, FlowEvent::Message { .. } | FlowEvent::Button { .. })
            && let Some(said) = child.history.iter().rev().find(|it| it.role == "user" && it.turn == child.turn)
        {
            self.adopt_user_text(&said.text);
        }
        self.state.status = SessionStatus::Active;
        self.state.handoff = None;
        self.state.awaiting = None;
        match child.status {
            SessionStatus::Completed | SessionStatus::Abandoned => {
                self.remove_child(&outer.node.id);
                self.write_program_outputs(outer.data, &child.vars);
                self.nested_exit.take().unwrap_or_else(|| Transition::Port("out".to_owned()))
            }
            SessionStatus::Failed => {
                self.remove_child(&outer.node.id);
                Transition::Fail(program_failure(outer.data, &child.vars))
            }
            SessionStatus::Active | SessionStatus::HandedOff => {
                self.state.status = child.status;
                self.state.handoff.clone_from(&child.handoff);
                self.state.awaiting.clone_from(&child.awaiting);
                let children = self.state.vars.entry(CHILDREN.to_owned()).or_insert_with(|| json!({}));
                if let Some(children) = children.as_object_mut() {
                    children.insert(outer.node.id.clone(), serde_json::to_value(&child).unwrap_or_default());
                }
                Transition::EndTurn
            }
        }
    }

    /// Whether a failure that nothing handles leaves the document by the node that runs it. That of a workflow always does; an assistant
    /// says its error message and has the conversation on, unless a document around it says what happens then.
    pub(super) fn fails_outward(&self) -> bool {
        match self.flow.kind {
            ProgramKind::Workflow => !self.outer.is_empty(),
            ProgramKind::Assistant => {
                let mut around = self.outer.iter().rev().take_while(|it| it.node.on_error != OnError::Stop);
                around.any(OuterProgram::handles_failure)
            }
            ProgramKind::Agent => false,
        }
    }

    /// Sends the error message of the outermost document that has one, or that of the engine.
    pub(super) fn send_outermost_error(&mut self) {
        let at = self.outer.iter().position(|it| it.flow.document.settings.error_message.is_some());
        self.exchange_outer(at);
        self.send_error();
        self.exchange_outer(at);
    }

    /// Exchanges the document in which the walker stands with one that is put aside.
    fn exchange_outer(&mut self, at: Option<usize>) {
        if let Some(outer) = at.and_then(|it| self.outer.get_mut(it)) {
            swap(&mut self.flow, &mut outer.flow);
            swap(&mut self.state, &mut outer.state);
            swap(&mut self.event, &mut outer.event);
        }
    }

    /// Ends nested programs in the middle of a turn.
    pub(super) fn leave_all_programs(&mut self) {
        while !self.outer.is_empty() {
            self.leave_program();
        }
    }

    /// The history has what the user said, as a nested document may show it.
    fn adopt_user_text(&mut self, text: &str) {
        let turn = self.state.turn;
        match self.state.history.iter_mut().rev().find(|it| it.role == "user" && it.turn == turn) {
            Some(entry) => text.clone_into(&mut entry.text),
            None => self.append_history("user", text.to_owned()),
        }
    }

    fn write_program_outputs(&mut self, data: &ProgramData, vars: &Map) {
        for (name, variable) in &data.outputs {
            let value = VariablePath::parse(name).ok().and_then(|it| it.find(vars).cloned());
            if let Some(value) = value
                && self.write_variable(variable, value).is_err()
            {
                self.warn("output.type_mismatch", json!({"variable": variable.to_string()}));
            }
        }
    }

    /// The stored state of the program of a node.
    fn child_state(&self, node: &str) -> Option<&Value> {
        self.state.vars.get(CHILDREN)?.get(node)
    }

    fn remove_child(&mut self, node: &str) {
        let Some(children) = self.state.vars.get_mut(CHILDREN).and_then(Value::as_object_mut) else { return };
        children.shift_remove(node);
        if children.is_empty() {
            self.state.vars.shift_remove(CHILDREN);
        }
    }

    /// The timers of the document that has the conversation, without the one for an abandoned session.
    pub(super) fn child_timers(&self) -> Vec<crate::state::Timer> {
        let Some((node, _)) = self.running_program() else { return Vec::new() };
        let timers = self.child_state(&node.id).and_then(|it| it.get("timers")).cloned().unwrap_or_default();
        Vec::deserialize(&timers).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_all_documents_are_offered() {
        let option = |id: &str| json!({"id": id, "label": id});
        let child = json!({"vars": {"_shown": [option("c")]}, "awaiting": {"options": [option("b")]}, "stack": []});
        let state = json!({"awaiting": {"kind": "button", "options": [option("a"), option("b")]}, "stack": [{"node": "run"}],
            "vars": {"_child": {"run": child, "other": {"awaiting": {"options": [option("d")]}}}}});
        let ids: Vec<&str> = list_offered_options(&state).filter_map(|it| it.get("id")?.as_str()).collect();
        assert_eq!(ids, ["a", "b", "b", "c"]);
        assert_eq!(list_offered_options(&json!({"awaiting": null})).count(), 0);
    }
}
