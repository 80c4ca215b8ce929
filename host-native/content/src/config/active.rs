//! The active configuration of a server, and its replacement while turns run. (docs/decisions/0009-invalid-configuration-rows.md)

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use convengine_core::config::{Config, Issue, Reuse};
use convengine_core::pack::Fakes;
use convengine_core::turn::TaskRequest;
use convengine_effects::extension::Extensions;
use convengine_effects::mcp::catalog::McpCatalog;
use convengine_host_base::clock;
use convengine_host_base::exit::Failure;
use convengine_host_base::print_error_line;
use convengine_storage::{self as storage, Connection, DatabaseConfig, activation, import};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::config::classifiers;
use crate::config::compile::{self, Compiled};
use crate::config::snapshot::{RestoreError, RestoreTarget, RestoredRows, record_config, restore_rows};

/// A compiled configuration with its fakes and extensions. A turn keeps one from start to end.
#[derive(Debug)]
pub struct ActiveConfig {
    /// The compiled configuration.
    pub config: Arc<Config>,
    /// Scripted replies of tasks and tools, and of containers without a service.
    pub fakes: Fakes,
    /// WebAssembly extensions.
    pub extensions: Extensions,
    /// MCP servers and their approved tools.
    pub mcp: Arc<McpCatalog>,
    /// Configuration issues: rows that are skipped or invalid.
    pub issues: Vec<Issue>,
    /// How much it shares with the configuration before it.
    pub reuse: Reuse,
}

/// Holds the configuration of new turns.
#[derive(Debug)]
pub struct ConfigManager {
    database: DatabaseConfig,
    /// The `convengine` settings tree.
    settings: Value,
    active: RwLock<Arc<ActiveConfig>>,
    /// Held while reloading, so that a stale read cannot overwrite a newer one.
    reload_lock: Mutex<()>,
    /// The number of the last activation processed.
    newest_seen: AtomicI64,
}

/// Why the configuration is reloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReloadSource {
    /// A local request, announced to other processes.
    Local,
    /// An announcement by another process.
    Remote,
}

/// Why a new configuration was rejected.
#[derive(Debug)]
pub enum ReloadError {
    /// It has new errors.
    NewErrors(Vec<Issue>),
    /// It cannot be read.
    Database(sqlx::Error),
}

impl ActiveConfig {
    /// Reads and compiles the configuration of a database, as it is at one moment; what did not change is shared with an earlier one. The
    /// connection must not be in a transaction.
    async fn load(connection: &mut Connection, settings: &Value, earlier: Option<&ActiveConfig>) -> sqlx::Result<ActiveConfig> {
        connection.begin_read().await?;
        let loaded = ActiveConfig::read(connection, settings, earlier).await;
        let ended = connection.rollback().await;
        // After a failed read the connection may be lost, which is then only a consequence.
        let loaded = loaded?;
        ended.map(|()| loaded)
    }

    /// Reads and compiles the configuration in the caller's transaction.
    async fn read(connection: &mut Connection, settings: &Value, earlier: Option<&ActiveConfig>) -> sqlx::Result<ActiveConfig> {
        let earlier = earlier.map(|it| Arc::clone(&it.config));
        let Compiled { config, issues, reuse } = compile::compile_database(connection, settings, earlier).await?;
        let fakes = storage::script::load(connection).await?;
        let extensions = match storage::module::has_tables(connection).await? {
            true => Extensions::from_modules(storage::module::load(connection).await?),
            false => Extensions::default(),
        };
        let mcp = Arc::new(McpCatalog::from_config(&config));
        Ok(ActiveConfig { config: Arc::new(config), fakes, extensions, mcp, issues, reuse })
    }

    /// Returns a copy with the document of a configuration, or this one where the configuration is that of tables.
    pub fn with_document(self: Arc<Self>, config: &Arc<Config>) -> Arc<ActiveConfig> {
        if config.document.is_some() { Arc::new(self.with_flow(config)) } else { self }
    }

