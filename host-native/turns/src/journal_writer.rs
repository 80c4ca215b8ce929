//! Write-ahead journaling of turns, so that an interrupted turn can be recovered. (docs/spec/architecture.md#6)
//!
//! | when | stored | awaited |
//! |---|---|---|
//! | the turn first waits for effects | its input | if several processes serve the database |
//! | an effect completes | its completion | if the effect is a write |
//! | before a write is dispatched | everything so far, with a dispatch marker | yes |
//! | the turn ends | all rows of the turn, in one transaction | yes |

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convengine_core::config::Config;
use convengine_core::turn::{Effect, EffectClass, Map, Millis, Notice, NoticeBody, Outcome, Turn};
use convengine_host_base::clock;
use convengine_settings::{AuditMode, Journaling};
use convengine_storage::turn::{StoredTurn, compress};
use convengine_storage::turn_rows::{EffectRow, TurnRow, TurnRows};
use tokio::sync::oneshot;

use crate::Turns;
use crate::audit::meta;
use crate::leases::lease_ms;
use crate::message::Ownership;
use crate::refusal::Refusal;
use crate::rows::{self, RowContext, open_turn_row};
use crate::writer::{CommitError, writer_stopped};

/// Writes the journal of a running turn to the database.
#[derive(Debug)]
pub struct JournalWriter {
    open_turns: Arc<OpenTurns>,
    conversation: String,
    turn: String,
    idempotency_key: Option<String>,
    /// The owner of a new conversation, which is stored with the row of the turn.
    new_owner: Option<Arc<str>>,
    /// The configuration it runs on.
    config: Arc<Config>,
    /// Whether the turn's row is stored.
    is_started: bool,
    /// The number of stored completions.
    stored_completions: usize,
    /// The number of leading notices whose audit rows are stored.
    stored_notices: usize,
    /// Dispatched write effects, whose completions must be stored before the turn continues.
    dispatched_writes: Vec<u32>,
    /// Enqueued writes that were not awaited.
    pending_commits: Vec<oneshot::Receiver<Result<(), CommitError>>>,
}

impl JournalWriter {
    /// Creates a writer for a new turn.
    pub fn new(turns: &Turns, conversation: &str, turn: &str, idempotency_key: Option<String>, config: Arc<Config>) -> JournalWriter {
        JournalWriter {
            conversation: conversation.to_owned(),
            open_turns: Arc::clone(&turns.open_turns),
            turn: turn.to_owned(),
            idempotency_key,
            new_owner: None,
            config,
            is_started: false,
            stored_completions: 0,
            stored_notices: 0,
            dispatched_writes: Vec::new(),
            pending_commits: Vec::new(),
        }
    }

    /// Adds the owner of the conversation, to be stored if the turn is its first.
    #[must_use]
    pub fn with_ownership(mut self, ownership: &Ownership) -> JournalWriter {
        self.new_owner = ownership.owner.clone().filter(|_| ownership.is_new);
        self
    }

    /// Creates a writer for a claimed turn with `answers` stored completions.
    pub fn from_stored(turns: &Turns, stored: &StoredTurn, answers: usize, config: Arc<Config>) -> JournalWriter {
        let audited = usize::try_from(stored.audited_notices).unwrap_or(0);
        let mut writer = JournalWriter::new(turns, &stored.conversation_id, &stored.turn_id, stored.message_key.clone(), config);
        (writer.is_started, writer.stored_completions, writer.stored_notices) = (true, answers, audited);
        turns.open_turns.add(&stored.turn_id, writer.lease(turns));
        writer
    }

    /// Returns whether the completion of a write is not stored yet. It must be stored before the turn can fail.
    pub fn has_unstored_write(&self, turn: &Turn) -> bool {
        turn.journal().entries.iter().skip(self.stored_completions).any(|it| self.dispatched_writes.contains(&it.effect.0))
    }

