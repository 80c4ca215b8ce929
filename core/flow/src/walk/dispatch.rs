//! Dispatches the event of a turn (docs/spec/flows.md#8).

use convengine_config::flow::document::{FallbackOn, NodeKind, ProgramKind};
use convengine_text::time_zone;
use serde_json::{Value, json};

use super::Walker;
use super::failures::FallbackSearch;
use crate::handler::Handler;
use crate::intent_match::{IntentMatch, IntentSearch};
use crate::matching::ResolvedMessage;
use crate::state::{FlowEvent, FrameKind, SHOWN_BUTTONS, SessionStatus};
use crate::turn::Turn;

/// Maximum characters of a message; the rest is cut.
const MAX_INPUT_CHARS: usize = 8000;

impl<'c> Walker<'c> {
    /// Handles the event.
    pub(crate) async fn dispatch_event(&mut self) {
        self.turn.enter_phase("dispatch");
        self.turn.trace("event", json!({"event": self.turn.event.name()}));
        if let Some(handler) = self.turn.choose_common_handler() {
            return self.handle_event(handler).await;
        }
        if self.turn.event.is_input() {
            self.turn.state.turn += 1;
        }
        if self.turn.state.stack.first().is_none_or(|frame| self.turn.flow.graph(&frame.graph).is_none()) {
            self.turn.state.status = SessionStatus::Failed;
            self.turn.record.stop_reason = "root_missing";
            self.turn.send_error();
            return;
        }
        self.turn.read_input();
        self.handle_event(self.turn.choose_handler()).await;
    }

    /// Lets a handler take the event.
    pub(super) async fn handle_event(&mut self, handler: Handler) {
        self.turn.explain_dispatch(handler);
        match handler {
            Handler::Program => self.continue_program().await,
            Handler::Person => self.dispatch_to_desk().await,
            Handler::Closed => self.turn.trace("session.closed", json!({"status": self.turn.state.status})),
            Handler::WaitingNode => self.answer_waiting_node().await,
            Handler::MigratedNode => {
                self.turn.state.resume_with(None);
                self.run_nodes().await;
            }
            Handler::Nodes => self.run_nodes().await,
            Handler::Intents => self.answer_message().await,
            Handler::Start => self.start_session().await,
            Handler::Timer => self.on_timer().await,
            Handler::Late => self.reject_late_event(),
            Handler::End => self.turn.complete_session(),
        }
    }

    /// Rejects an event that changes nothing.
    fn reject_late_event(&mut self) {
        match self.turn.event.clone() {
            FlowEvent::Start { .. } => self.turn.trace("session.begun", json!({})),
            FlowEvent::Timer { timer_id } => {
                self.turn.trace("timer.late", json!({"timer": timer_id}));
                self.is_late = true;
            }
            FlowEvent::Approval { call_id, .. } => self.turn.warn("approval.late", json!({"call_id": call_id})),
            FlowEvent::HandoffStatus { .. } | FlowEvent::HandoffMessage { .. } => self.reject_late_handoff(),
            FlowEvent::Message { .. } | FlowEvent::Button { .. } | FlowEvent::End { .. } => {}
        }
    }

    /// Starts a session: the welcome event, then the root graph.
    async fn start_session(&mut self) {
        if let FlowEvent::Start { time_zone: Some(name), .. } = &self.turn.event
            && time_zone::canonical_name(name).is_none()
        {
            let data = json!({"time_zone": name, "used": self.turn.state.time_zone});
            self.turn.warn("time_zone.unknown", data);
        }
        match self.turn.flow.kind {
            ProgramKind::Assistant => {}
            ProgramKind::Workflow if self.turn.speaks_first() => return self.run_nodes().await,
            // The first message of the user begins.
            ProgramKind::Workflow | ProgramKind::Agent => return,
        }
        self.turn.push_welcome();
        self.run_nodes().await;
    }

    /// Delivers the event to the node that waits for it.
    async fn answer_waiting_node(&mut self) {
        let Some(node) = self.turn.current_node() else {
            self.abort_turn("no_node");
            return;
        };
        let key = self.turn.begin_node();
        let next = self.turn.deliver_event(node).await;
        let next = self.resolve_transition(node, next).await;
        self.turn.end_node(key);
        self.walk_on(node, next).await;
    }