    /// Returns a copy with a flow document instead of the tables.
    pub fn with_flow(&self, flow: &Arc<Config>) -> ActiveConfig {
        let (fakes, extensions) = (self.fakes.clone(), self.extensions.clone());
        ActiveConfig {
            config: Arc::clone(flow),
            fakes,
            extensions,
            mcp: Arc::clone(&self.mcp),
            issues: Vec::new(),
            reuse: Reuse::default(),
        }
    }

    /// Whether a task is called by a flow document and has no scripted reply.
    pub fn is_function(&self, request: &TaskRequest) -> bool {
        self.config.document.is_some() && !self.fakes.tasks.contains_key(&request.task)
    }

    fn error_texts(&self) -> BTreeSet<String> {
        self.issues.iter().filter(|it| it.is_error()).map(ToString::to_string).collect()
    }

    /// Stores the snapshot that journals reference.
    async fn store_snapshot(&self, connection: &mut Connection) -> sqlx::Result<()> {
        storage::config::store_snapshot_text(connection, self.config.hash_source(), || self.config.source_text(), clock::now()).await
    }

    /// Stores the snapshot and records its activation. Returns the number of the newest activation.
    async fn record_activation(&self, connection: &mut Connection, how: &str) -> sqlx::Result<i64> {
        self.store_snapshot(connection).await?;
        record_config(connection, &self.config, how).await?;
        newest_number(connection).await
    }
}

impl ConfigManager {
    /// Loads the configuration at server start.
    ///
    /// # Errors
    /// Returns exit code 2 for a configuration with errors if `convengine.config.strict` is set, 3 when the database cannot be used.
    pub async fn load(connection: &mut Connection, database: &DatabaseConfig, settings: &Value) -> Result<ConfigManager, Failure> {
        let unusable = |it: sqlx::Error| storage::database_failure(database, &it);
        let loaded = ActiveConfig::load(connection, settings, None).await.map_err(unusable)?;
        loaded.issues.iter().for_each(|it| print_error_line!("{it}"));
        if loaded.config.settings.strict && !loaded.error_texts().is_empty() {
            return Err(Failure::invalid_usage(
                "the configuration has errors and convengine.config.strict is set; correct the errors or unset it",
            ));
        }
        classifiers::supply(connection, &loaded.config).await.map_err(unusable)?;
        let seen = loaded.record_activation(connection, "start").await.map_err(unusable)?;
        // Compile extensions in the background; only turns that call one wait for it.
        let extensions = loaded.extensions.clone();
        tokio::task::spawn_blocking(move || extensions.compile());
        let (database, settings) = (database.clone(), settings.clone());
        Ok(ConfigManager {
            database,
            settings,
            active: RwLock::new(Arc::new(loaded)),
            reload_lock: Mutex::default(),
            newest_seen: seen.into(),
        })
    }

