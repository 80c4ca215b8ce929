//! Takes the rows that another process has taken: an import, an activation or a refresh there is one here too, and a secret that is kept
//! there is known here.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::configured::Refused;
use crate::drive::Host;
use crate::store::activation;

/// How often the newest activation is looked at: one row by its key; and the names of the secrets.
const PAUSE: Duration = Duration::from_secs(1);

/// Looks from now on.
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
        tracing::debug!(%error, "the secrets of the database cannot be read");
    }
    let newest = match activation::newest_of(&host.readers).await {
        Ok(newest) => newest.map_or(0, |it| it.number),
        Err(error) => {
            tracing::debug!(%error, "the database cannot be asked which rows are the newest");
            return;
        }
    };
    match host.current.follow(newest).await {
        Ok(_) => {}
        Err(Refused::Database(error)) => tracing::warn!(%error, "the rows that another process has taken cannot be read yet"),
        Err(Refused::Errors(issues)) => {
            issues.iter().for_each(|it| tracing::error!(issue = %it, "rows that another process has taken have an error"));
            tracing::error!("the rows that another process has taken are not taken here: correct them and refresh");
        }
    }
}
