//! Fires the timers of sessions: nobody answers, or nobody comes back. (`convoship.md` 4.4, 7)

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

/// How long a timer of another process may stay unseen.
const PAUSE: Duration = Duration::from_secs(5);

/// The shortest time between two looks at the database.
const BREATH: Duration = Duration::from_millis(20);

/// How many timers fire at a time.
const TOGETHER: i64 = 64;

/// The sessions of which a timer fires now.
#[derive(Debug, Default)]
struct Firing(Mutex<BTreeSet<String>>);

impl Firing {
    fn now(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fires timers for as long as the server runs.
pub fn watch(host: Arc<Host>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let firing = Arc::new(Firing::default());
        loop {
            let wait = match fire(&host, &firing).await {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::warn!(%error, "the timers of sessions cannot be read");
                    PAUSE
                }
            };
            // A turn that arms a timer says so.
            let _ = timeout(wait.clamp(BREATH, PAUSE), host.armed.notified()).await;
            tokio::time::sleep(BREATH).await;
        }
    })
}

/// Fires what is due; answers how long nothing else is. Nobody waits for a session whose turn takes its time.
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
                tracing::warn!(%error, session = due.session, timer = due.timer, "a timer did not fire");
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
    // Who has answered meanwhile has armed it anew, under the same name.
    let event = json!({"type": "timer.fired", "timer_id": due.timer, OF_SEQ: seq});
    let event: Map = event.as_object().cloned().unwrap_or_default();
    match running.hears(host, event).await {
        Ok(_) | Err(Refusal::Late) => Ok(()),
        Err(Refusal::Closed) => Ok(session::drop_timer(&host.readers, due).await?),
        Err(refusal) => Err(refusal),
    }
}
