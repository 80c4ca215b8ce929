//! Starts and restores turns: selects the program and produces the outcome.

mod chain;
#[cfg(test)]
mod explanation_tests;
mod flow;
mod tables;
mod task;

use std::sync::Arc;

use crate::config::Config;
use crate::fault::Fault;
use crate::turn::{
    CancelReason, EffectContext, Journal, LaunchMode, Observation, Outcome, Program, ProgramRef, RescuedTurn, SessionAfter, Slice, Turn,
    TurnError, TurnInput,
};

impl Turn {
    /// Starts a turn and runs it up to its first wait.
    ///
    /// # Errors
    /// [`TurnError::Program`] when the configuration runs another program; [`TurnError::Stalled`] is a bug in the core.
    pub fn start(input: TurnInput, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        start(input, config, LaunchMode { defer_end: false, is_replay: false, observation: Observation::Nothing })
    }

    /// Starts a turn that records session views and explanations for observers; see [`Turn::views`] and [`Turn::whys`].
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

    /// Like [`Turn::restore`], but records session views and explanations; see [`Turn::views`] and [`Turn::whys`].
    ///
    /// # Errors
    /// Same as [`Turn::restore`].
    pub fn restore_observed(journal: Journal, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        reject_divergence(replay(&journal, config, Observation::Steps)?)
    }

    /// Replays a recorded turn for as long as its journal matches, so that a host can resume or cancel a turn after a crash.
    ///
    /// A turn that diverges stops where it would request another effect, or would end. It does not end by itself any more: the host
    /// cancels it with [`Turn::abandon`]. It keeps the recorded journal, so that no paid result is lost. Replaying such a journal
    /// diverges at the same place: [`Turn::restore`] returns the divergence as an error, this function returns it with the same notices
    /// and the same end.
    ///
    /// # Errors
    /// [`TurnError::Protocol`] and [`TurnError::Program`] for a journal of another protocol or program; [`TurnError::Stalled`] is a bug in
    /// the core.
    pub fn rescue(journal: &Journal, config: Arc<Config>) -> Result<RescuedTurn, TurnError> {
        replay(journal, config, Observation::Nothing)
    }

    /// Like [`Turn::rescue`], but records the session at each audit; see [`Turn::metas`].
    ///
    /// # Errors
    /// Same as [`Turn::rescue`].
    pub fn rescue_with_audit_metadata(journal: &Journal, config: Arc<Config>) -> Result<RescuedTurn, TurnError> {
        replay(journal, config, Observation::Audits)
    }
}

fn reject_divergence(rescued: RescuedTurn) -> Result<(Turn, Slice), TurnError> {
    let RescuedTurn { turn, slice, divergence: diverged } = rescued;
    diverged.map_or(Ok((turn, slice)), Err)
}

fn replay(journal: &Journal, config: Arc<Config>, watch: Observation) -> Result<RescuedTurn, TurnError> {
    journal.check_protocol()?;
    let defer_end = !journal.entries.is_empty() || journal.canceled.is_some();
    let (mut turn, mut slice) = start(journal.input.clone(), config, LaunchMode { defer_end, is_replay: true, observation: watch })?;
    let diverged = turn.replay_journal(journal, &mut slice)?;
    Ok(RescuedTurn { turn, slice, divergence: diverged })
}

fn start(input: TurnInput, config: Arc<Config>, mode: LaunchMode) -> Result<(Turn, Slice), TurnError> {
    // The settings decide, because tables are compiled for a profile. The input stores the program, so that the journal names it.
    if input.program != config.program() {
        return Err(TurnError::Program { requested: input.program, configured: config.program() });
    }
    let program = select_program(&config);
    Turn::launch(input, config.hash_source().to_owned(), mode, |input, effects| program(input, effects, config))
}

/// Creates the program of a turn.
type ProgramFactory = fn(TurnInput, EffectContext, Arc<Config>) -> Program;

/// Selects the program for a configuration.
fn select_program(config: &Config) -> ProgramFactory {
    match config.program() {
        ProgramRef::Flow => flow::build_program,
        ProgramRef::Chain => chain::build_program,
        ProgramRef::PipelineV2 | ProgramRef::PipelineV1 => tables::build_program,
    }
}

impl Outcome {
    /// The outcome of a lost turn whose journal cannot be read any more.
    pub fn for_lost_turn(conversation: &str) -> Outcome {
        let session = SessionAfter { intent: String::new(), state: String::new(), context: Arc::default(), params: Arc::default() };
        Outcome {
            conversation_id: conversation.to_owned(),
            intent: String::new(),
            state: String::new(),
            payload: None,
            context: None,
            // Unknown whether it had requested writes.
            fault: Some(Fault::from_cancellation(CancelReason::Lost, true).report()),
            writes: Vec::new(),
            session,
            flow: None,
        }
    }
}
