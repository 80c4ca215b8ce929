//! The documents that sessions run on, each compiled once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::config::Config;
use serde_json::Value;

use crate::audit::derive::aside;
use crate::store::{Pool, config};

/// Most documents that are held at once.
const HELD: usize = 64;

/// Compiled documents by the hash of what of them counts.
#[derive(Debug, Default)]
pub struct Flows(Mutex<BTreeMap<String, Arc<Config>>>);

impl Flows {
    /// A document compiled; it is held from then on.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn take(&self, document: &Value) -> Result<Arc<Config>, String> {
        let config = Arc::new(Config::of_flow(document)?);
        Ok(self.hold(config))
    }

    /// The document of a snapshot, `sha256:…` or the hash alone; nothing when it is not kept.
    ///
    /// # Errors
    /// What the database says.
    pub async fn of(&self, pool: &Pool, snapshot: &str) -> sqlx::Result<Option<Arc<Config>>> {
        let hash = snapshot.trim_start_matches("sha256:");
        if let Some(config) = self.held().get(hash) {
            return Ok(Some(Arc::clone(config)));
        }
        let Some(source) = config::snapshot(pool, hash).await? else { return Ok(None) };
        let config = Arc::new(aside(move || Config::from_source(&source).0).await?);
        // A snapshot of tables is no document.
        Ok(config.flow.is_some().then(|| self.hold(config)))
    }

    fn hold(&self, config: Arc<Config>) -> Arc<Config> {
        let mut held = self.held();
        if held.len() >= HELD {
            held.clear();
        }
        held.insert(config.hash().to_owned(), Arc::clone(&config));
        config
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Config>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
