//! The turn protocol: what a host passes to the core, what it gets back, and how a turn is journaled.
//!
//! This layer does not know pipelines or configuration content. A [`Turn`] is one future, polled by hand; the only thing it can wait
//! for is an effect requested through the [`Door`].

mod abandon;
mod breaker;
mod door;
mod effect;
mod error;
mod input;
mod journal;
mod notice;
mod outcome;
mod request;
mod rng;
mod rows;
mod together;
mod why;

pub use abandon::{Abandon, Abandoned};
pub use breaker::{Admission, Breakers};
pub use door::{Door, View};
pub use effect::{Answer, Class, Completion, Effect, EffectId, Operation};
pub use error::{Diverged, EffectError, EffectErrorDetail, EffectErrorKind, TurnError};
pub use input::{Loaded, ProgramRef, TurnInput, UserEvent};
pub use journal::{Entry, Header, Journal, PROTOCOL};
pub use notice::{Level, Notice, NoticeBody, VerboseNotice};
pub use outcome::{FaultReport, Outcome, Payload, PayloadKind, SessionAfter, state_hash};
pub use request::{
    Breaker, ContainerReply, ContainerRequest, EmbedReply, EmbedRequest, ExtensionReply, ExtensionRequest, HttpCaller, HttpReply,
    HttpRequest, LlmDialogue, LlmMessage, LlmMode, LlmReply, LlmRequest, LlmRole, LlmTool, LlmToolCall, PURPOSES, Patch, Publication,
    Reply, Request, Retries, STUB, SecretHeader, SleepRequest, SqlReply, SqlRequest, TaskReply, TaskRequest, TaskUse, ToolReply,
    ToolRequest, Usage,
};
pub use rng::{Rng, uuid_text};
pub use rows::{ConversationRow, Exchange, HistoryRow, LlmCallRow, MemoryRow, Write};
pub use together::{Pending, together};
pub use why::{Considered, Fate, TOO_MANY_STEPS, Why};

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type Millis = i64;

/// A JSON object in insertion order.
pub type Map = serde_json::Map<String, serde_json::Value>;

/// What the core returns between two suspensions.
///
/// The host publishes the notices before it starts the effects; `end` is present once, in the last slice.
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
    fn absorb(&mut self, next: Slice) {
        self.effects.extend(next.effects);
        self.notices.extend(next.notices);
        self.end = next.end.or(self.end.take());
    }
}

/// The code of a turn; it accesses the outside through the [`Door`] only.
pub type Program = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// How a turn is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mode {
    /// For a replay: defers the end of the turn until its journal ends.
    pub held: bool,
    /// What is recorded of the session.
    pub watch: Watch,
}

/// What is recorded of a turn's session, for observers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Nothing; used for ordinary messages.
    Nothing,
    /// The session before and after each step, and explanations.
    Steps,
    /// The session at each audit.
    Audits,
}

/// The processing of one user event.
pub struct Turn {
    door: Door,
    program: Program,
    journal: Journal,
    ended: bool,
}

