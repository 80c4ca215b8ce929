//! Fires the due timers of assistant sessions. (docs/spec/flows.md#4.4, docs/spec/flows.md#7)

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convengine_core::turn::Map;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::run::{OF_SEQ, Running};
use crate::clock;
use crate::drive::{Host, Refusal};
use crate::store::assistant::session::{self, Due};

/// The maximum polling interval, which bounds the delay of timers armed by other processes.
const PAUSE: Duration = Duration::from_secs(5);

/// The minimum polling interval.
const BREATH: Duration = Duration::from_millis(20);

/// The number of timers fired at a time.
const TOGETHER: i64 = 64;

/// The sessions with a timer that is currently firing.
#[derive(Debug, Default)]
struct Firing(Mutex<BTreeSet<String>>);

impl Firing {
    fn now(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Spawns the task that fires timers while the server runs.
pub fn watch(host: Arc<Host>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let firing = Arc::new(Firing::default());
        loop {
            let wait = match fire(&host, &firing).await {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::warn!(%error, "cannot read session timers");
                    PAUSE
                }
            };
            // A turn that arms a timer notifies `armed`.
            let _ = timeout(wait.clamp(BREATH, PAUSE), host.armed.notified()).await;
            tokio::time::sleep(BREATH).await;
        }
    })
}

/// Fires due timers, each in a task of its own. Returns the time until the next one is due.
async fn fire(host: &Arc<Host>, firing: &Arc<Firing>) -> sqlx::Result<Duration> {
    let now = clock::now();
    let most = TOGETHER + i64::try_from(firing.now().len()).unwrap_or(0);
    let all = session::due(&host.readers, now, most).await?;
    let more = i64::try_from(all.len()).is_ok_and(|it| it >= most);
    for due in all {
        if !firing.now().insert(due.session.clone()) {
            continue;
        }
        let (host, firing) = (Arc::clone(host), Arc::clone(firing));
        tokio::spawn(async move {
            if let Err(error) = fired(&host, &due).await {
                tracing::warn!(%error, session = due.session, timer = due.timer, "cannot fire a session timer");
                tokio::time::sleep(PAUSE).await;
            }
            firing.now().remove(&due.session);
            host.armed.notify_one();
        });
    }
    if more {
        return Ok(Duration::ZERO);
    }
    let next = session::next_due(&host.readers, now).await?;
    Ok(next.map_or(PAUSE, |it| Duration::from_millis(u64::try_from(it - clock::now()).unwrap_or(0))))
}

async fn fired(host: &Arc<Host>, due: &Due) -> Result<(), Refusal> {
    let (Some(stored), Some(seq)) = (session::find(&host.readers, &due.session).await?, due.seq) else {
        return Ok(session::drop_timer(&host.readers, due).await?);
    };
    let running = Running::of(host, &due.session, &stored).await?;
    // A newer turn may have rearmed a timer with the same id.
    let event = json!({"type": "timer.fired", "timer_id": due.timer, OF_SEQ: seq});
    let event: Map = event.as_object().cloned().unwrap_or_default();
    match running.hears(host, event).await {
        Ok(_) | Err(Refusal::Late) => Ok(()),
        Err(Refusal::Closed) => Ok(session::drop_timer(&host.readers, due).await?),
        Err(refusal) => Err(refusal),
    }
}
