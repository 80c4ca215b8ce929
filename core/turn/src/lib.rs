//! The turn protocol: what a host passes to the core, what it gets back, and how a turn is journaled.
//!
//! This layer does not know pipelines or configuration content. A [`TurnMachine`] is one future, polled by hand; the only thing it can wait
//! for is an effect requested through the [`EffectContext`].
//!
//! ```text
//! TurnInput ─► launch ─► Slice: notices, effects        publish the notices, then start the effects
//!                          ▲                  │
//!                       resume ◄── Completion ┘         the result of an effect, and when it arrived
//!                          ▼
//!                        Slice: notices, end            commit the writes of the outcome
//!
//! Journal = TurnInput + completions: everything else can be derived from it
//! ```
//!
//! Hosts do not use the machine: the `Turn` of `convengine-core` wraps it and selects the program by the configuration. The machine is for
//! programs of another kind, and for unit tests of code that waits:
//!
//! ```
//! use convengine_turn::{
//!     Completion, EffectContext, EffectResult, LaunchMode, LoadedSession, Observation, Outcome, Payload, PayloadKind, Program, ProgramRef,
//!     Reply, SleepRequest, TurnInput, TurnMachine, UserEvent,
//! };
//!
//! let program = |input: TurnInput, effects: EffectContext| -> Program {
//!     Box::pin(async move {
//!         let has_slept = effects.perform(SleepRequest::new(250)).await.is_ok();
//!         let value = format!("slept: {has_slept}, now: {}", effects.now());
//!         let payload = Some(Payload { kind: PayloadKind::Text, value });
//!         Outcome { payload, fault: None, ..Outcome::for_lost_turn(&input.conversation) }
//!     })
//! };
//! let input = TurnInput {
//!     turn: "t-1".to_owned(),
//!     conversation: "c-1".to_owned(),
//!     at: 1_000,
//!     seed: 7,
//!     program: ProgramRef::PipelineV2,
//!     event: UserEvent::default(),
//!     session: LoadedSession::default(),
//! };
//! let mode = LaunchMode { defer_end: false, is_replay: false, observation: Observation::Nothing };
//! let (mut turn, slice) = TurnMachine::launch(input, "hash of the configuration".to_owned(), mode, program)?;
//! assert_eq!(slice.effects[0].key, "t-1/0");
//!
//! let completion = Completion { id: slice.effects[0].id, at: 1_250, outcome: EffectResult::Ok(Reply::Slept) };
//! let outcome = turn.resume(vec![completion])?.end.ok_or("the turn waits")?;
//! assert_eq!(outcome.payload.ok_or("no answer")?.value, "slept: true, now: 1250");
//! assert_eq!(turn.journal().entries.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod backoff;
mod call_approval;
mod cancel;
mod circuit_breaker;
mod effect;
mod effect_context;
mod effect_id;
mod error;
mod explanation;
mod fault;
mod input;
mod join;
mod journal;
mod launch_mode;
mod llm_call_row;
mod notice;
mod outcome;
mod request;
mod rng;
mod rows;
mod state_machine;

pub use call_approval::{CallApproval, CallApprovalEvent};
pub use cancel::{CancelReason, CancelledTurn};
pub use circuit_breaker::{BreakerEvent, BreakerState, CallPermit, CircuitBreakers};
pub use effect::{Completion, Effect};
pub use effect_context::{EffectContext, SessionView};
pub use effect_id::EffectId;
pub use error::{Divergence, EffectError, EffectErrorDetail, EffectErrorKind, TurnError};
pub use explanation::{Candidate, Explanation, TOO_MANY_STEPS, Verdict};
pub use fault::{Fault, FaultCode, FaultReport};
pub use input::{LoadedSession, ProgramRef, TurnInput, UserEvent};
pub use join::{BoxFuture, join};
pub use journal::{Journal, JournalEntry, JournalHeader, PROTOCOL};
pub use launch_mode::{LaunchMode, Observation};
pub use notice::{AuditPayload, Level, Notice, NoticeBody, VerboseNotice};
pub use outcome::CHILDREN;
pub use outcome::{Outcome, Payload, PayloadKind, SessionAfter, state_hash};
pub use request::{
    BreakerPolicy, ContainerReply, ContainerRequest, EffectClass, EffectResult, EmbedReply, EmbedRequest, ExtensionReply, ExtensionRequest,
    HttpCaller, HttpReply, HttpRequest, LLM_PURPOSES, LlmMode, LlmReply, LlmRequest, MCP_GROUP, Operation, Patch, Reply, Request,
    RetryConditions, STUB_ADDRESS, SecretHeader, SleepRequest, SqlReply, SqlRequest, TaskContainer, TaskProgress, TaskReply, TaskRequest,
    TaskUse, ToolReply, ToolRequest, Usage,
};
pub use request::{
    IntentSimilarity, KNOWLEDGE_LIST_DEPTH, KnowledgeReply, KnowledgeRequest, LlmDialogue, LlmMessage, LlmRole, LlmTool, LlmToolCall,
    MAX_SCRIPT_TIMEOUT_MS, PHRASE_SEARCH_DEPTH, Passage, PhraseSearchReply, PhraseSearchRequest, ScriptFailure, ScriptLimits, ScriptReply,
    ScriptRequest, VectorHit,
};
pub use rng::{Rng, uuid_from_seed};
pub use rows::{ConversationRow, Exchange, HistoryRow, LlmCallRow, MemoryRow, Write};
pub use state_machine::{StateMachine, StateTransition};

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z. They come in with the input and the completions only, because the core reads no clock.
pub type Millis = i64;

