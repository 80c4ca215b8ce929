//! Cache of compiled flow documents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::config::Config;
use convengine_core::config::flow::snapshot_hash;
use serde_json::Value;

use crate::clock;
use crate::ops::audit::derive::run_blocking;
use crate::runtime::turn_runner::Host;
use crate::storage::{self, Pool, config};

/// The cache size.
const MAX_CACHED: usize = 64;

/// Compiled documents by snapshot hash.
#[derive(Debug, Default)]
pub struct FlowCache(Mutex<BTreeMap<String, Arc<Config>>>);

impl FlowCache {
    /// Compiles a document for a new session, stores its snapshot and caches it. Returns `None` when it does not compile.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn compile_and_store(&self, host: &Host, document: Value) -> sqlx::Result<Option<Arc<Config>>> {
        // A bundle may have many documents.
        let (hash, document) = run_blocking(move || (snapshot_hash(&document), document)).await?;
        if let Some(config) = self.lock().get(hash.trim_start_matches("sha256:")) {
            return Ok(Some(Arc::clone(config)));
        }
        let Ok(config) = run_blocking(move || Config::from_flow(&document)).await? else { return Ok(None) };
        if !config::has_snapshot(&host.readers, config.hash_source()).await? {
            let mut connection = storage::open(host.config_manager.database(), false).await?;
            config::store_snapshot(&mut connection, config.hash_source(), config.source(), clock::now()).await?;
            connection.close().await?;
        }
        Ok(Some(self.insert(Arc::new(config))))
    }

    /// Returns the compiled document of a snapshot, given as `sha256:…` or as the bare hash; `None` when it is not stored.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn load(&self, pool: &Pool, snapshot: &str) -> sqlx::Result<Option<Arc<Config>>> {
        let hash = snapshot.trim_start_matches("sha256:");
        if let Some(config) = self.lock().get(hash) {
            return Ok(Some(Arc::clone(config)));
        }
        let Some(source) = config::find_snapshot(pool, hash).await? else { return Ok(None) };
        let config = Arc::new(run_blocking(move || Config::from_source(&source).0).await?);
        // The snapshot may be of tables instead of a document.
        let is_document = config.document.is_some();
        Ok(is_document.then(|| self.insert(config)))
    }

    fn insert(&self, config: Arc<Config>) -> Arc<Config> {
        let mut held = self.lock();
        if held.len() >= MAX_CACHED {
            held.clear();
        }
        held.insert(config.hash_source().to_owned(), Arc::clone(&config));
        config
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Config>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
