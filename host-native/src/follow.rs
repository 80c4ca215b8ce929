//! Watches the database for configuration activations and secret changes made by other processes, and reloads them.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::configured::Refused;
use crate::drive::Host;
use crate::store::activation;

/// The polling interval.
const PAUSE: Duration = Duration::from_secs(1);

/// Spawns the polling task.
pub fn watch(host: Arc<Host>) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            sleep(PAUSE).await;
            look(&host).await;
        }
    })
}

async fn look(host: &Host) {
    if let Err(error) = host.vault.follow(&host.readers, &host.secrets).await {
        tracing::debug!(%error, "cannot read secrets");
    }
    let newest = match activation::newest_of(&host.readers).await {
        Ok(newest) => newest.map_or(0, |it| it.number),
        Err(error) => {
            tracing::debug!(%error, "cannot read the newest activation");
            return;
        }
    };
    match host.current.follow(newest).await {
        Ok(_) => {}
        Err(Refused::Database(error)) => tracing::warn!(%error, "cannot read the configuration activated by another process; will retry"),
        Err(Refused::Errors(issues)) => {
            issues.iter().for_each(|it| tracing::error!(issue = %it, "error in the configuration activated by another process"));
            tracing::error!("rejected the configuration activated by another process; correct its errors and refresh");
        }
    }
}
