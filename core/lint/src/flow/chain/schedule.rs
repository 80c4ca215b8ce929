//! Times of triggers and of steps that sleep. (X009, X010)

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::chain::{ScheduleTimes, StepKind, TriggerKind};
use convengine_text::cron::{CronSchedule, parse_instant};

use super::super::context::Location;
use super::ChainContext;

/// A time zone that exists.
const ANY_ZONE: &str = "UTC";

/// A cron expression that is valid.
const ANY_CRON: &str = "* * * * *";

pub(super) fn check(context: &ChainContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let trigger = &context.document.trigger;
    let location = context.location("/trigger");
    if trigger.kind == TriggerKind::Schedule && trigger.schedule.cron.is_none() {
        let message = "the schedule has no times";
        findings.push(location.clone().error("X010", message).with_fix("add a 'cron' expression"));
    }
    findings.extend(check_times(&trigger.schedule, &location));
    for step_cx in &context.steps {
        let StepKind::Sleep(sleep) = &step_cx.step.kind else { continue };
        let location = step_cx.location.join("/config");
        if sleep.after_ms.is_none() && sleep.at.is_none() && sleep.schedule.cron.is_none() {
            let message = "the step does not say until when the run sleeps";
            findings.push(location.clone().error("X010", message).with_fix("add 'after_ms', 'at' or 'cron'"));
        }
        findings.extend(check_times(&sleep.schedule, &location));
        if let Some(at) = sleep.at.as_ref().map(|it| &it.source)
            && !at.contains("{{")
            && parse_instant(at).is_none()
        {
            let message = format!("'{at}' is neither a date, with or without a time, nor an instant in RFC 3339");
            let fix = "write it as 2026-01-31T09:00 for a time in the zone of the step, or as 2026-01-31T09:00:00Z";
            findings.push(location.join("/at").error("X009", message).with_fix(fix));
        }
    }
}

/// Reports a cron expression or a time zone that is invalid, and an expression that has no time.
fn check_times(times: &ScheduleTimes, location: &Location) -> Option<DocumentIssue> {
    if let Some(Err(reason)) = times.timezone.as_ref().map(|it| CronSchedule::parse(ANY_CRON, it)) {
        return Some(location.join("/timezone").error("X009", reason).with_fix("use an IANA name, such as Europe/Berlin"));
    }
    let cron = times.cron.as_deref()?;
    let fix = "write five fields, or six with seconds first, such as '30 9 * * MON-FRI'";
    match CronSchedule::parse(cron, ANY_ZONE) {
        Err(reason) => Some(location.join("/cron").error("X009", reason).with_fix(fix)),
        Ok(schedule) if schedule.next_after(0).is_none() => {
            Some(location.join("/cron").error("X009", format!("the cron expression '{cron}' has no time")).with_fix(fix))
        }
        Ok(_) => None,
    }
}
