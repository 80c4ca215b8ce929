//! The turn protocol, and turns that run the program of their configuration.

pub use convengine_turn::*;

use std::collections::BTreeMap;
use std::sync::Arc;

use convengine_config::Config;

use crate::program::select_program;
#[cfg(feature = "tables")]
use crate::program::task;

/// The processing of one user event by the program of a configuration.
///
/// A turn runs until it has requested effects, and goes on with their answers; see the [example of the crate](crate). What it has done follows
/// from its journal, so that another process can go on with it:
///
/// ```
/// use std::sync::Arc;
/// use convengine_core::config::Config;
/// use convengine_core::pack::{Conversations, Message, Pack};
/// use convengine_core::turn::{CancelReason, Turn};
///
/// // A model has to classify what the user does, so the turn requests a call.
/// let pack = Pack::parse(r#"{"name": "waits", "tables": {}, "turns": []}"#)?;
/// let config = Arc::new(Config::compile(&pack.tables, &pack.settings).0);
/// let message = Message { message: Some("When are you open?".to_owned()), at: 1_767_258_000_000, ..Message::default() };
/// let (turn, slice) = Turn::start(message.into_input(&Conversations::default(), config.program()), Arc::clone(&config))?;
///
/// let (mut restored, again) = Turn::restore(turn.journal().clone(), config)?;
/// assert_eq!(again, slice);
/// let end = restored.cancel(CancelReason::Timeout, 1_767_258_120_000)?.end.ok_or("it ends")?;
/// assert_eq!(end.fault.ok_or("it fails")?.code, "TURN_TIMEOUT");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Turn(TurnMachine);

/// A recorded turn that was replayed for as long as its journal matches.
#[derive(Debug)]
#[must_use = "a diverged turn cannot continue and must be closed"]
pub struct RescuedTurn {
    /// The turn at the end of its journal, or where it diverged.
    pub turn: Turn,
    /// All notices up to there, and the open effects.
    pub slice: Slice,
    /// The divergence from the journal, if any.
    pub divergence: Option<TurnError>,
}

impl Turn {
    /// Starts a turn and runs it up to its first wait.
    ///
    /// # Errors
    /// [`TurnError::Program`] when the configuration runs another program; [`TurnError::MissingFeature`] when this build does not have it;
    /// [`TurnError::Stalled`] is a bug in the core.
    pub fn start(input: TurnInput, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        start(input, config, LaunchMode { defer_end: false, is_replay: false, observation: Observation::Nothing })
    }

    /// Starts a turn that records session views and explanations for observers; see [`Turn::read_views`] and [`Turn::explanations`].
    ///
    /// # Errors
    /// Same as [`Turn::start`].
    pub fn start_observed(input: TurnInput, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        start(input, config, LaunchMode { defer_end: false, is_replay: false, observation: Observation::Steps })
    }

    /// Replays a recorded turn to the end of its journal; a canceled turn is canceled again. A slice without an end requests effects
    /// beyond the journal; for the journal of a finished turn, that is a divergence as well.
    ///
    /// # Errors
    /// [`TurnError::Protocol`] and [`TurnError::Program`] for a journal of another protocol or program; [`TurnError::Diverged`] when the
    /// replay requests other effects than the recorded turn.
    pub fn restore(journal: Journal, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        reject_divergence(Turn::rescue(&journal, config)?)
    }

    /// Like [`Turn::restore`], but records session views and explanations; see [`Turn::read_views`] and [`Turn::explanations`].
    ///
    /// # Errors
    /// Same as [`Turn::restore`].
    pub fn restore_observed(journal: Journal, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        reject_divergence(replay(&journal, config, Observation::Steps)?)
    }

    /// Replays a recorded turn for as long as its journal matches, so that a host can resume or cancel a turn after a crash.
    ///
    /// A turn that diverges stops where it would request another effect, or would end. It does not end by itself any more: the host
    /// cancels it with [`Turn::cancel`]. It keeps the recorded journal, so that no paid result is lost. Replaying such a journal
    /// diverges at the same place: [`Turn::restore`] returns the divergence as an error, this function returns it with the same notices
    /// and the same end.
    ///
    /// # Errors
    /// [`TurnError::Protocol`] and [`TurnError::Program`] for a journal of another protocol or program; [`TurnError::Stalled`] is a bug in
    /// the core.
    pub fn rescue(journal: &Journal, config: Arc<Config>) -> Result<RescuedTurn, TurnError> {
        replay(journal, config, Observation::Nothing)
    }

    /// Like [`Turn::rescue`], but records the session at each audit; see [`Turn::audit_metadata`].
    ///
    /// # Errors
    /// Same as [`Turn::rescue`].
    pub fn rescue_with_audit_metadata(journal: &Journal, config: Arc<Config>) -> Result<RescuedTurn, TurnError> {
        replay(journal, config, Observation::Audits)
    }