/// A JSON object in insertion order, which models and clients see; hashes sort the names.
pub type Map = serde_json::Map<String, serde_json::Value>;

/// What the core returns between two suspensions.
///
/// The host publishes the notices before it starts the effects; `end` is present once, in the last slice. The effects of a slice may run at
/// the same time and be completed in any order, one by one or several at once. A slice without effects and without an end is not stuck:
/// effects of earlier slices are still open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[must_use = "notices must be published and effects answered"]
pub struct Slice {
    /// Requested effects, each to be answered exactly once.
    pub effects: Vec<Effect>,
    /// Numbered output that is never answered.
    pub notices: Vec<Notice>,
    /// The end of the turn, with the rows to commit.
    pub end: Option<Outcome>,
}

impl Slice {
    fn append(&mut self, next: Slice) {
        self.effects.extend(next.effects);
        self.notices.extend(next.notices);
        self.end = next.end.or(self.end.take());
    }
}

/// The code of a turn; it accesses the outside through the [`EffectContext`] only.
///
/// Nothing wakes it: the machine polls it after each completion. A timer, a channel or a lock that is awaited in it is reported as
/// [`TurnError::Stalled`].
pub type Program = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// The processing of one user event by a program; see the [example of the crate](crate).
///
/// A machine that is dropped leaves nothing behind: everything that has to outlive it is in the journal and in the slices.
pub struct TurnMachine {
    effects: EffectContext,
    program: Program,
    journal: Journal,
    has_ended: bool,
}

impl std::fmt::Debug for TurnMachine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnMachine").field("journal", &self.journal).field("ended", &self.has_ended).finish_non_exhaustive()
    }
}

impl TurnMachine {
    /// Runs a program to its first wait. The caller selects it.
    ///
    /// `config` is the content hash of the configuration, which the header of the journal names.
    ///
    /// # Errors
    /// [`TurnError::Stalled`] when the program waits for something other than an effect.
    pub fn launch(
        input: TurnInput,
        config: String,
        mode: LaunchMode,
        program: impl FnOnce(TurnInput, EffectContext) -> Program,
    ) -> Result<(TurnMachine, Slice), TurnError> {
        let effects = EffectContext::new(input.turn.clone(), input.at, input.seed, mode);
        effects.set_end_deferred(mode.defer_end);
        let journal = Journal::new(config, input.clone());
        let program = program(input, effects.clone());
        let mut turn = TurnMachine { effects, program, journal, has_ended: false };
        let slice = turn.poll()?;
        Ok((turn, slice))
    }

    /// Continues with answers to effects, in the order given. Answers after the end are ignored.
    ///
    /// The program is polled after each answer, so two answers in one call do the same as two calls. The slice has what all of them led to.
    ///
    /// # Errors
    /// [`TurnError::UnknownEffect`] for an effect that was not requested or is answered already; no answer is used then, and the turn can
    /// be resumed with the others. [`TurnError::Stalled`] when the program waits for something other than an effect.
    pub fn resume(&mut self, completions: Vec<Completion>) -> Result<Slice, TurnError> {
        if self.has_ended {
            return Ok(Slice::default());
        }
        // All are checked first: the slice of an earlier answer must not be lost to the error of a later one.
        self.effects.check_completions(&completions)?;
        let mut slice = Slice::default();
        for completion in completions {
            // A batch is a sequence: polling after each answer gives a replay the same clock and the same order.
            slice.append(self.complete(completion)?);
        }
        Ok(slice)
    }

    /// Cancels the turn; the slice has its last notices and its end, which is that of a failed turn.
    ///
    /// Open effects are dropped by the host, and their later answers are ignored. The slice is empty for a turn that has ended.
    ///
    /// # Errors
    /// [`TurnError::Stalled`] is a bug in the core.
    pub fn cancel(&mut self, reason: CancelReason, at: Millis) -> Result<Slice, TurnError> {
        if self.has_ended {
            return Ok(Slice::default());
        }
        let abandoned = CancelledTurn { reason, at: self.effects.cancel(reason, at) };
        self.journal.canceled = Some(abandoned);
        self.poll()
    }