/// A recorded turn that was replayed for as long as its journal matches.
#[derive(Debug)]
#[must_use = "a turn that diverged has to be abandoned"]
pub struct Rescued {
    /// The turn at the end of its journal, or where it diverged.
    pub turn: Turn,
    /// All notices up to there, and the open effects.
    pub slice: Slice,
    /// The divergence from the journal, if any.
    pub diverged: Option<TurnError>,
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("journal", &self.journal).field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl Turn {
    /// Runs a program to its first wait. Called by `Turn::start`, which selects the program.
    pub(crate) fn launch(
        input: TurnInput,
        config: String,
        mode: Mode,
        program: impl FnOnce(TurnInput, Door) -> Program,
    ) -> Result<(Turn, Slice), TurnError> {
        let effects = Door::new(input.turn.clone(), input.at, input.seed, mode.watch);
        effects.hold(mode.held);
        let journal = Journal::new(config, input.clone());
        let program = program(input, effects.clone());
        let mut turn = Turn { door: effects, program, journal, ended: false };
        let slice = turn.poll()?;
        Ok((turn, slice))
    }

    /// Continues with answers to effects, in the order given. Answers after the end are ignored.
    ///
    /// # Errors
    /// [`TurnError::UnknownEffect`] for an effect that was not requested or is answered already; [`TurnError::Stalled`] when the program
    /// waits for something other than an effect.
    pub fn resume(&mut self, completions: Vec<Completion>) -> Result<Slice, TurnError> {
        if self.ended {
            return Ok(Slice::default());
        }
        // All are checked first: the slice of an earlier answer must not be lost to the error of a later one.
        self.door.expects(&completions)?;
        let mut slice = Slice::default();
        for completion in completions {
            // A batch is a sequence: polling after each answer gives a replay the same clock and the same order.
            slice.absorb(self.complete(completion)?);
        }
        Ok(slice)
    }

    /// Cancels the turn; the slice has its last notices and its end, which is that of a failed turn.
    ///
    /// Open effects are dropped by the host, and their later answers are ignored. The slice is empty for a turn that has ended.
    ///
    /// # Errors
    /// [`TurnError::Stalled`] is a bug in the core.
    pub fn abandon(&mut self, reason: Abandon, at: Millis) -> Result<Slice, TurnError> {
        if self.ended {
            return Ok(Slice::default());
        }
        let abandoned = Abandoned { why: reason, at: self.door.abandon(reason, at) };
        self.journal.abandoned = Some(abandoned);
        self.poll()
    }

    /// The turn's journal so far.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The turn's clock: the host's time of the latest answer.
    pub fn now(&self) -> Millis {
        self.door.now()
    }

    /// Whether the outcome has been returned.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Reads the session views before and after each step so far; there are none unless the turn is observed.
    pub fn views<T>(&self, read: impl FnOnce(&[View]) -> T) -> T {
        self.door.views(read)
    }

    /// The explanations of the decisions so far; empty unless the turn is observed.
    pub fn whys(&self) -> Vec<Why> {
        self.door.whys()
    }

    /// The session at each audit so far, by notice number; empty unless audits are recorded.
    pub fn metas(&self) -> BTreeMap<u32, Map> {
        self.door.metas()
    }

    /// Replays a journal on a fresh turn whose end is deferred, for as long as the requests match; then cancels it if the recorded turn
    /// was canceled. Adds its output to `slice` and returns a divergence.
    pub(crate) fn rerun(&mut self, recorded: &Journal, slice: &mut Slice) -> Result<Option<TurnError>, TurnError> {
        let diverged = match self.follow(recorded, slice) {
            Err(stalled @ TurnError::Stalled) => return Err(stalled),
            other => other.err(),
        };
        if diverged.is_some() {
            // No paid result is lost, and the next replay finds the same divergence.
            self.journal.header = recorded.header.clone();
            self.journal.entries.clone_from(&recorded.entries);
            self.door.hold(true);
        }
        if let Some(Abandoned { why: reason, at }) = recorded.abandoned {
            slice.absorb(self.abandon(reason, at)?);
            // The cancellation dropped them.
            slice.effects.clear();
        }
        Ok(diverged)
    }

    fn follow(&mut self, recorded: &Journal, slice: &mut Slice) -> Result<(), TurnError> {
        for (index, entry) in recorded.entries.iter().enumerate() {
            let replayed = self.journal.requests.get(&entry.effect);
            journal::same_request(index, entry, replayed, self.door.step())?;
            // The recorded turn continued for as long as there are answers, and until it was canceled.
            self.door.hold(index + 1 < recorded.entries.len() || recorded.abandoned.is_some());
            slice.effects.retain(|it| it.id != entry.effect);
            slice.absorb(self.complete(entry.completion())?);
        }
        Ok(())
    }

    fn complete(&mut self, completion: Completion) -> Result<Slice, TurnError> {
        if self.ended {
            return Ok(Slice::default());
        }
        let at = self.door.answer(&completion)?;
        self.journal.record(&completion, at);
        self.poll()
    }

    fn poll(&mut self) -> Result<Slice, TurnError> {
        let done = self.program.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let (effects, notices) = self.door.drain();
        self.journal.asked(&effects);
        match done {
            std::task::Poll::Ready(outcome) => {
                self.ended = true;
                Ok(Slice { effects, notices, end: Some(outcome) })
            }
            std::task::Poll::Pending if self.door.waits() || self.door.is_held() => Ok(Slice { effects, notices, end: None }),
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
            session: Loaded::default(),
        }
    }

    #[test]
    fn waiting_for_anything_but_an_effect_is_a_defect() {
        let program = |_, _| -> Program { Box::pin(std::future::pending()) };
        let error = Turn::launch(input(), String::new(), Mode { held: false, watch: Watch::Nothing }, program).unwrap_err();
        assert_eq!(error, TurnError::Stalled);
    }
}
