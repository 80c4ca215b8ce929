//! The turn protocol: what a host gives to the core, what it gets back, and how a turn is saved.
//!
//! This layer knows nothing of pipelines or configuration content. A [`Turn`] is one future, polled by hand;
//! the only thing it can wait for is an effect asked through the [`Door`].

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
    /// Requests to fulfil, each to be answered exactly once.
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

/// The code of a turn: it talks to the outside through the door alone.
pub type Program = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// How a turn is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mode {
    /// To follow a journal: it does not end of itself before the journal does.
    pub held: bool,
    /// What is recorded of its session.
    pub watch: Watch,
}

/// What is recorded of a turn's session, for people who look at how it came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Nothing: messages are answered like this.
    Nothing,
    /// How it is at the edges of its steps.
    Steps,
    /// How it is at each audit.
    Audits,
}

/// One user event being processed.
pub struct Turn {
    door: Door,
    program: Program,
    journal: Journal,
    ended: bool,
}

/// A recorded turn that was run again as far as its journal fits.
#[derive(Debug)]
#[must_use = "a turn that diverged has to be abandoned"]
pub struct Rescued {
    /// The turn, where its journal ends or where it diverged.
    pub turn: Turn,
    /// All notices up to there, and the effects that are open.
    pub slice: Slice,
    /// How the turn differs from its journal; nothing when it fits.
    pub diverged: Option<TurnError>,
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("journal", &self.journal).field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl Turn {
    /// Runs a program up to its first wait. Called by `Turn::start`, which chooses the program.
    pub(crate) fn launch(
        input: TurnInput,
        config: String,
        mode: Mode,
        program: impl FnOnce(TurnInput, Door) -> Program,
    ) -> Result<(Turn, Slice), TurnError> {
        let door = Door::new(input.turn.clone(), input.at, input.seed, mode.watch);
        door.hold(mode.held);
        let journal = Journal::new(config, input.clone());
        let program = program(input, door.clone());
        let mut turn = Turn { door, program, journal, ended: false };
        let slice = turn.poll()?;
        Ok((turn, slice))
    }

    /// Continues with answers to effects, in the order given.
    ///
    /// # Errors
    /// [`TurnError::UnknownEffect`] for an answer that nobody asked for or that came twice, [`TurnError::Stalled`] when the
    /// program waits for something that is not an effect. Answers after the end are ignored.
    pub fn resume(&mut self, completions: Vec<Completion>) -> Result<Slice, TurnError> {
        if self.ended {
            return Ok(Slice::default());
        }
        // Checked as a whole first: a slice that an earlier answer brought must not be lost to the error of a later one.
        self.door.expects(&completions)?;
        let mut slice = Slice::default();
        for completion in completions {
            // A batch is a sequence: polling after each answer lets a replay see the same clock and the same order.
            slice.absorb(self.complete(completion)?);
        }
        Ok(slice)
    }

    /// Ends the turn where it stands; the slice has its last notices and its end, which is that of a failed turn.
    ///
    /// Open effects are given up: the host drops them, and answers that come later are ignored. Nothing is returned for a turn that
    /// has ended already.
    ///
    /// # Errors
    /// [`TurnError::Stalled`] is a defect of the core.
    pub fn abandon(&mut self, why: Abandon, at: Millis) -> Result<Slice, TurnError> {
        if self.ended {
            return Ok(Slice::default());
        }
        let abandoned = Abandoned { why, at: self.door.abandon(why, at) };
        self.journal.abandoned = Some(abandoned);
        self.poll()
    }

    /// Everything that the turn cannot derive again.
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

    /// Reads the session before and after each step so far; there is none unless the turn is watched.
    pub fn views<T>(&self, read: impl FnOnce(&[View]) -> T) -> T {
        self.door.views(read)
    }

    /// Why the decisions so far fell as they did; empty unless the turn is watched.
    pub fn whys(&self) -> Vec<Why> {
        self.door.whys()
    }

    /// The session at each audit so far, by the number of the notice; empty unless the turn is traced.
    pub fn metas(&self) -> BTreeMap<u32, Map> {
        self.door.metas()
    }

    /// Answers the effects of a fresh turn, which is held, from a journal, for as long as it asks for what was recorded; then ends it
    /// as it was abandoned, if it was. `slice` gets what the turn says; a divergence is returned.
    pub(crate) fn rerun(&mut self, recorded: &Journal, slice: &mut Slice) -> Result<Option<TurnError>, TurnError> {
        let diverged = match self.follow(recorded, slice) {
            Err(stalled @ TurnError::Stalled) => return Err(stalled),
            other => other.err(),
        };
        if diverged.is_some() {
            // Nothing that was paid for is forgotten, and who reads the journal finds the divergence again.
            self.journal.header = recorded.header.clone();
            self.journal.entries.clone_from(&recorded.entries);
            self.door.hold(true);
        }
        if let Some(Abandoned { why, at }) = recorded.abandoned {
            slice.absorb(self.abandon(why, at)?);
            // They were given up.
            slice.effects.clear();
        }
        Ok(diverged)
    }

    fn follow(&mut self, recorded: &Journal, slice: &mut Slice) -> Result<(), TurnError> {
        for (index, entry) in recorded.entries.iter().enumerate() {
            let asked = self.journal.requests.get(&entry.effect);
            journal::same_request(index, entry, asked, self.door.step())?;
            // The recorded turn went on for as long as there are answers, and to the moment at which it was abandoned.
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
