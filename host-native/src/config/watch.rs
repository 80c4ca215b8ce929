//! Watches the database for configuration activations and secret changes made by other processes, and reloads them.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::config::active::ReloadError;
use crate::runtime::turn_runner::Host;
use crate::storage::activation;
use crate::work_class::spawn_in_background;

/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Spawns the polling task.
pub fn spawn(host: Arc<Host>) -> JoinHandle<()> {
    spawn_in_background(async move {
        loop {
            host.connectivity.pause(POLL_INTERVAL).await;
            follow(&host).await;
        }
    })
}

/// Takes over what another process has activated or changed.
pub async fn follow(host: &Host) {
    if let Err(error) = host.secret_store.refresh_if_changed(&host.readers, &host.secrets).await {
        tracing::debug!(%error, "cannot read secrets");
    }
    let newest = match activation::find_newest_in_pool(&host.readers).await {
        Ok(newest) => newest.map_or(0, |it| it.number),
        Err(error) => {
            tracing::debug!(%error, "cannot read the newest activation");
            return;
        }
    };
    match host.config_manager.reload_if_newer(newest).await {
        Ok(_) => {}
        Err(ReloadError::Database(error)) => {
            tracing::warn!(%error, "cannot read the configuration activated by another process; will retry")
        }
        Err(ReloadError::NewErrors(issues)) => {
            issues.iter().for_each(|it| tracing::error!(issue = %it, "error in the configuration activated by another process"));
            tracing::error!("rejected the configuration activated by another process; correct its errors and refresh");
        }
    }
}