    /// Answers a message that no node waits for.
    async fn answer_message(&mut self) {
        match self.turn.resolve_intent().await {
            ResolvedMessage::Intent(hit) => {
                if self.turn.begin_intent(&hit) {
                    self.run_nodes().await;
                } else {
                    self.abort_turn("graph_missing");
                }
            }
            ResolvedMessage::Answered => {}
            ResolvedMessage::Command(command) => {
                let next = self.turn.handle_command_when_idle(command);
                let Some(node) = self.turn.current_node() else { return };
                self.walk_on(node, next).await;
            }
            ResolvedMessage::Unmatched(search) => {
                if !self.turn.answer_from_knowledge(&search).await {
                    self.run_fallback(search).await;
                }
            }
        }
    }

    /// Handles a message without an intent: the fallback message, then the fallback graph, intent or node.
    async fn run_fallback(&mut self, search: IntentSearch<'c>) {
        let before = self.turn.record.messages.len();
        self.turn.state.counters.fallbacks += 1;
        self.turn.publish_match_record(&search, None, "fallback", 0.0, json!({"count": self.turn.state.counters.fallbacks}));
        let settings = self.turn.settings();
        if self.turn.state.counters.fallbacks > settings.fallback_limit
            && let Some(graph) = &settings.fallback_limit_graph
            && self.turn.push_graph(graph, FrameKind::Event)
        {
            self.turn.explain_fallback("limit_graph");
            self.run_nodes().await;
            return;
        }
        let event = &self.turn.flow.document.events.fallback;
        if event.enabled
            && let Some(message) = &event.message
        {
            self.turn.send_localized(message, "events.fallback");
        }
        let intent = self.turn.flow.document.intents.iter().find(|it| it.is_fallback && it.enabled);
        let is_entered = match (&event.graph, intent) {
            (Some(graph), _) if event.enabled => {
                self.turn.explain_fallback("event_graph");
                self.turn.push_graph(graph, FrameKind::Event)
            }
            (_, Some(intent)) => {
                self.turn.explain_fallback("intent");
                self.turn.enter_intent(&IntentMatch::new(intent, "fallback", 0.0))
            }
            (_, None) => {
                self.turn.explain_fallback("node");
                self.enter_fallback(&[FallbackOn::NoIntent]) == FallbackSearch::Entered
            }
        };
        if is_entered {
            let count = self.turn.state.counters.fallbacks;
            self.run_nodes().await;
            // A slot filled from the message does not make it a match.
            self.turn.state.counters.fallbacks = count;
        } else if self.turn.record.messages.len() == before {
            // Every message is answered.
            if self.turn.answer_unmatched(self.turn.state.counters.fallbacks).is_some() {
                self.run_nodes().await;
            }
        }
    }
}

impl Turn<'_> {
    /// Puts what the user says into the history.
    fn read_input(&mut self) {
        if let FlowEvent::Message { text, .. } = self.event.clone() {
            let text = self.truncate_input(text);
            self.append_history("user", text);
            self.apply_shown_buttons();
        } else if let FlowEvent::Button { .. } = self.event {
            self.apply_shown_buttons();
            self.append_history("user", self.event.input_text());
        }
    }

    /// Applies the last shown buttons to the event and forgets them; a node that waits takes precedence (docs/spec/flows.md#5.1).
    fn apply_shown_buttons(&mut self) {
        let Some(Value::Array(options)) = self.state.vars.shift_remove(SHOWN_BUTTONS) else { return };
        if self.state.awaiting.is_none()
            && let Some(option) = self.view().find_selected_option(&options)
        {
            self.event.choose_option(&option);
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

    /// Whether the first node that runs has something to say before the user does.
    fn speaks_first(&self) -> bool {
        let Some((graph, frame)) = self.graph().zip(self.state.frame()) else { return false };
        let mut node = graph.node(&frame.node);
        for _ in 0..graph.definition.nodes.len() {
            let Some(trigger) = node.filter(|node| matches!(node.kind, NodeKind::Start(_))) else { break };
            node = graph.edges(&trigger.id, "out").next().and_then(|it| graph.node(&it.target));
        }
        let Some(node) = node else { return false };
        matches!(&node.kind, NodeKind::InstructionAgent(data) if data.greeting.is_some())
            || matches!(&node.kind, NodeKind::Program(data) if data.kind == ProgramKind::Assistant)
    }
}
