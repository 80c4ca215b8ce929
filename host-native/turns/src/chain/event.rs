//! Runs the events of runs as turns.

use std::sync::Arc;

use convengine_content::Content;
use convengine_core::turn::Map;
use convengine_storage::assistant::DocumentKind;
use convengine_storage::assistant::session::{self, Session};
use convengine_storage::chain::status;
use serde_json::{Value, json};

use super::drive;
use crate::Turns;
use crate::refusal::Refusal;
use crate::running_session::RunningSession;

/// Returns a run of a chain; `None` when the chain has no such run.
pub async fn find_run(content: &Content, slug: &str, run: &str) -> sqlx::Result<Option<Session>> {
    let found = session::find(&content.readers, run).await?;
    Ok(found.filter(|session| session.program.kind() == DocumentKind::Chain && session.program.id() == slug))
}

/// Runs the turn of an event and lets the run go on in the background. Returns the answer of the turn.
///
/// # Errors
/// Returns [`Refusal`]; the run is then unchanged.
pub async fn submit_event(turns: &Arc<Turns>, run: &str, stored: &Session, kind: &str, members: Map) -> Result<Value, Refusal> {
    let is_paused = status::find(&turns.readers, stored.program.id()).await?.is_some_and(|it| it.is_paused);
    let mut event = members;
    event.insert("type".to_owned(), json!(kind));
    event.insert("stepwise".to_owned(), json!(true));
    if is_paused {
        event.insert("paused".to_owned(), json!(true));
    }
    let running = RunningSession::from_stored(&turns.content, run, stored).await?;
    let result = running.submit_event(turns, event).await?;
    drive::spawn(turns, run);
    Ok(result.outcome.flow.map(|it| *it).unwrap_or_default())
}
