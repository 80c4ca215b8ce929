//! Cancels runs: stores the request, stops the attempt that is being executed, in whichever process, and then ends the run.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use convengine_core::turn::Map;
use convengine_storage::assistant::session::{self, Session};
use convengine_storage::chain::run;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::event::submit_event;
use crate::Turns;
use crate::refusal::Refusal;
use crate::stream::request_stop;

/// How often the other processes are asked to stop an attempt, because a request may be lost and an attempt may have just begun.
const REQUEST_INTERVAL: Duration = Duration::from_millis(500);

/// The statuses of runs that have ended.
const FINAL_STATUSES: [&str; 3] = ["succeeded", "failed", "cancelled"];

/// Cancels a run that has the stored state. The request is stored first, so that a process that recovers the attempt of one that has died does
/// not continue it. Returns the answer of the turn, or the id and status of a run that ended with the attempt that was stopped.
///
/// # Errors
/// Returns [`Refusal`]; the run is then not cancelled yet, but before its next step if the request was stored.
pub async fn cancel_run(turns: &Arc<Turns>, run: &str, stored: &Session, members: Map) -> Result<Value, Refusal> {
    run::request_cancellation(&turns.readers, run).await?;
    match &turns.cluster {
        Some(cluster) => _ = cluster.cancel(run).await?,
        None => _ = turns.stop_signals.stop(run),
    }
    let cancelled = tokio::select! {
        // It waits for the attempt.
        cancelled = submit_event(turns, run, stored, "run.cancel", members) => cancelled,
        never = keep_requesting(turns, run) => match never {},
    };
    match cancelled {
        // The attempt that was stopped has ended the run.
        Err(Refusal::Run(refusal)) if refusal.code == "run_finished" && !FINAL_STATUSES.contains(&stored.status.as_str()) => {
            match session::find(&turns.readers, run).await?.filter(|it| it.status == "cancelled") {
                Some(ended) => Ok(json!({"run_id": run, "status": ended.status})),
                None => Err(Refusal::Run(refusal)),
            }
        }
        other => other,
    }
}

/// Asks the other processes to stop the attempt of a run until it is dropped.
async fn keep_requesting(turns: &Turns, run: &str) -> Infallible {
    loop {
        if turns.cluster.is_none() && turns.readers.is_shared() {
            request_stop(turns, run).await;
        }
        sleep(REQUEST_INTERVAL).await;
    }
}
