//! Embeds texts at the cost of their document, and the chunks of sources in the background, again when the model changes.

use std::sync::Arc;
use std::time::Duration;

use convengine_core::config::Config;
use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, EmbedRequest, Reply, Usage};
use convengine_host_base::clock;
use convengine_host_base::work_class::spawn_in_background;
use convengine_storage::assistant::ProgramKey;
use convengine_storage::assistant::knowledge::source::{self, SourceVersion};
use convengine_storage::assistant::knowledge::vector::{self, ChunkVector, EmbeddingJob};
use convengine_storage::assistant::session;
use convengine_storage::kept_connection::KeptConnection;
use convengine_storage::repeated_task::RepeatedTask;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::Content;
use crate::charged_call::charge;
use crate::spend_budget::Budget;
use crate::spend_cap::{cost_micros, unreadable};

/// The number of texts in one call.
const BATCH_SIZE: usize = 64;

/// The longest call for one batch.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a process may be silent before another one embeds its source.
const LEASE_MS: i64 = 120_000;

/// How often the lease is renewed: with a call that takes its longest it has not expired.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(40);

/// When a failed source is tried again.
const RETRY_MS: i64 = 60_000;

const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The largest number of dimensions that pgvector compares.
const MAX_DIMENSIONS: usize = 16_000;

/// Whose budget embeddings are charged to, beside the cap of the server.
#[derive(Debug, Clone, Copy)]
pub enum Payer<'a> {
    /// The document of a turn. The usage is in its journal.
    Turn(&'a Config),
    /// A document outside of turns: the usage is recorded at once.
    Document(&'a ProgramKey),
}

impl Payer<'_> {
    async fn find_budget(self, content: &Content) -> sqlx::Result<Option<Budget>> {
        match self {
            Payer::Turn(config) => Ok(Budget::of_turn(content, config, clock::now())),
            Payer::Document(key) => Budget::of_draft(content, key, clock::now()).await,
        }
    }

    async fn record_usage(self, content: &Content, answer: &EffectResult) {
        let Payer::Document(key) = self else { return };
        let micros = cost_micros(answer);
        if micros == 0 {
            return;
        }
        if let Err(error) = session::add_model_usage(&content.readers, &content.workspace, key.as_str(), micros, clock::now()).await {
            tracing::warn!(%error, document = key.as_str(), "cannot record the usage of embeddings");
        }
    }
}

/// The vectors of texts.
#[derive(Debug, Clone, Default)]
pub struct Embeddings {
    /// One for each text, all of the same length.
    pub vectors: Vec<Vec<f32>>,
    /// What the call has used, if that is known.
    pub usage: Option<Usage>,
}

/// Embeds texts with the first model for embeddings within `deadline`, at the cost of the server's cap and of a budget.
///
/// # Errors
/// The error of the model; [`EffectErrorKind::Limited`] when the cap or the budget is reached.
pub async fn embed(content: &Content, payer: Payer<'_>, texts: Vec<String>, deadline: Instant) -> Result<Embeddings, EffectError> {
    let expected = texts.len();
    let request = EmbedRequest { texts };
    let budget = payer.find_budget(content).await.map_err(|it| unreadable(&it))?;
    let estimate = content.outbound.models.estimate_embedding_cost(&request);
    let answer = charge(content, budget, estimate, content.outbound.models.embed_with_first(&request, deadline)).await.result;
    payer.record_usage(content, &answer).await;
    let mismatch = || EffectError::new(EffectErrorKind::Mismatch, "the answer does not have one vector of finite numbers for each text");
    let reply = match answer {
        EffectResult::Ok(Reply::Embed(reply)) => reply,
        EffectResult::Ok(_) => return Err(mismatch()),
        EffectResult::Error(error) => return Err(error),
    };
    #[allow(clippy::cast_possible_truncation, reason = "embeddings have single precision")]
    let single = |it: Vec<f64>| it.into_iter().map(|it| it as f32).collect();
    let vectors: Vec<Vec<f32>> = reply.vectors.into_iter().map(single).collect();
    let is_usable = vectors.len() == expected && are_comparable(&vectors);
    is_usable.then_some(Embeddings { vectors, usage: reply.usage }).ok_or_else(mismatch)
}

