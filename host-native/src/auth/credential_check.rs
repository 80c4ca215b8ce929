//! Ends what callers keep open when their credentials are revoked.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::credential_watch::Credential;
use crate::clock;
use crate::runtime::repeated_task::RepeatedTask;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::deployment_token;
use crate::storage::{Pool, api_key};

/// The minimum time between two lookups of open credentials.
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Spawns the task that looks up the credentials of what is open, until it is aborted.
pub fn spawn_check(host: Arc<Host>, recheck: Duration) -> JoinHandle<()> {
    tokio::spawn(async move {
        let interval = recheck.max(MIN_CHECK_INTERVAL);
        let mut task = RepeatedTask::new("check the credentials of streams", &host.connectivity);
        loop {
            sleep(interval).await;
            for credential in host.open_credentials.list() {
                if task.attempt(is_active(&host.readers, &credential)).await == Some(false) {
                    host.open_credentials.end(&credential);
                }
            }
        }
    })
}

async fn is_active(readers: &Pool, credential: &Credential) -> sqlx::Result<bool> {
    match credential {
        Credential::Key(id) => Ok(api_key::find(readers, id).await?.is_some_and(|it| it.is_valid_at(clock::now()))),
        Credential::DeploymentToken(id) => deployment_token::is_active(readers, id).await,
    }
}
