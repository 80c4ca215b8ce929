//! Trained classifiers of configurations: read from the database, else trained and stored, so that no turn waits for training. The table is
//! a cache: a classifier that is trained again is equal.

use std::sync::Arc;

use convengine_core::config::{Config, TrainableClassifier};
use convengine_core::lexical::LexicalClassifier;
use convengine_core::turn::Millis;
use tokio::sync::Mutex;

use convengine_host_base::clock;
use convengine_storage::run_blocking;
use convengine_storage::{self as storage, Connection, DatabaseConfig, classifier, phrase_vector};

const DAY_MILLIS: Millis = 86_400_000;

/// How many days a classifier is kept after it was last read.
const KEPT_DAYS: Millis = 30;

/// A classifier of a configuration that is not supplied: its position, and the hash of what it learns.
type Missing = (usize, String);

/// Supplies classifiers to documents. Trains one at a time, and what several documents need once.
#[derive(Debug, Default)]
pub struct ClassifierTrainer(Mutex<()>);

impl ClassifierTrainer {
    /// Supplies the classifiers of a configuration.
    pub async fn supply(&self, database: &DatabaseConfig, config: &Arc<Config>) -> sqlx::Result<()> {
        if config.classifiers().is_empty() {
            return Ok(());
        }
        let mut connection = storage::open(database, false).await?;
        let done = self.read_or_train(&mut connection, config).await;
        connection.close().await?;
        done
    }

    async fn read_or_train(&self, connection: &mut Connection, config: &Arc<Config>) -> sqlx::Result<()> {
        if read(connection, config).await?.is_empty() {
            return Ok(());
        }
        let _guard = self.0.lock().await;
        // Another document may have been the first to need it.
        supply(connection, config).await
    }
}

/// Supplies the classifiers of a configuration: reads those that are stored; trains and stores the others.
pub async fn supply(connection: &mut Connection, config: &Arc<Config>) -> sqlx::Result<()> {
    for (index, hash) in read(connection, config).await? {
        let config = Arc::clone(config);
        let trained = run_blocking(move || {
            let classifier = config.classifiers().get(index).copied()?;
            let trained = LexicalClassifier::train(&classifier.training_set());
            let bytes = trained.to_bytes();
            classifier.supply(Arc::new(trained));
            Some(bytes)
        });
        let Some(bytes) = trained.await? else { continue };
        classifier::store(connection, &hash, &bytes, clock::now(), today()).await?;
        tracing::debug!(hash, bytes = bytes.len(), "stored a trained classifier");
    }
    Ok(())
}

/// Deletes the classifiers that have not been read for 30 days, with the embeddings of their phrases. Returns their number.
pub async fn delete_unused(connection: &mut Connection) -> sqlx::Result<u64> {
    let deleted = classifier::delete_unused(connection, today() - KEPT_DAYS * DAY_MILLIS).await?;
    phrase_vector::delete_orphans(connection).await?;
    Ok(deleted)
}

/// Supplies the stored classifiers. Returns those that are not stored, or not in the format of this release.
async fn read(connection: &mut Connection, config: &Arc<Config>) -> sqlx::Result<Vec<Missing>> {
    if config.classifiers().is_empty() {
        return Ok(Vec::new());
    }
    let shared = Arc::clone(config);
    let hashes =
        run_blocking(move || shared.classifiers().iter().map(|classifier| classifier.hash().to_owned()).collect::<Vec<_>>()).await?;
    let mut stored = Vec::with_capacity(hashes.len());
    for hash in &hashes {
        stored.push(classifier::find(connection, hash, today()).await?);
    }
    let shared = Arc::clone(config);
    let is_supplied = run_blocking(move || {
        let decode = |(classifier, bytes): (TrainableClassifier<'_>, Option<Vec<u8>>)| {
            let decoded = bytes.and_then(|bytes| LexicalClassifier::from_bytes(&bytes).ok());
            decoded.map(|decoded| classifier.supply(Arc::new(decoded))).is_some()
        };
        shared.classifiers().into_iter().zip(stored).map(decode).collect::<Vec<bool>>()
    });
    let is_supplied = is_supplied.await?;
    Ok(hashes.into_iter().enumerate().zip(is_supplied).filter(|it| !it.1).map(|it| it.0).collect())
}

/// The start of this day (UTC).
fn today() -> Millis {
    clock::start_of_day(clock::now())
}
