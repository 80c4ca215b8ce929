//! What turns run on, and how it is replaced while turns run. (`decisions.md` 3, one bad row)

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use convengine_core::config::{Config, Issue};
use convengine_core::pack::StandIns;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::exit::Failure;
use crate::extension::Extensions;
use crate::store::{self, Connection, Place};
use crate::{clock, config};

/// The authors' rows, ready to run. A turn holds one from its beginning to its end.
#[derive(Debug)]
pub struct Configured {
    /// The compiled configuration.
    pub config: Arc<Config>,
    /// Who answers tasks and tools, and containers without a service.
    pub stand_ins: StandIns,
    /// Who runs extensions.
    pub extensions: Extensions,
    /// What of the rows is left out or fails.
    pub issues: Vec<Issue>,
}

/// What new turns run on.
#[derive(Debug)]
pub struct Current {
    place: Place,
    /// The settings below `convengine`.
    settings: Value,
    now: RwLock<Arc<Configured>>,
    /// Whoever reads the rows again holds it, so that the newest reading stays.
    reading: Mutex<()>,
}

/// Why the rows were not taken.
#[derive(Debug)]
pub enum Refused {
    /// They have errors that were not there before.
    Errors(Vec<Issue>),
    /// They cannot be read.
    Database(sqlx::Error),
}

impl Configured {
    /// Reads and compiles the rows of a database, and keeps their snapshot.
    ///
    /// # Errors
    /// What the database says.
    async fn read(connection: &mut Connection, settings: &Value) -> sqlx::Result<Configured> {
        let (config, issues) = config::of_database(connection, settings).await?;
        let stand_ins = store::script::load(connection).await?;
        let extensions = match store::module::has_tables(connection).await? {
            true => Extensions::of(store::module::load(connection).await?),
            false => Extensions::default(),
        };
        Ok(Configured { config: Arc::new(config), stand_ins, extensions, issues })
    }

    fn errors(&self) -> BTreeSet<String> {
        self.issues.iter().filter(|it| it.is_error()).map(ToString::to_string).collect()
    }

    /// Keeps what the journals of its turns refer to.
    async fn keep(&self, connection: &mut Connection) -> sqlx::Result<()> {
        store::config::keep_snapshot(connection, self.config.hash(), self.config.source(), clock::now()).await
    }
}

impl Current {
    /// Reads the rows of a database for a server that starts.
    ///
    /// # Errors
    /// Rows with errors where `convengine.config.strict` is set, or a database that cannot be used.
    pub async fn start(connection: &mut Connection, place: &Place, settings: &Value) -> Result<Current, Failure> {
        let unusable = |it: sqlx::Error| store::unusable(place, &it);
        let read = Configured::read(connection, settings).await.map_err(unusable)?;
        read.issues.iter().for_each(|it| eprintln!("{it}"));
        if read.config.settings.strict && !read.errors().is_empty() {
            return Err(Failure::usage("the configuration has errors and convengine.config.strict is set: correct them or unset it"));
        }
        read.keep(connection).await.map_err(unusable)?;
        // The first turns need not wait for the compiler, unless they call an extension.
        let extensions = read.extensions.clone();
        tokio::task::spawn_blocking(move || extensions.compile());
        let (place, settings) = (place.clone(), settings.clone());
        Ok(Current { place, settings, now: RwLock::new(Arc::new(read)), reading: Mutex::default() })
    }

    /// What a turn that begins now runs on.
    pub fn now(&self) -> Arc<Configured> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The settings below `convengine`.
    pub fn settings(&self) -> &Value {
        &self.settings
    }

    /// Reads the rows again. Turns that run go on with what they began with.
    ///
    /// # Errors
    /// Why everything stays as it was.
    pub async fn refresh(&self) -> Result<Arc<Configured>, Refused> {
        let _alone = self.reading.lock().await;
        let mut connection = store::open(&self.place, false).await.map_err(Refused::Database)?;
        let read = self.take(&mut connection).await;
        if let Err(error) = connection.close().await {
            tracing::debug!(%error, "the database was not closed well");
        }
        read
    }

    async fn take(&self, connection: &mut Connection) -> Result<Arc<Configured>, Refused> {
        let read = Configured::read(connection, &self.settings).await.map_err(Refused::Database)?;
        let known = self.now().errors();
        let new: Vec<Issue> = read.issues.iter().filter(|it| it.is_error() && !known.contains(&it.to_string())).cloned().collect();
        if !new.is_empty() {
            return Err(Refused::Errors(new));
        }
        read.keep(connection).await.map_err(Refused::Database)?;
        let extensions = read.extensions.clone();
        // Its compiler is not needed for all else, and a turn that calls it waits for it.
        tokio::task::spawn_blocking(move || extensions.compile());
        read.issues.iter().for_each(|it| tracing::warn!(issue = %it, "the configuration has an issue"));
        let read = Arc::new(read);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&read);
        tracing::info!(config = read.config.hash(), "the configuration was read again");
        Ok(read)
    }
}
