//! `schedule` steps: the run sleeps for a duration, until an instant, or until the next time of a schedule.

use convengine_config::flow::document::chain::{Misfire, SleepStep, StepDef};
use convengine_text::cron::{CronSchedule, parse_instant_in_zone};
use convengine_text::date::Date;
use convengine_turn::Millis;
use serde_json::json;

use super::super::Runner;
use super::super::advance::StepResult;
use super::super::failure::StepFailure;
use super::super::state::{Wait, WaitKind};

impl<'c> Runner<'c> {
    /// Puts the run to sleep.
    pub(super) fn sleep(&mut self, step: &'c StepDef, path: &str, data: &'c SleepStep) -> StepResult {
        let now = self.effects.now();
        let due = match self.wake_time(data, now) {
            Ok(due) => due,
            Err(failure) => return StepResult::Failed(failure),
        };
        if due <= now {
            return if data.schedule.misfire == Misfire::Skip { StepResult::Skipped } else { StepResult::Done(json!(self.now_text())) };
        }
        let wait = Wait::new(WaitKind::Time, path, &step.id, self.attempt_number());
        StepResult::Waiting(Wait { due: Some(Date::from_millis(due).to_rfc3339_millis()), ..wait })
    }

    fn wake_time(&self, data: &SleepStep, now: Millis) -> Result<Millis, StepFailure> {
        if let Some(after) = data.after_ms {
            return Ok(now.saturating_add(i64::try_from(after).unwrap_or(i64::MAX)));
        }
        let zone = data.schedule.time_zone(&self.chain.document);
        if let Some(template) = &data.at {
            let text = self.render_text(template, &self.previous_text());
            return parse_instant_in_zone(&text, zone).ok_or_else(|| {
                StepFailure::new("invalid_time", "'at' is neither a date, with or without a time, nor an instant in RFC 3339")
            });
        }
        let Some(cron) = &data.schedule.cron else {
            return Err(StepFailure::new("invalid_time", "the step has neither 'after_ms' nor 'at' nor 'cron'"));
        };
        let schedule = CronSchedule::parse(cron, zone).map_err(|it| StepFailure::new("invalid_time", it))?;
        schedule.next_after(now).ok_or_else(|| StepFailure::new("invalid_time", "the schedule has no further time"))
    }

    /// Ends the sleep.
    pub(in crate::chain) async fn wake(&mut self) {
        self.state.wait = None;
        self.finish_step(json!(self.now_text()));
        self.advance().await;
    }
}
