//! Stores sources and indexes them: small ones at once, others in the background.

use std::sync::Arc;
use std::time::Duration;

use convengine_core::knowledge::{Chunk, Source, cut_source};
use convengine_core::turn::Millis;
use convengine_host_base::clock;
use convengine_host_base::meter::Meter;
use convengine_host_base::metric_names as names;
use convengine_host_base::processor_share::has_users;
use convengine_host_base::work_class::spawn_in_background;
use convengine_storage::assistant::knowledge::source::{self, Base, IndexingJob, SourceVersion};
use convengine_storage::assistant::knowledge::{chunk, vector};
use convengine_storage::repeated_task::RepeatedTask;
use convengine_storage::run_blocking;
use convengine_storage::{self as storage, Connection, DatabaseConfig, Pool};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::Content;

/// Texts up to this size are indexed while their sender waits.
pub const MAX_IMMEDIATE_BYTES: usize = 256 * 1024;

/// The number of chunks stored or deleted in one transaction: on SQLite turns cannot commit meanwhile, some milliseconds.
const BATCH_SIZE: usize = 25;

/// As a limit of statements.
const BATCH_LIMIT: i64 = 25;

/// How long a process may be silent before another one indexes its source.
const LEASE_MS: i64 = 15_000;

/// How often progress is recorded and the lease renewed: on SQLite each time writes the text of the source again.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// The interval of looking for sources of other processes, and of dead ones.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The interval of looking for chunks that processes which died have left.
const SWEEP_INTERVAL: Duration = Duration::from_secs(3_600);

/// The shortest pause between two transactions.
const MIN_PAUSE: Duration = Duration::from_millis(1);

/// Stores a source. A small one is indexed before this returns; others wait for [`spawn_indexing`], as does a small one that another process
/// has begun to index.
///
/// # Errors
/// Returns any database error. The source may be stored then, and is indexed in the background.
pub async fn put_source(connection: &mut Connection, assistant: &str, source: Source) -> sqlx::Result<()> {
    let is_small = source.text.len() <= MAX_IMMEDIATE_BYTES;
    let not_before = if is_small { clock::now() + LEASE_MS } else { 0 };
    let stored = store(connection, assistant, source, not_before).await?;
    if is_small { stored.index_on(connection).await } else { Ok(()) }
}

/// Stores a source and indexes it, whatever its size.
pub async fn put_and_index(database: &DatabaseConfig, assistant: &str, source: Source) -> sqlx::Result<()> {
    let mut connection = storage::open(database, false).await?;
    store(&mut connection, assistant, source, clock::now() + LEASE_MS).await?.index_on(&mut connection).await?;
    connection.close().await
}

async fn store(connection: &mut Connection, assistant: &str, source: Source, not_before: Millis) -> sqlx::Result<StoredSource> {
    connection.begin().await?;
    let stored = store_in_transaction(connection, assistant, source, not_before).await?;
    connection.commit().await?;
    Ok(stored)
}

/// Stores a source in the caller's transaction, to be indexed after it.
pub async fn put_in_transaction(connection: &mut Connection, assistant: &str, source: Source) -> sqlx::Result<StoredSource> {
    store_in_transaction(connection, assistant, source, clock::now() + LEASE_MS).await
}

async fn store_in_transaction(
    connection: &mut Connection,
    assistant: &str,
    mut source: Source,
    not_before: Millis,
) -> sqlx::Result<StoredSource> {
    source.text = source.text.replace('\0', " ");
    let base = source::increment_revision(connection, assistant).await?;
    source::put(connection, assistant, &source, base.revision, clock::now(), not_before).await?;
    let job = IndexingJob { assistant: assistant.to_owned(), source, version: base.revision };
    Ok(StoredSource { job, not_before })
}

/// A source that is stored and not indexed yet.
#[derive(Debug)]
pub struct StoredSource {
    job: IndexingJob,
    /// When other processes may index it.
    not_before: Millis,
}

impl StoredSource {
    /// Indexes the source, unless another process has begun to.
    pub async fn index(self, database: &DatabaseConfig) -> sqlx::Result<()> {
        let mut connection = storage::open(database, false).await?;
        self.index_on(&mut connection).await?;
        connection.close().await
    }

    async fn index_on(self, connection: &mut Connection) -> sqlx::Result<()> {
        let is_taken = source::take(connection, &version_of(&self.job), self.not_before, clock::now() + LEASE_MS).await?;
        if is_taken { index_source(connection, &self.job).await } else { Ok(()) }
    }
}

