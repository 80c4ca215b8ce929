//! What a turn needs of the runtime that it runs on: four traits. The [database](super::database) is one such runtime.

use std::future::Future;

use convengine_core::turn::{CancelReason, Completion, Effect, Millis, Notice, Outcome, Turn};

use crate::refusal::Refusal;
use crate::stream::TokenPublisher;

/// Stores a turn, so that a crash neither loses nor repeats a write.
///
/// What is stored is prepared first, because it borrows what others may change while it is being stored.
pub trait TurnStore: Send {
    /// What is to be stored.
    type Prepared: Send;

    /// Prepares what a crash must not lose before `effects` start; without effects, before the turn ends.
    ///
    /// # Errors
    /// Returns [`Refusal::Internal`] when the journal cannot be serialized.
    fn prepare(&mut self, turn: &Turn, notices: &[Notice], effects: &[Effect]) -> Result<Self::Prepared, Refusal>;

    /// Prepares the end of a turn.
    ///
    /// # Errors
    /// Returns [`Refusal::Internal`] when the journal cannot be serialized.
    fn prepare_end(&mut self, turn: &Turn, notices: &[Notice], outcome: &Outcome) -> Result<Self::Prepared, Refusal>;

    /// Stores what was prepared before effects start.
    ///
    /// # Errors
    /// Returns a [`Refusal`] when the effects must not start, for example because another process has taken over the turn.
    fn store(&mut self, prepared: Self::Prepared) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Stores the end of the turn, all or nothing.
    ///
    /// # Errors
    /// Returns a [`Refusal`] when the end is not stored.
    fn commit(&mut self, prepared: Self::Prepared) -> impl Future<Output = Result<(), Refusal>> + Send;
}

/// Executes the effects of a turn.
pub trait Effects: Send {
    /// Returns the reason to end the turn before the effects that it requests now start, if there is one.
    ///
    /// # Errors
    /// Returns a [`Refusal`] when this cannot be read; the effects must not start then.
    fn find_cancellation(&mut self) -> impl Future<Output = Result<Option<CancelReason>, Refusal>> + Send;

    /// Starts an effect, beside those that run. `tokens` publishes its output while it is generated.
    fn start(&mut self, effect: Effect, tokens: Option<TokenPublisher>);

    /// Waits for what happens next.
    ///
    /// # Errors
    /// Returns a [`Refusal`] when an effect can have no outcome.
    fn next(&mut self) -> impl Future<Output = Result<Progress, Refusal>> + Send;

    /// Stops the effects that run: the turn has ended without them.
    fn stop(&mut self);
}

/// What happens while effects run.
#[derive(Debug)]
pub enum Progress {
    /// An effect has completed.
    Completed(Completion),
    /// The turn is to end without the effects that run.
    Cancelled(CancelReason),
    /// No effect runs.
    Idle,
}

/// The time of turns.
pub trait Clock: Send {
    /// Returns the time.
    ///
    /// # Errors
    /// Returns a [`Refusal`] when the time cannot be recorded.
    fn now(&mut self) -> impl Future<Output = Result<Millis, Refusal>> + Send;
}

/// Publishes a turn to its caller and to the subscribers of its conversation while it runs.
pub trait Publisher: Send {
    /// Adds the notices of a slice.
    fn add_notices(&mut self, notices: &mut Vec<Notice>);

    /// Reads the notices so far.
    fn read_notices<T>(&self, read: impl FnOnce(&[Notice]) -> T) -> T;

    /// Publishes the notices that are not published yet.
    fn publish(&mut self);

    /// Reports that an effect starts; returns the publisher of its output, if it may be streamed and somebody listens.
    fn start_effect(&mut self, effect: &Effect) -> Option<TokenPublisher>;

    /// Reports that an effect has finished.
    fn finish_effect(&mut self, completion: &Completion);
}
