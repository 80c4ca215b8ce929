//! Write-ahead journaling of turns, so that an interrupted turn can be recovered. (docs/spec/architecture.md#6)
//!
//! | when | stored | awaited |
//! |---|---|---|
//! | the turn first waits for effects | its input | if several processes serve the database |
//! | an effect completes | its completion | if the effect is a write |
//! | before a write is dispatched | everything so far, with a dispatch marker | yes |
//! | the turn ends | all rows of the turn, in one transaction | yes |

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::config::Config;
use convengine_core::turn::{Class, Effect, Map, Millis, Notice, NoticeBody, Outcome, Turn};
use tokio::sync::oneshot;

use crate::audit::meta;
use crate::clock;
use crate::drive::{Host, Refusal};
use crate::rows::{self, About, turn_row};
use crate::settings::{AuditMode, Journaling};
use crate::spend::Spend;
use crate::store::commit::is_empty;
use crate::store::turn::{StoredTurn, compress};
use crate::store::turn_rows::{EffectRow, TurnRow, TurnRows};
use crate::writer::{CommitError, gone};

/// Writes the journal of a running turn to the database.
#[derive(Debug)]
pub struct Kept {
    open: Arc<OpenTurns>,
    spend: Arc<Spend>,
    turn: String,
    key: Option<String>,
    /// The configuration it runs on.
    config: Arc<Config>,
    /// Whether the turn's row is stored.
    begun: bool,
    /// The number of stored completions.
    answers: usize,
    /// The number of leading notices whose audit rows are stored.
    audited: usize,
    /// Dispatched write effects, whose completions must be stored before the turn continues.
    writes: Vec<u32>,
    /// Enqueued writes that were not awaited.
    waiting: Vec<oneshot::Receiver<Result<(), CommitError>>>,
}

