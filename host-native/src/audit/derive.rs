//! Derives what a turn has not stored from its journal: its audit rows, and its rows of the log of model calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{LlmCallRow, Millis, NoticeBody, Rescued, Slice, Turn, Write, state_hash};

use crate::store::turn::{StoredTurn, decompress};
use crate::store::turn_rows::completed;
use crate::store::{Pool, config};

/// Most configurations that are held at once.
const HELD: usize = 8;

/// An audit row that is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedRow {
    /// The number that was kept for it.
    pub audit_id: i64,
    /// The stage.
    pub stage: String,
    /// The payload, JSON text.
    pub payload: String,
    /// When it happened.
    pub at: Millis,
}

/// What of a turn is not stored.
#[derive(Debug, Default)]
pub struct Derived {
    /// Its audit rows, in their order.
    pub audits: Vec<DerivedRow>,
    /// Its model calls, in their order.
    pub calls: Vec<LlmCallRow>,
}

/// The rows of a finished turn that are not stored.
///
/// They are those that were told when the turn ran, or there are none: a turn that does not come to what is recorded of it, rows
/// written and audits included, is not told otherwise.
///
/// # Errors
/// Why they cannot be derived.
pub fn rows(stored: &StoredTurn, config: Option<&Arc<Config>>) -> Result<Derived, String> {
    let slice = again(stored, config)?;
    let untold = slice.notices.iter().skip(usize::try_from(stored.audited).unwrap_or(0));
    let audits = untold.filter_map(|notice| match &notice.body {
        NoticeBody::Audit { stage, payload } => Some((notice.at, stage, payload)),
        NoticeBody::Verbose(_) | NoticeBody::Message { .. } => None,
    });
    let row = |(audit_id, (at, stage, payload)): (i64, (Millis, &String, _))| DerivedRow {
        audit_id,
        stage: stage.clone(),
        payload: completed(stage, payload, stored.total_ms).to_string(),
        at,
    };
    let audits = (stored.audit_id.unwrap_or(0)..).zip(audits).map(row).collect();
    let writes = slice.end.into_iter().flat_map(|it| it.writes);
    let call = |it: Write| if let Write::LlmCall(call) = it { Some(call) } else { None };
    Ok(Derived { audits, calls: writes.filter_map(call).collect() })
}

/// All that a finished turn has said, and its end.
///
/// # Errors
/// Why it does not come to what is recorded of it.
pub fn again(stored: &StoredTurn, config: Option<&Arc<Config>>) -> Result<Slice, String> {
    compared(stored, config).map_err(|it| it.reason)
}

/// How a turn differs from what is recorded of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unequal {
    /// Why it does not come to that, in words.
    pub reason: String,
    /// The hash of what it comes to now; absent when it comes to no end.
    pub hash: Option<String>,
}

/// As [`again`], and says to what else it comes.
///
/// # Errors
/// As there.
pub fn compared(stored: &StoredTurn, config: Option<&Arc<Config>>) -> Result<Slice, Unequal> {
    let without_end = |reason: String| Unequal { reason, hash: None };
    let journal = decompress(&stored.journal).map_err(|it| without_end(format!("the journal cannot be read: {it}")))?;
    let config = config.ok_or_else(|| without_end(format!("its configuration {} is not in the database", stored.config_hash)))?;
    // A turn that was lost diverges from its journal, and was told up to there.
    let Rescued { slice, diverged, .. } = Turn::rescue(&journal, Arc::clone(config)).map_err(|it| without_end(it.to_string()))?;
    let hash = slice.end.as_ref().map(|it| state_hash(it, &slice.notices));
    if hash.as_deref() == Some(stored.state_hash.as_str()) {
        return Ok(slice);
    }
    let reason = match (diverged, &hash) {
        (Some(diverged), _) => diverged.to_string(),
        (None, Some(hash)) => format!("it runs differently now: sha256 {hash}, stored {}", stored.state_hash),
        (None, None) => "it asks for more than was recorded".to_owned(),
    };
    Err(Unequal { reason, hash })
}

/// The configurations that turns ran under, each compiled once.
#[derive(Debug, Default)]
pub struct Configs(BTreeMap<String, Option<Arc<Config>>>);

impl Configs {
    /// With one that is compiled already.
    pub fn with(config: &Arc<Config>) -> Configs {
        Configs(BTreeMap::from([(config.hash().to_owned(), Some(Arc::clone(config)))]))
    }

    /// The configuration of a hash; nothing when it is not kept.
    ///
    /// # Errors
    /// What the database says.
    pub async fn of(&mut self, pool: &Pool, hash: &str) -> sqlx::Result<Option<Arc<Config>>> {
        if let Some(config) = self.0.get(hash) {
            return Ok(config.clone());
        }
        let config = match config::snapshot(pool, hash).await? {
            Some(source) => Some(Arc::new(aside(move || Config::from_source(&source).0).await?)),
            None => None,
        };
        if self.0.len() >= HELD {
            self.0.clear();
        }
        self.0.insert(hash.to_owned(), config.clone());
        Ok(config)
    }
}

/// The rows of several turns, or why there are none.
pub type Derivations = Vec<(StoredTurn, Result<Derived, String>)>;

/// Derives the rows of turns, away from the threads that answer requests.
///
/// # Errors
/// What the database says.
pub async fn all(pool: &Pool, configs: &mut Configs, turns: Vec<StoredTurn>) -> sqlx::Result<Derivations> {
    let mut found = Vec::with_capacity(turns.len());
    for turn in turns {
        let config = configs.of(pool, &turn.config_hash).await?;
        found.push((turn, config));
    }
    aside(move || {
        let derived = |(turn, config): (StoredTurn, Option<Arc<Config>>)| {
            let rows = rows(&turn, config.as_ref());
            (turn, rows)
        };
        found.into_iter().map(derived).collect()
    })
    .await
}

/// Does work away from the threads that answer requests.
///
/// # Errors
/// When it panics.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> sqlx::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| sqlx::Error::WorkerCrashed)
}
