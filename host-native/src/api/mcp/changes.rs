//! Notices when the list of tools changes: a document is published or deployed, or the configuration changes.

use std::time::Duration;

use convengine_content::Content;
use convengine_storage::assistant::deployment::{self, Deployment};
use convengine_storage::assistant::{ProgramKey, draft};

use super::tools::ASKED_KINDS;

/// How often the list is compared; other processes change it too.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// What the list of tools follows from: the published versions, their deployments and the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    config: String,
    versions: Vec<(ProgramKey, Option<i64>)>,
    deployments: Vec<Deployment>,
}

impl Published {
    /// Reads what is published now.
    pub async fn read(content: &Content) -> sqlx::Result<Published> {
        let mut versions = Vec::new();
        for kind in ASKED_KINDS {
            versions.extend(draft::list(&content.readers, kind).await?.into_iter().map(|it| (it.key, it.live_version)));
        }
        let deployments = deployment::list_open(&content.readers).await?;
        Ok(Published { config: content.config_manager.active().config.hash_source().to_owned(), versions, deployments })
    }

    /// Waits until something else is published than before.
    pub async fn wait_for_change(&mut self, content: &Content) {
        loop {
            content.connectivity.pause(POLL_INTERVAL).await;
            match Published::read(content).await {
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
