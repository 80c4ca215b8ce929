//! Dispatches the event of a turn (docs/spec/flows.md#8).

use convengine_config::flow::document::{FallbackOn, NodeKind, ProgramKind};
use convengine_text::time_zone;
use serde_json::{Value, json};

use super::Walker;
use super::failure::FallbackSearch;
use super::matching::{IntentMatch, IntentSearch, ResolvedMessage};
use crate::state::{AwaitingKind, FlowEvent, FrameKind, Resume, SessionStatus};

/// Maximum characters of a message; the rest is cut.
const MAX_INPUT_CHARS: usize = 8000;

impl<'c> Walker<'c> {
    /// Handles the event.
    pub(super) async fn dispatch_event(&mut self) {
        self.enter_phase("dispatch");
        self.trace("event", json!({"event": event_name(&self.event)}));
        if let Some((node, data)) = self.running_program().filter(|_| !self.is_own_event()) {
            self.explain_dispatch("program");
            self.continue_program(node, data).await;
            return;
        }
        if self.state.status == SessionStatus::HandedOff {
            self.explain_dispatch("person");
            self.dispatch_to_desk().await;
            return;
        }
        if self.state.status != SessionStatus::Active {
            self.explain_dispatch("closed");
            self.trace("session.closed", json!({"status": self.state.status}));
            return;
        }
        if matches!(self.event, FlowEvent::Message { .. } | FlowEvent::Button { .. }) {
            self.state.turn += 1;
        }
        if self.state.stack.first().is_none_or(|it| self.flow.graph(&it.graph).is_none()) {
            self.state.status = SessionStatus::Failed;
            self.record.stop_reason = "root_missing";
            self.send_error();
            return;
        }
        match self.event.clone() {
            FlowEvent::Start { .. } => self.start_session().await,
            FlowEvent::Message { text, .. } => {
                let text = self.truncate_input(text);
                self.append_history("user", text);
                self.apply_shown_buttons();
                self.on_input().await;
            }
            FlowEvent::Button { .. } => {
                self.apply_shown_buttons();
                let text = self.input_text();
                self.append_history("user", text);
                self.on_input().await;
            }
            FlowEvent::Timer { timer_id } => self.on_timer(&timer_id).await,
            FlowEvent::Approval { call_id, .. } => {
                if self.state.awaiting.as_ref().is_some_and(|it| it.kind == AwaitingKind::Approval) {
                    self.on_input().await;
                } else {
                    self.explain_dispatch("late");
                    self.warn("approval.late", json!({"call_id": call_id}));
                }
            }
            FlowEvent::HandoffStatus { .. } | FlowEvent::HandoffMessage { .. } => {
                self.explain_dispatch("late");
                self.reject_late_handoff();
            }
            FlowEvent::End { .. } => {
                self.explain_dispatch("end");
                self.complete_session();
            }
        }
    }

    /// Cuts a message that is too long.
    pub(super) fn truncate_input(&mut self, text: String) -> String {
        let Some((end, _)) = text.char_indices().nth(MAX_INPUT_CHARS) else { return text };
        self.warn("text.cut", json!({"characters": MAX_INPUT_CHARS}));
        let text = text.get(..end).unwrap_or_default().to_owned();
        if let FlowEvent::Message { text: event_text, .. } = &mut self.event {
            event_text.clone_from(&text);
        }
        text
    }

    /// Starts a session: the welcome event, then the root graph.
    async fn start_session(&mut self) {
        if self.state.seq > 1 {
            self.explain_dispatch("late");
            self.trace("session.begun", json!({}));
            return;
        }
        self.explain_dispatch("start");
        if let FlowEvent::Start { time_zone: Some(name), .. } = &self.event
            && time_zone::canonical_name(name).is_none()
        {
            let data = json!({"time_zone": name, "used": self.state.time_zone});
            self.warn("time_zone.unknown", data);
        }
        match self.flow.kind {
            ProgramKind::Assistant => {}
            ProgramKind::Workflow if self.speaks_first() => return self.run_nodes().await,
            // The first message of the user begins.
            ProgramKind::Workflow | ProgramKind::Agent => return,
        }
        self.push_welcome();
        self.run_nodes().await;
    }

    /// Says the welcome of the document, whose graph runs before the root goes on.
    pub(super) fn push_welcome(&mut self) {
        let welcome = &self.flow.document.events.welcome;
        if !welcome.enabled {
            return;
        }
        self.publish_match_record(&self.start_search(), None, "welcome", 1.0, json!({}));
        if let Some(message) = &welcome.message {
            self.send_localized(message, "events.welcome");
        }
        if let Some(graph) = &welcome.graph {
            if let Some(root) = self.state.stack.last_mut() {
                root.resume = Some(Resume::After);
            }
            if !self.push_graph(graph, FrameKind::Event)
                && let Some(root) = self.state.stack.last_mut()
            {
                root.resume = None;
            }
        }
    }

