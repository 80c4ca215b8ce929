//! Stores sources and indexes them: small ones at once, others in the background.

use std::sync::Arc;
use std::time::Duration;

use convengine_core::knowledge::{Chunk, Source, cut_source};
use convengine_core::turn::Millis;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::clock;
use crate::ops::audit::derive::run_blocking;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::knowledge::chunk;
use crate::storage::assistant::knowledge::source::{self, Base, IndexingJob, SourceVersion};
use crate::storage::{self, Connection, DatabaseConfig, Pool};
use crate::work_class::spawn_in_background;

/// Texts up to this size are indexed while their sender waits.
pub const MAX_IMMEDIATE_BYTES: usize = 256 * 1024;

/// The number of chunks stored in one transaction, so that turns need not wait for it.
const BATCH_SIZE: usize = 100;

/// How long a process may be silent before another one indexes its source.
const LEASE_MS: i64 = 15_000;

/// The interval of looking for sources of other processes, and of dead ones.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Stores a source. A small one is indexed before this returns; others wait for [`spawn_indexing`].
///
/// # Errors
/// Returns any database error; nothing is stored then.
pub async fn put_source(database: &DatabaseConfig, assistant: &str, source: Source) -> sqlx::Result<()> {
    store_source(database, assistant, source, 0).await.map(|_| ())
}

/// Stores a source and indexes it, whatever its size.
///
/// # Errors
/// Returns any database error.
pub async fn put_and_index(database: &DatabaseConfig, assistant: &str, source: Source) -> sqlx::Result<()> {
    match store_source(database, assistant, source, clock::now() + LEASE_MS).await? {
        Some(job) => index_source(database, &job).await,
        None => Ok(()),
    }
}

/// Returns the source if it is still to be indexed, which servers do from `not_before` on.
async fn store_source(
    database: &DatabaseConfig,
    assistant: &str,
    mut source: Source,
    not_before: Millis,
) -> sqlx::Result<Option<IndexingJob>> {
    source.text = source.text.replace('\0', " ");
    let is_small = source.text.len() <= MAX_IMMEDIATE_BYTES;
    let (source, chunks) = cut(source, is_small).await?;
    let mut connection = storage::open(database, false).await?;
    connection.begin().await?;
    let base = source::increment_revision(&mut connection, assistant).await?;
    source::put(&mut connection, assistant, &source, base.revision, clock::now(), not_before).await?;
    if is_small {
        index_at_once(&mut connection, assistant, &source, base, &chunks).await?;
    }
    connection.commit().await?;
    connection.close().await?;
    let job = IndexingJob { assistant: assistant.to_owned(), source, version: base.revision };
    Ok((!is_small).then_some(job))
}

/// Stores a source and indexes it in the caller's transaction, whatever its size.
///
/// # Errors
/// Returns any database error.
pub async fn put_in_transaction(connection: &mut Connection, assistant: &str, source: &Source) -> sqlx::Result<()> {
    let source = Source { text: source.text.replace('\0', " "), ..source.clone() };
    let base = source::increment_revision(connection, assistant).await?;
    source::put(connection, assistant, &source, base.revision, clock::now(), 0).await?;
    let (source, chunks) = cut(source, true).await?;
    index_at_once(connection, assistant, &source, base, &chunks).await
}

/// Cuts a source if `is_due`, off the asynchronous threads.
async fn cut(source: Source, is_due: bool) -> sqlx::Result<(Source, Vec<Chunk>)> {
    run_blocking(move || {
        let chunks = if is_due { cut_source(&source) } else { Vec::new() };
        (source, chunks)
    })
    .await
}

/// Indexes a source in the caller's transaction.
async fn index_at_once(connection: &mut Connection, assistant: &str, source: &Source, base: Base, chunks: &[Chunk]) -> sqlx::Result<()> {
    let version = SourceVersion { assistant, source: &source.id, version: base.revision };
    for (batch, first) in chunks.chunks(BATCH_SIZE).zip((1..).step_by(BATCH_SIZE)) {
        chunk::insert(connection, &version, base.id, first, batch).await?;
    }
    source::finish(connection, &version, count(chunks.len())).await?;
    chunk::delete_others(connection, &version).await
}

