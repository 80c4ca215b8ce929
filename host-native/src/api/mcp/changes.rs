//! Notices when the list of tools changes: an assistant is published, or the configuration changes.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::runtime::turn_runner::Host;
use crate::storage::assistant::DocumentKind;
use crate::storage::assistant::draft;

/// How often the list is compared; other processes change it too.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// What the list of tools follows from: the published versions and the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    config: String,
    versions: Vec<(String, Option<i64>)>,
}

impl Published {
    /// Reads what is published now.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn read(host: &Host) -> sqlx::Result<Published> {
        let versions = draft::list(&host.readers, DocumentKind::Assistant).await?;
        let versions = versions.into_iter().map(|it| (it.key.id().to_owned(), it.live_version)).collect();
        Ok(Published { config: host.config_manager.active().config.hash_source().to_owned(), versions })
    }

    /// Waits until something else is published than before.
    pub async fn wait_for_change(&mut self, host: &Arc<Host>) {
        loop {
            sleep(POLL_INTERVAL).await;
            match Published::read(host).await {
                Ok(now) if now != *self => {
                    *self = now;
                    return;
                }
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "cannot read the published versions"),
            }
        }
    }
}
