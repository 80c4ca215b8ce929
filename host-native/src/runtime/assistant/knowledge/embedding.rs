//! Embeds the chunks of sources in the background, and again when the model changes.

use std::sync::Arc;
use std::time::Duration;

use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, EmbedRequest, Reply};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::clock;
use crate::effects::llm::Models;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::knowledge::source::{self, SourceVersion};
use crate::storage::assistant::knowledge::vector::{self, ChunkVector, EmbeddingJob};
use crate::storage::{self, DatabaseConfig};

/// The number of texts in one call.
const BATCH_SIZE: usize = 64;

/// The longest call for one batch.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a process may be silent before another one embeds its source.
const LEASE_MS: i64 = 120_000;

/// When a failed source is tried again.
const RETRY_MS: i64 = 60_000;

const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Embeds texts within `deadline`.
///
/// # Errors
/// The error of the model.
pub async fn embed(models: &Models, texts: Vec<String>, deadline: Instant) -> Result<Vec<Vec<f32>>, EffectError> {
    let expected = texts.len();
    match models.embed(&EmbedRequest { texts }, deadline).await {
        EffectResult::Ok(Reply::Embed(reply)) if reply.vectors.len() == expected => {
            #[allow(clippy::cast_possible_truncation, reason = "embeddings have single precision")]
            let single = |it: Vec<f64>| it.into_iter().map(|it| it as f32).collect();
            Ok(reply.vectors.into_iter().map(single).collect())
        }
        EffectResult::Ok(_) => Err(EffectError::new(EffectErrorKind::Mismatch, "the answer does not have one vector for each text")),
        EffectResult::Error(error) => Err(error),
    }
}

/// Spawns the task that embeds searchable sources while the server runs; `None` without a model for embeddings.
pub fn spawn_embedding(host: Arc<Host>) -> Option<JoinHandle<()>> {
    let model = host.models.embedding_model()?;
    Some(tokio::spawn(async move {
        loop {
            match embed_next(&host, &model).await {
                Ok(true) => {}
                Ok(false) => {
                    let _ = timeout(POLL_INTERVAL, host.knowledge.wait_for_index()).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot store the embeddings of a knowledge source");
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            }
        }
    }))
}

/// Embeds one source. Returns whether there was one.
async fn embed_next(host: &Host, model: &str) -> sqlx::Result<bool> {
    let now = clock::now();
    let Some(job) = vector::lease_next(&host.readers, model, now, now + LEASE_MS).await? else { return Ok(false) };
    let version = SourceVersion { assistant: &job.assistant, source: &job.source, version: job.version };
    if let Err(error) = embed_source(host, &job, model).await? {
        tracing::warn!(%error, assistant = job.assistant, source = job.source, "cannot embed a knowledge source");
        vector::fail(&host.readers, &version, &error.to_string(), clock::now() + RETRY_MS).await?;
    }
    Ok(true)
}

async fn embed_source(host: &Host, job: &EmbeddingJob, model: &str) -> sqlx::Result<Result<(), EffectError>> {
    let version = SourceVersion { assistant: &job.assistant, source: &job.source, version: job.version };
    let database = host.config_manager.database();
    let limit = i64::try_from(BATCH_SIZE).unwrap_or(i64::MAX);
    loop {
        let (ids, texts): (Vec<i64>, Vec<String>) = vector::list_missing(&host.readers, &version, model, limit).await?.into_iter().unzip();
        if ids.is_empty() {
            return finish(database, &version, model).await.map(Ok);
        }
        vector::renew(&host.readers, &version, clock::now() + LEASE_MS).await?;
        if let Err(error) = host.spend.check_cap(&host.readers).await {
            return Ok(Err(error));
        }
        let vectors = match embed(&host.models, texts, Instant::now() + CALL_TIMEOUT).await {
            Ok(vectors) => vectors,
            Err(error) => return Ok(Err(error)),
        };
        store_batch(database, model, ids.into_iter().zip(vectors)).await?;
    }
}

async fn store_batch(database: &DatabaseConfig, model: &str, vectors: impl Iterator<Item = (i64, Vec<f32>)>) -> sqlx::Result<()> {
    let mut connection = storage::open(database, false).await?;
    connection.begin().await?;
    for (chunk, vector) in vectors {
        vector::put(&mut connection, model, &ChunkVector { chunk, vector }).await?;
    }
    connection.commit().await?;
    connection.close().await
}

async fn finish(database: &DatabaseConfig, version: &SourceVersion<'_>, model: &str) -> sqlx::Result<()> {
    let mut connection = storage::open(database, false).await?;
    connection.begin().await?;
    source::increment_revision(&mut connection, version.assistant).await?;
    vector::finish(&mut connection, version, model).await?;
    vector::delete_orphans(&mut connection).await?;
    connection.commit().await?;
    connection.close().await
}
