//! Fires the due timers of assistant sessions. (docs/spec/flows.md#4.4, docs/spec/flows.md#7)

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convengine_content::Content;
use convengine_core::turn::{Map, Millis};
use convengine_host_base::clock;
use convengine_host_base::event_members::ARMED_SEQ;
use convengine_host_base::work_class::spawn_in_background;
use convengine_storage::assistant::DocumentKind;
use convengine_storage::assistant::session::{self, DueTimer};
use convengine_storage::repeated_task::RepeatedTask;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::Turns;
use crate::message::Message;
use crate::refusal::Refusal;
use crate::running_session::RunningSession;

/// The maximum polling interval, which bounds the delay of timers armed by other processes.
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The minimum polling interval.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The maximum number of timers claimed at a time. One that cannot be fired is due again when its claim ends.
const BATCH_SIZE: usize = 64;

/// How often the delay of timers is measured.
const MEASURE_INTERVAL: Duration = Duration::from_secs(5);

/// How much later than due, in milliseconds, a timer is fired here that the cluster that runs the turns has not fired: one of a session from
/// before the cluster, or of a chain that was paused.
const FALLBACK_DELAY: Millis = 10_000;

/// The sessions with a timer that is currently firing.
#[derive(Debug, Default)]
pub struct FiringSessions(Mutex<BTreeSet<String>>);

impl FiringSessions {
    /// Adds a session. Returns `false` if its timers are being fired already.
    pub fn insert(&self, session: &str) -> bool {
        self.lock().insert(session.to_owned())
    }

    /// Removes a session.
    pub fn remove(&self, session: &str) {
        self.lock().remove(session);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Spawns the task that fires timers while the server runs.
pub fn spawn_timers(turns: Arc<Turns>) -> JoinHandle<()> {
    spawn_in_background(async move {
        // As many sessions at once as turns in the background, so that what this process cannot run yet is left to the others.
        let permits = Arc::new(Semaphore::new(turns.queue.max_background()));
        let mut task = RepeatedTask::new("read session timers", &turns.connectivity);
        loop {
            let wait = task.attempt(fire_due_timers(&turns, &permits)).await.unwrap_or(MAX_POLL_INTERVAL);
            // A turn that arms a timer notifies `armed`.
            let _ = timeout(wait.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL), turns.timer_armed.notified()).await;
            tokio::time::sleep(MIN_POLL_INTERVAL).await;
        }
    })
}

/// Spawns the task that measures the delay of timers, also where nobody fires them.
pub fn spawn_measurement(turns: Arc<Turns>) -> JoinHandle<()> {
    spawn_in_background(async move {
        loop {
            turns.connectivity.wait().await;
            measure_lag(&turns.content).await;
            tokio::time::sleep(MEASURE_INTERVAL).await;
        }
    })
}

/// Records how late the oldest due timer is.
async fn measure_lag(content: &Content) {
    let now = clock::now();
    match session::find_oldest_due(&content.readers, now).await {
        Ok(oldest) => {
            let lag = oldest.map_or(0, |it| now.saturating_sub(it));
            content.meter.record_timer_lag(Duration::from_millis(u64::try_from(lag).unwrap_or(0)));
        }
        Err(error) => tracing::debug!(%error, "cannot measure the delay of timers"),
    }
}

/// Claims due timers and fires them, those of each session in a task of its own, with one of `permits`. Returns the time until the next one
/// is due.
async fn fire_due_timers(turns: &Arc<Turns>, permits: &Arc<Semaphore>) -> sqlx::Result<Duration> {
    let now = clock::now() - if turns.cluster.is_some() { FALLBACK_DELAY } else { 0 };
    // No other task acquires permits. When steps of chains have all turns in the background, one timer at a time queues with them.
    let most = turns.queue.free_background().max(1).min(permits.available_permits()).min(BATCH_SIZE);
    if most == 0 {
        // A session whose timers have been fired wakes this task.
        return Ok(MAX_POLL_INTERVAL);
    }
    let (is_due, next) = session::find_next_due(&turns.readers, now).await?;
    let claimed = if is_due { session::claim_due_timers(&turns.readers, now, i64::try_from(most).unwrap_or(1)).await? } else { Vec::new() };
    let has_more = claimed.len() >= most;
    // A session may have several.
    for session in BTreeSet::from_iter(claimed) {
        let Ok(permit) = Arc::clone(permits).try_acquire_owned() else { break };
        if !turns.firing.insert(&session) {
            continue;
        }
        let turns = Arc::clone(turns);
        spawn_in_background(async move {
            if let Err(error) = fire_timers_of(&turns, &session).await {
                tracing::warn!(%error, session, "cannot fire a session timer");
            }
            turns.firing.remove(&session);
            drop(permit);
            turns.timer_armed.notify_one();
        });
    }
    if has_more {
        return Ok(Duration::ZERO);
    }
    Ok(next.map_or(MAX_POLL_INTERVAL, |at| Duration::from_millis(u64::try_from(at - now).unwrap_or(0))))
}

/// Fires the due timers of a session, one after the other, until none is due. The caller has added the session to those that are firing.
///
/// # Errors
/// Returns [`Refusal`] when a timer cannot be fired.
pub async fn fire_timers_of(turns: &Arc<Turns>, session: &str) -> Result<(), Refusal> {
    loop {
        let place = turns.processor_share.enter().await;
        let Some(due) = session::find_due_timer(&turns.readers, session, clock::now()).await? else { return Ok(()) };
        let prepared = prepare(turns, &due).await?;
        drop(place);
        if let Some((running, event)) = prepared {
            fire_timer(turns, &due, running, event).await?;
        }
    }
}

async fn fire_timer(turns: &Arc<Turns>, due: &DueTimer, running: RunningSession, event: Map) -> Result<(), Refusal> {
    match running.submit_event(turns, event).await {
        Ok(_) | Err(Refusal::StaleTimer) => Ok(()),
        Err(Refusal::SessionEnded) => Ok(session::delete_timer(&turns.readers, due).await?),
        Err(Refusal::Run(refusal)) if refusal.code == "run_finished" => Ok(session::delete_timer(&turns.readers, due).await?),
        Err(refusal) => Err(refusal),
    }
}

/// Returns the message of a due timer; deletes a timer whose session no longer exists.
pub async fn to_message(turns: &Arc<Turns>, due: &DueTimer) -> sqlx::Result<Option<Message>> {
    match prepare(turns, due).await? {
        Some((running, event)) => running.to_message(turns, event).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the session of a due timer and its event; deletes a timer whose session no longer exists.
async fn prepare(turns: &Arc<Turns>, due: &DueTimer) -> sqlx::Result<Option<(RunningSession, Map)>> {
    let Some((stored, seq)) = &due.stored else {
        session::delete_timer(&turns.readers, due).await?;
        return Ok(None);
    };
    let running = RunningSession::from_stored(&turns.content, &due.session, stored).await?;
    // A newer turn may have rearmed a timer with the same id.
    let event = json!({"type": "timer.fired", "timer_id": due.timer, ARMED_SEQ: seq});
    let mut event: Map = event.as_object().cloned().unwrap_or_default();
    if running.program.kind() == DocumentKind::Chain {
        event.insert("stepwise".to_owned(), json!(true));
        // The process that was to cancel it may have died.
        if due.is_cancelled {
            event.insert("type".to_owned(), json!("run.cancel"));
        }
    }
    Ok(Some((running, event)))
}
