//! Stores the end of a turn: its rows, then the session.

use std::sync::Arc;
use std::time::Instant;

use convengine_core::turn::{Effect, LoadedSession, Millis, Notice, Outcome, Turn};
use convengine_storage::turn;
use convengine_storage::turn_rows::{Table, TurnRows};
use convengine_turns::Turns;
use convengine_turns::crash;
use convengine_turns::journal_writer::{EndedTurn, JournalWriter};
use convengine_turns::refusal::Refusal;
use convengine_turns::turn_runner::TurnStore;
use convengine_turns::writer::CommitError;
use restate_sdk::prelude::*;

use super::effects::CANCELLED;
use super::expiry;
use super::object_state::{self, ObjectState, Rowless};
use super::refused_turn::RefusedTurn;
use super::step_log::StepLog;
use super::steps::Steps;
use super::timers::{self, ArmedTimers};
use super::worker_tenant::TurnPolicy;

/// Stores a turn in the object of its conversation, and its rows in the database.
///
/// Before the end nothing is stored: Restate has the results of the effects.
pub struct ObjectStore<'t, 'ctx> {
    ctx: &'t ObjectContext<'ctx>,
    turns: &'t Arc<Turns>,
    tenant: Option<String>,
    conversation: String,
    journal: JournalWriter,
    owner: Option<String>,
    /// The timers from before the turn.
    timers: ArmedTimers,
    rowless: Option<Rowless>,
    policy: TurnPolicy,
    steps: StepLog,
    received: Instant,
    total: Millis,
    arms_timer: bool,
}

/// What a turn keeps of the object, or changes at its end.
#[derive(Debug)]
pub struct StateBefore {
    /// The tenant, if there are tenants.
    pub tenant: Option<String>,
    /// The caller that the conversation belongs to, if any.
    pub owner: Option<String>,
    /// The timers of the session.
    pub timers: ArmedTimers,
    /// Present if the turn leaves no rows.
    pub rowless: Option<Rowless>,
    /// The policy of the turn.
    pub policy: TurnPolicy,
}

/// What is stored at the end of a turn.
pub struct EndOfTurn {
    turn: String,
    rows: TurnRows,
    state: ObjectState,
}

impl<'t, 'ctx> ObjectStore<'t, 'ctx> {
    /// Creates the store of a turn of a conversation in a state.
    pub fn new(
        ctx: &'t ObjectContext<'ctx>,
        turns: &'t Arc<Turns>,
        conversation: &str,
        journal: JournalWriter,
        before: StateBefore,
        steps: StepLog,
    ) -> ObjectStore<'t, 'ctx> {
        let (StateBefore { tenant, owner, timers, rowless, policy }, conversation) = (before, conversation.to_owned());
        ObjectStore {
            ctx,
            turns,
            tenant,
            conversation,
            journal,
            owner,
            timers,
            rowless,
            policy,
            steps,
            received: Instant::now(),
            total: 0,
            arms_timer: false,
        }
    }

    /// Arms the timers of the session that is about to be stored.
    async fn arm_timers(&self, state: &mut ObjectState) -> Result<(), Refusal> {
        loop {
            match timers::arm(self.ctx, self.tenant.as_deref(), &self.conversation, &state.session, state.timers.clone()).await {
                Ok(timers) => {
                    state.timers = timers;
                    return Ok(());
                }
                // A turn that has ended is stored, also when it is cancelled now. Of a timer with two calls, the second finds nothing to fire.
                Err(error) if error.code() == CANCELLED => {}
                Err(error) => return Err(Refusal::Internal(error.message().to_owned())),
            }
        }
    }

    /// How long the stored turn took in this attempt.
    pub fn total(&self) -> Millis {
        self.total
    }

    /// Whether the stored turn armed a timer.
    pub fn arms_timer(&self) -> bool {
        self.arms_timer
    }
}

impl TurnStore for ObjectStore<'_, '_> {
    type Prepared = Option<EndOfTurn>;

    fn prepare(&mut self, _turn: &Turn, _notices: &[Notice], _effects: &[Effect]) -> Result<Self::Prepared, Refusal> {
        Ok(None)
    }

