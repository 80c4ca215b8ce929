//! Dispatches the event of a turn (docs/spec/flows.md#8).

use serde_json::{Value, json};

use super::Walk;
use super::fail::Caught;
use super::matching::{Match, Meant, Search};
use crate::config::flow::document::FallbackOn;
use crate::flow::state::{AwaitingKind, FlowEvent, FrameKind, Resume, SessionStatus};

/// Maximum characters of a message; the rest is cut.
const LONGEST: usize = 8000;

/// Sent when the document has no fallback message.
const NOT_UNDERSTOOD: &str = "Sorry, I did not understand that.";

impl<'c> Walk<'c> {
    /// Handles the event.
    pub(super) async fn orchestrate(&mut self) {
        self.trace("event", json!({"event": event_name(&self.event)}));
        if self.state.status != SessionStatus::Active {
            self.trace("session.closed", json!({"status": self.state.status}));
            return;
        }
        if matches!(self.event, FlowEvent::Message { .. } | FlowEvent::Button { .. }) {
            self.state.turn += 1;
        }
        if self.state.stack.first().is_none_or(|it| self.flow.graph(&it.graph).is_none()) {
            self.state.status = SessionStatus::Failed;
            self.stop = "root_missing";
            self.say_error();
            return;
        }
        match self.event.clone() {
            FlowEvent::Start { .. } => self.starts().await,
            FlowEvent::Message { text, .. } => {
                let text = self.cut(text);
                self.remember("user", text);
                self.press_shown();
                self.hears().await;
            }
            FlowEvent::Button { .. } => {
                self.press_shown();
                let text = self.uttered();
                self.remember("user", text);
                self.hears().await;
            }
            FlowEvent::Timer { timer_id } => self.timer(&timer_id).await,
            FlowEvent::Approval { call_id, .. } => {
                if self.state.awaiting.as_ref().is_some_and(|it| it.kind == AwaitingKind::Approval) {
                    self.hears().await;
                } else {
                    self.warn("approval.late", json!({"call_id": call_id}));
                }
            }
            FlowEvent::End { .. } => self.completes(),
        }
    }

    /// Cuts a message that is too long.
    fn cut(&mut self, text: String) -> String {
        let Some((end, _)) = text.char_indices().nth(LONGEST) else { return text };
        self.warn("text.cut", json!({"characters": LONGEST}));
        let text = text.get(..end).unwrap_or_default().to_owned();
        if let FlowEvent::Message { text: event_text, .. } = &mut self.event {
            event_text.clone_from(&text);
        }
        text
    }

    /// Starts a session: the welcome event, then the root graph.
    async fn starts(&mut self) {
        if self.state.seq > 1 {
            self.trace("session.begun", json!({}));
            return;
        }
        let welcome = &self.flow.document.events.welcome;
        if welcome.enabled {
            self.found(&self.search(), None, "welcome", 1.0, json!({}));
            if let Some(message) = &welcome.message {
                self.say(message, "events.welcome");
            }
            if let Some(graph) = &welcome.graph {
                if let Some(root) = self.state.stack.last_mut() {
                    root.resume = Some(Resume::After);
                }
                if !self.push(graph, FrameKind::Event)
                    && let Some(root) = self.state.stack.last_mut()
                {
                    root.resume = None;
                }
            }
        }
        self.walk().await;
    }

    /// Handles a message, a button or an approval decision.
    async fn hears(&mut self) {
        if self.state.awaiting.is_some() {
            let Some(node) = self.node_now() else {
                self.gives_up("no_node");
                return;
            };
            let place = self.standing();
            self.look(&place, "before");
            let next = self.deliver(node).await;
            self.look(&place, "after");
            if self.follow(node, next).await {
                self.walk().await;
            }
            return;
        }
        // A migrated session restarts at the node where the migration left it.
        if self.state.stack.last_mut().and_then(|it| it.resume.take_if(|it| *it == Resume::After)).is_some() {
            self.walk().await;
            return;
        }
        match self.meant().await {
            Meant::Intent(hit) => {
                if self.begin_intent(&hit) {
                    self.walk().await;
                } else {
                    self.gives_up("graph_missing");
                }
            }
            Meant::Talk => {}
            Meant::Nothing(search) => self.falls_back(search).await,
        }
    }

    /// Handles a message without an intent: the fallback message, then the fallback graph, intent or node.
    async fn falls_back(&mut self, search: Search<'c>) {
        let before = self.said.len();
        self.state.counters.fallbacks += 1;
        self.found(&search, None, "fallback", 0.0, json!({"count": self.state.counters.fallbacks}));
        let settings = self.settings();
        if self.state.counters.fallbacks > settings.fallback_limit
            && let Some(graph) = &settings.fallback_limit_graph
            && self.push(graph, FrameKind::Event)
        {
            self.walk().await;
            return;
        }
        let event = &self.flow.document.events.fallback;
        if event.enabled
            && let Some(message) = &event.message
        {
            self.say(message, "events.fallback");
        }
        let intent = self.flow.document.intents.iter().find(|it| it.is_fallback && it.enabled);
        let is_entered = match (&event.graph, intent) {
            (Some(graph), _) if event.enabled => self.push(graph, FrameKind::Event),
            (_, Some(intent)) => {
                self.enter_intent(&Match { intent, source: "fallback", confidence: 0.0, phrase: None, slots: Value::Null })
            }
            (_, None) => self.fallback(&[FallbackOn::NoIntent]) == Caught::Yes,
        };
        if is_entered {
            let count = self.state.counters.fallbacks;
            self.walk().await;
            // A slot filled from the message does not make it a match.
            self.state.counters.fallbacks = count;
        } else if self.said.len() == before {
            // Every message is answered.
            self.say_plain(NOT_UNDERSTOOD);
        }
    }
}

fn event_name(event: &FlowEvent) -> &'static str {
    match event {
        FlowEvent::Start { .. } => "session.start",
        FlowEvent::Message { .. } => "user.message",
        FlowEvent::Button { .. } => "user.button",
        FlowEvent::Timer { .. } => "timer.fired",
        FlowEvent::Approval { .. } => "approval.decision",
        FlowEvent::End { .. } => "session.end",
    }
}
