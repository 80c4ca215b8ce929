//! Moves a handoff: what happens to a session while a person has the conversation (docs/spec/flows.md#4.9).

use serde_json::json;

use super::Walker;
use crate::failure::Failure;
use crate::handoff::{HandoffEvent, HandoffReport, HandoffState};
use crate::state::{FlowEvent, SessionStatus};
use crate::transition::Transition;

/// The warning for an event of the desk when nothing is handed off.
const LATE: &str = "handoff.late";

/// The warning for a person who takes a conversation that another one has.
const TAKEN: &str = "handoff.taken";

impl Walker<'_> {
    /// Handles an event while a person has the conversation: nothing is matched or walked.
    pub(super) async fn dispatch_to_desk(&mut self) {
        match self.turn.event.clone() {
            FlowEvent::Message { text, .. } => {
                self.turn.state.turn += 1;
                let text = self.turn.truncate_input(text);
                self.turn.relay_to_desk(text).await;
            }
            FlowEvent::Button { .. } => {
                self.turn.state.turn += 1;
                let text = self.turn.event.input_text();
                self.turn.relay_to_desk(text).await;
            }
            FlowEvent::HandoffMessage { text, author } => self.turn.show_desk_message(&text, author),
            FlowEvent::HandoffStatus { state, disposition, vars, message, author, holder } => {
                if self.turn.is_taken_by_another(author.as_deref(), holder.as_deref()) {
                    self.turn.warn(TAKEN, json!({"author": author}));
                    self.is_late = true;
                    return;
                }
                if let Some(message) = &message {
                    self.turn.show_desk_message(message, author.clone());
                }
                match state {
                    HandoffReport::Accepted => {
                        self.turn.record_person(author, holder);
                        self.move_handoff(HandoffEvent::Accept).await;
                    }
                    HandoffReport::Failed => self.move_handoff(HandoffEvent::Decline).await,
                    HandoffReport::Completed => {
                        self.turn.trace("handoff.completed", json!({"disposition": disposition}));
                        self.turn.write_returned_variables(vars);
                        self.move_handoff(self.turn.completion_event(disposition)).await;
                    }
                }
            }
            FlowEvent::Timer { timer_id } => Box::pin(self.handle_event(self.turn.choose_timer_handler(&timer_id))).await,
            FlowEvent::Start { .. } => self.turn.trace("session.begun", json!({})),
            FlowEvent::Approval { call_id, .. } => self.turn.warn("approval.late", json!({"call_id": call_id})),
            FlowEvent::End { .. } => self.move_handoff(HandoffEvent::End).await,
        }
    }

    /// Moves the handoff, and does what its new state stands for. An event that cannot happen now is late.
    pub(super) async fn move_handoff(&mut self, event: HandoffEvent) {
        let state = self.turn.state.handoff.as_ref().map_or(HandoffState::Queued, |it| it.state);
        let Some(next) = self.turn.effects.take_transition(state, event) else { return self.reject_late_handoff() };
        match next {
            HandoffState::Requested | HandoffState::Queued | HandoffState::Accepted => {
                if let Some(handoff) = &mut self.turn.state.handoff {
                    handoff.state = next;
                }
            }
            HandoffState::Returned => self.leave_handoff(Transition::out()).await,
            HandoffState::Resolved => {
                self.turn.state.handoff = None;
                self.turn.complete_session();
            }
            HandoffState::TimedOut => self.leave_handoff(Transition::Port("timeout".to_owned())).await,
            HandoffState::Unavailable => {
                self.leave_handoff(Transition::Fail(Failure::new("unavailable", "the desk has declined the conversation"))).await;
            }
        }
    }

    /// Rejects an event of the desk: nothing is handed off, or not any more.
    pub(super) fn reject_late_handoff(&mut self) {
        self.turn.warn(LATE, json!({}));
        self.is_late = true;
    }

    /// Makes the session active again and leaves the node.
    async fn leave_handoff(&mut self, transition: Transition) {
        self.turn.state.status = SessionStatus::Active;
        self.turn.state.handoff = None;
        self.turn.state.awaiting = None;
        let Some(node) = self.turn.current_node() else {
            self.abort_turn("no_node");
            return;
        };
        self.walk_on(node, transition).await;
    }
}
