//! Timers for missing input and for abandoned sessions.

use convengine_config::flow::document::{Continuation, NodeKind};
use convengine_text::date::Date;
use serde_json::json;

use super::Walker;
use crate::handoff::{HANDOFF_TIMER, HandoffEvent, HandoffState};
use crate::state::{AwaitingKind, FlowEvent, FrameKind, Resume, SESSION_TIMER, SessionStatus, Timer};
use crate::transition::Transition;
use crate::turn::Turn;

/// The timer, and the port, for a missing answer.
const NO_INPUT: &str = "no_input";

impl<'c> Walker<'c> {
    /// Arms the timers that run until the next event.
    pub(crate) fn set_timers(&mut self) {
        let before = std::mem::take(&mut self.turn.state.timers);
        if self.turn.state.status == SessionStatus::HandedOff {
            let nested = self.turn.view().child_timers();
            self.turn.state.timers = if nested.is_empty() { self.turn.handoff_timer(before).into_iter().collect() } else { nested };
            return;
        }
        if self.turn.state.status != SessionStatus::Active {
            return;
        }
        let now = self.turn.effects.now();
        let due = |ms: u64| Date::from_millis(now.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX))).to_rfc3339_millis();
        let new_timer = |name: &str, ms: u64| Timer { id: name.to_owned(), due: due(ms), purpose: name.to_owned() };
        let mut timers = self.turn.view().child_timers();
        if let Some(ms) = self.turn.no_input_ms() {
            let armed = before.iter().find(|timer| self.is_late && timer.id == NO_INPUT);
            timers.push(armed.cloned().unwrap_or_else(|| new_timer(NO_INPUT, ms)));
        }
        // Only the outermost program has this timer.
        if !self.outer.is_empty() {
            self.turn.state.timers = timers;
            return;
        }
        // Timer events are not activity of the user, so they keep the running timer.
        let is_timer_event = matches!(self.turn.event, FlowEvent::Timer { .. });
        let armed = before.into_iter().find(|timer| is_timer_event && timer.id == SESSION_TIMER);
        timers.push(armed.unwrap_or_else(|| new_timer(SESSION_TIMER, self.turn.settings().session_timeout_s.saturating_mul(1000))));
        self.turn.state.timers = timers;
    }

    /// Handles a timer that has fired.
    pub(super) async fn on_timer(&mut self) {
        let FlowEvent::Timer { timer_id: id } = self.turn.event.clone() else { return };
        match id.as_str() {
            SESSION_TIMER => {
                self.turn.trace("session.abandoned", json!({}));
                self.turn.state.status = SessionStatus::Abandoned;
                self.turn.state.awaiting = None;
            }
            NO_INPUT => self.on_no_input().await,
            HANDOFF_TIMER => self.move_handoff(HandoffEvent::TimeOut).await,
            _ => self.turn.trace("timer.unknown", json!({"timer": id})),
        }
    }

    /// Handles a missing answer.
    async fn on_no_input(&mut self) {
        let Some(node) = self.turn.current_node() else { return };
        let depth = self.turn.state.depth();
        self.turn.state.counters.no_input += 1;
        self.turn.trace("no_input", json!({"count": self.turn.state.counters.no_input}));
        if self.turn.graph().is_some_and(|it| it.is_wired(&node.id, NO_INPUT)) {
            self.turn.state.awaiting = None;
            if self.leave_node(node, NO_INPUT) {
                self.run_nodes().await;
            }
            return;
        }
        let event = &self.turn.flow.document.events.no_input;
        if !event.enabled {
            return;
        }
        let Some(awaiting) = self.turn.state.awaiting.as_mut() else { return };
        awaiting.no_input_count += 1;
        let count = awaiting.no_input_count;
        if count > event.max_times {
            match event.then {
                Continuation::EndSession => self.turn.complete_session(),
                Continuation::Continue => {}
            }
            return;
        }
        if let Some(graph) = &event.graph {
            if let Some(message) = &event.message {
                self.turn.send_localized(message, "events.no_input");
            }
            self.turn.state.resume_with(Some(Resume::Reenter));
            self.turn.state.awaiting = None;
            if self.turn.push_graph(graph, FrameKind::Event) {
                self.run_nodes().await;
            }
            // The event's graph ended at the same question: its count continues.
            if let Some(awaiting) =
                self.turn.state.awaiting.as_mut().filter(|awaiting| self.turn.state.stack.len() == depth && awaiting.node == node.id)
            {
                awaiting.no_input_count = count;
            }
            return;
        }
        if let Some(message) = &event.message {
            self.turn.send_localized(message, "events.no_input");
        }
        if let Transition::Wait(mut awaiting) = self.turn.reprompt_node(node) {
            awaiting.no_input_count = count;
            self.turn.state.awaiting = Some(awaiting);
        }
    }
}

impl Turn<'_> {
    /// The timer of a handoff that waits for a person. An idle session does not expire while a person has it, or is about to.
    fn handoff_timer(&self, before: Vec<Timer>) -> Option<Timer> {
        self.state.handoff.as_ref().filter(|it| it.state == HandoffState::Queued)?;
        let armed = before.into_iter().find(|it| it.id == HANDOFF_TIMER);
        let NodeKind::Handoff(data) = &self.current_node()?.kind else { return None };
        let due = self.effects.now().saturating_add(i64::try_from(data.wait_ms?).unwrap_or(i64::MAX));
        let due = Date::from_millis(due).to_rfc3339_millis();
        Some(armed.unwrap_or_else(|| Timer { id: HANDOFF_TIMER.to_owned(), due, purpose: HANDOFF_TIMER.to_owned() }))
    }

    /// Milliseconds to wait for an answer; `None` for no limit.
    fn no_input_ms(&self) -> Option<u64> {
        let awaiting = self.state.awaiting.as_ref()?;
        let event = &self.flow.document.events.no_input;
        if awaiting.kind == AwaitingKind::Approval || awaiting.no_input_count > event.max_times {
            return None;
        }
        // No timer when it would have no effect.
        let is_wired = || self.current_node().is_some_and(|node| self.graph().is_some_and(|it| it.is_wired(&node.id, NO_INPUT)));
        if !event.enabled && !is_wired() {
            return None;
        }
        let node_ms = if let NodeKind::Entity(data) = &self.current_node()?.kind { data.no_input_ms } else { None };
        let settings_ms = self.settings().no_input_timeout_s.saturating_mul(1000);
        node_ms.or(Some(settings_ms)).filter(|it| *it > 0)
    }
}