    /// The turn's journal so far.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The turn's clock: the host's time of the latest answer.
    pub fn now(&self) -> Millis {
        self.effects.now()
    }

    /// Whether the outcome has been returned.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Reads the session views before and after each step so far; there are none unless the turn is observed.
    pub fn read_views<T>(&self, read: impl FnOnce(&[SessionView]) -> T) -> T {
        self.effects.read_views(read)
    }

    /// The explanations of the decisions so far; empty unless the turn is observed.
    pub fn explanations(&self) -> Vec<Explanation> {
        self.effects.explanations()
    }

    /// The ports by which nodes of a flow were left so far, each as `graph/node:port`; empty unless the turn is observed or a replay.
    pub fn ports(&self) -> Vec<String> {
        self.effects.ports()
    }

    /// The transitions of states that the turn has taken so far; empty unless the turn is observed.
    pub fn transitions(&self) -> Vec<StateTransition> {
        self.effects.transitions()
    }

    /// The session at each audit so far, by notice number; empty unless audits are recorded.
    pub fn audit_metadata(&self) -> BTreeMap<u32, Map> {
        self.effects.audit_metadata()
    }

    /// Replays a journal on a fresh turn whose end is deferred, for as long as the requests match; then cancels it if the recorded turn
    /// was canceled. Adds its output to `slice` and returns a divergence.
    ///
    /// The end is deferred because a program that no longer requests what the journal answers would otherwise end before the difference is
    /// seen.
    ///
    /// # Errors
    /// [`TurnError::Stalled`] is a bug in the core.
    pub fn replay_journal(&mut self, recorded: &Journal, slice: &mut Slice) -> Result<Option<TurnError>, TurnError> {
        let diverged = match self.replay_entries(recorded, slice) {
            Err(stalled @ TurnError::Stalled) => return Err(stalled),
            other => other.err(),
        };
        if diverged.is_some() {
            // No paid result is lost, and the next replay finds the same divergence.
            self.journal.header = recorded.header.clone();
            self.journal.entries.clone_from(&recorded.entries);
            self.effects.set_end_deferred(true);
        }
        if let Some(CancelledTurn { reason, at }) = recorded.canceled {
            slice.append(self.cancel(reason, at)?);
            // The cancellation dropped them.
            slice.effects.clear();
        }
        Ok(diverged)
    }

    fn replay_entries(&mut self, recorded: &Journal, slice: &mut Slice) -> Result<(), TurnError> {
        for (index, entry) in recorded.entries.iter().enumerate() {
            let replayed = self.journal.requests.get(&entry.effect);
            journal::check_request(index, entry, replayed).map_err(|it| self.locate_divergence(it))?;
            // The recorded turn continued for as long as there are answers, and until it was canceled.
            self.effects.set_end_deferred(index + 1 < recorded.entries.len() || recorded.canceled.is_some());
            slice.effects.retain(|it| it.id != entry.effect);
            slice.append(self.complete(entry.to_completion())?);
        }
        Ok(())
    }

    /// Adds the position of the replay to a divergence.
    fn locate_divergence(&self, mut divergence: Box<Divergence>) -> TurnError {
        divergence.step = self.effects.step().into_owned();
        divergence.ports = self.effects.ports();
        TurnError::Diverged(divergence)
    }

    fn complete(&mut self, completion: Completion) -> Result<Slice, TurnError> {
        if self.has_ended {
            return Ok(Slice::default());
        }
        let at = self.effects.complete(&completion)?;
        self.journal.record_completion(&completion, at);
        self.poll()
    }

    fn poll(&mut self) -> Result<Slice, TurnError> {
        let done = self.program.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let (effects, notices) = self.effects.drain();
        self.journal.record_requests(&effects);
        match done {
            std::task::Poll::Ready(outcome) => {
                self.has_ended = true;
                Ok(Slice { effects, notices, end: Some(outcome) })
            }
            std::task::Poll::Pending if self.effects.has_open_effects() || self.effects.is_end_deferred() => {
                Ok(Slice { effects, notices, end: None })
            }
            std::task::Poll::Pending => Err(TurnError::Stalled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> TurnInput {
        TurnInput {
            turn: "t".to_owned(),
            conversation: "c".to_owned(),
            at: 0,
            seed: 1,
            program: ProgramRef::PipelineV2,
            event: UserEvent::default(),
            session: LoadedSession::default(),
        }
    }

    #[test]
    fn waiting_for_anything_but_an_effect_stalls() {
        let program = |_, _| -> Program { Box::pin(std::future::pending()) };
        let error = TurnMachine::launch(
            input(),
            String::new(),
            LaunchMode { defer_end: false, is_replay: false, observation: Observation::Nothing },
            program,
        )
        .unwrap_err();
        assert_eq!(error, TurnError::Stalled);
    }
}
