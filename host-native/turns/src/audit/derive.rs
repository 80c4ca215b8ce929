//! Derives audit rows and model call rows that a turn did not store, by replaying its journal.

use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{LlmCallRow, Millis, NoticeBody, RescuedTurn, Slice, Turn, TurnError, Write, state_hash};
use quick_cache::sync::Cache;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use serde_json::Value;

use convengine_storage::turn::{StoredTurn, decompress};
use convengine_storage::turn_rows::with_total_ms;
use convengine_storage::{Connection, Pool, config, run_blocking, snapshot};

/// The cache size.
const MAX_CACHED: usize = 8;

/// A derived audit row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedRow {
    /// The reserved row id.
    pub audit_id: i64,
    /// The stage.
    pub stage: String,
    /// The payload, JSON text.
    pub payload: String,
    /// When it happened.
    pub at: Millis,
}

/// The derived rows of a turn.
#[derive(Debug, Default)]
pub struct DerivedRows {
    /// The audit rows in order.
    pub audits: Vec<DerivedRow>,
    /// The model calls in order.
    pub calls: Vec<LlmCallRow>,
}

/// Derives the rows of an ended turn.
///
/// The rows are exactly those that were published when the turn ran: a replay with a different state hash is an error.
///
/// # Errors
/// Returns the reason when the rows cannot be derived.
pub fn derive_rows(stored: &StoredTurn, config: Option<&Arc<Config>>) -> Result<DerivedRows, String> {
    let slice = replay_turn(stored, config)?;
    let unstored = slice.notices.iter().skip(usize::try_from(stored.audited_notices).unwrap_or(0));
    let audits = unstored.filter_map(|notice| match &notice.body {
        NoticeBody::Audit { stage, payload } => Some((notice.at, &**stage, payload)),
        NoticeBody::Verbose(_) | NoticeBody::Message { .. } => None,
    });
    let row = |(audit_id, (at, stage, payload)): (i64, (Millis, &str, _))| DerivedRow {
        audit_id,
        stage: stage.to_owned(),
        payload: with_total_ms(stage, payload, stored.total_ms).to_string(),
        at,
    };
    let audits = (stored.first_audit_id.unwrap_or(0)..).zip(audits).map(row).collect();
    let writes = slice.end.into_iter().flat_map(|it| it.writes);
    let call = |it: Write| if let Write::LlmCall(call) = it { Some(call) } else { None };
    Ok(DerivedRows { audits, calls: writes.filter_map(call).collect() })
}

/// Replays an ended turn and returns its notices and outcome.
///
/// # Errors
/// Returns the reason when the replay differs from the recorded turn.
pub fn replay_turn(stored: &StoredTurn, config: Option<&Arc<Config>>) -> Result<Slice, String> {
    replay_and_compare(stored, config).map_err(|it| it.reason)
}

/// A difference between a replay and the recorded turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayMismatch {
    /// The reason in words.
    pub reason: String,
    /// The state hash of the replay; absent when it has no outcome.
    pub hash: Option<String>,
    /// Of a flow, the node at which the replay diverges, as `graph/node`; absent when it ends.
    pub node: Option<String>,
    /// Of a flow, the last port that the replay has taken, as `graph/node:port`.
    pub port: Option<String>,
}

/// Like [`replay_turn`], but returns the replay's state hash with the error.
///
/// # Errors
/// Returns [`ReplayMismatch`] when the replay differs from the recorded turn.
pub fn replay_and_compare(stored: &StoredTurn, config: Option<&Arc<Config>>) -> Result<Slice, ReplayMismatch> {
    let without_end = |reason: String| ReplayMismatch { reason, hash: None, node: None, port: None };
    let journal = decompress(&stored.journal).map_err(|error| without_end(format!("the journal cannot be read: {error}")))?;
    let config = config.ok_or_else(|| without_end(format!("its configuration {} is not in the database", stored.config_hash)))?;
    // A lost turn diverges from its journal; its notices up to that point were published.
    let RescuedTurn { turn, slice, divergence: diverged } =
        Turn::rescue(&journal, Arc::clone(config)).map_err(|error| without_end(error.to_string()))?;
    let hash = slice.end.as_ref().map(|it| state_hash(it, &slice.notices));
    if hash.as_deref() == Some(stored.state_hash.as_str()) {
        return Ok(slice);
    }
    let node = if let Some(TurnError::Diverged(it)) = &diverged { config.flow().map(|_| it.step.clone()) } else { None };
    let reason = match (diverged, &hash) {
        (Some(diverged), _) => diverged.to_string(),
        (None, Some(hash)) => format!("its state hash is now sha256 {hash}, stored {}", stored.state_hash),
        (None, None) => "it requests effects that were not recorded".to_owned(),
    };
    Err(ReplayMismatch { reason, hash, node, port: turn.ports().pop() })
}

/// Cache of the compiled configurations of recorded turns.
#[derive(Debug)]
pub struct ConfigCache(Cache<String, Option<Arc<Config>>>);

impl Default for ConfigCache {
    fn default() -> ConfigCache {
        ConfigCache(Cache::new(MAX_CACHED))
    }
}

impl ConfigCache {
    /// Creates a cache with a compiled configuration.
    pub fn with_config(config: &Arc<Config>) -> ConfigCache {
        let cache = ConfigCache::default();
        cache.0.insert(config.hash_source().to_owned(), Some(Arc::clone(config)));
        cache
    }

    /// Returns the configuration with a hash; `None` when its snapshot is not stored.
    pub async fn load(&mut self, pool: &Pool, hash: &str) -> sqlx::Result<Option<Arc<Config>>> {
        if let Some(config) = self.0.get(hash) {
            return Ok(config);
        }
        let source = config::find_snapshot(pool, hash).await?;
        self.compile(hash, source).await
    }

    /// Like [`ConfigCache::load`], on a connection.
    pub async fn load_on(&mut self, connection: &mut Connection, hash: &str) -> sqlx::Result<Option<Arc<Config>>> {
        if let Some(config) = self.0.get(hash) {
            return Ok(config);
        }
        let source = snapshot::find_content(connection, hash).await?;
        self.compile(hash, source).await
    }

    async fn compile(&mut self, hash: &str, source: Option<Value>) -> sqlx::Result<Option<Arc<Config>>> {
        let config = match source {
            Some(source) => Some(Arc::new(run_blocking(move || Config::from_source(&source).0).await?)),
            None => None,
        };
        self.0.insert(hash.to_owned(), config.clone());
        Ok(config)
    }
}

/// Turns with their derived rows, or the reason why there are none.
pub type Derivations = Vec<(StoredTurn, Result<DerivedRows, String>)>;

/// Derives the rows of turns on all cores.
pub async fn derive_all(pool: &Pool, configs: &mut ConfigCache, turns: Vec<StoredTurn>) -> sqlx::Result<Derivations> {
    let mut found = Vec::with_capacity(turns.len());
    for turn in turns {
        let config = configs.load(pool, &turn.config_hash).await?;
        found.push((turn, config));
    }
    run_blocking(move || {
        let derived = |(turn, config): (StoredTurn, Option<Arc<Config>>)| {
            let rows = derive_rows(&turn, config.as_ref());
            (turn, rows)
        };
        found.into_par_iter().map(derived).collect()
    })
    .await
}