    /// Returns the configuration of new turns.
    pub fn active(&self) -> Arc<ActiveConfig> {
        Arc::clone(&self.active.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The `convengine` settings tree.
    pub fn settings(&self) -> &Value {
        &self.settings
    }

    /// The database of the configuration.
    pub fn database(&self) -> &DatabaseConfig {
        &self.database
    }

    /// Reloads the configuration. Running turns keep theirs.
    ///
    /// # Errors
    /// Returns the reason; the configuration is then unchanged.
    pub async fn refresh(&self) -> Result<Arc<ActiveConfig>, ReloadError> {
        let _guard = self.reload_lock.lock().await;
        let mut connection = storage::open(&self.database, false).await.map_err(ReloadError::Database)?;
        let result = self.reload(&mut connection, ReloadSource::Local).await;
        close_connection(connection).await;
        result
    }

    /// Reloads the configuration if another process has activated a newer one. Returns whether it did.
    ///
    /// # Errors
    /// Returns the reason; the configuration is then unchanged. A configuration with errors is not retried until it changes.
    pub async fn reload_if_newer(&self, newest: i64) -> Result<bool, ReloadError> {
        if newest <= self.newest_seen.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let _guard = self.reload_lock.lock().await;
        let mut connection = storage::open(&self.database, false).await.map_err(ReloadError::Database)?;
        let result = self.reload(&mut connection, ReloadSource::Remote).await;
        close_connection(connection).await;
        if !matches!(result, Err(ReloadError::Database(_))) {
            self.newest_seen.fetch_max(newest, Ordering::Relaxed);
        }
        result.map(|_| true)
    }

    /// Restores an earlier configuration and loads it like [`reload_if_newer`](Self::reload_if_newer).
    ///
    /// # Errors
    /// Returns the reason; the configuration is then unchanged.
    pub async fn activate(&self, target: &RestoreTarget) -> Result<(Arc<ActiveConfig>, RestoredRows), RestoreError> {
        let _guard = self.reload_lock.lock().await;
        let mut connection = storage::open(&self.database, false).await?;
        let result = self.restore(&mut connection, target).await;
        close_connection(connection).await;
        result
    }

    async fn restore(
        &self,
        connection: &mut Connection,
        target: &RestoreTarget,
    ) -> Result<(Arc<ActiveConfig>, RestoredRows), RestoreError> {
        import::disable_foreign_keys(connection).await?;
        connection.begin().await?;
        let restored = match restore_rows(connection, &self.settings, target, Some(&self.active().error_texts())).await {
            Ok(restored) => restored,
            Err(refusal) => {
                connection.rollback().await?;
                return Err(refusal);
            }
        };
        restored.commit(connection).await?;
        let refusal = |failure| match failure {
            ReloadError::NewErrors(issues) => RestoreError::NewErrors(issues),
            ReloadError::Database(error) => RestoreError::Database(error),
        };
        let active = self.reload(connection, ReloadSource::Local).await.map_err(refusal)?;
        Ok((active, restored))
    }

    /// Returns the errors that the rows have in the caller's transaction, and the active configuration does not.
    pub async fn find_new_errors(&self, connection: &mut Connection) -> sqlx::Result<Vec<Issue>> {
        let active = self.active();
        let compiled = compile::compile_database(connection, &self.settings, Some(Arc::clone(&active.config))).await?;
        let known = active.error_texts();
        Ok(compiled.issues.into_iter().filter(|issue| issue.is_error() && !known.contains(&issue.to_string())).collect())
    }

    async fn reload(&self, connection: &mut Connection, source: ReloadSource) -> Result<Arc<ActiveConfig>, ReloadError> {
        let active = self.active();
        let loaded = ActiveConfig::load(connection, &self.settings, Some(&active)).await.map_err(ReloadError::Database)?;
        let known = active.error_texts();
        let new: Vec<Issue> =
            loaded.issues.iter().filter(|issue| issue.is_error() && !known.contains(&issue.to_string())).cloned().collect();
        if !new.is_empty() {
            return Err(ReloadError::NewErrors(new));
        }
        classifiers::supply(connection, &loaded.config).await.map_err(ReloadError::Database)?;
        let stored = match source {
            ReloadSource::Local => loaded.record_activation(connection, "refresh").await,
            // Do not announce a change made by another process again.
            ReloadSource::Remote => loaded.store_snapshot(connection).await.map(|()| 0),
        };
        self.newest_seen.fetch_max(stored.map_err(ReloadError::Database)?, Ordering::Relaxed);
        let extensions = loaded.extensions.clone();
        // Compile extensions in the background; only turns that call one wait for it.
        tokio::task::spawn_blocking(move || extensions.compile());
        loaded.issues.iter().for_each(|it| tracing::warn!(issue = %it, "configuration issue"));
        let loaded = Arc::new(loaded);
        *self.active.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&loaded);
        let Reuse { rows_reused, rows_compiled, patterns_reused, patterns_compiled } = loaded.reuse;
        let config = loaded.config.hash_source();
        tracing::info!(config, rows_reused, rows_compiled, patterns_reused, patterns_compiled, "configuration reloaded");
        Ok(loaded)
    }
}

async fn newest_number(connection: &mut Connection) -> sqlx::Result<i64> {
    Ok(activation::find_newest(connection).await?.map_or(0, |it| it.number))
}

async fn close_connection(connection: Connection) {
    if let Err(error) = connection.close().await {
        tracing::debug!(%error, "cannot close the database connection cleanly");
    }
}

#[cfg(test)]
mod tests {
    use convengine_storage::testing::{each_database, sqlite};
    use serde_json::json;

    use super::*;
    use crate::config::import;

