//! The embedded phrases of intents: embedded when a document is published, and compared with messages. (docs/spec/flows.md#5.3)
//!
//! Without a model for embeddings nothing happens here, and sessions are matched by words alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convengine_core::config::{Config, TrainableClassifier};
use convengine_core::knowledge::PhraseVectors;
use convengine_core::pack::SCRIPTED_MODEL;
use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, PhraseSearchReply, PhraseSearchRequest, Reply};
use tokio::time::Instant;

use super::knowledge::embedding::embed;
use crate::ops::audit::derive::run_blocking;
use crate::runtime::spend_cap;
use crate::runtime::turn_runner::Host;
use crate::storage;
use crate::storage::phrase_vector::{self, VectorBatch};
use crate::work_class::spawn_in_background;

/// The number of texts in one call.
const BATCH_SIZE: usize = 64;

/// The longest time for all phrases of a document.
const EMBED_TIMEOUT: Duration = Duration::from_secs(60);

/// The number of classifiers in the cache.
const MAX_CACHED: usize = 32;

/// A classifier, by the hash of its training set, and a model.
type Key = (String, String);

/// The vectors of classifiers.
#[derive(Debug, Default)]
pub struct PhraseVectorCache {
    /// `None` for a script that does not embed all phrases.
    vectors: Mutex<BTreeMap<Key, Option<Arc<PhraseVectors>>>>,
    /// What this process has begun to embed.
    begun: Mutex<BTreeSet<Key>>,
}

