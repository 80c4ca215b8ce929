//! Fires the due timers of assistant sessions. (docs/spec/flows.md#4.4, docs/spec/flows.md#7)

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convengine_core::turn::{Map, Millis};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::run::{ARMED_SEQ, RunningSession};
use crate::clock;
use crate::runtime::turn_runner::{Host, Message, Refusal};
use crate::storage::assistant::DocumentKind;
use crate::storage::assistant::session::{self, DueTimer};

/// The maximum polling interval, which bounds the delay of timers armed by other processes.
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The minimum polling interval.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The number of timers claimed at a time. One that cannot be fired is due again when its claim ends.
const BATCH_SIZE: i64 = 64;

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
pub fn spawn_timers(host: Arc<Host>) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            let wait = match fire_due_timers(&host).await {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::warn!(%error, "cannot read session timers");
                    MAX_POLL_INTERVAL
                }
            };
            // A turn that arms a timer notifies `armed`.
            let _ = timeout(wait.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL), host.timer_armed.notified()).await;
            tokio::time::sleep(MIN_POLL_INTERVAL).await;
        }
    })
}

/// Claims due timers and fires them, those of each session in a task of its own. Returns the time until the next one is due.
async fn fire_due_timers(host: &Arc<Host>) -> sqlx::Result<Duration> {
    let now = clock::now() - if host.ingress.is_some() { FALLBACK_DELAY } else { 0 };
    let (is_due, next) = session::find_next_due(&host.readers, now).await?;
    let claimed = if is_due { session::claim_due_timers(&host.readers, now, BATCH_SIZE).await? } else { Vec::new() };
    let has_more = i64::try_from(claimed.len()).is_ok_and(|it| it >= BATCH_SIZE);
    // A session may have several.
    for session in BTreeSet::from_iter(claimed) {
        if !host.firing.insert(&session) {
            continue;
        }
        let host = Arc::clone(host);
        tokio::spawn(async move {
            if let Err(error) = fire_timers_of(&host, &session).await {
                tracing::warn!(%error, session, "cannot fire a session timer");
            }
            host.firing.remove(&session);
            host.timer_armed.notify_one();
        });
    }
    if has_more {
        return Ok(Duration::ZERO);
    }
    Ok(next.map_or(MAX_POLL_INTERVAL, |it| Duration::from_millis(u64::try_from(it - now).unwrap_or(0))))
}

/// Fires the due timers of a session, one after the other, until none is due. The caller has added the session to those that are firing.
///
/// # Errors
/// Returns [`Refusal`] when a timer cannot be fired.
pub async fn fire_timers_of(host: &Arc<Host>, session: &str) -> Result<(), Refusal> {
    while let Some(due) = session::find_due_timer(&host.readers, session, clock::now()).await? {
        fire_timer(host, &due).await?;
    }
    Ok(())
}

async fn fire_timer(host: &Arc<Host>, due: &DueTimer) -> Result<(), Refusal> {
    let Some((running, event)) = prepare(host, due).await? else { return Ok(()) };
    match running.submit_event(host, event).await {
        Ok(_) | Err(Refusal::StaleTimer) => Ok(()),
        Err(Refusal::SessionEnded) => Ok(session::delete_timer(&host.readers, due).await?),
        Err(refusal) => Err(refusal),
    }
}

/// Returns the message of a due timer; deletes a timer whose session no longer exists.
///
/// # Errors
/// Returns any database error.
pub async fn to_message(host: &Arc<Host>, due: &DueTimer) -> sqlx::Result<Option<Message>> {
    match prepare(host, due).await? {
        Some((running, event)) => running.to_message(host, event).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the session of a due timer and its event; deletes a timer whose session no longer exists.
async fn prepare(host: &Arc<Host>, due: &DueTimer) -> sqlx::Result<Option<(RunningSession, Map)>> {
    let (Some(stored), Some(seq)) = (session::find(&host.readers, &due.session).await?, due.seq) else {
        session::delete_timer(&host.readers, due).await?;
        return Ok(None);
    };
    let running = RunningSession::from_stored(host, &due.session, &stored).await?;
    // A newer turn may have rearmed a timer with the same id.
    let event = json!({"type": "timer.fired", "timer_id": due.timer, ARMED_SEQ: seq});
    let mut event: Map = event.as_object().cloned().unwrap_or_default();
    if running.program.kind() == DocumentKind::Chain {
        event.insert("stepwise".to_owned(), json!(true));
    }
    Ok(Some((running, event)))
}
