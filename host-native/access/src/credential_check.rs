//! Ends what callers keep open when their credentials are revoked.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use convengine_host_base::clock;
use convengine_storage::assistant::deployment_token;
use convengine_storage::connectivity::Connectivity;
use convengine_storage::repeated_task::RepeatedTask;
use convengine_storage::{Pool, api_key};

use crate::TenantAccess;
use crate::credential_watch::Credential;

/// The minimum time between two lookups of open credentials.
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Spawns the task that looks up the credentials of what is open, until it is aborted.
pub fn spawn_check(access: Arc<TenantAccess>, readers: Pool, connectivity: &Arc<Connectivity>, recheck: Duration) -> JoinHandle<()> {
    let mut task = RepeatedTask::new("check the credentials of streams", connectivity);
    tokio::spawn(async move {
        let interval = recheck.max(MIN_CHECK_INTERVAL);
        loop {
            sleep(interval).await;
            for credential in access.open_credentials.list() {
                if task.attempt(is_active(&readers, &credential)).await == Some(false) {
                    access.open_credentials.end(&credential);
                }
            }
        }
    })
}

async fn is_active(readers: &Pool, credential: &Credential) -> sqlx::Result<bool> {
    match credential {
        Credential::Key(id) => Ok(api_key::find(readers, id).await?.is_some_and(|key| key.is_valid_at(clock::now()))),
        Credential::DeploymentToken(id) => deployment_token::is_active(readers, id).await,
    }
}