    /// Returns the rows that must be stored before effects are dispatched, for [`JournalWriter::store`].
    ///
    /// # Errors
    /// Returns [`Refusal::Internal`] when the journal cannot be serialized.
    pub fn prepare(&mut self, turns: &Turns, turn: &Turn, notices: &[Notice], effects: &[Effect]) -> Result<PendingRows, Refusal> {
        let writes: Vec<&Effect> =
            effects.iter().filter(|effect| matches!(effect.class, EffectClass::Write | EffectClass::Irreversible)).collect();
        if turns.settings.journaling == Journaling::Off && writes.is_empty() && !self.is_started {
            return Ok(PendingRows::default());
        }
        let journal = turn.journal();
        let id = journal.input.turn.as_str();
        let mut rows = TurnRows::default();
        rows.durable = !writes.is_empty() || self.has_unstored_write(turn);
        let shared = !self.is_started && turns.readers.is_shared();
        if !self.is_started {
            self.add_turn_row(turns, turn, &mut rows)?;
        }
        for (position, entry) in journal.entries.iter().enumerate().skip(self.stored_completions) {
            let effect_id = entry.effect.0;
            rows.add_effect(&EffectRow { turn_id: id, owner: &turns.owner, effect_id, position, entry: Some(entry), at: entry.at });
        }
        self.stored_completions = journal.entries.len();
        self.dispatched_writes.extend(writes.iter().map(|it| it.id.0));
        // Dispatch markers of non-repeatable writes; they sort after all stored completions.
        for effect in writes.iter().filter(|it| !it.repeatable) {
            let (effect_id, at) = (effect.id.0, clock::now());
            rows.add_effect(&EffectRow { turn_id: id, owner: &turns.owner, effect_id, position: usize::from(u16::MAX), entry: None, at });
        }
        if turns.settings.audit == AuditMode::Immediate {
            self.add_audit_rows(turns, turn, notices, &mut rows);
        }
        let waits = rows.durable || shared || turns.settings.journaling == Journaling::Strict;
        Ok(PendingRows { rows, must_wait: waits })
    }

    /// Stores pending rows, and waits for them if required.
    ///
    /// # Errors
    /// Returns [`Refusal::Commit`] when another turn is open or was committed first, or the write fails. The effects must not be dispatched
    /// then.
    pub async fn store(&mut self, turns: &Turns, pending: PendingRows) -> Result<(), Refusal> {
        if !pending.rows.is_empty() {
            let result = turns.writer.enqueue(&self.conversation, pending.rows).await?;
            self.pending_commits.push(result);
        }
        if pending.must_wait { self.wait_until_stored().await } else { Ok(()) }
    }

    /// Waits for all enqueued writes.
    ///
    /// # Errors
    /// Returns the error of the first failed write.
    pub async fn wait_until_stored(&mut self) -> Result<(), Refusal> {
        for result in self.pending_commits.drain(..) {
            result.await.unwrap_or_else(|_| Err(writer_stopped()))?;
        }
        Ok(())
    }

    /// How long the lease of the turn lasts unless it is renewed.
    fn lease(&self, turns: &Turns) -> Duration {
        if self.config.chain().is_some() { turns.chain_settings.lease } else { turns.settings.lease }
    }

    fn add_turn_row(&mut self, turns: &Turns, turn: &Turn, rows: &mut TurnRows) -> Result<(), Refusal> {
        let journal = compress(turn.journal()).map_err(|error| Refusal::Internal(error.to_string()))?;
        let lease = self.lease(turns);
        rows.add_turn(&TurnRow { lease_ms: Some(lease_ms(lease)), ..open_turn_row(turn, &journal, self.row_context(turns)) });
        self.add_owner(turn, rows);
        turns.open_turns.add(&self.turn, lease);
        self.is_started = true;
        // The journal already contains the completions so far.
        self.stored_completions = turn.journal().entries.len();
        Ok(())
    }

    fn add_owner(&self, turn: &Turn, rows: &mut TurnRows) {
        if let Some(owner) = &self.new_owner {
            rows.add_owner(&turn.journal().input.conversation, owner);
        }
    }

    /// Adds the audit rows so far. They reference the conversation, which a first turn must create.
    fn add_audit_rows(&mut self, turns: &Turns, turn: &Turn, notices: &[Notice], rows: &mut TurnRows) {
        let new = notices.get(self.stored_notices..).unwrap_or_default();
        if !new.iter().any(|it| matches!(it.body, NoticeBody::Audit { .. })) {
            return;
        }
        let input = &turn.journal().input;
        if input.session.conversation.is_none() && self.stored_notices == 0 {
            rows.add_created_conversation(&input.conversation, input.at);
        }
        match self.audit_metas(turns, turn) {
            Some(metas) => rows.add_audit(&input.conversation, &meta::notices_with_meta(input, new, &metas), 0),
            None => rows.add_audit(&input.conversation, new, 0),
        }
        self.stored_notices = notices.len();
        rows.add_audit_progress(&input.turn, &turns.owner, u32::try_from(self.stored_notices).unwrap_or(u32::MAX));
    }

