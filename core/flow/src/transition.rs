//! What happens after a node has run: what moves the turn.

use convengine_config::flow::document::EdgeDef;
use convengine_turn::Map;
use convengine_values::Command;
use serde_json::Value;

use super::failure::Failure;
use super::state::Awaiting;

/// What happens after a node has run.
#[derive(Debug)]
pub(super) enum Transition {
    /// The node is left by a port.
    Port(String),
    /// The node waits for input.
    Wait(Awaiting),
    /// The node has failed.
    Fail(Failure),
    /// The graph returns.
    Return(GraphReturn),
    /// Another graph has been pushed.
    GraphPushed,
    /// What the request that was left had interrupted goes on.
    Resume,
    /// The program of the node runs.
    RunProgram,
    /// The turn has entered too many nodes.
    StepLimit,
    /// The turn ends here; the frame is unchanged.
    EndTurn,
}

impl Transition {
    /// The node is left by its port `out`.
    pub fn out() -> Transition {
        Transition::Port("out".to_owned())
    }
}

/// The return of a graph.
#[derive(Debug, Default)]
pub(super) struct GraphReturn {
    /// The port by which the caller continues.
    pub exit: String,
    /// The return values.
    pub values: Map,
    /// Whether the session ends; by default, only the root graph ends it.
    pub end_session: Option<bool>,
    /// How the node goes on that runs this program, when not by its port `out`.
    pub caller_transition: Option<Box<Transition>>,
}

/// The result of filling a slot.
#[derive(Debug)]
pub(super) enum SlotResult {
    /// The slot has a value.
    Filled,
    /// The user has been prompted.
    Prompted(Awaiting),
    /// The slot could not be filled.
    Failed(Failure),
    /// The question was interrupted.
    Interrupted(Transition),
}

impl SlotResult {
    /// What moves the walker; `None` when the slot has a value, so that the node goes on.
    pub fn into_transition(self) -> Option<Transition> {
        match self {
            SlotResult::Filled => None,
            SlotResult::Prompted(awaiting) => Some(Transition::Wait(awaiting)),
            SlotResult::Failed(failure) => Some(Transition::Fail(failure)),
            SlotResult::Interrupted(next) => Some(next),
        }
    }
}

/// What is decided about a slot: its result and, for observers, the reason.
#[derive(Debug)]
pub(super) struct SlotDecision {
    pub result: SlotResult,
    pub reason: SlotReason,
    /// The value that it is about, if the turn is observed; a redacted one by its name.
    pub value: Option<Value>,
}

/// Why a slot gets its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotReason {
    /// None but what the result says.
    Result,
    /// Its value is in the message that triggered the intent.
    FromMessage,
    /// Its variable had a valid value.
    AlreadyFilled,
    /// The answer has a valid value, which the user has to confirm.
    NeedsConfirmation,
    /// The user has confirmed its value.
    Confirmed,
    /// The answer is not valid for the time of this number.
    InvalidAnswer(u32),
    /// The answer is a command.
    Command(Command),
    /// The message corrects another slot.
    CorrectsOther,
    /// The answer to a confirmation changes a value.
    ChangesValue,
    /// The answer to a confirmation is neither yes nor no.
    Unconfirmed,
}

/// Why a slot is not filled without a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnfilledReason {
    /// The message that triggered the intent must not fill it.
    PrefillForbidden,
    /// There is no valid value.
    NoValue,
}

impl SlotDecision {
    /// A decision that is not about a value.
    pub fn new(result: SlotResult, reason: SlotReason) -> SlotDecision {
        SlotDecision { result, reason, value: None }
    }
}

impl From<SlotResult> for SlotDecision {
    fn from(result: SlotResult) -> SlotDecision {
        SlotDecision::new(result, SlotReason::Result)
    }
}

/// By which edge a node is left.
#[derive(Debug)]
pub(super) struct Route<'c, 'p> {
    /// The port by which it was to be left.
    pub tried: &'p str,
    /// Whether the edges of the port `else` count as well.
    pub tries_else: bool,
    /// The port by which it is left.
    pub port: &'p str,
    /// The edge; `None` when none leads on.
    pub edge: Option<&'c EdgeDef>,
    /// Why a condition has no value, if the node has failed then.
    pub failure: Option<String>,
}

impl<'p> Route<'_, 'p> {
    /// No edge of a port.
    pub fn new(port: &'p str) -> Self {
        Route { tried: port, tries_else: false, port, edge: None, failure: None }
    }

    /// The ports whose edges count.
    pub fn tried_ports(&self) -> impl Iterator<Item = &'p str> + use<'p> {
        [Some(self.tried), self.tries_else.then_some("else")].into_iter().flatten()
    }
}
