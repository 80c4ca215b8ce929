//! Starts the runs of schedules: each time once, whatever the number of processes. (docs/spec/chains.md#6)

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use convengine_content::Content;
use convengine_core::config::flow::document::chain::{ChainDocument, InitialStatus, Misfire, Overlap, TriggerKind};
use convengine_core::text::cron::CronSchedule;
use convengine_core::turn::{Map, Millis};
use convengine_host_base::clock;
use convengine_host_base::work_class::spawn_in_background;
use convengine_storage::chain::status::{ChainStatus, DueSchedule, Postponement};
use convengine_storage::chain::{run, run_key, status};
use convengine_storage::repeated_task::RepeatedTask;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::trigger::{LiveChain, Trigger, TriggerError, start_run};
use crate::Turns;

/// The maximum polling interval: what is due happens within a second.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// How often keys that are no longer valid are deleted, in polls.
const SWEEP_POLLS: u64 = 1200;

/// How often schedules are counted.
const MEASURE_INTERVAL: Duration = Duration::from_secs(5);

/// Later than this, a time counts as missed, in milliseconds.
const MISSED_AFTER_MS: Millis = 60_000;

/// The pause after the first attempt that failed or had to wait, and the longest one, in milliseconds.
const PAUSES_MS: (Millis, Millis) = (1_000, 300_000);

/// The scope of the keys of schedules.
const SCOPE: &str = "schedule";

/// Spawns the task that starts scheduled runs while the server runs.
pub fn spawn(turns: Arc<Turns>) -> JoinHandle<()> {
    spawn_in_background(async move {
        let mut task = RepeatedTask::new("read the schedules of chains", &turns.connectivity);
        for poll in 0_u64.. {
            task.attempt(start_due(&turns)).await;
            if poll % SWEEP_POLLS == 0
                && let Err(error) = run_key::delete_expired(&turns.readers, clock::now()).await
            {
                tracing::warn!(%error, "cannot delete expired keys of runs");
            }
            sleep(POLL_INTERVAL).await;
        }
    })
}

/// Spawns the task that counts the schedules that are due, and those that fail or that nobody starts, also where they are not started.
pub fn spawn_measurement(turns: Arc<Turns>) -> JoinHandle<()> {
    spawn_in_background(async move {
        loop {
            turns.connectivity.wait().await;
            match status::count_late(&turns.readers, clock::now()).await {
                Ok(counts) => turns.meter.record_schedules(counts.due, counts.failing),
                Err(error) => tracing::debug!(%error, "cannot count the schedules of chains"),
            }
            sleep(MEASURE_INTERVAL).await;
        }
    })
}

/// Starts the runs of the schedules that are due. One that cannot be started, or has to wait, is tried again after a pause.
async fn start_due(turns: &Arc<Turns>) -> sqlx::Result<()> {
    for due in status::list_due(&turns.readers, clock::now()).await? {
        if !status::claim(&turns.readers, &due.slug, due.planned).await? {
            continue;
        }
        let postponement = match start_scheduled(turns, &due).await {
            Ok(postponement) => postponement,
            Err(error) => {
                tracing::warn!(%error, chain = due.slug, "cannot start a scheduled run; it is tried again");
                Some(Postponement::Failure)
            }
        };
        if let Some(reason) = postponement {
            let pause = pause_after(&due.slug, due.failures.saturating_add(due.waits));
            status::postpone(&turns.readers, &due.slug, due.planned, reason, pause).await?;
        }
    }
    Ok(())
}

/// Returns how long a schedule rests after attempts without a start, in milliseconds: twice as long each time, and up to a quarter more that
/// depends on the chain, so that schedules that fail together do not try again together.
fn pause_after(slug: &str, attempts: u32) -> Millis {
    let (first, longest) = PAUSES_MS;
    let pause = 1_i64.checked_shl(attempts.min(32)).map_or(longest, |it| first.saturating_mul(it)).min(longest);
    let mut hasher = DefaultHasher::new();
    slug.hash(&mut hasher);
    let jitter = i64::try_from(hasher.finish() % 256).unwrap_or(0);
    pause + pause * jitter / 1024
}

/// Starts the run of a claimed schedule and moves the schedule on; returns the reason when it has to wait.
async fn start_scheduled(turns: &Arc<Turns>, due: &DueSchedule) -> Result<Option<Postponement>, TriggerError> {
    let planned = due.planned;
    let chain = LiveChain::find(&turns.content, &due.slug).await?;
    let document = ChainDocument::read(&chain.document);
    let Some(schedule) = read_schedule(&document) else {
        status::advance(&turns.readers, &due.slug, planned, None).await?;
        return Ok(None);
    };
    let now = clock::now();
    // Of several missed times, only the last one counts.
    let at = schedule.last_until(planned - 1, now).unwrap_or(planned);
    let is_missed = now - at > MISSED_AFTER_MS;
    if is_missed && document.trigger.schedule.misfire == Misfire::Skip {
        status::advance(&turns.readers, &due.slug, planned, schedule.next_after(now)).await?;
        return Ok(None);
    }
    let open = run::count_unfinished(&turns.readers, &due.slug).await?;
    let is_full = document.concurrency.is_some_and(|limit| open >= i64::from(limit));
    match document.trigger.overlap {
        Overlap::Queue if open > 0 || is_full => return Ok(Some(Postponement::Wait)),
        Overlap::Skip if open > 0 => {}
        Overlap::Allow if is_full => {}
        Overlap::Skip | Overlap::Queue | Overlap::Allow => {
            let instant = clock::format_iso(at);
            let data = Map::from_iter([("kind".to_owned(), json!("schedule")), ("at".to_owned(), json!(instant))]);
            start_run(turns, &chain, Trigger { data, key: Some(instant), scope: SCOPE }).await?;
        }
    }
    status::advance(&turns.readers, &due.slug, planned, schedule.next_after(at.max(planned))).await?;
    Ok(None)
}

/// The schedule of a chain; `None` for other triggers.
fn read_schedule(document: &ChainDocument) -> Option<CronSchedule> {
    let times = &document.trigger.schedule;
    let cron = times.cron.as_deref().filter(|_| document.trigger.kind == TriggerKind::Schedule)?;
    CronSchedule::parse(cron, times.time_zone(document)).ok()
}

/// Stores the status of a chain that was published: live, unless its document says that it is paused. Its schedule begins now.
pub async fn publish_status(content: &Content, document: &Value) -> sqlx::Result<()> {
    let document = ChainDocument::read(document);
    let now = clock::now();
    let next_run_at = read_schedule(&document).and_then(|it| it.next_after(now));
    status::save(
        &content.readers,
        &ChainStatus { slug: document.slug, is_paused: document.status == InitialStatus::Paused, next_run_at },
        now,
    )
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_some_minutes_and_differ_between_chains() {
        let pauses: Vec<Millis> = (0..12).map(|it| pause_after("daily", it)).collect();
        assert!(pauses.windows(2).all(|it| it[0] <= it[1]) && (1_000..=1_250).contains(&pauses[0]), "{pauses:?}");
        assert!(pauses.iter().zip([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]).all(|(it, s)| (s * 1_000..=s * 1_250).contains(it)));
        assert_eq!(pause_after("daily", u32::MAX), pauses[11], "the same each time");
        assert_ne!(pause_after("daily", 9), pause_after("weekly", 9));
    }
}
