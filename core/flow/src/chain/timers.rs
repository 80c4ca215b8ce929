//! The timers of a run: derived from its state at the end of each turn. (docs/spec/chains.md#4)

use convengine_text::cron::parse_instant;
use convengine_text::date::Date;
use convengine_turn::Millis;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Runner;
use super::state::{RunStatus, WaitKind};
use crate::Timer;

/// The run continues at once.
pub const STEP: &str = "step";

/// A wait for a time ends.
pub(super) const WAKE: &str = "wake";

/// The next attempt of a step begins.
pub(super) const RETRY: &str = "retry";

/// A wait for a person or a webhook expires.
pub(super) const EXPIRE: &str = "expire";

/// The run has taken too long.
pub(super) const DEADLINE: &str = "deadline";

/// The prefix of the timers of the session that a step talks to.
const CHILD_PREFIX: &str = "child.";

impl Runner<'_> {
    /// Arms the timers that the state needs.
    pub(super) fn set_timers(&mut self) {
        let timer = |id: &str, due: String| Timer { due, purpose: id.to_owned(), id: id.to_owned() };
        let mut timers = Vec::new();
        self.state.wake_at = None;
        if !self.state.status.is_final() {
            if let Some(wait) = &self.state.wait {
                let id = match wait.kind {
                    WaitKind::Human | WaitKind::Webhook => EXPIRE,
                    WaitKind::Time => WAKE,
                    WaitKind::Retry => RETRY,
                    WaitKind::Message => "",
                };
                if let Some(due) = wait.due.clone().filter(|_| !id.is_empty()) {
                    if matches!(wait.kind, WaitKind::Time | WaitKind::Retry) {
                        self.state.wake_at = Some(due.clone());
                    }
                    timers.push(timer(id, due));
                }
            } else if self.state.status == RunStatus::Running {
                timers.push(timer(STEP, self.now_text()));
            }
            timers.extend(self.child_timers());
            if let Some(deadline) = self.deadline() {
                timers.push(timer(DEADLINE, Date::from_millis(deadline).to_rfc3339_millis()));
            }
        }
        self.state.timers = timers;
    }

    /// When the run has taken too long.
    fn deadline(&self) -> Option<Millis> {
        let start = parse_instant(self.state.reopened_at.as_deref().or(self.state.started_at.as_deref())?)?;
        start.checked_add(i64::try_from(self.chain.document.max_run_ms).ok()?)
    }

    /// The timers of the session that the step talks to, without the one for an abandoned session.
    fn child_timers(&self) -> Vec<Timer> {
        let timers = self.state.child.as_ref().and_then(|it| it.get("timers")).and_then(Value::as_array);
        let read = |timer: &Value| Timer::deserialize(timer).ok();
        let session_timers = timers.into_iter().flatten().filter_map(read).filter(|it| it.id != "session");
        session_timers.map(|it| Timer { id: format!("{CHILD_PREFIX}{}", it.id), ..it }).collect()
    }

    /// Handles a timer.
    pub(super) async fn on_timer(&mut self, id: &str) {
        match id {
            STEP => self.advance().await,
            RETRY => {
                self.state.wait = None;
                self.advance().await;
            }
            WAKE => self.wake().await,
            EXPIRE => self.on_expire().await,
            DEADLINE => self.fail_run("deadline_exceeded", "the run has taken longer than its chain allows"),
            _ => match id.strip_prefix(CHILD_PREFIX) {
                Some(child) => self.continue_conversation(json!({"type": "timer.fired", "timer_id": child})).await,
                None => self.trace("timer.unknown", json!({"timer": id})),
            },
        }
    }
}
