//! Timers of sessions and runs, as delayed calls of their object.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use convengine_core::turn::{LoadedSession, Millis};
use convengine_host_base::clock;
use convengine_storage::assistant::session;
use convengine_turns::Turns;
use convengine_turns::timers;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conversation::ConversationClient;
use super::request::TurnRequest;

/// How long a run has to begin its next step by itself before its timer does, in milliseconds.
const STEP_GRACE: Millis = 800;

/// A timer that has become due.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TimerRequest {
    /// The tenant, if there are tenants.
    pub tenant: Option<String>,
    /// The session or run.
    pub session: String,
    /// The timer id within the session.
    pub timer: String,
    /// When it is due.
    pub due: Millis,
}

/// A timer with its delayed call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmedTimer {
    due: Millis,
    invocation: String,
}

impl ArmedTimer {
    /// Creates a timer from the invocation of its call.
    pub fn new(due: Millis, invocation: &str) -> ArmedTimer {
        ArmedTimer { due, invocation: invocation.to_owned() }
    }

    /// When it is due.
    pub fn due(&self) -> Millis {
        self.due
    }

    /// The invocation of its delayed call.
    pub fn invocation(&self) -> &str {
        &self.invocation
    }
}

/// The armed timers of an object by their id.
pub type ArmedTimers = BTreeMap<String, ArmedTimer>;

/// Returns when the calls of a session's timers are due.
fn list_due(session: &LoadedSession) -> BTreeMap<String, Millis> {
    let timers = session.flow.as_ref().and_then(|state| state.get("timers")?.as_array()).into_iter().flatten();
    let timer = |it: &Value| {
        let text = |name: &str| it.get(name).and_then(Value::as_str).unwrap_or_default();
        let grace = if text("purpose") == "step" { STEP_GRACE } else { 0 };
        Some((text("id").to_owned(), clock::parse(text("due"))? + grace))
    };
    timers.filter_map(timer).collect()
}

/// Arms the timers of a session that has changed: cancels the calls of those that are gone, and calls those that are new when they are due.
pub async fn arm(
    ctx: &ObjectContext<'_>,
    tenant: Option<&str>,
    id: &str,
    session: &LoadedSession,
    armed: ArmedTimers,
) -> Result<ArmedTimers, TerminalError> {
    let due = list_due(session);
    let (mut kept, gone): (ArmedTimers, ArmedTimers) = armed.into_iter().partition(|(timer, it)| due.get(timer) == Some(&it.due));
    // A timer that has fired is gone as well: its call is the one that runs.
    for timer in gone.into_values().filter(|timer| timer.invocation != ctx.invocation_id()) {
        ctx.invocation_handle(timer.invocation).cancel();
    }
    for (timer, due) in due {
        if kept.contains_key(&timer) {
            continue;
        }
        let request = TimerRequest { tenant: tenant.map(str::to_owned), session: id.to_owned(), timer: timer.clone(), due };
        let sent = ctx.object_client::<ConversationClient>(ctx.key()).fire(Json(request)).send_after(delay_until(due)).await?;
        kept.insert(timer, ArmedTimer::new(due, sent.invocation_id()));
    }
    Ok(kept)
}

/// Returns the delay of a call. It may differ between attempts: Restate takes that of the first.
pub fn delay_until(due: Millis) -> Duration {
    Duration::from_millis(u64::try_from(due - clock::now()).unwrap_or(0))
}

/// Whether a due timer is still armed.
pub fn is_armed(armed: &ArmedTimers, request: &TimerRequest) -> bool {
    armed.get(&request.timer).is_some_and(|it| it.due == request.due)
}

/// Returns the request for the turn of a due timer; none when its chain is paused, whose timers are fired later by
/// [`spawn_timers`](timers::spawn_timers).
pub async fn prepare(turns: &Arc<Turns>, request: &TimerRequest) -> HandlerResult<Option<TurnRequest>> {
    // The clock of the worker that armed it may be ahead.
    let now = clock::now().max(request.due);
    let due = session::find_due_timer(&turns.readers, &request.session, now).await?;
    let Some(due) = due else { return Ok(None) };
    let message = timers::to_message(turns, &due).await?;
    Ok(message.map(|message| TurnRequest::new(&turns.content, request.tenant.clone(), &message, message.event.clone())))
}
