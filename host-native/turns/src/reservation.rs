//! Sessions of a plan that are counted before they start. (docs/spec/flows.md#12.2)

use convengine_content::Content;
use convengine_content::plan::month_start;
use convengine_host_base::clock;
use convengine_storage::assistant::{ProgramKey, session};
use convengine_storage::counter::{self, CounterKey, Increment};

use crate::refusal::Refusal;

/// A session counted against the quota before its first turn runs.
#[derive(Debug)]
pub struct Reservation {
    counter: CounterKey,
    usage_row: i64,
}

impl Reservation {
    /// Reserves one of the month's sessions for an assistant or workflow.
    ///
    /// # Errors
    /// Returns [`Refusal::QuotaExceeded`] when the quota is exceeded, [`Refusal::Load`] for a database error.
    pub async fn reserve(content: &Content, program: &ProgramKey) -> Result<Reservation, Refusal> {
        let at = clock::now();
        let (pool, workspace, period) = (&content.readers, &content.workspace, month_start(at));
        let counter = CounterKey { workspace: workspace.clone(), kind: "session", reference: String::new(), period };
        let limit = content.plan.sessions.map_or(i64::MAX, i64::from);
        let one = Increment { amount: 1, fitting: 1, limit };
        let used_before = session::sum_usage(pool, workspace, "session", period, None);
        if !counter::reserve(pool, &counter, one, used_before).await? {
            return Err(Refusal::QuotaExceeded(content.plan.sessions.unwrap_or(0)));
        }
        match session::add_session_usage(pool, workspace, program.as_str(), at).await {
            Ok(usage_row) => Ok(Reservation { counter, usage_row }),
            Err(error) => {
                release(content, &counter).await;
                Err(error.into())
            }
        }
    }

    /// Releases the reservation unless a turn of its session is stored, because another process may finish it. `None` when the message has
    /// started no session: it was sent again, or the session belongs to another message.
    pub async fn release(self, content: &Content, session: Option<&str>) {
        match session::delete_session_usage(&content.readers, self.usage_row, session).await {
            Ok(true) => release(content, &self.counter).await,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, session, "cannot release the reservation of a session that did not start"),
        }
    }
}

async fn release(content: &Content, counter: &CounterKey) {
    if let Err(error) = counter::adjust(&content.readers, counter, -1).await {
        tracing::warn!(%error, "cannot release the reservation of a session");
    }
}
