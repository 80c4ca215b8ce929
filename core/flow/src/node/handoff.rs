//! `handoff` nodes: transfer the conversation to a person (docs/spec/flows.md#4.9).

use convengine_config::flow::document::{FlowTemplate, HandoffData, HandoffMode, Node};
use convengine_text::date::Date;
use convengine_text::value::EXPRESSION;
use convengine_turn::Map;
use serde_json::{Value, json};

use super::super::handoff::{Handoff, HandoffEvent, HandoffState};
use super::super::transition::Transition;
use super::super::turn::Turn;
use super::RunNode;
use crate::state::{Awaiting, AwaitingKind, HistoryEntry, SessionStatus};

/// The roles that a transcript holds.
const TRANSCRIPT_ROLES: [&str; 3] = ["user", "bot", "human"];

impl RunNode for HandoffData {
    async fn run<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition {
        turn.run_handoff(node, self).await
    }
}

impl<'c> Turn<'c> {
    async fn run_handoff(&mut self, node: &'c Node, data: &'c HandoffData) -> Transition {
        if let Some(message) = &data.message {
            self.send_localized(message, &self.state.node_key(&node.id));
        }
        let queue = data.queue.as_ref().map(|it| self.render_for_desk(it)).unwrap_or_default();
        let reason = data.reason.as_ref().map(|it| self.render_for_desk(it)).unwrap_or_default();
        let correlation_id = self.state.visit_key(&node.id);
        let mode = if data.mode == HandoffMode::Return { "return" } else { "transfer" };
        let mut body = json!({
            "type": "handoff.request",
            "session_id": self.state.session_id,
            "correlation_id": correlation_id,
            "queue": queue,
            "reason": reason,
            "mode": mode,
            "context": self.handoff_context(data),
            "transcript": self.transcript(data.transcript_turns),
            "user": self.state.user,
            "locale": self.state.locale,
            "channel": self.state.channel,
        });
        if let (Some(visitor), Some(members)) = (&self.state.visitor, body.as_object_mut()) {
            members.insert("visitor".to_owned(), visitor.clone());
        }
        let answer = self.call_desk("request", &correlation_id, body).await;
        // Without a webhook, the handoff waits in the queue (docs/spec/flow-rulings.md#35).
        let event = match &answer {
            Ok(answer) if answer.get("state").and_then(Value::as_str) == Some("queued") => HandoffEvent::Queue,
            Ok(_) => HandoffEvent::Accept,
            Err(_) => HandoffEvent::Decline,
        };
        let state = self.effects.take_transition(HandoffState::Requested, event).unwrap_or(HandoffState::Requested);
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => return Transition::Fail(failure),
        };
        let text = |name: &str| answer.get(name).map(|value| EXPRESSION.print(value).into_owned()).filter(|it| !it.is_empty());
        let handoff = Handoff {
            correlation_id,
            state,
            queue,
            reason,
            ticket: text("ticket"),
            position: answer.get("position").and_then(Value::as_u64),
            eta_ms: answer.get("eta_ms").and_then(Value::as_u64),
            author: None,
            holder: None,
            requested_at: Date::from_millis(self.effects.now()).to_rfc3339_millis(),
        };
        self.trace("handoff.requested", json!({"state": handoff.state, "queue": handoff.queue, "ticket": handoff.ticket}));
        self.state.handoff = Some(handoff);
        self.state.status = SessionStatus::HandedOff;
        Transition::Wait(Awaiting::new(AwaitingKind::Handoff, &node.id, Vec::new(), self.effects.now()))
    }

    /// Renders a text that the desk shows before anybody has taken the conversation.
    fn render_for_desk(&mut self, template: &FlowTemplate) -> String {
        let text = self.render_text(template);
        self.redactions().redact_text(&text)
    }

    /// The variables that the desk receives, with redacted ones by name.
    fn handoff_context(&self, data: &HandoffData) -> Value {
        let mut context = Map::new();
        for path in &data.context {
            if let Some(value) = self.state.variable(path).cloned() {
                let shown = if self.view().is_variable_redacted(path) { json!(format!("[{path}]")) } else { value };
                context.insert(path.to_string(), shown);
            }
        }
        self.redactions().redact_value(Value::Object(context))
    }

    /// The history of the latest turns; it is redacted already.
    fn transcript(&self, turns: u32) -> Value {
        let first = (self.state.turn + 1).saturating_sub(turns);
        let is_shown = |entry: &&HistoryEntry| turns > 0 && entry.turn >= first && TRANSCRIPT_ROLES.contains(&entry.role.as_str());
        json!(self.state.history.iter().filter(is_shown).collect::<Vec<_>>())
    }
}
