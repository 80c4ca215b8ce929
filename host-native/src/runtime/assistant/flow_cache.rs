//! Cache of compiled flow documents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::config::Config;
use convengine_core::config::flow::snapshot_hash;
use serde_json::Value;

use crate::clock;
use crate::config::classifiers::ClassifierTrainer;
use crate::ops::audit::derive::run_blocking;
use crate::runtime::assistant::phrase_vectors;
use crate::runtime::turn_runner::Host;
use crate::storage::{self, config};

/// The cache size.
const MAX_CACHED: usize = 64;

/// Compiled documents by snapshot hash, with trained classifiers.
#[derive(Debug, Default)]
pub struct FlowCache {
    configs: Mutex<BTreeMap<String, Arc<Config>>>,
    trainer: ClassifierTrainer,
}

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
            config::store_snapshot_text(&mut connection, config.hash_source(), || config.source_text(), clock::now()).await?;
            connection.close().await?;
        }
        let config = Arc::new(config);
        self.supply_classifiers(host, &config).await?;
        Ok(Some(self.insert(config)))
    }

    /// Supplies the classifiers of a configuration that is not kept.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn supply_classifiers(&self, host: &Host, config: &Arc<Config>) -> sqlx::Result<()> {
        self.trainer.supply(host.config_manager.database(), config).await
    }

    /// Trains and stores the classifiers of a document that is to be published, so that its first session does not wait for them, and embeds
    /// their phrases.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn prepare_classifiers(&self, host: &Host, document: Value) -> sqlx::Result<()> {
        let Ok(config) = run_blocking(move || Config::from_flow(&document)).await? else { return Ok(()) };
        let config = Arc::new(config);
        self.supply_classifiers(host, &config).await?;
        phrase_vectors::embed_phrases(host, &config).await
    }

    /// Returns the compiled document of a snapshot, given as `sha256:…` or as the bare hash; `None` when it is not stored.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn load(&self, host: &Host, snapshot: &str) -> sqlx::Result<Option<Arc<Config>>> {
        let hash = snapshot.trim_start_matches("sha256:");
        if let Some(config) = self.lock().get(hash) {
            return Ok(Some(Arc::clone(config)));
        }
        let Some(source) = config::find_snapshot(&host.readers, hash).await? else { return Ok(None) };
        let config = Arc::new(run_blocking(move || Config::from_source(&source).0).await?);
        // The snapshot may be of tables instead of a document.
        if config.document.is_none() {
            return Ok(None);
        }
        self.supply_classifiers(host, &config).await?;
        Ok(Some(self.insert(config)))
    }

    /// Returns the cached documents, on which sessions may start without looking at the database.
    pub fn list(&self) -> Vec<Arc<Config>> {
        self.lock().values().cloned().collect()
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
        self.configs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
