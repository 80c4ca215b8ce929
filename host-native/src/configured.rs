//! What turns run on, and how it is replaced while turns run. (`decisions.md` 3, one bad row)

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
    /// The newest activation that was looked at.
    seen: AtomicI64,
}

/// Who says that the rows are to be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// Somebody who wants all to know: other processes follow.
    Somebody,
    /// Another process.
    Other,
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

    /// The same with a document in the place of the rows.
    pub fn running(&self, flow: &Arc<Config>) -> Configured {
        let (stand_ins, extensions) = (self.stand_ins.clone(), self.extensions.clone());
        Configured { config: Arc::clone(flow), stand_ins, extensions, issues: Vec::new() }
    }

    fn errors(&self) -> BTreeSet<String> {
        self.issues.iter().filter(|it| it.is_error()).map(ToString::to_string).collect()
    }

    /// Keeps what the journals of its turns refer to.
    async fn keep(&self, connection: &mut Connection) -> sqlx::Result<()> {
        store::config::keep_snapshot(connection, self.config.hash(), self.config.source(), clock::now()).await
    }

    /// Keeps it, and notes that these are the rows now.
    async fn take(&self, connection: &mut Connection, how: &str) -> sqlx::Result<i64> {
        self.keep(connection).await?;
        note(connection, &State::of(&self.config, Vec::new()), how, None).await?;
        newest(connection).await
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
        let seen = read.take(connection, "start").await.map_err(unusable)?;
        // The first turns need not wait for the compiler, unless they call an extension.
        let extensions = read.extensions.clone();
        tokio::task::spawn_blocking(move || extensions.compile());
        let (place, settings) = (place.clone(), settings.clone());
        Ok(Current { place, settings, now: RwLock::new(Arc::new(read)), reading: Mutex::default(), seen: seen.into() })
    }

    /// What a turn that begins now runs on.
    pub fn now(&self) -> Arc<Configured> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The settings below `convengine`.
    pub fn settings(&self) -> &Value {
        &self.settings
    }

    /// Where the rows are.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Reads the rows again. Turns that run go on with what they began with.
    ///
    /// # Errors
    /// Why everything stays as it was.
    pub async fn refresh(&self) -> Result<Arc<Configured>, Refused> {
        let _alone = self.reading.lock().await;
        let mut connection = store::open(&self.place, false).await.map_err(Refused::Database)?;
        let read = self.take(&mut connection, Says::Somebody).await;
        closed(connection).await;
        read
    }

    /// Reads the rows again when somebody has taken others than those of which this process knows; answers whether it did.
    ///
    /// # Errors
    /// Why everything stays as it was; rows with errors are not tried again until they are others.
    pub async fn follow(&self, newest: i64) -> Result<bool, Refused> {
        if newest <= self.seen.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let _alone = self.reading.lock().await;
        let mut connection = store::open(&self.place, false).await.map_err(Refused::Database)?;
        let read = self.take(&mut connection, Says::Other).await;
        closed(connection).await;
        if !matches!(read, Err(Refused::Database(_))) {
            self.seen.fetch_max(newest, Ordering::Relaxed);
        }
        read.map(|_| true)
    }

    /// Puts rows back that have been there, and takes them as [`Current::refresh`] does.
    ///
    /// # Errors
    /// Why everything stays as it was.
    pub async fn activate(&self, wanted: &Wanted) -> Result<(Arc<Configured>, PutBack), Refusal> {
        let _alone = self.reading.lock().await;
        let mut connection = store::open(&self.place, false).await?;
        let done = self.put_back(&mut connection, wanted).await;
        closed(connection).await;
        done
    }

    async fn put_back(&self, connection: &mut Connection, wanted: &Wanted) -> Result<(Arc<Configured>, PutBack), Refusal> {
        import::unbind(connection).await?;
        connection.begin().await?;
        let done = match put_back(connection, &self.settings, wanted, Some(&self.now().errors())).await {
            Ok(done) => done,
            Err(refusal) => {
                connection.rollback().await?;
                return Err(refusal);
            }
        };
        done.keep(connection).await?;
        let refusal = |it| match it {
            Refused::Errors(issues) => Refusal::Errors(issues),
            Refused::Database(error) => Refusal::Database(error),
        };
        let taken = self.take(connection, Says::Somebody).await.map_err(refusal)?;
        Ok((taken, done))
    }

    async fn take(&self, connection: &mut Connection, says: Says) -> Result<Arc<Configured>, Refused> {
        let read = Configured::read(connection, &self.settings).await.map_err(Refused::Database)?;
        let known = self.now().errors();
        let new: Vec<Issue> = read.issues.iter().filter(|it| it.is_error() && !known.contains(&it.to_string())).cloned().collect();
        if !new.is_empty() {
            return Err(Refused::Errors(new));
        }
        let kept = match says {
            Says::Somebody => read.take(connection, "refresh").await,
            // What one process tells the others must not come back as news.
            Says::Other => read.keep(connection).await.map(|()| 0),
        };
        self.seen.fetch_max(kept.map_err(Refused::Database)?, Ordering::Relaxed);
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

async fn newest(connection: &mut Connection) -> sqlx::Result<i64> {
    Ok(activation::newest(connection).await?.map_or(0, |it| it.number))
}

async fn closed(connection: Connection) {
    if let Err(error) = connection.close().await {
        tracing::debug!(%error, "the database was not closed well");
    }
}