    fn prepare_end(&mut self, turn: &Turn, notices: &[Notice], outcome: &Outcome) -> Result<Self::Prepared, Refusal> {
        let internal = |it: String| Refusal::Internal(it);
        self.total = Millis::try_from(self.received.elapsed().as_millis()).unwrap_or(Millis::MAX);
        let journal = turn.journal();
        self.steps.check(&journal.entries, journal.canceled.is_some()).map_err(internal)?;
        let ended = EndedTurn { turn, outcome, status: "closed" };
        let rows = match self.rowless {
            None => self.journal.render_final_rows(self.turns, &ended, notices, self.total).map_err(|error| internal(error.to_string()))?,
            Some(_) => self.journal.render_owner(turn),
        };
        self.arms_timer = rows.find(Table::Timer).is_some();
        let input = &turn.journal().input;
        let mut session: LoadedSession = input.session.clone().with_writes(&outcome.writes);
        // What the rows are loaded as.
        session.history.retain(|entry| !entry.user.trim().is_empty() && !entry.assistant.trim().is_empty());
        session.history.truncate(self.journal.config().settings.history_max_turns);
        let (timers, rowless) = (std::mem::take(&mut self.timers), self.rowless.take());
        let state = ObjectState { session, owner: self.owner.clone(), timers, rowless };
        Ok(Some(EndOfTurn { turn: input.turn.clone(), rows, state }))
    }

    async fn store(&mut self, _prepared: Self::Prepared) -> Result<(), Refusal> {
        Ok(())
    }

    async fn commit(&mut self, prepared: Self::Prepared) -> Result<(), Refusal> {
        let Some(EndOfTurn { turn, rows, mut state }) = prepared else { return Ok(()) };
        let rows = Arc::new(rows);
        while !rows.is_empty() {
            let (turns, conversation, turn, rows) = (Arc::clone(self.turns), self.conversation.clone(), turn.clone(), Arc::clone(&rows));
            let step = async move { project(&turns, &conversation, &turn, &rows).await.map(Json) };
            match self.ctx.step("store the rows", step).await {
                Ok(Json(None)) => break,
                Ok(Json(Some(refused))) => {
                    if state.rowless.is_none() {
                        // The rows may be ahead of the state, so the next turn starts from them.
                        self.ctx.clear(object_state::KEY);
                    }
                    return Err(refused.into());
                }
                // A turn that has ended is stored, also when it is cancelled now.
                Err(error) if error.code() == CANCELLED => {}
                Err(error) => return Err(Refusal::Internal(error.message().to_owned())),
            }
        }
        if self.policy.fires_timers
            && let Err(refusal) = self.arm_timers(&mut state).await
        {
            self.ctx.clear(object_state::KEY);
            return Err(refusal);
        }
        if let (Some(rowless), Some(period)) = (&mut state.rowless, self.policy.retention) {
            let due = expiry::find_due(&state.session, period);
            // The call that it has looks again later, unless the period has become shorter.
            if rowless.expiry.as_ref().is_none_or(|timer| timer.due() > due) {
                if let Some(later) = rowless.expiry.take() {
                    self.ctx.invocation_handle(later.invocation().to_owned()).cancel();
                }
                rowless.expiry = expiry::arm(self.ctx, self.tenant.clone(), due).await;
            }
        }
        self.ctx.set(object_state::KEY, state.to_bytes().map_err(|error| Refusal::Internal(error.to_string()))?);
        Ok(())
    }
}

/// Writes the rows of a turn, unless they are written. Returns the reason if they cannot be; fails when they are to be written again.
async fn project(turns: &Turns, conversation: &str, turn: &str, rows: &TurnRows) -> HandlerResult<Option<RefusedTurn>> {
    crash::point("before the commit");
    let refused = match turns.writer.commit(conversation, rows.clone()).await {
        Ok(()) => None,
        Err(CommitError::Unavailable(reason)) => return Err(HandlerError::from(reason)),
        Err(error) => {
            // An earlier attempt may have written them and died before that was journaled.
            let stored = turn::find(&turns.readers, turn).await.map_err(HandlerError::from)?;
            match error {
                _ if stored.is_some() => None,
                CommitError::SameMessage => Some(RefusedTurn::KeyReused),
                error => Some(RefusedTurn::from(Refusal::from(error))),
            }
        }
    };
    crash::point("after the commit");
    Ok(refused)
}
