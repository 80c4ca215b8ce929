//! Cache of compiled snapshots: flow documents, and configurations of tables that recovered turns still need.

use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::config::flow::snapshot_hash;
use convengine_host_base::clock;
use convengine_storage::run_blocking;
use convengine_storage::{self as storage, config, snapshot};
use quick_cache::sync::Cache;
use serde_json::Value;

use crate::Content;
use crate::config::classifiers::ClassifierTrainer;
use crate::phrase_vectors;

/// The cache size.
const MAX_CACHED: usize = 64;

/// Compiled snapshots by hash, with trained classifiers. Each is compiled once, however many wait for it.
#[derive(Debug)]
pub struct FlowCache {
    configs: Cache<String, Arc<Config>>,
    trainer: ClassifierTrainer,
}

/// Why there is no compiled snapshot: it does not compile or is not stored, or the database failed.
enum Missing {
    Snapshot,
    Database(sqlx::Error),
}

impl From<sqlx::Error> for Missing {
    fn from(error: sqlx::Error) -> Missing {
        Missing::Database(error)
    }
}

impl Default for FlowCache {
    fn default() -> FlowCache {
        FlowCache { configs: Cache::new(MAX_CACHED), trainer: ClassifierTrainer::default() }
    }
}

impl FlowCache {
    /// Compiles a document for a new session, stores its snapshot and caches it. Returns `None` when it does not compile.
    pub async fn compile_and_store(&self, content: &Content, document: Value) -> sqlx::Result<Option<Arc<Config>>> {
        // A bundle may have many documents.
        let (hash, document) = run_blocking(move || (snapshot_hash(&document), document)).await?;
        found(self.configs.get_or_insert_async(bare_hash(&hash), self.compile(content, document)).await)
    }

    async fn compile(&self, content: &Content, document: Value) -> Result<Arc<Config>, Missing> {
        let config = run_blocking(move || Config::from_flow(&document)).await?.map_err(|_| Missing::Snapshot)?;
        // Sessions may start on it from now on, so no other process may take it for unused.
        if !snapshot::is_use_recorded(&content.readers, config.hash_source(), clock::now()).await? {
            let mut connection = storage::open(content.config_manager.database(), false).await?;
            config::store_snapshot_text(&mut connection, config.hash_source(), || config.source_text(), clock::now()).await?;
            connection.close().await?;
        }
        let config = Arc::new(config);
        self.supply_classifiers(content, &config).await?;
        Ok(config)
    }

    /// Supplies the classifiers of a configuration that is not kept.
    pub async fn supply_classifiers(&self, content: &Content, config: &Arc<Config>) -> sqlx::Result<()> {
        self.trainer.supply(content.config_manager.database(), config).await
    }

    /// Trains and stores the classifiers of a document that is to be published, so that its first session does not wait for them, and embeds
    /// their phrases.
    pub async fn prepare_classifiers(&self, content: &Content, document: Value) -> sqlx::Result<()> {
        let Ok(config) = run_blocking(move || Config::from_flow(&document)).await? else { return Ok(()) };
        let config = Arc::new(config);
        self.supply_classifiers(content, &config).await?;
        phrase_vectors::embed_phrases(content, &config).await
    }

    /// Returns the compiled document of a snapshot, given as `sha256:…` or as the bare hash; `None` when it is not stored.
    pub async fn load(&self, content: &Content, snapshot: &str) -> sqlx::Result<Option<Arc<Config>>> {
        let config = self.load_snapshot(content, snapshot).await?;
        // The snapshot may be of tables instead of a document.
        Ok(config.filter(|it| it.document.is_some()))
    }

    /// Returns the compiled configuration of a snapshot of a document or of tables; `None` when it is not stored.
    pub async fn load_snapshot(&self, content: &Content, snapshot: &str) -> sqlx::Result<Option<Arc<Config>>> {
        let hash = bare_hash(snapshot);
        found(self.configs.get_or_insert_async(hash, self.compile_stored(content, hash)).await)
    }

    /// Returns the cached documents, on which sessions may start without looking at the database.
    pub fn list(&self) -> Vec<Arc<Config>> {
        self.configs.iter().map(|it| it.1).collect()
    }

    async fn compile_stored(&self, content: &Content, hash: &str) -> Result<Arc<Config>, Missing> {
        let source = config::find_snapshot(&content.readers, hash).await?.ok_or(Missing::Snapshot)?;
        let config = Arc::new(run_blocking(move || Config::from_source(&source).0).await?);
        self.supply_classifiers(content, &config).await?;
        Ok(config)
    }
}

fn bare_hash(snapshot: &str) -> &str {
    snapshot.trim_start_matches("sha256:")
}

fn found(compiled: Result<Arc<Config>, Missing>) -> sqlx::Result<Option<Arc<Config>>> {
    match compiled {
        Ok(config) => Ok(Some(config)),
        Err(Missing::Snapshot) => Ok(None),
        Err(Missing::Database(error)) => Err(error),
    }
}