    /// Returns the rows of an ended turn. `total_ms` is its duration so far.
    ///
    /// # Errors
    /// Returns an error when the journal cannot be serialized.
    pub fn render_final_rows(
        &self,
        turns: &Turns,
        ended: &EndedTurn<'_>,
        notices: &[Notice],
        total_ms: Millis,
    ) -> std::io::Result<TurnRows> {
        let metas = self.audit_metas(turns, ended.turn);
        let about = RowContext { status: ended.status, audit_metas: metas.as_ref(), ..self.row_context(turns) };
        let mut rows = rows::render_turn(ended.turn, ended.outcome, notices, total_ms, about)?;
        if !self.is_started {
            self.add_owner(ended.turn, &mut rows);
        }
        Ok(rows)
    }

    /// The configuration of the turn.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the row of a new conversation's owner, for a turn that leaves no others.
    pub fn render_owner(&self, turn: &Turn) -> TurnRows {
        let mut rows = TurnRows::default();
        self.add_owner(turn, &mut rows);
        rows
    }

    /// Returns the `_meta` of each notice so far, if it is stored with audit rows. Replays the turn to compute it.
    fn audit_metas(&self, turns: &Turns, turn: &Turn) -> Option<BTreeMap<u32, Map>> {
        let stored = turns.settings.audit_meta && turns.settings.audit != AuditMode::Derived;
        stored.then(|| meta::metas_by_notice(turn.journal(), &self.config))
    }

    fn row_context<'k>(&'k self, turns: &'k Turns) -> RowContext<'k> {
        RowContext {
            status: "closed",
            owner: &turns.owner,
            idempotency_key: self.idempotency_key.as_deref(),
            is_started: self.is_started,
            stored_notices: self.stored_notices,
            derives_audit: turns.settings.audit == AuditMode::Derived,
            workspace: &turns.content.workspace,
            audit_metas: None,
        }
    }
}

/// Rows that must be stored before effects are dispatched, or at the end of the turn.
#[derive(Debug, Default)]
pub struct PendingRows {
    rows: TurnRows,
    /// Whether dispatching waits until they are stored.
    must_wait: bool,
}

impl PendingRows {
    /// The rows of an ended turn.
    pub fn of_end(rows: TurnRows) -> PendingRows {
        PendingRows { rows, must_wait: true }
    }

    /// Returns the rows.
    pub fn into_rows(self) -> TurnRows {
        self.rows
    }
}

impl Drop for JournalWriter {
    fn drop(&mut self) {
        self.open_turns.remove(&self.turn);
    }
}

/// The open turns this process runs, each with the duration of its lease, which is renewed.
#[derive(Debug, Default)]
pub struct OpenTurns(Mutex<BTreeMap<String, Duration>>);

impl OpenTurns {
    /// Returns the turn ids by the duration of their leases.
    pub fn by_lease(&self) -> BTreeMap<Duration, Vec<String>> {
        let mut found: BTreeMap<Duration, Vec<String>> = BTreeMap::new();
        for (turn, lease) in self.lock().iter() {
            found.entry(*lease).or_default().push(turn.clone());
        }
        found
    }

    /// Returns the turn ids.
    pub fn ids(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// Adds a turn, whose lease is renewed from now on.
    pub fn add(&self, turn: &str, lease: Duration) {
        self.lock().insert(turn.to_owned(), lease);
    }

    /// Removes a turn.
    pub fn remove(&self, turn: &str) {
        self.lock().remove(turn);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Duration>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn that has ended and is not stored yet.
#[derive(Debug, Clone, Copy)]
pub struct EndedTurn<'t> {
    /// The turn.
    pub turn: &'t Turn,
    /// Its outcome.
    pub outcome: &'t Outcome,
    /// `closed` or `lost`.
    pub status: &'static str,
}