/// Whether vectors have the same length and can be stored and compared by all databases.
fn are_comparable(vectors: &[Vec<f32>]) -> bool {
    let length = vectors.first().map_or(1, Vec::len);
    let is_usable = |it: &Vec<f32>| it.len() == length && it.iter().all(|it| it.is_finite());
    (1..=MAX_DIMENSIONS).contains(&length) && vectors.iter().all(is_usable)
}

/// Spawns the task that embeds searchable sources while the server runs; `None` without a model for embeddings.
pub fn spawn_embedding(content: Arc<Content>) -> Option<JoinHandle<()>> {
    let model = content.outbound.models.embedding_model()?;
    Some(spawn_in_background(async move {
        let mut task = RepeatedTask::new("embed knowledge sources", &content.connectivity);
        loop {
            match task.attempt(embed_next(&content, &model)).await {
                Some(true) => {}
                Some(false) => {
                    let _ = timeout(POLL_INTERVAL, content.knowledge.wait_for_index()).await;
                }
                None => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }))
}

/// Embeds one source. Returns whether there was one.
async fn embed_next(content: &Content, model: &str) -> sqlx::Result<bool> {
    let now = clock::now();
    let Some(job) = vector::lease_next(&content.readers, model, now, now + LEASE_MS).await? else { return Ok(false) };
    let version = SourceVersion { assistant: &job.assistant, source: &job.source, version: job.version };
    if let Err(error) = embed_source(content, &job, model).await? {
        tracing::warn!(%error, assistant = job.assistant, source = job.source, "cannot embed a knowledge source");
        vector::fail(&content.readers, &version, &error.to_string(), clock::now() + RETRY_MS).await?;
    }
    Ok(true)
}

async fn embed_source(content: &Content, job: &EmbeddingJob, model: &str) -> sqlx::Result<Result<(), EffectError>> {
    let version = SourceVersion { assistant: &job.assistant, source: &job.source, version: job.version };
    let connection = &content.knowledge.connection;
    let key = ProgramKey::parse(&job.assistant);
    let limit = i64::try_from(BATCH_SIZE).unwrap_or(i64::MAX);
    let mut renewed = Instant::now();
    loop {
        let (ids, texts): (Vec<i64>, Vec<String>) =
            vector::list_missing(&content.readers, &version, model, limit).await?.into_iter().unzip();
        if ids.is_empty() {
            return finish(connection, &version, model).await.map(Ok);
        }
        // On SQLite each renewal writes the text of the source again.
        if renewed.elapsed() > RENEWAL_INTERVAL {
            renewed = Instant::now();
            vector::renew(&content.readers, &version, clock::now() + LEASE_MS).await?;
        }
        let vectors = match embed(content, Payer::Document(&key), texts, Instant::now() + CALL_TIMEOUT).await {
            Ok(embeddings) => embeddings.vectors,
            Err(error) => return Ok(Err(error)),
        };
        let vectors: Vec<ChunkVector> = ids.into_iter().zip(vectors).map(|(chunk, vector)| ChunkVector { chunk, vector }).collect();
        store_batch(connection, model, &vectors).await?;
    }
}

async fn store_batch(kept: &KeptConnection, model: &str, vectors: &[ChunkVector]) -> sqlx::Result<()> {
    let mut connection = kept.take().await?;
    vector::put(&mut connection, model, vectors).await?;
    kept.put_back(connection).await
}

async fn finish(kept: &KeptConnection, version: &SourceVersion<'_>, model: &str) -> sqlx::Result<()> {
    let mut connection = kept.take().await?;
    connection.begin().await?;
    source::increment_revision(&mut connection, version.assistant).await?;
    vector::finish(&mut connection, version, model).await?;
    connection.commit().await?;
    kept.put_back(connection).await
}
