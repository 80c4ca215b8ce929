//! Lets runs go on: after an attempt, the next one follows at once. (docs/spec/chains.md#4)

use std::sync::Arc;

use convengine_host_base::work_class::spawn_in_background;

use crate::Turns;
use crate::timers::fire_timers_of;

/// Fires the due timers of a run in the background, until it waits or ends. A run that is not reached here, because the process stops, goes
/// on with the timers of the next one.
pub fn spawn(turns: &Arc<Turns>, run: &str) {
    let (turns, run) = (Arc::clone(turns), run.to_owned());
    if !turns.firing.insert(&run) {
        // Whoever fires a timer of it looks for others afterwards.
        return;
    }
    spawn_in_background(async move {
        if let Err(error) = fire_timers_of(&turns, &run).await {
            tracing::warn!(%error, run, "cannot continue a run; it is tried again");
        }
        turns.firing.remove(&run);
        turns.timer_armed.notify_one();
    });
}