impl Kept {
    /// Creates a writer for a new turn.
    pub fn new(host: &Host, turn: &str, key: Option<String>, config: Arc<Config>) -> Kept {
        Kept {
            open: Arc::clone(&host.open),
            spend: Arc::clone(&host.spend),
            turn: turn.to_owned(),
            key,
            config,
            begun: false,
            answers: 0,
            audited: 0,
            writes: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Creates a writer for a claimed turn with `answers` stored completions.
    pub fn taken_over(host: &Host, stored: &StoredTurn, answers: usize, config: Arc<Config>) -> Kept {
        host.open.add(&stored.turn_id);
        let audited = usize::try_from(stored.audited).unwrap_or(0);
        let mut writer = Kept::new(host, &stored.turn_id, stored.message_key.clone(), config);
        (writer.begun, writer.answers, writer.audited) = (true, answers, audited);
        writer
    }

    /// Returns whether the completion of a write is not stored yet. It must be stored before the turn can fail.
    pub fn owes(&self, turn: &Turn) -> bool {
        turn.journal().entries.iter().skip(self.answers).any(|it| self.writes.contains(&it.effect.0))
    }

    /// Returns the rows that must be stored before effects are dispatched, for [`Kept::store`].
    ///
    /// # Errors
    /// Returns [`Refusal::Defect`] when the journal cannot be serialized.
    pub fn before(&mut self, host: &Host, turn: &Turn, notices: &[Notice], effects: &[Effect]) -> Result<Before, Refusal> {
        let writes: Vec<&Effect> = effects.iter().filter(|it| matches!(it.class, Class::Write | Class::Irreversible)).collect();
        if host.turns.journaling == Journaling::Off && writes.is_empty() && !self.begun {
            return Ok(Before { rows: TurnRows::default(), waits: false });
        }
        let journal = turn.journal();
        let id = journal.input.turn.as_str();
        let mut rows = TurnRows { durable: !writes.is_empty() || self.owes(turn), ..TurnRows::default() };
        let shared = !self.begun && host.readers.is_shared();
        if !self.begun {
            self.begin(host, turn, &mut rows)?;
        }
        for (position, entry) in journal.entries.iter().enumerate().skip(self.answers) {
            let effect_id = entry.effect.0;
            rows.effect(&EffectRow { turn_id: id, owner: &host.owner, effect_id, position, entry: Some(entry), at: entry.at });
        }
        self.answers = journal.entries.len();
        self.writes.extend(writes.iter().map(|it| it.id.0));
        // Dispatch markers of non-repeatable writes; they sort after all stored completions.
        for effect in writes.iter().filter(|it| !it.repeatable) {
            let (effect_id, at) = (effect.id.0, clock::now());
            rows.effect(&EffectRow { turn_id: id, owner: &host.owner, effect_id, position: usize::from(u16::MAX), entry: None, at });
        }
        if host.turns.audit == AuditMode::Immediate {
            self.tell(host, turn, notices, &mut rows);
        }
        let waits = rows.durable || shared || host.turns.journaling == Journaling::Strict;
        Ok(Before { rows, waits })
    }

    /// Stores pending rows, and waits for them if required.
    ///
    /// # Errors
    /// Returns [`Refusal::Commit`] when another turn is open or was committed first, or the write fails. The effects must not be dispatched
    /// then.
    pub async fn store(&mut self, host: &Host, pending: Before) -> Result<(), Refusal> {
        if !is_empty(&pending.rows) {
            let result = host.writer.hand_over(pending.rows).await?;
            self.waiting.push(result);
        }
        if pending.waits { self.settled().await } else { Ok(()) }
    }

    /// Waits for all enqueued writes.
    ///
    /// # Errors
    /// Returns the error of the first failed write.
    pub async fn settled(&mut self) -> Result<(), Refusal> {
        for result in self.waiting.drain(..) {
            result.await.unwrap_or_else(|_| Err(gone()))?;
        }
        Ok(())
    }

    fn begin(&mut self, host: &Host, turn: &Turn, rows: &mut TurnRows) -> Result<(), Refusal> {
        let journal = compress(turn.journal()).map_err(|it| Refusal::Defect(it.to_string()))?;
        let lease_ms = i64::try_from(host.turns.lease.as_millis()).unwrap_or(i64::MAX);
        rows.turn(&TurnRow { lease_ms: Some(lease_ms), ..turn_row(turn, &journal, self.about(host)) });
        host.open.add(&self.turn);
        self.begun = true;
        // The journal already contains the completions so far.
        self.answers = turn.journal().entries.len();
        Ok(())
    }

    /// Adds the audit rows so far. They reference the conversation, which a first turn must create.
    fn tell(&mut self, host: &Host, turn: &Turn, notices: &[Notice], rows: &mut TurnRows) {
        let new = notices.get(self.audited..).unwrap_or_default();
        if !new.iter().any(|it| matches!(it.body, NoticeBody::Audit { .. })) {
            return;
        }
        let input = &turn.journal().input;
        if input.session.conversation.is_none() && self.audited == 0 {
            rows.created(&input.conversation, input.at);
        }
        match self.metas(host, turn) {
            Some(metas) => rows.audit(&input.conversation, &meta::within(input, new, &metas), 0),
            None => rows.audit(&input.conversation, new, 0),
        }
        self.audited = notices.len();
        rows.told(&input.turn, &host.owner, u32::try_from(self.audited).unwrap_or(u32::MAX));
    }

    /// Returns the rows of an ended turn. `total_ms` is its duration so far.
    ///
    /// # Errors
    /// Returns an error when the journal cannot be serialized.
    pub fn end(&self, host: &Host, ended: &Ended, notices: &[Notice], total_ms: Millis) -> std::io::Result<TurnRows> {
        let metas = self.metas(host, &ended.turn);
        let about = About { status: ended.status, metas: metas.as_ref(), ..self.about(host) };
        let mut rows = rows::of_turn(&ended.turn, &ended.outcome, notices, total_ms, about)?;
        self.spend.leave(ended.turn.journal(), &mut rows);
        Ok(rows)
    }

    /// Records that the rows of the ended turn are stored.
    pub fn stored(&self) {
        self.spend.stored(&self.turn);
    }

    /// Returns the `_meta` of each notice so far, if it is stored with audit rows. Replays the turn to compute it.
    fn metas(&self, host: &Host, turn: &Turn) -> Option<BTreeMap<u32, Map>> {
        let stored = host.turns.audit_meta && host.turns.audit != AuditMode::Derived;
        stored.then(|| meta::of(turn.journal(), &self.config))
    }

    fn about<'k>(&'k self, host: &'k Host) -> About<'k> {
        About {
            status: "closed",
            owner: &host.owner,
            key: self.key.as_deref(),
            begun: self.begun,
            audited: self.audited,
            derived: host.turns.audit == AuditMode::Derived,
            workspace: &host.workspace,
            metas: None,
        }
    }
}

/// Rows that must be stored before effects are dispatched.
#[derive(Debug)]
pub struct Before {
    rows: TurnRows,
    /// Whether dispatching waits until they are stored.
    waits: bool,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.open.remove(&self.turn);
        self.spend.gone(&self.turn, self.begun);
    }
}

/// The open turns this process runs, whose leases are renewed.
#[derive(Debug, Default)]
pub struct OpenTurns(Mutex<BTreeSet<String>>);

impl OpenTurns {
    /// Returns the turn ids.
    pub fn ids(&self) -> Vec<String> {
        self.set().iter().cloned().collect()
    }

    fn add(&self, turn: &str) {
        self.set().insert(turn.to_owned());
    }

    fn remove(&self, turn: &str) {
        self.set().remove(turn);
    }

    fn set(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn that has ended and is not stored yet.
#[derive(Debug)]
pub struct Ended {
    /// The turn.
    pub turn: Turn,
    /// Its outcome.
    pub outcome: Outcome,
    /// `closed` or `lost`.
    pub status: &'static str,
}
