//! The embedded phrases of intents: embedded when a document is published, and compared with messages. (docs/spec/flows.md#5.3)
//!
//! Without a model for embeddings nothing happens here, and sessions are matched by words alone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convengine_core::config::{Config, TrainableClassifier};
use convengine_core::knowledge::PhraseVectors;
use convengine_core::pack::SCRIPTED_MODEL;
use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, PhraseSearchReply, PhraseSearchRequest, Reply};
use convengine_host_base::work_class::spawn_in_background;
use convengine_settings::SearchMemory;
use convengine_storage as storage;
use convengine_storage::assistant::ProgramKey;
use convengine_storage::phrase_vector::{self, VectorBatch};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::time::Instant;

use super::knowledge::embedding::{Payer, embed};
use super::knowledge::scan::run_scan;
use crate::Content;

/// The number of texts in one call.
const BATCH_SIZE: usize = 64;

/// The longest time for all phrases of a document.
const EMBED_TIMEOUT: Duration = Duration::from_secs(60);

/// The number of classifiers that the cache expects.
const EXPECTED_CLASSIFIERS: usize = 32;

/// A classifier, by the hash of its training set, and a model.
type Key = (String, String);

/// The vectors of a classifier in memory.
#[derive(Debug, Clone)]
struct CachedVectors {
    /// `None` for a script that does not embed all phrases.
    vectors: Option<Arc<PhraseVectors>>,
    /// In bytes.
    size: u64,
}

#[derive(Debug, Clone, Copy)]
struct VectorWeighter;

impl Weighter<Key, CachedVectors> for VectorWeighter {
    fn weight(&self, _: &Key, cached: &CachedVectors) -> u64 {
        cached.size
    }
}

/// Why there are no vectors: some phrases have none, or the database failed.
enum Missing {
    Vectors,
    Database(sqlx::Error),
}

impl From<sqlx::Error> for Missing {
    fn from(error: sqlx::Error) -> Missing {
        Missing::Database(error)
    }
}

/// The vectors of classifiers: one copy of each, and together of bounded size.
#[derive(Debug)]
pub struct PhraseVectorCache {
    vectors: Cache<Key, CachedVectors, VectorWeighter>,
    /// What this process has begun to embed.
    begun: Mutex<BTreeSet<Key>>,
}

impl PhraseVectorCache {
    /// Creates a cache of bounded size.
    pub fn new(memory: SearchMemory) -> PhraseVectorCache {
        PhraseVectorCache { vectors: Cache::with_weighter(EXPECTED_CLASSIFIERS, memory.phrases(), VectorWeighter), begun: Mutex::default() }
    }

    /// Returns the model that has embedded the phrases of all intents of a document; `None` without one. Those of a published version that
    /// have no vectors are embedded in the background, for later turns.
    pub async fn find_model(&self, content: &Arc<Content>, config: &Arc<Config>, is_published: bool) -> sqlx::Result<Option<String>> {
        let Some(model) = embedding_model(content).filter(|_| config.flow().is_some()) else { return Ok(None) };
        let classifiers = config.classifiers();
        if classifiers.is_empty() {
            return Ok(None);
        }
        for classifier in classifiers {
            if self.load(content, config, classifier, &model).await?.is_none() {
                if is_published && self.lock_begun().insert((classifier.hash().to_owned(), model.clone())) {
                    spawn_embedding(content, config);
                }
                return Ok(None);
            }
        }
        Ok(Some(model))
    }

    /// Returns the vectors of a classifier; `None` if some phrases have none. They are loaded once, however many wait for them.
    async fn load(
        &self,
        content: &Content,
        config: &Config,
        classifier: TrainableClassifier<'_>,
        model: &str,
    ) -> sqlx::Result<Option<Arc<PhraseVectors>>> {
        let key = (classifier.hash().to_owned(), model.to_owned());
        match self.vectors.get_or_insert_async(&key, read(content, config, classifier, model)).await {
            Ok(cached) => Ok(cached.vectors),
            Err(Missing::Vectors) => Ok(None),
            Err(Missing::Database(error)) => Err(error),
        }
    }

