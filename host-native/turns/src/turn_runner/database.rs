//! The runtime of a database: rows and journal in its tables, effects executed by this process.

use std::sync::Arc;
use std::time::Instant;

use convengine_content::config::active::ActiveConfig;
use convengine_core::turn::{CancelReason, Completion, Effect, EffectId, EffectResult, Millis, Notice, Outcome, Turn};
use convengine_host_base::processor_share::WorkPlace;
use convengine_host_base::work_class::in_current_class;
use convengine_storage::chain::run;
use convengine_storage::turn_rows::Table;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::enter;
use super::runtime::{Clock, Effects, Progress, Publisher, TurnStore};
use crate::Turns;
use crate::effects::execute_effect;
use crate::journal_writer::{EndedTurn, JournalWriter, PendingRows};
use crate::recovery;
use crate::refusal::Refusal;
use crate::stop_signals::StopSignal;
use crate::stream::{TokenPublisher, TurnPublisher};

/// Stores a turn in the database of a host.
#[derive(Debug)]
pub struct DatabaseStore<'h> {
    turns: &'h Turns,
    conversation: String,
    journal: JournalWriter,
    /// The final row status: `closed` or `lost`.
    status: &'static str,
    received: Instant,
    /// How long the stored turn took.
    total: Millis,
    arms_timer: bool,
}

impl<'h> DatabaseStore<'h> {
    /// Creates the store of a turn of a conversation.
    pub fn new(turns: &'h Turns, conversation: &str, journal: JournalWriter, status: &'static str, received: Instant) -> Self {
        DatabaseStore { turns, conversation: conversation.to_owned(), journal, status, received, total: 0, arms_timer: false }
    }

    /// How long the stored turn took.
    pub fn total(&self) -> Millis {
        self.total
    }

    /// Whether the stored turn armed a timer.
    pub fn arms_timer(&self) -> bool {
        self.arms_timer
    }
}

impl TurnStore for DatabaseStore<'_> {
    type Prepared = PendingRows;

    fn prepare(&mut self, turn: &Turn, notices: &[Notice], effects: &[Effect]) -> Result<PendingRows, Refusal> {
        // A turn that ends stores its rows with its end, except for a write that happened, whatever becomes of the rows.
        if effects.is_empty() && !self.journal.has_unstored_write(turn) {
            return Ok(PendingRows::default());
        }
        self.journal.prepare(self.turns, turn, notices, effects)
    }

    fn prepare_end(&mut self, turn: &Turn, notices: &[Notice], outcome: &Outcome) -> Result<PendingRows, Refusal> {
        self.total = Millis::try_from(self.received.elapsed().as_millis()).unwrap_or(Millis::MAX);
        let ended = EndedTurn { turn, outcome, status: self.status };
        let rows = self
            .journal
            .render_final_rows(self.turns, &ended, notices, self.total)
            .map_err(|error| Refusal::Internal(error.to_string()))?;
        self.arms_timer = rows.find(Table::Timer).is_some();
        Ok(PendingRows::of_end(rows))
    }

    async fn store(&mut self, prepared: PendingRows) -> Result<(), Refusal> {
        self.journal.store(self.turns, prepared).await
    }

    async fn commit(&mut self, prepared: PendingRows) -> Result<(), Refusal> {
        if let Err(error) = self.turns.writer.commit(&self.conversation, prepared.into_rows()).await {
            // A failed earlier write, which was not awaited, is the root cause.
            self.journal.wait_until_stored().await?;
            return Err(error.into());
        }
        Ok(())
    }
}

/// Executes the effects of a turn in this process.
#[derive(Debug)]
pub struct HostEffects<'h> {
    turns: &'h Arc<Turns>,
    configured: Arc<ActiveConfig>,
    running: JoinSet<Completion>,
    deadline: tokio::time::Instant,
    stop: Option<StopSignal<'h>>,
    /// Non-repeatable effects that were dispatched before a crash.
    interrupted: Vec<EffectId>,
    started: usize,
    conversation: String,
    /// Held while the turn works, not while it waits for its effects.
    place: WorkPlace,
}

