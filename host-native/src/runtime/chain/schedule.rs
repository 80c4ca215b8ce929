//! Starts the runs of schedules: each time once, whatever the number of processes. (docs/spec/chains.md#6)

use std::sync::Arc;
use std::time::Duration;

use convengine_core::config::flow::document::chain::{ChainDocument, Overlap, TriggerKind};
use convengine_core::text::cron::CronSchedule;
use convengine_core::turn::{Map, Millis};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::trigger::{LiveChain, Trigger, TriggerError, start_run};
use crate::clock;
use crate::runtime::turn_runner::Host;
use crate::storage::chain::status::ChainStatus;
use crate::storage::chain::{run, run_key, status};

/// The maximum polling interval: what is due happens within a second.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// How often keys that are no longer valid are deleted, in polls.
const SWEEP_POLLS: u64 = 1200;

/// Later than this, a time counts as missed, in milliseconds.
const MISSED_AFTER_MS: Millis = 60_000;

/// The scope of the keys of schedules.
const SCOPE: &str = "schedule";

/// Spawns the task that starts scheduled runs while the server runs.
pub fn spawn(host: Arc<Host>) -> JoinHandle<()> {
    tokio::spawn(async move {
        for poll in 0_u64.. {
            if let Err(error) = start_due(&host).await {
                tracing::warn!(%error, "cannot read the schedules of chains");
            }
            if poll % SWEEP_POLLS == 0
                && let Err(error) = run_key::delete_expired(&host.readers, clock::now()).await
            {
                tracing::warn!(%error, "cannot delete expired keys of runs");
            }
            sleep(POLL_INTERVAL).await;
        }
    })
}

async fn start_due(host: &Arc<Host>) -> sqlx::Result<()> {
    for due in status::list_due(&host.readers, clock::now()).await? {
        if let Err(error) = start_scheduled(host, &due).await {
            tracing::warn!(%error, chain = due.slug, "cannot start a scheduled run");
        }
    }
    Ok(())
}

/// Starts the run of a schedule that is due, and moves the schedule on.
async fn start_scheduled(host: &Arc<Host>, due: &ChainStatus) -> Result<(), TriggerError> {
    let Some(planned) = due.next_run_at else { return Ok(()) };
    if !status::claim(&host.readers, &due.slug, planned).await? {
        return Ok(());
    }
    let chain = LiveChain::find(host, &due.slug).await?;
    let document = ChainDocument::read(&chain.document);
    let Some(schedule) = read_schedule(&document) else {
        return Ok(status::advance(&host.readers, &due.slug, planned, None).await?);
    };
    let now = clock::now();
    // Of several missed times, only the last one counts.
    let at = schedule.last_until(planned - 1, now).unwrap_or(planned);
    let is_missed = now - at > MISSED_AFTER_MS;
    if is_missed && document.trigger.schedule.skips_missed {
        return Ok(status::advance(&host.readers, &due.slug, planned, schedule.next_after(now)).await?);
    }
    let open = run::count_unfinished(&host.readers, &due.slug).await?;
    let is_full = document.concurrency.is_some_and(|it| open >= i64::from(it));
    match document.trigger.overlap {
        Overlap::Queue if open > 0 || is_full => return Ok(status::release(&host.readers, &due.slug).await?),
        Overlap::Skip if open > 0 => {}
        Overlap::Allow if is_full => {}
        Overlap::Skip | Overlap::Queue | Overlap::Allow => {
            let instant = clock::format_iso(at);
            let data = Map::from_iter([("kind".to_owned(), json!("schedule")), ("at".to_owned(), json!(instant))]);
            start_run(host, &chain, Trigger { data, key: Some(instant), scope: SCOPE }).await?;
        }
    }
    status::advance(&host.readers, &due.slug, planned, schedule.next_after(at.max(planned))).await?;
    Ok(())
}

/// The schedule of a chain; `None` for other triggers.
fn read_schedule(document: &ChainDocument) -> Option<CronSchedule> {
    let times = &document.trigger.schedule;
    let cron = times.cron.as_deref().filter(|_| document.trigger.kind == TriggerKind::Schedule)?;
    CronSchedule::parse(cron, times.time_zone(document)).ok()
}

/// Stores the status of a chain that was published: live, unless its document says that it is paused. Its schedule begins now.
///
/// # Errors
/// Returns any database error.
pub async fn publish_status(host: &Host, document: &Value) -> sqlx::Result<()> {
    let document = ChainDocument::read(document);
    let now = clock::now();
    let next_run_at = read_schedule(&document).and_then(|it| it.next_after(now));
    status::save(&host.readers, &ChainStatus { slug: document.slug, is_paused: document.is_paused, next_run_at }, now).await
}