/// Deletes a source and its chunks. Returns whether it existed.
///
/// # Errors
/// Returns any database error.
pub async fn delete_source(database: &DatabaseConfig, assistant: &str, id: &str) -> sqlx::Result<bool> {
    let mut connection = storage::open(database, false).await?;
    connection.begin().await?;
    // The base first, as everywhere, so that writers do not wait for each other.
    source::increment_revision(&mut connection, assistant).await?;
    let existed = source::delete(&mut connection, assistant, id).await?;
    if existed {
        chunk::delete_others(&mut connection, &SourceVersion { assistant, source: id, version: 0 }).await?;
        connection.commit().await?;
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
pub fn spawn_indexing(host: Arc<Host>) -> JoinHandle<()> {
    spawn_in_background(async move {
        loop {
            match index_next(host.config_manager.database(), &host.readers, clock::now()).await {
                Ok(true) => host.knowledge.notify_indexed(),
                Ok(false) => {
                    let _ = timeout(POLL_INTERVAL, host.knowledge.wait_for_source()).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot index a knowledge source");
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            }
        }
    })
}

/// Indexes one waiting source. Returns whether there was one.
pub(super) async fn index_next(database: &DatabaseConfig, pool: &Pool, now: Millis) -> sqlx::Result<bool> {
    let Some(job) = source::lease_next(pool, now, now + LEASE_MS).await? else { return Ok(false) };
    let version = SourceVersion { assistant: &job.assistant, source: &job.source.id, version: job.version };
    let indexed = index_source(database, &job).await;
    if let Err(sqlx::Error::Database(error)) = &indexed
        && !is_transient(error.as_ref())
    {
        tracing::warn!(%error, assistant = job.assistant, source = job.source.id, "cannot store the chunks of a knowledge source");
        source::fail(pool, &version, "its chunks cannot be stored; the log of the server has the reason").await?;
        return Ok(true);
    }
    indexed.map(|()| true)
}

/// Whether an operation may succeed when it is repeated: the database was locked, stopping, or full.
fn is_transient(error: &dyn sqlx::error::DatabaseError) -> bool {
    let code = error.code().unwrap_or_default();
    let is_sqlite_busy = matches!(&*code, "5" | "6" | "10" | "13" | "261" | "517" | "773");
    is_sqlite_busy || ["08", "40", "53", "55", "57"].iter().any(|it| code.len() == 5 && code.starts_with(it))
}

async fn index_source(database: &DatabaseConfig, job: &IndexingJob) -> sqlx::Result<()> {
    let source = job.source.clone();
    let chunks = run_blocking(move || cut_source(&source)).await?;
    let version = SourceVersion { assistant: &job.assistant, source: &job.source.id, version: job.version };
    let mut connection = storage::open(database, false).await?;
    // A process that died may have stored some of them.
    connection.begin().await?;
    chunk::delete_version(&mut connection, &version).await?;
    connection.commit().await?;
    let Some(base) = source::find_base(&mut connection, &job.assistant).await? else { return Ok(()) };
    for (batch, first) in chunks.chunks(BATCH_SIZE).zip((1..).step_by(BATCH_SIZE)) {
        if !store_batch(&mut connection, &version, base, first, batch, chunks.len()).await? {
            break;
        }
    }
    publish(&mut connection, &version, chunks.len()).await?;
    connection.close().await
}

/// Stores a batch of chunks that searches do not find yet. Returns `false` if the version has been replaced or deleted.
async fn store_batch(
    connection: &mut Connection,
    version: &SourceVersion<'_>,
    base: Base,
    first: usize,
    batch: &[Chunk],
    total: usize,
) -> sqlx::Result<bool> {
    connection.begin().await?;
    let (done, until) = (count(first - 1 + batch.len()), clock::now() + LEASE_MS);
    let is_current = source::record_progress(connection, version, done, count(total), until).await?;
    if is_current {
        chunk::insert(connection, version, base.id, first, batch).await?;
    }
    connection.commit().await?;
    Ok(is_current)
}

/// Makes searches find a version whose chunks are stored, or deletes them if it has been replaced or deleted.
async fn publish(connection: &mut Connection, version: &SourceVersion<'_>, chunks: usize) -> sqlx::Result<()> {
    connection.begin().await?;
    source::increment_revision(connection, version.assistant).await?;
    if source::finish(connection, version, count(chunks)).await? {
        chunk::delete_others(connection, version).await?;
    } else {
        chunk::delete_version(connection, version).await?;
    }
    connection.commit().await
}

fn count(chunks: usize) -> i64 {
    i64::try_from(chunks).unwrap_or(i64::MAX)
}