impl<'h> HostEffects<'h> {
    /// Creates the executor of a turn of a conversation, which is cancelled when it takes too long. `interrupted` are the effects that fail
    /// because nobody knows whether they were executed.
    pub fn new(
        turns: &'h Arc<Turns>,
        configured: Arc<ActiveConfig>,
        conversation: &str,
        interrupted: Vec<EffectId>,
        place: WorkPlace,
    ) -> Self {
        let deadline = tokio::time::Instant::now() + turns.settings.max_duration;
        let stop = configured.config.chain().is_some().then(|| turns.stop_signals.register(conversation));
        HostEffects {
            turns,
            configured,
            running: JoinSet::new(),
            deadline,
            stop,
            interrupted,
            started: 0,
            conversation: conversation.to_owned(),
            place,
        }
    }

    /// The number of effects that were started.
    pub fn started(&self) -> usize {
        self.started
    }
}

impl Effects for HostEffects<'_> {
    async fn find_cancellation(&mut self) -> Result<Option<CancelReason>, Refusal> {
        // Another process may have begun the step, and died before it could be stopped.
        let Some(stop) = &self.stop else { return Ok(None) };
        Ok(run::is_cancelled(&self.turns.readers, stop.session()).await?.then_some(CancelReason::Requested))
    }

    fn start(&mut self, effect: Effect, tokens: Option<TokenPublisher>) {
        self.started += 1;
        if self.interrupted.contains(&effect.id) {
            let outcome = EffectResult::Error(recovery::interrupted_error());
            self.running.spawn(std::future::ready(Completion { id: effect.id, at: self.turns.clock.now(), outcome }));
        } else {
            let completion = execute_effect(Arc::clone(self.turns), Arc::clone(&self.configured), tokens, effect);
            self.running.spawn(in_current_class(completion.in_current_span()));
        }
    }

    async fn next(&mut self) -> Result<Progress, Refusal> {
        self.place = WorkPlace::free();
        let progress = tokio::select! {
            completed = self.running.join_next() => match completed {
                Some(completion) => completion.map(Progress::Completed).map_err(|error| Refusal::Internal(error.to_string())),
                None => Ok(Progress::Idle),
            },
            () = tokio::time::sleep_until(self.deadline) => Ok(Progress::Cancelled(CancelReason::Timeout)),
            () = wait_for_stop(self.stop.as_ref()) => Ok(Progress::Cancelled(CancelReason::Requested)),
        };
        if matches!(progress, Ok(Progress::Completed(_))) {
            self.place = enter(self.turns, &self.conversation).await;
        }
        progress
    }

    fn stop(&mut self) {
        // Dropping the set stops its tasks.
        self.running = JoinSet::new();
    }
}

/// Waits until a turn is to be stopped; forever for one that cannot be.
async fn wait_for_stop(stop: Option<&StopSignal<'_>>) {
    match stop {
        Some(stop) => stop.wait().await,
        None => std::future::pending().await,
    }
}

/// The clock of a host.
#[derive(Debug)]
pub struct HostClock<'h>(pub &'h Turns);

impl Clock for HostClock<'_> {
    async fn now(&mut self) -> Result<Millis, Refusal> {
        Ok(self.0.clock.now())
    }
}

impl Publisher for TurnPublisher<'_> {
    fn add_notices(&mut self, notices: &mut Vec<Notice>) {
        TurnPublisher::add_notices(self, notices);
    }

    fn read_notices<T>(&self, read: impl FnOnce(&[Notice]) -> T) -> T {
        read(&self.notices())
    }

    fn publish(&mut self) {
        TurnPublisher::publish(self);
    }

    fn start_effect(&mut self, effect: &Effect) -> Option<TokenPublisher> {
        self.send_effect_started(effect);
        self.token_publisher(effect)
    }

    fn finish_effect(&mut self, completion: &Completion) {
        self.send_effect_finished(completion);
    }
}