    fn lock_begun(&self) -> MutexGuard<'_, BTreeSet<Key>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the vectors of a classifier, or embeds its phrases by a script.
async fn read(content: &Content, config: &Config, classifier: TrainableClassifier<'_>, model: &str) -> Result<CachedVectors, Missing> {
    let phrases = split_phrases(classifier);
    let vectors = match model {
        SCRIPTED_MODEL => {
            let embeddings = embed(content, Payer::Turn(config), phrases.texts, Instant::now() + EMBED_TIMEOUT).await;
            embeddings.ok().map(|it| it.vectors)
        }
        model => {
            let batches = phrase_vector::load(&content.readers, classifier.hash(), model).await?;
            let vectors: Vec<Vec<f32>> = batches.into_iter().flat_map(|it| it.vectors).collect();
            if vectors.len() != phrases.texts.len() {
                return Err(Missing::Vectors);
            }
            Some(vectors)
        }
    };
    let numbers: usize = vectors.iter().flatten().map(Vec::len).sum();
    let names: usize = phrases.intents.iter().map(String::len).sum();
    let size = numbers * size_of::<f32>() + names + phrases.intents.len() * size_of::<(String, Vec<f32>)>() + size_of::<CachedVectors>();
    let vectors = vectors.map(|vectors| Arc::new(PhraseVectors::new(phrases.intents, vectors)));
    Ok(CachedVectors { vectors, size: size as u64 })
}

/// The phrases of a classifier: the ids of their intents, and the texts.
struct Phrases {
    intents: Vec<String>,
    texts: Vec<String>,
}

fn split_phrases(classifier: TrainableClassifier<'_>) -> Phrases {
    let set = classifier.training_set();
    let (intents, texts) = set.labeled_phrases().map(|phrase| (phrase.0.to_owned(), phrase.1.to_owned())).unzip();
    Phrases { intents, texts }
}

/// The model that embeds phrases and messages; `None` without one.
fn embedding_model(content: &Content) -> Option<String> {
    content.outbound.models.embedding_model().or_else(|| content.outbound.models.is_embedding_scripted().then(|| SCRIPTED_MODEL.to_owned()))
}

/// Embeds and stores the phrases of a document that have no vectors. A failure of the model is logged only: sessions are matched by words
/// alone until the phrases are embedded.
pub async fn embed_phrases(content: &Content, config: &Config) -> sqlx::Result<()> {
    // The vectors of a script are not worth storing.
    let (Some(model), Some(flow)) = (content.outbound.models.embedding_model(), config.flow()) else { return Ok(()) };
    let key = ProgramKey::of_flow(flow);
    let deadline = Instant::now() + EMBED_TIMEOUT;
    for classifier in config.classifiers() {
        if let Err(error) = embed_classifier(content, &key, classifier, &model, deadline).await? {
            let document = flow.document.id.as_str();
            tracing::warn!(%error, document, model, "cannot embed the phrases of intents; messages are matched by words alone");
            return Ok(());
        }
    }
    Ok(())
}

async fn embed_classifier(
    content: &Content,
    key: &ProgramKey,
    classifier: TrainableClassifier<'_>,
    model: &str,
    deadline: Instant,
) -> sqlx::Result<Result<(), EffectError>> {
    let hash = classifier.hash();
    let stored = phrase_vector::list_stored(&content.readers, hash, model).await?;
    let texts = split_phrases(classifier).texts;
    for (number, batch) in texts.chunks(BATCH_SIZE).enumerate() {
        let first = i64::try_from(number * BATCH_SIZE).unwrap_or(i64::MAX);
        if stored.contains(&first) {
            continue;
        }
        let vectors = match embed(content, Payer::Document(key), batch.to_vec(), deadline).await {
            Ok(embeddings) => embeddings.vectors,
            Err(error) => return Ok(Err(error)),
        };
        let mut connection = storage::open(content.config_manager.database(), false).await?;
        phrase_vector::put(&mut connection, hash, model, &VectorBatch { first, vectors }).await?;
        connection.close().await?;
    }
    Ok(Ok(()))
}

fn spawn_embedding(content: &Arc<Content>, config: &Arc<Config>) {
    let (content, config) = (Arc::clone(content), Arc::clone(config));
    spawn_in_background(async move {
        if let Err(error) = embed_phrases(&content, &config).await {
            tracing::warn!(%error, "cannot store the embeddings of phrases");
        }
    });
}

/// Compares a text with the phrases of a document.
pub async fn search(content: &Content, config: &Config, request: &PhraseSearchRequest, deadline: Instant) -> EffectResult {
    match find_similar(content, config, request, deadline).await {
        Ok(reply) => EffectResult::Ok(Reply::PhraseSearch(reply)),
        Err(error) => EffectResult::Error(error),
    }
}

async fn find_similar(
    content: &Content,
    config: &Config,
    request: &PhraseSearchRequest,
    deadline: Instant,
) -> Result<PhraseSearchReply, EffectError> {
    let unreadable = |error: sqlx::Error| {
        tracing::error!(%error, "cannot read the embeddings of phrases");
        EffectError::new(EffectErrorKind::Unavailable, "the embeddings of the phrases cannot be read")
    };
    let missing = || EffectError::new(EffectErrorKind::Unavailable, "the phrases are not embedded by the model of this server");
    let classifier = config.classifiers().into_iter().find(|classifier| classifier.hash() == request.classifier);
    let classifier = classifier.filter(|_| embedding_model(content).is_some_and(|it| it == request.model)).ok_or_else(missing)?;
    let vectors =
        content.phrase_vectors.load(content, config, classifier, &request.model).await.map_err(unreadable)?.ok_or_else(missing)?;
    let embedded = embed(content, Payer::Turn(config), vec![request.text.clone()], deadline).await?;
    let text = embedded.vectors.into_iter().next().unwrap_or_default();
    let reply = run_scan(move || PhraseSearchReply::from_vectors(&vectors, &text)).await.map_err(unreadable)?;
    Ok(PhraseSearchReply { usage: embedded.usage, ..reply })
}
