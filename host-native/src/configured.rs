//! The active configuration of a server, and its replacement while turns run. (docs/decisions/README.md#3)

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use convengine_core::config::{Config, Issue};
use convengine_core::pack::StandIns;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::exit::Failure;
use crate::extension::Extensions;
use crate::snapshot::{PutBack, Refusal, State, Wanted, note, put_back};
use crate::store::{self, Connection, Place, activation, import};
use crate::{clock, config};

/// A compiled configuration with its fakes and extensions. A turn keeps one from start to end.
#[derive(Debug)]
pub struct Configured {
    /// The compiled configuration.
    pub config: Arc<Config>,
    /// Scripted replies of tasks and tools, and of containers without a service.
    pub stand_ins: StandIns,
    /// WebAssembly extensions.
    pub extensions: Extensions,
    /// Configuration issues: rows that are skipped or invalid.
    pub issues: Vec<Issue>,
}

/// Holds the configuration of new turns.
#[derive(Debug)]
pub struct Current {
    place: Place,
    /// The `convengine` settings tree.
    settings: Value,
    now: RwLock<Arc<Configured>>,
    /// Held while reloading, so that a stale read cannot overwrite a newer one.
    reading: Mutex<()>,
    /// The number of the last activation processed.
    seen: AtomicI64,
}

/// Why the configuration is reloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// A local request, announced to other processes.
    Somebody,
    /// An announcement by another process.
    Other,
}

/// Why a new configuration was rejected.
#[derive(Debug)]
pub enum Refused {
    /// It has new errors.
    Errors(Vec<Issue>),
    /// It cannot be read.
    Database(sqlx::Error),
}

impl Configured {
    /// Reads and compiles the configuration of a database.
    ///
    /// # Errors
    /// Returns any database error.
    async fn read(connection: &mut Connection, settings: &Value) -> sqlx::Result<Configured> {
        let (config, issues) = config::of_database(connection, settings).await?;
        let fakes = store::script::load(connection).await?;
        let extensions = match store::module::has_tables(connection).await? {
            true => Extensions::of(store::module::load(connection).await?),
            false => Extensions::default(),
        };
        Ok(Configured { config: Arc::new(config), stand_ins: fakes, extensions, issues })
    }

    /// Returns a copy with a flow document instead of the tables.
    pub fn running(&self, flow: &Arc<Config>) -> Configured {
        let (fakes, extensions) = (self.stand_ins.clone(), self.extensions.clone());
        Configured { config: Arc::clone(flow), stand_ins: fakes, extensions, issues: Vec::new() }
    }

    fn errors(&self) -> BTreeSet<String> {
        self.issues.iter().filter(|it| it.is_error()).map(ToString::to_string).collect()
    }

    /// Stores the snapshot that journals reference.
    async fn keep(&self, connection: &mut Connection) -> sqlx::Result<()> {
        store::config::keep_snapshot(connection, self.config.hash(), self.config.source(), clock::now()).await
    }

    /// Stores the snapshot and records its activation. Returns the number of the newest activation.
    async fn take(&self, connection: &mut Connection, how: &str) -> sqlx::Result<i64> {
        self.keep(connection).await?;
        note(connection, &State::of(&self.config, Vec::new()), how, None).await?;
        newest(connection).await
    }
}

impl Current {
    /// Loads the configuration at server start.
    ///
    /// # Errors
    /// Returns exit code 2 for a configuration with errors if `convengine.config.strict` is set, 3 when the database cannot be used.
    pub async fn start(connection: &mut Connection, database: &Place, settings: &Value) -> Result<Current, Failure> {
        let unusable = |it: sqlx::Error| store::unusable(database, &it);
        let loaded = Configured::read(connection, settings).await.map_err(unusable)?;
        loaded.issues.iter().for_each(|it| eprintln!("{it}"));
        if loaded.config.settings.strict && !loaded.errors().is_empty() {
            return Err(Failure::usage("the configuration has errors and convengine.config.strict is set; correct the errors or unset it"));
        }
        let seen = loaded.take(connection, "start").await.map_err(unusable)?;
        // Compile extensions in the background; only turns that call one wait for it.
        let extensions = loaded.extensions.clone();
        tokio::task::spawn_blocking(move || extensions.compile());
        let (database, settings) = (database.clone(), settings.clone());
        Ok(Current { place: database, settings, now: RwLock::new(Arc::new(loaded)), reading: Mutex::default(), seen: seen.into() })
    }

