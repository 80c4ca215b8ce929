//! Lets runs go on: after an attempt, the next one follows at once. (docs/spec/chains.md#4)

use std::sync::Arc;

use crate::runtime::assistant::timers::fire_timers_of;
use crate::runtime::turn_runner::Host;
use crate::work_class::spawn_in_background;

/// Fires the due timers of a run in the background, until it waits or ends. A run that is not reached here, because the process stops, goes
/// on with the timers of the next one.
pub fn spawn(host: &Arc<Host>, run: &str) {
    let (host, run) = (Arc::clone(host), run.to_owned());
    if !host.firing.insert(&run) {
        // Whoever fires a timer of it looks for others afterwards.
        return;
    }
    spawn_in_background(async move {
        if let Err(error) = fire_timers_of(&host, &run).await {
            tracing::warn!(%error, run, "cannot continue a run; it is tried again");
        }
        host.firing.remove(&run);
        host.timer_armed.notify_one();
    });
}
