//! The documents that sessions run on, each compiled once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::config::Config;
use convengine_core::config::flow::snapshot;
use serde_json::Value;

use crate::audit::derive::aside;
use crate::clock;
use crate::drive::Host;
use crate::store::{self, Pool, config};

/// Most documents that are held at once.
const HELD: usize = 64;

/// Compiled documents by the hash of what of them counts.
#[derive(Debug, Default)]
pub struct Flows(Mutex<BTreeMap<String, Arc<Config>>>);

impl Flows {
    /// A document on which a session is about to run: compiled, held, and kept with its hash. Nothing for one that cannot be read.
    ///
    /// # Errors
    /// What the database says.
    pub async fn take(&self, host: &Host, document: &Value) -> sqlx::Result<Option<Arc<Config>>> {
        let hash = snapshot(document);
        if let Some(config) = self.held().get(hash.trim_start_matches("sha256:")) {
            return Ok(Some(Arc::clone(config)));
        }
        let Ok(config) = Config::of_flow(document) else { return Ok(None) };
        if !config::has_snapshot(&host.readers, config.hash()).await? {
            let mut connection = store::open(host.current.place(), false).await?;
            config::keep_snapshot(&mut connection, config.hash(), config.source(), clock::now()).await?;
            connection.close().await?;
        }
        Ok(Some(self.hold(Arc::new(config))))
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
