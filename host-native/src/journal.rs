//! What of a turn is stored before it ends, so that whoever finds it after a crash can finish it. (`architecture.md` 6)
//!
//! | moment | stored | waited for |
//! |---|---|---|
//! | the turn waits for the first time | its input | where several processes serve the database |
//! | an answer has come | the answer | when it is that of a write |
//! | a write is about to leave | everything so far, and that it leaves | yes |
//! | the end | all rows of the turn, in one transaction | yes |

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

/// A turn on its way into the database.
#[derive(Debug)]
pub struct Kept {
    open: Arc<OpenTurns>,
    spend: Arc<Spend>,
    turn: String,
    key: Option<String>,
    /// What it runs under.
    config: Arc<Config>,
    /// Whether its input is stored.
    begun: bool,
    /// How many of its answers are stored.
    answers: usize,
    /// How many notices, from the first, have their audit rows stored.
    audited: usize,
    /// Effects that change the world and have left: their answers are stored before anything else happens.
    writes: Vec<u32>,
    /// What was handed over and not waited for.
    waiting: Vec<oneshot::Receiver<Result<(), CommitError>>>,
}

impl Kept {
    /// A turn of which nothing is stored.
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

    /// A turn that was taken over, with how many of its answers are stored.
    pub fn taken_over(host: &Host, stored: &StoredTurn, answers: usize, config: Arc<Config>) -> Kept {
        host.open.add(&stored.turn_id);
        let audited = usize::try_from(stored.audited).unwrap_or(0);
        let mut kept = Kept::new(host, &stored.turn_id, stored.message_key.clone(), config);
        (kept.begun, kept.answers, kept.audited) = (true, answers, audited);
        kept
    }

    /// Whether the answer of a write is not stored yet: it must be before anything can go wrong with the rest of the turn.
    pub fn owes(&self, turn: &Turn) -> bool {
        turn.journal().entries.iter().skip(self.answers).any(|it| self.writes.contains(&it.effect.0))
    }

    /// What must be stored before effects leave; for [`Kept::store`].
    ///
    /// # Errors
    /// When the journal cannot be serialised.
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
        // The mark of what must not leave a second time; its place is behind every answer that is stored.
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

    /// Stores it.
    ///
    /// # Errors
    /// When another turn of the conversation is open or was first, or the database does not take it: the effects must not leave.
    pub async fn store(&mut self, host: &Host, before: Before) -> Result<(), Refusal> {
        if !is_empty(&before.rows) {
            let answer = host.writer.hand_over(before.rows).await?;
            self.waiting.push(answer);
        }
        if before.waits { self.settled().await } else { Ok(()) }
    }

    /// Waits for everything that was handed over.
    ///
    /// # Errors
    /// The first that was not stored.
    pub async fn settled(&mut self) -> Result<(), Refusal> {
        for answer in self.waiting.drain(..) {
            answer.await.unwrap_or_else(|_| Err(gone()))?;
        }
        Ok(())
    }

    fn begin(&mut self, host: &Host, turn: &Turn, rows: &mut TurnRows) -> Result<(), Refusal> {
        let journal = compress(turn.journal()).map_err(|it| Refusal::Defect(it.to_string()))?;
        let lease_ms = i64::try_from(host.turns.lease.as_millis()).unwrap_or(i64::MAX);
        rows.turn(&TurnRow { lease_ms: Some(lease_ms), ..turn_row(turn, &journal, self.about(host)) });
        host.open.add(&self.turn);
        self.begun = true;
        // The answers so far are in the journal.
        self.answers = turn.journal().entries.len();
        Ok(())
    }

    /// The audit rows so far; they refer to the conversation, which a first turn has not stored yet.
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

    /// The rows of the turn's end; `total_ms` is how long it took so far.
    ///
    /// # Errors
    /// When the journal cannot be serialised.
    pub fn end(&self, host: &Host, ended: &Ended, notices: &[Notice], total_ms: Millis) -> std::io::Result<TurnRows> {
        let metas = self.metas(host, &ended.turn);
        let about = About { status: ended.status, metas: metas.as_ref(), ..self.about(host) };
        let mut rows = rows::of_turn(&ended.turn, &ended.outcome, notices, total_ms, about)?;
        self.spend.leave(ended.turn.journal(), &mut rows);
        Ok(rows)
    }

    /// The rows of the turn's end are stored.
    pub fn stored(&self) {
        self.spend.stored(&self.turn);
    }

    /// The session at each notice so far, where audit rows are stored with it: the turn is run again for it.
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

/// Rows that must be stored before effects leave.
#[derive(Debug)]
pub struct Before {
    rows: TurnRows,
    /// Whether the effects wait until they are.
    waits: bool,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.open.remove(&self.turn);
        self.spend.gone(&self.turn, self.begun);
    }
}

/// The open turns that this process runs: their leases are renewed.
#[derive(Debug, Default)]
pub struct OpenTurns(Mutex<BTreeSet<String>>);

impl OpenTurns {
    /// Their ids.
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
    /// Its end.
    pub outcome: Outcome,
    /// `closed` or `lost`.
    pub status: &'static str,
}