    /// Starts a task as its binding says: a service, a script or an extension. The end of the turn has its result as payload, or the kind
    /// of its error as code of the fault; see [`Outcome::task_result`].
    ///
    /// # Errors
    /// [`TurnError::Stalled`] is a bug in the core.
    #[cfg(feature = "tables")]
    pub fn start_task(config: Arc<Config>, request: &TaskRequest, key: &str, at: Millis, seed: u64) -> Result<(Turn, Slice), TurnError> {
        let input = TurnInput {
            turn: key.to_owned(),
            conversation: request.view.get("conversation_id").and_then(|it| it.as_str()).unwrap_or_default().to_owned(),
            at,
            seed,
            program: config.program(),
            event: UserEvent::default(),
            session: LoadedSession::default(),
        };
        let (name, arguments) = (request.task.clone(), request.input.clone());
        let mode = LaunchMode { defer_end: false, is_replay: false, observation: Observation::Nothing };
        launch(input, config.hash_source().to_owned(), mode, |input, effects| task::build_program(input, effects, config, name, arguments))
    }

    /// Continues with answers to effects, in the order given. Answers after the end are ignored.
    ///
    /// # Errors
    /// [`TurnError::UnknownEffect`] for an effect that was not requested or is answered already; [`TurnError::Stalled`] when the program
    /// waits for something other than an effect.
    pub fn resume(&mut self, completions: Vec<Completion>) -> Result<Slice, TurnError> {
        self.0.resume(completions)
    }

    /// Cancels the turn; the slice has its last notices and its end, which is that of a failed turn.
    ///
    /// Open effects are dropped by the host, and their later answers are ignored. The slice is empty for a turn that has ended.
    ///
    /// # Errors
    /// [`TurnError::Stalled`] is a bug in the core.
    pub fn cancel(&mut self, reason: CancelReason, at: Millis) -> Result<Slice, TurnError> {
        self.0.cancel(reason, at)
    }

    /// The turn's journal so far.
    pub fn journal(&self) -> &Journal {
        self.0.journal()
    }

    /// The turn's clock: the host's time of the latest answer.
    pub fn now(&self) -> Millis {
        self.0.now()
    }

    /// Whether the outcome has been returned.
    pub fn has_ended(&self) -> bool {
        self.0.has_ended()
    }

    /// Reads the session views before and after each step so far; there are none unless the turn is observed.
    pub fn read_views<T>(&self, read: impl FnOnce(&[SessionView]) -> T) -> T {
        self.0.read_views(read)
    }

    /// The explanations of the decisions so far; empty unless the turn is observed.
    pub fn explanations(&self) -> Vec<Explanation> {
        self.0.explanations()
    }

    /// The ports by which nodes of a flow were left so far, each as `graph/node:port`; empty unless the turn is observed or a replay.
    pub fn ports(&self) -> Vec<String> {
        self.0.ports()
    }

    /// The transitions of states that the turn has taken so far; empty unless the turn is observed.
    pub fn transitions(&self) -> Vec<StateTransition> {
        self.0.transitions()
    }

    /// The session at each audit so far, by notice number; empty unless audits are recorded.
    pub fn audit_metadata(&self) -> BTreeMap<u32, Map> {
        self.0.audit_metadata()
    }
}

fn reject_divergence(rescued: RescuedTurn) -> Result<(Turn, Slice), TurnError> {
    let RescuedTurn { turn, slice, divergence: diverged } = rescued;
    diverged.map_or(Ok((turn, slice)), Err)
}

fn launch(
    input: TurnInput,
    config: String,
    mode: LaunchMode,
    program: impl FnOnce(TurnInput, EffectContext) -> Program,
) -> Result<(Turn, Slice), TurnError> {
    let (machine, slice) = TurnMachine::launch(input, config, mode, program)?;
    Ok((Turn(machine), slice))
}

fn replay(journal: &Journal, config: Arc<Config>, watch: Observation) -> Result<RescuedTurn, TurnError> {
    journal.check_protocol()?;
    let defer_end = !journal.entries.is_empty() || journal.canceled.is_some();
    let (mut turn, mut slice) = start(journal.input.clone(), config, LaunchMode { defer_end, is_replay: true, observation: watch })?;
    let diverged = turn.0.replay_journal(journal, &mut slice)?;
    Ok(RescuedTurn { turn, slice, divergence: diverged })
}

fn start(input: TurnInput, config: Arc<Config>, mode: LaunchMode) -> Result<(Turn, Slice), TurnError> {
    // The settings decide, because tables are compiled for a profile. The input stores the program, so that the journal names it.
    if input.program != config.program() {
        return Err(TurnError::Program { requested: input.program, configured: config.program() });
    }
    let program = select_program(&config)?;
    launch(input, config.hash_source().to_owned(), mode, |input, effects| program(input, effects, config))
}