/// Deletes a source and its chunks. Returns whether it existed.
pub async fn delete_source(database: &DatabaseConfig, assistant: &str, id: &str) -> sqlx::Result<bool> {
    let mut connection = storage::open(database, false).await?;
    connection.begin().await?;
    // The base first, as everywhere, so that writers do not wait for each other.
    source::increment_revision(&mut connection, assistant).await?;
    let existed = source::delete(&mut connection, assistant, id).await?;
    if existed {
        connection.commit().await?;
        Deletion::ObsoleteOf(assistant, id).run(&mut connection).await?;
    } else {
        connection.rollback().await?;
    }
    connection.close().await?;
    Ok(existed)
}

/// Returns the default locale of a flow document, given as JSON.
pub fn default_locale(document: &str) -> String {
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    document.get("default_locale").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Spawns the task that indexes stored sources while the server runs, also those of a process that died.
pub fn spawn_indexing(content: Arc<Content>) -> JoinHandle<()> {
    spawn_in_background(async move {
        let database = content.config_manager.database();
        let mut next_sweep = Instant::now();
        let mut task = RepeatedTask::new("index knowledge sources", &content.connectivity);
        loop {
            if Instant::now() >= next_sweep {
                next_sweep = Instant::now() + SWEEP_INTERVAL;
                if let Err(error) = sweep(database).await {
                    tracing::warn!(%error, "cannot delete obsolete chunks of knowledge sources");
                }
            }
            match task.attempt(index_and_measure(&content)).await {
                Some(true) => content.knowledge.notify_indexed(),
                Some(false) => {
                    let _ = timeout(POLL_INTERVAL, content.knowledge.wait_for_source()).await;
                }
                None => sleep(POLL_INTERVAL).await,
            }
        }
    })
}

async fn index_and_measure(content: &Content) -> sqlx::Result<bool> {
    content.meter.record_waiting_sources(source::count_waiting(&content.readers).await?);
    index_next(content.config_manager.database(), &content.readers, &content.meter, clock::now()).await
}

/// Indexes one waiting source. Returns whether there was one.
pub(super) async fn index_next(database: &DatabaseConfig, pool: &Pool, meter: &Meter, now: Millis) -> sqlx::Result<bool> {
    let Some(job) = source::lease_next(pool, now, now + LEASE_MS).await? else { return Ok(false) };
    let _running = meter.track(names::INDEXING_RUNNING);
    let started = Instant::now();
    let indexed = async {
        let mut connection = storage::open(database, false).await?;
        index_source(&mut connection, &job).await?;
        connection.close().await
    };
    let indexed = indexed.await;
    meter.record_indexing(if indexed.is_ok() { "ok" } else { "failed" }, started.elapsed());
    if let Err(sqlx::Error::Database(error)) = &indexed
        && !is_transient(error.as_ref())
    {
        tracing::warn!(%error, assistant = job.assistant, source = job.source.id, "cannot store the chunks of a knowledge source");
        source::fail(pool, &version_of(&job), "its chunks cannot be stored; the log of the server has the reason").await?;
        return Ok(true);
    }
    indexed.map(|()| true)
}

/// Whether an operation may succeed when it is repeated: the database was locked, stopping, or full.
fn is_transient(error: &dyn sqlx::error::DatabaseError) -> bool {
    let code = error.code().unwrap_or_default();
    let is_sqlite_busy = matches!(&*code, "5" | "6" | "10" | "13" | "261" | "517" | "773");
    is_sqlite_busy || ["08", "40", "53", "55", "57"].iter().any(|class| code.len() == 5 && code.starts_with(class))
}

/// Stores the chunks of a version beside those that searches find, a few at a time, and then makes searches find it instead.
async fn index_source(connection: &mut Connection, job: &IndexingJob) -> sqlx::Result<()> {
    let mut started = Instant::now();
    let source = job.source.clone();
    let chunks = run_blocking(move || cut_source(&source)).await?;
    let version = version_of(job);
    // A process that died may have stored some of them.
    Deletion::Version(version).run(connection).await?;
    let Some(base) = source::find_base(connection, &job.assistant).await? else { return Ok(()) };
    let mut progress = Progress { total: count(chunks.len()), recorded: None };
    for (batch, first) in chunks.chunks(BATCH_SIZE).zip((1..).step_by(BATCH_SIZE)) {
        if !store_batch(connection, &version, base, first, batch, &mut progress).await? {
            break;
        }
        pause(connection, started.elapsed()).await;
        started = Instant::now();
    }
    publish(connection, &version, chunks.len()).await?;
    Deletion::ObsoleteOf(&job.assistant, &job.source.id).run(connection).await
}

/// What is recorded of the progress of a source.
struct Progress {
    /// The number of its chunks.
    total: i64,
    /// When it was recorded last.
    recorded: Option<Instant>,
}

impl Progress {
    fn is_due(&self) -> bool {
        self.recorded.is_none_or(|at| at.elapsed() >= PROGRESS_INTERVAL)
    }
}

/// Stores a batch of chunks that searches do not find yet. Returns `false` if the version has been replaced or deleted.
async fn store_batch(
    connection: &mut Connection,
    version: &SourceVersion<'_>,
    base: Base,
    first: usize,
    batch: &[Chunk],
    progress: &mut Progress,
) -> sqlx::Result<bool> {
    connection.begin().await?;
    let is_current = if progress.is_due() {
        progress.recorded = Some(Instant::now());
        let (done, until) = (count(first - 1 + batch.len()), clock::now() + LEASE_MS);
        source::record_progress(connection, version, done, progress.total, until).await?
    } else {
        source::is_current(connection, version).await?
    };
    if is_current {
        chunk::insert(connection, version, base.id, first, batch).await?;
    }
    connection.commit().await?;
    Ok(is_current)
}

/// Makes searches find a version whose chunks are stored, unless it has been replaced or deleted. The chunks that they found before, or
/// those of the version, are obsolete then.
async fn publish(connection: &mut Connection, version: &SourceVersion<'_>, chunks: usize) -> sqlx::Result<()> {
    connection.begin().await?;
    source::increment_revision(connection, version.assistant).await?;
    source::finish(connection, version, count(chunks)).await?;
    connection.commit().await
}

/// Deletes the chunks that processes which died have left, and vectors without chunks.
pub(super) async fn sweep(database: &DatabaseConfig) -> sqlx::Result<()> {
    let mut connection = storage::open(database, false).await?;
    Deletion::Obsolete.run(&mut connection).await?;
    Deletion::Orphans.run(&mut connection).await?;
    connection.close().await
}

/// Chunks to delete, a few at a time.
enum Deletion<'a> {
    /// Those of a version.
    Version(SourceVersion<'a>),
    /// Those of a source of an assistant that no search finds any more.
    ObsoleteOf(&'a str, &'a str),
    /// Those of all sources that no search finds any more.
    Obsolete,
    /// Those that are gone and have vectors.
    Orphans,
}

impl Deletion<'_> {
    async fn run(self, connection: &mut Connection) -> sqlx::Result<()> {
        loop {
            let ids = self.list(connection).await?;
            if ids.is_empty() {
                return Ok(());
            }
            let started = Instant::now();
            connection.begin().await?;
            chunk::delete(connection, &ids).await?;
            connection.commit().await?;
            pause(connection, started.elapsed()).await;
        }
    }

    async fn list(&self, connection: &mut Connection) -> sqlx::Result<Vec<i64>> {
        match self {
            Deletion::Version(version) => chunk::list_version(connection, version, BATCH_LIMIT).await,
            Deletion::ObsoleteOf(assistant, source) => chunk::list_obsolete_of(connection, assistant, source, BATCH_LIMIT).await,
            Deletion::Obsolete => chunk::list_obsolete(connection, BATCH_LIMIT).await,
            Deletion::Orphans => vector::list_orphans(connection, BATCH_LIMIT).await,
        }
    }
}

/// Lets turns run for as long as a transaction and its preparation took: on SQLite they wait for its end, and not in order; on PostgreSQL it
/// takes their processors while users are served.
async fn pause(connection: &Connection, took: Duration) {
    if !matches!(connection, Connection::Postgres(_)) || has_users() {
        sleep(took.max(MIN_PAUSE)).await;
    }
}

fn version_of(job: &IndexingJob) -> SourceVersion<'_> {
    SourceVersion { assistant: &job.assistant, source: &job.source.id, version: job.version }
}

fn count(chunks: usize) -> i64 {
    i64::try_from(chunks).unwrap_or(i64::MAX)
}