    /// Returns the configuration of new turns.
    pub fn now(&self) -> Arc<Configured> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The `convengine` settings tree.
    pub fn settings(&self) -> &Value {
        &self.settings
    }

    /// The database of the configuration.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Reloads the configuration. Running turns keep theirs.
    ///
    /// # Errors
    /// Returns the reason; the configuration is then unchanged.
    pub async fn refresh(&self) -> Result<Arc<Configured>, Refused> {
        let _guard = self.reading.lock().await;
        let mut connection = store::open(&self.place, false).await.map_err(Refused::Database)?;
        let result = self.take(&mut connection, Says::Somebody).await;
        closed(connection).await;
        result
    }

    /// Reloads the configuration if another process has activated a newer one. Returns whether it did.
    ///
    /// # Errors
    /// Returns the reason; the configuration is then unchanged. A configuration with errors is not retried until it changes.
    pub async fn follow(&self, newest: i64) -> Result<bool, Refused> {
        if newest <= self.seen.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let _guard = self.reading.lock().await;
        let mut connection = store::open(&self.place, false).await.map_err(Refused::Database)?;
        let result = self.take(&mut connection, Says::Other).await;
        closed(connection).await;
        if !matches!(result, Err(Refused::Database(_))) {
            self.seen.fetch_max(newest, Ordering::Relaxed);
        }
        result.map(|_| true)
    }

    /// Restores an earlier configuration and loads it like [`Current::refresh`].
    ///
    /// # Errors
    /// Returns the reason; the configuration is then unchanged.
    pub async fn activate(&self, target: &Wanted) -> Result<(Arc<Configured>, PutBack), Refusal> {
        let _guard = self.reading.lock().await;
        let mut connection = store::open(&self.place, false).await?;
        let result = self.put_back(&mut connection, target).await;
        closed(connection).await;
        result
    }

    async fn put_back(&self, connection: &mut Connection, target: &Wanted) -> Result<(Arc<Configured>, PutBack), Refusal> {
        import::unbind(connection).await?;
        connection.begin().await?;
        let restored = match put_back(connection, &self.settings, target, Some(&self.now().errors())).await {
            Ok(restored) => restored,
            Err(refusal) => {
                connection.rollback().await?;
                return Err(refusal);
            }
        };
        restored.keep(connection).await?;
        let refusal = |it| match it {
            Refused::Errors(issues) => Refusal::Errors(issues),
            Refused::Database(error) => Refusal::Database(error),
        };
        let active = self.take(connection, Says::Somebody).await.map_err(refusal)?;
        Ok((active, restored))
    }

    async fn take(&self, connection: &mut Connection, source: Says) -> Result<Arc<Configured>, Refused> {
        let loaded = Configured::read(connection, &self.settings).await.map_err(Refused::Database)?;
        let known = self.now().errors();
        let new: Vec<Issue> = loaded.issues.iter().filter(|it| it.is_error() && !known.contains(&it.to_string())).cloned().collect();
        if !new.is_empty() {
            return Err(Refused::Errors(new));
        }
        let stored = match source {
            Says::Somebody => loaded.take(connection, "refresh").await,
            // Do not announce a change made by another process again.
            Says::Other => loaded.keep(connection).await.map(|()| 0),
        };
        self.seen.fetch_max(stored.map_err(Refused::Database)?, Ordering::Relaxed);
        let extensions = loaded.extensions.clone();
        // Compile extensions in the background; only turns that call one wait for it.
        tokio::task::spawn_blocking(move || extensions.compile());
        loaded.issues.iter().for_each(|it| tracing::warn!(issue = %it, "configuration issue"));
        let loaded = Arc::new(loaded);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&loaded);
        tracing::info!(config = loaded.config.hash(), "configuration reloaded");
        Ok(loaded)
    }
}

async fn newest(connection: &mut Connection) -> sqlx::Result<i64> {
    Ok(activation::newest(connection).await?.map_or(0, |it| it.number))
}

async fn closed(connection: Connection) {
    if let Err(error) = connection.close().await {
        tracing::debug!(%error, "cannot close the database connection cleanly");
    }
}
