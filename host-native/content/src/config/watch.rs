//! Watches the database for configuration activations and secret changes made by other processes, and reloads them.

use std::sync::Arc;
use std::time::Duration;

use convengine_host_base::work_class::spawn_in_background;
use convengine_storage::activation;
use tokio::task::JoinHandle;

use crate::Content;
use crate::config::active::ReloadError;

/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Spawns the polling task.
pub fn spawn(content: Arc<Content>) -> JoinHandle<()> {
    spawn_in_background(async move {
        loop {
            content.connectivity.pause(POLL_INTERVAL).await;
            follow(&content).await;
        }
    })
}

/// Takes over what another process has activated or changed.
pub async fn follow(content: &Content) {
    if let Err(error) = content.secret_store.refresh_if_changed(&content.readers, &content.outbound.secrets).await {
        tracing::debug!(%error, "cannot read secrets");
    }
    let newest = match activation::find_newest_in_pool(&content.readers).await {
        Ok(newest) => newest.map_or(0, |it| it.number),
        Err(error) => {
            tracing::debug!(%error, "cannot read the newest activation");
            return;
        }
    };
    match content.config_manager.reload_if_newer(newest).await {
        Ok(_) => {}
        Err(ReloadError::Database(error)) => {
            tracing::warn!(%error, "cannot read the configuration that was activated; will retry")
        }
        Err(ReloadError::NewErrors(issues)) => {
            issues.iter().for_each(|it| tracing::error!(issue = %it, "error in the configuration that was activated"));
            tracing::error!(
                "rejected the configuration that was activated, and goes on with the one before; correct its errors and refresh"
            );
        }
    }
}
