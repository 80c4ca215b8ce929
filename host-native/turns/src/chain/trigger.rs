//! Starts runs: each key once. (docs/spec/chains.md#9)

use std::sync::Arc;

use convengine_access::api_error::ApiError;
use convengine_content::Content;
use convengine_content::bundle::{BundleError, resolve_bundle};
use convengine_core::chain;
use convengine_core::config::Config;
use convengine_core::turn::{Map, Millis};
use convengine_host_base::clock;
use convengine_host_base::hex::to_hex;
use convengine_storage::assistant::{DocumentKind, ProgramKey, draft, session};
use convengine_storage::chain::run_key::{self, KEY_TTL_MS};
use convengine_storage::chain::status;
use convengine_storage::turn_rows::{SessionRow, TurnRows};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::drive;
use crate::Turns;
use crate::refusal::Refusal;
use crate::writer::CommitError;

/// Why no run was started.
#[derive(Debug, thiserror::Error)]
pub enum TriggerError {
    /// There is no such chain.
    #[error("chain not found; save its draft first")]
    NotFound,
    /// The chain has no published version.
    #[error("chain has no published version; publish it first")]
    NotPublished,
    /// The chain is paused.
    #[error("chain is paused; set its status to 'live' first")]
    Paused,
    /// The key was used for another input.
    #[error("Idempotency-Key was already used for a different input; use a new key for each input")]
    KeyReused,
    /// The chain and the documents that it runs cannot be compiled.
    #[error("chain cannot run; publish a valid version")]
    Unreadable,
    /// The documents that the chain runs cannot be bound.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// The rows cannot be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl From<TriggerError> for ApiError {
    fn from(error: TriggerError) -> Self {
        let message = error.to_string();
        match error {
            TriggerError::NotFound => ApiError::not_found(message),
            TriggerError::NotPublished => ApiError::conflict(message).with_code("not_published"),
            TriggerError::Paused => ApiError::conflict(message).with_code("chain_paused"),
            TriggerError::KeyReused => ApiError::unprocessable(message).with_code("idempotency_key_reused"),
            TriggerError::Unreadable => ApiError::unprocessable(message).with_code("invalid_document"),
            TriggerError::Bundle(error) => error.into(),
            TriggerError::Database(error) => error.into(),
            TriggerError::Commit(error) => Refusal::Commit(error).into(),
        }
    }
}

/// A published chain that takes triggers.
#[derive(Debug, Clone)]
pub struct LiveChain {
    /// Its key.
    pub key: ProgramKey,
    /// The live version.
    pub version: i64,
    /// Its document.
    pub document: Arc<Value>,
    /// Whether it is paused.
    pub is_paused: bool,
}

impl LiveChain {
    /// Returns the live version of a chain.
    ///
    /// # Errors
    /// Returns [`TriggerError::NotFound`], [`TriggerError::NotPublished`] or a database error.
    pub async fn find(content: &Content, slug: &str) -> Result<LiveChain, TriggerError> {
        let key = ProgramKey::new(DocumentKind::Chain, slug);
        let about = draft::find_assistant(&content.readers, key.as_str()).await?.ok_or(TriggerError::NotFound)?;
        let version = about.live_version.ok_or(TriggerError::NotPublished)?;
        let found = content.versions.load(&content.readers, &key, version).await?.ok_or(TriggerError::NotPublished)?;
        let is_paused = status::find(&content.readers, slug).await?.is_some_and(|it| it.is_paused);
        Ok(LiveChain { key, version, document: found.document, is_paused })
    }

    /// Compiles the chain with the documents that it runs, as they are live now.
    async fn compile(&self, content: &Content) -> Result<Arc<Config>, TriggerError> {
        let bundle = resolve_bundle(&content.readers, &self.key, Value::clone(&self.document)).await?;
        content.flows.compile_and_store(content, bundle).await?.ok_or(TriggerError::Unreadable)
    }
}

/// What starts a run.
#[derive(Debug, Clone)]
pub struct Trigger {
    /// `kind`, and `body` or `at`.
    pub data: Map,
    /// The idempotency key.
    pub key: Option<String>,
    /// What the key is unique in: empty for the API, whose keys are for one input only.
    pub scope: &'static str,
}

/// A run that was started, or found by its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedRun {
    /// The run.
    pub run: String,
    /// Its status.
    pub status: String,
    /// Whether the key had started it before.
    pub is_duplicate: bool,
}

/// Starts a run of a chain, unless the key has started one already. The run goes on in the background.
///
/// # Errors
/// Returns [`TriggerError`]; no run was started then.
pub async fn start_run(turns: &Arc<Turns>, chain: &LiveChain, mut trigger: Trigger) -> Result<StartedRun, TriggerError> {
    // Before anything of it is stored, its fingerprint included.
    if let Some(body) = trigger.data.get_mut("body") {
        turns.outbound.redaction.redact_input(body);
    }
    let now = clock::now();
    let slug = chain.key.id();
    let body = json!(trigger.data.get("body")).to_string();
    let fingerprint = if trigger.scope.is_empty() { to_hex(&Sha256::digest(body.as_bytes())) } else { String::new() };
    if let Some(key) = &trigger.key
        && let Some(found) = find_duplicate(&turns.content, slug, &trigger, key, &fingerprint, now).await?
    {
        return Ok(found);
    }
    if chain.is_paused {
        return Err(TriggerError::Paused);
    }
    let config = chain.compile(&turns.content).await?;
    let run = Uuid::new_v4().to_string();
    let at = clock::format_iso(now);
    let state = chain::new_run(&run, slug, config.hash_source(), trigger.data.clone(), trigger.key.clone(), &at);
    let snapshot = state.get("snapshot").and_then(Value::as_str).unwrap_or_default();
    let row = SessionRow {
        session: &run,
        assistant: chain.key.as_str(),
        deployment: None,
        version: Some(chain.version),
        snapshot,
        state: &state,
        at: now,
    };
    let mut rows = TurnRows::default();
    rows.durable = true;
    let key = trigger.key.as_deref().map(|it| (trigger.scope, it, fingerprint.as_str()));
    rows.add_new_run(&row, slug, key, now - KEY_TTL_MS);
    turns.writer.commit(&run, rows).await?;
    if let Some(key) = &trigger.key {
        // Another process may have started a run with the same key in the meantime.
        let found = find_duplicate(&turns.content, slug, &trigger, key, &fingerprint, now).await?;
        if let Some(found) = found.filter(|it| it.run != run) {
            return Ok(found);
        }
    }
    drive::spawn(turns, &run);
    Ok(StartedRun { run, status: "queued".to_owned(), is_duplicate: false })
}

/// The run that a key has started.
async fn find_duplicate(
    content: &Content,
    slug: &str,
    trigger: &Trigger,
    key: &str,
    fingerprint: &str,
    now: Millis,
) -> Result<Option<StartedRun>, TriggerError> {
    let Some(used) = run_key::find(&content.readers, slug, trigger.scope, key, now).await? else { return Ok(None) };
    if used.fingerprint != fingerprint {
        return Err(TriggerError::KeyReused);
    }
    let status = session::find(&content.readers, &used.run).await?.map(|it| it.status).unwrap_or_default();
    Ok(Some(StartedRun { run: used.run, status, is_duplicate: true }))
}
