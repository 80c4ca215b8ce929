//! What turns need of a cluster that runs them in place of this process.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::Turns;
use crate::message::{Message, SubmitResult};
use crate::refusal::Refusal;

/// A cluster that runs the turns in place of this process.
pub trait TurnCluster: Debug + Send + Sync {
    /// Whether turns of conversations of tables leave rows in the database, by the settings of this process.
    fn leaves_rows(&self) -> bool;

    /// Runs the turn of a message. A message that is sent again under its key gets the answer of its first turn. Fails with a [`Refusal`];
    /// the conversation is then unchanged.
    fn run_turn<'a>(&'a self, turns: &'a Arc<Turns>, message: &'a Message) -> BoxFuture<'a, Result<SubmitResult, Refusal>>;

    /// Cancels the running turn of a run; returns whether there is one. Fails with [`Refusal::Unreachable`].
    fn cancel<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, Refusal>>;

    /// Deletes the state of conversations, one after the other; returns how many had any. Their rows are deleted later: without them nobody
    /// would ask for it again. Fails with [`Refusal::Unreachable`]; the state of some may be deleted then.
    fn forget<'a>(&'a self, conversations: &'a [String]) -> BoxFuture<'a, Result<u64, Refusal>>;
}