    /// Whether the first node that runs has something to say before the user does.
    fn speaks_first(&self) -> bool {
        let Some((graph, frame)) = self.graph().zip(self.frame()) else { return false };
        let mut node = graph.node(&frame.node);
        for _ in 0..graph.definition.nodes.len() {
            let Some(trigger) = node.filter(|it| matches!(it.kind, NodeKind::Start(_))) else { break };
            node = graph.edges(&trigger.id, "out").next().and_then(|it| graph.node(&it.target));
        }
        let Some(node) = node else { return false };
        matches!(&node.kind, NodeKind::InstructionAgent(data) if data.greeting.is_some())
            || matches!(&node.kind, NodeKind::Program(data) if data.kind == ProgramKind::Assistant)
    }

    /// Handles a message, a button or an approval decision.
    async fn on_input(&mut self) {
        if self.state.awaiting.is_some() {
            self.explain_dispatch("waiting_node");
            let Some(node) = self.current_node() else {
                self.abort_turn("no_node");
                return;
            };
            let key = self.begin_node();
            let next = self.deliver_event(node).await;
            self.end_node(key);
            if self.apply_transition(node, next).await {
                self.run_nodes().await;
            }
            return;
        }
        // A migrated session restarts at the node where the migration left it.
        if self.state.stack.last_mut().and_then(|it| it.resume.take_if(|it| *it == Resume::After)).is_some() {
            self.explain_dispatch("migrated_node");
            self.run_nodes().await;
            return;
        }
        if self.flow.kind != ProgramKind::Assistant {
            self.explain_dispatch("nodes");
            self.run_nodes().await;
            return;
        }
        self.explain_dispatch("intents");
        match self.resolve_intent().await {
            ResolvedMessage::Intent(hit) => {
                if self.begin_intent(&hit) {
                    self.run_nodes().await;
                } else {
                    self.abort_turn("graph_missing");
                }
            }
            ResolvedMessage::Answered => {}
            ResolvedMessage::Command(next) => {
                let Some(node) = self.current_node() else { return };
                if self.apply_transition(node, next).await {
                    self.run_nodes().await;
                }
            }
            ResolvedMessage::Unmatched(search) => {
                if !self.answer_from_knowledge(&search).await {
                    self.run_fallback(search).await;
                }
            }
        }
    }

    /// Handles a message without an intent: the fallback message, then the fallback graph, intent or node.
    async fn run_fallback(&mut self, search: IntentSearch<'c>) {
        let before = self.record.messages.len();
        self.state.counters.fallbacks += 1;
        self.publish_match_record(&search, None, "fallback", 0.0, json!({"count": self.state.counters.fallbacks}));
        let settings = self.settings();
        if self.state.counters.fallbacks > settings.fallback_limit
            && let Some(graph) = &settings.fallback_limit_graph
            && self.push_graph(graph, FrameKind::Event)
        {
            self.explain_fallback("limit_graph");
            self.run_nodes().await;
            return;
        }
        let event = &self.flow.document.events.fallback;
        if event.enabled
            && let Some(message) = &event.message
        {
            self.send_localized(message, "events.fallback");
        }
        let intent = self.flow.document.intents.iter().find(|it| it.is_fallback && it.enabled);
        let is_entered = match (&event.graph, intent) {
            (Some(graph), _) if event.enabled => {
                self.explain_fallback("event_graph");
                self.push_graph(graph, FrameKind::Event)
            }
            (_, Some(intent)) => {
                self.explain_fallback("intent");
                self.enter_intent(&IntentMatch {
                    intent,
                    source: "fallback",
                    confidence: 0.0,
                    phrase: None,
                    slots: Value::Null,
                    message: None,
                })
            }
            (_, None) => {
                self.explain_fallback("node");
                self.enter_fallback(&[FallbackOn::NoIntent]) == FallbackSearch::Entered
            }
        };
        if is_entered {
            let count = self.state.counters.fallbacks;
            self.run_nodes().await;
            // A slot filled from the message does not make it a match.
            self.state.counters.fallbacks = count;
        } else if self.record.messages.len() == before {
            // Every message is answered.
            if self.answer_unmatched(self.state.counters.fallbacks).is_some() {
                self.run_nodes().await;
            }
        }
    }
}

/// The name of an event.
pub(super) fn event_name(event: &FlowEvent) -> &'static str {
    match event {
        FlowEvent::Start { .. } => "session.start",
        FlowEvent::Message { .. } => "user.message",
        FlowEvent::Button { .. } => "user.button",
        FlowEvent::Timer { .. } => "timer.fired",
        FlowEvent::Approval { .. } => "approval.decision",
        FlowEvent::HandoffStatus { .. } => "handoff.status",
        FlowEvent::HandoffMessage { .. } => "handoff.message",
        FlowEvent::End { .. } => "session.end",
    }
}
