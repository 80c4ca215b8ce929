//! Cache of compiled flow documents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::config::Config;
use convengine_core::config::flow::snapshot;
use serde_json::Value;

use crate::audit::derive::aside;
use crate::clock;
use crate::drive::Host;
use crate::store::{self, Pool, config};

/// The cache size.
const HELD: usize = 64;

/// Compiled documents by snapshot hash.
#[derive(Debug, Default)]
pub struct Flows(Mutex<BTreeMap<String, Arc<Config>>>);

impl Flows {
    /// Compiles a document for a new session, stores its snapshot and caches it. Returns `None` when it does not compile.
    ///
    /// # Errors
    /// Returns any database error.
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

    /// Returns the compiled document of a snapshot, given as `sha256:…` or as the bare hash; `None` when it is not stored.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn of(&self, pool: &Pool, snapshot: &str) -> sqlx::Result<Option<Arc<Config>>> {
        let hash = snapshot.trim_start_matches("sha256:");
        if let Some(config) = self.held().get(hash) {
            return Ok(Some(Arc::clone(config)));
        }
        let Some(source) = config::snapshot(pool, hash).await? else { return Ok(None) };
        let config = Arc::new(aside(move || Config::from_source(&source).0).await?);
        // The snapshot may be of tables instead of a document.
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