impl PhraseVectorCache {
    /// Returns the model that has embedded the phrases of all intents of a document; `None` without one. Those of a published version that
    /// have no vectors are embedded in the background, for later turns.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn find_model(&self, host: &Arc<Host>, config: &Arc<Config>, is_published: bool) -> sqlx::Result<Option<String>> {
        let Some(model) = embedding_model(host).filter(|_| config.flow().is_some()) else { return Ok(None) };
        let classifiers = config.classifiers();
        if classifiers.is_empty() {
            return Ok(None);
        }
        for classifier in classifiers {
            if self.load(host, classifier, &model).await?.is_none() {
                if is_published && self.lock_begun().insert((classifier.hash().to_owned(), model.clone())) {
                    spawn_embedding(host, config);
                }
                return Ok(None);
            }
        }
        Ok(Some(model))
    }

    /// Returns the vectors of a classifier; `None` if some phrases have none.
    async fn load(&self, host: &Host, classifier: TrainableClassifier<'_>, model: &str) -> sqlx::Result<Option<Arc<PhraseVectors>>> {
        let key = (classifier.hash().to_owned(), model.to_owned());
        if let Some(found) = self.lock().get(&key) {
            return Ok(found.clone());
        }
        let phrases = split_phrases(classifier);
        let vectors = match model {
            SCRIPTED_MODEL => embed(&host.models, phrases.texts, Instant::now() + EMBED_TIMEOUT).await.ok(),
            model => {
                let batches = phrase_vector::load(&host.readers, &key.0, model).await?;
                let vectors: Vec<Vec<f32>> = batches.into_iter().flat_map(|it| it.vectors).collect();
                if vectors.len() != phrases.texts.len() {
                    return Ok(None);
                }
                Some(vectors)
            }
        };
        let vectors = vectors.map(|it| Arc::new(PhraseVectors::new(phrases.intents, it)));
        let mut cached = self.lock();
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        cached.insert(key, vectors.clone());
        Ok(vectors)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Option<Arc<PhraseVectors>>>> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_begun(&self) -> MutexGuard<'_, BTreeSet<Key>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The phrases of a classifier: the ids of their intents, and the texts.
struct Phrases {
    intents: Vec<String>,
    texts: Vec<String>,
}

fn split_phrases(classifier: TrainableClassifier<'_>) -> Phrases {
    let set = classifier.training_set();
    let (intents, texts) = set.labeled_phrases().map(|it| (it.0.to_owned(), it.1.to_owned())).unzip();
    Phrases { intents, texts }
}

/// The model that embeds phrases and messages; `None` without one.
fn embedding_model(host: &Host) -> Option<String> {
    host.models.embedding_model().or_else(|| host.models.is_embedding_scripted().then(|| SCRIPTED_MODEL.to_owned()))
}

/// Embeds and stores the phrases of a document that have no vectors. A failure of the model is logged only: sessions are matched by words
/// alone until the phrases are embedded.
///
/// # Errors
/// Returns any database error.
pub async fn embed_phrases(host: &Host, config: &Config) -> sqlx::Result<()> {
    // The vectors of a script are not worth storing.
    let Some(model) = host.models.embedding_model() else { return Ok(()) };
    let deadline = Instant::now() + EMBED_TIMEOUT;
    for classifier in config.classifiers() {
        if let Err(error) = embed_classifier(host, classifier, &model, deadline).await? {
            let document = config.flow().map(|it| it.document.id.as_str());
            tracing::warn!(%error, document, model, "cannot embed the phrases of intents; messages are matched by words alone");
            return Ok(());
        }
    }
    Ok(())
}

async fn embed_classifier(
    host: &Host,
    classifier: TrainableClassifier<'_>,
    model: &str,
    deadline: Instant,
) -> sqlx::Result<Result<(), EffectError>> {
    let hash = classifier.hash();
    let stored = phrase_vector::list_stored(&host.readers, hash, model).await?;
    let texts = split_phrases(classifier).texts;
    for (number, batch) in texts.chunks(BATCH_SIZE).enumerate() {
        let first = i64::try_from(number * BATCH_SIZE).unwrap_or(i64::MAX);
        if stored.contains(&first) {
            continue;
        }
        if let Err(error) = spend_cap::check(host).await {
            return Ok(Err(error));
        }
        let vectors = match embed(&host.models, batch.to_vec(), deadline).await {
            Ok(vectors) => vectors,
            Err(error) => return Ok(Err(error)),
        };
        let mut connection = storage::open(host.config_manager.database(), false).await?;
        phrase_vector::put(&mut connection, hash, model, &VectorBatch { first, vectors }).await?;
        connection.close().await?;
    }
    Ok(Ok(()))
}

fn spawn_embedding(host: &Arc<Host>, config: &Arc<Config>) {
    let (host, config) = (Arc::clone(host), Arc::clone(config));
    spawn_in_background(async move {
        if let Err(error) = embed_phrases(&host, &config).await {
            tracing::warn!(%error, "cannot store the embeddings of phrases");
        }
    });
}

/// Compares a text with the phrases of a document.
pub async fn search(host: &Host, config: &Config, request: &PhraseSearchRequest, deadline: Instant) -> EffectResult {
    match find_similar(host, config, request, deadline).await {
        Ok(reply) => EffectResult::Ok(Reply::PhraseSearch(reply)),
        Err(error) => EffectResult::Error(error),
    }
}

async fn find_similar(
    host: &Host,
    config: &Config,
    request: &PhraseSearchRequest,
    deadline: Instant,
) -> Result<PhraseSearchReply, EffectError> {
    let unreadable = |error: sqlx::Error| {
        tracing::error!(%error, "cannot read the embeddings of phrases");
        EffectError::new(EffectErrorKind::Unavailable, "the embeddings of the phrases cannot be read")
    };
    let missing = || EffectError::new(EffectErrorKind::Unavailable, "the phrases are not embedded by the model of this server");
    let classifier = config.classifiers().into_iter().find(|it| it.hash() == request.classifier);
    let classifier = classifier.filter(|_| embedding_model(host).is_some_and(|it| it == request.model)).ok_or_else(missing)?;
    let vectors = host.phrase_vectors.load(host, classifier, &request.model).await.map_err(unreadable)?.ok_or_else(missing)?;
    spend_cap::check(host).await?;
    let text = embed(&host.models, vec![request.text.clone()], deadline).await?.pop().unwrap_or_default();
    run_blocking(move || PhraseSearchReply::from_vectors(&vectors, &text)).await.map_err(unreadable)
}