    #[tokio::test]
    async fn a_refresh_compiles_what_changed() {
        let mut database = sqlite().await;
        let policy = |id: usize| json!({"policy_id": id, "rule_type": "REGEX", "pattern": format!("word {id}"), "response_text": "No."});
        let pack = json!({"name": "refresh", "tables": {
            "ce_intent": [{"intent_code": "A", "description": "Asks"}],
            "ce_policy": (1..=20).map(policy).collect::<Vec<_>>(),
            "ce_response": [{"response_id": 1, "intent_code": "A", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT",
                "exact_text": "Hello."}],
        }});
        import::import_rows(&mut database.connection, &serde_json::from_value(pack).expect("a pack")).await.expect("imported");
        let manager = ConfigManager::load(&mut database.connection, &database.config, &json!({})).await.expect("loaded");
        let other = ConfigManager::load(&mut database.connection, &database.config, &json!({})).await.expect("loaded");
        let before = manager.active();
        assert_eq!((before.reuse.rows_reused, before.reuse.patterns_compiled), (0, 20));

        let mut changed: Vec<_> = (1..=20).map(policy).collect();
        changed[6]["pattern"] = json!("another word");
        let changed = serde_json::from_value(json!({"ce_policy": changed})).expect("rows");
        assert_eq!(import::replace(&mut database.connection, &changed).await.expect("replaced"), [""; 0]);
        let after = manager.refresh().await.expect("refreshed");
        assert_eq!(after.reuse, Reuse { rows_reused: 2, rows_compiled: 20, patterns_reused: 19, patterns_compiled: 1 });
        assert!(Arc::ptr_eq(&after.config.responses, &before.config.responses));
        // A turn that has begun keeps the configuration it began with.
        let blocks = |active: &ActiveConfig, text: &str| active.config.policies.find_blocking(text).expect("a verdict").is_some();
        assert_eq!((blocks(&before, "word 7"), blocks(&before, "another word")), (true, false));
        assert_eq!((blocks(&after, "word 7"), blocks(&after, "another word")), (false, true));

        // It is what a start compiles, and what its snapshot says.
        let alone = ActiveConfig::load(&mut database.connection, &json!({}), None).await.expect("loaded").config;
        assert_eq!(format!("{alone:?}"), format!("{:?}", after.config));
        let stored = storage::config::find_snapshot(&database.pool, after.config.hash_source()).await.expect("an answer").expect("stored");
        assert_eq!((stored.to_string(), Config::from_source(&stored).0.hash_source()), (alone.source_text(), alone.hash_source()));

        let newest = newest_number(&mut database.connection).await.expect("a number");
        assert!(other.reload_if_newer(newest).await.expect("followed"));
        assert_eq!(other.active().reuse, after.reuse);
        assert_eq!(other.active().config.hash_source(), after.config.hash_source());
    }

    #[tokio::test]
    async fn a_publish_between_the_reads_is_read_whole_or_not_at_all() {
        for mut database in each_database().await {
            let pack = |number: u32| {
                let rows = json!({"name": "p", "tables": {
                    "ce_intent": [{"intent_code": "A", "description": number.to_string()}],
                    "ce_response": [{"response_id": 1, "intent_code": "A", "state_code": "ANY", "output_format": "TEXT",
                        "response_type": "EXACT", "exact_text": number.to_string()}],
                }});
                serde_json::from_value(rows).expect("a pack")
            };
            import::import_rows(&mut database.connection, &pack(0)).await.expect("imported");
            let mut reader = storage::open(&database.config, false).await.expect("a connection");
            let mut read = BTreeSet::new();
            let publish = async {
                for number in 1..=u32::MAX {
                    import::import_rows(&mut database.connection, &pack(number)).await.expect("imported");
                }
            };
            let load = async {
                while read.len() < 20 {
                    let config = ActiveConfig::load(&mut reader, &json!({}), None).await.expect("loaded").config;
                    let text = |table: &str, column: &str| config.source_rows(table)[0][column].clone();
                    assert_eq!(text("ce_intent", "description"), text("ce_response", "exact_text"));
                    read.insert(config.hash_source().to_owned());
                }
            };
            tokio::select! {
                () = load => {}
                () = publish => {}
            }
        }
    }
}
