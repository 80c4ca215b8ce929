//! Fires the timers of sessions: nobody answers, or nobody comes back. (`convoship.md` 4.4, 7)

use std::sync::Arc;
use std::time::Duration;

use convengine_core::turn::Map;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::run::Running;
use crate::clock;
use crate::drive::{Host, Refusal};
use crate::store::assistant::session::{self, Due};

/// How long a timer of another process may stay unseen.
const PAUSE: Duration = Duration::from_secs(5);

/// The shortest time between two looks at the database.
const BREATH: Duration = Duration::from_millis(20);

/// How many timers fire at a time.
const TOGETHER: i64 = 64;

/// Fires timers for as long as the server runs.
pub fn watch(host: Arc<Host>) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            let wait = match fire(&host).await {
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

/// Fires what is due; answers how long nothing is.
async fn fire(host: &Arc<Host>) -> sqlx::Result<Duration> {
    let now = clock::now();
    let due = session::due(&host.readers, now, TOGETHER).await?;
    let more = due.len() >= usize::try_from(TOGETHER).unwrap_or(usize::MAX);
    let mut firing = tokio::task::JoinSet::new();
    for due in due {
        let host = Arc::clone(host);
        firing.spawn(async move { fired(&host, &due).await });
    }
    firing.join_all().await;
    if more {
        return Ok(Duration::ZERO);
    }
    let next = session::next_due(&host.readers).await?;
    Ok(next.map_or(PAUSE, |it| Duration::from_millis(u64::try_from(it - clock::now()).unwrap_or(0))))
}

async fn fired(host: &Arc<Host>, due: &Due) {
    let turn = async {
        let Some(stored) = session::find(&host.readers, &due.session).await? else {
            session::drop_timer(&host.readers, due).await?;
            return Ok(());
        };
        let Some(running) = Running::of(host, &due.session, &stored).await? else {
            session::drop_timer(&host.readers, due).await?;
            return Err(Refusal::Defect("what the session runs on is not kept".to_owned()));
        };
        let event = json!({"type": "timer.fired", "timer_id": due.timer});
        let event: Map = event.as_object().cloned().unwrap_or_default();
        match running.hears(host, event).await {
            Ok(_) => Ok(()),
            Err(Refusal::Closed) => Ok(session::drop_timer(&host.readers, due).await?),
            Err(refusal) => Err(refusal),
        }
    };
    if let Err(error) = turn.await {
        tracing::warn!(%error, session = due.session, timer = due.timer, "a timer did not fire");
    }
}
