//! Starts and restores turns: picks the program and closes it with an outcome.

#[cfg(feature = "flow")]
mod flow;
#[cfg(feature = "tables")]
mod tables;
#[cfg(test)]
mod whys;

use std::sync::Arc;

use crate::config::Config;
use crate::fault::Fault;
use crate::turn::{Abandon, Door, Journal, Map, Mode, Outcome, Program, Rescued, SessionAfter, Slice, Turn, TurnError, TurnInput, Watch};

impl Turn {
    /// Starts a turn and runs it up to its first wait.
    ///
    /// # Errors
    /// [`TurnError::Program`] when the configuration runs another program, [`TurnError::Stalled`] is a defect of the core.
    pub fn start(input: TurnInput, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        start(input, config, Mode { held: false, watch: Watch::Nothing })
    }

    /// Starts a turn that records the session at the edges of its steps and why it decides as it does; see [`Turn::views`] and
    /// [`Turn::whys`].
    ///
    /// # Errors
    /// As [`Turn::start`].
    pub fn start_watched(input: TurnInput, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        start(input, config, Mode { held: false, watch: Watch::Steps })
    }

    /// Runs a recorded turn again, up to where its journal ends; a turn that was abandoned is abandoned again. A slice without an end
    /// then asks for more than was recorded: of a finished turn's journal, that too is a difference.
    ///
    /// # Errors
    /// [`TurnError::Protocol`] and [`TurnError::Program`] for a journal of another protocol or program, [`TurnError::Diverged`] with the
    /// difference when the turn asks for something else than it did.
    pub fn restore(journal: Journal, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        fitting(Turn::rescue(&journal, config)?)
    }

    /// As [`Turn::restore`], with a record of its steps and decisions; see [`Turn::views`] and [`Turn::whys`].
    ///
    /// # Errors
    /// As there.
    pub fn restore_watched(journal: Journal, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        fitting(again(&journal, config, Watch::Steps)?)
    }

    /// Runs a recorded turn again for as long as its journal fits, so that a host can take up or close what a crash has left.
    ///
    /// A turn that does not fit stands where it would ask for something else, or would end. It does not end of itself any more: the
    /// host gives it up with [`Turn::abandon`]. Its journal is the recorded one, so that nothing that was paid for is forgotten. Run
    /// again, such a journal diverges at the same place: [`Turn::restore`] returns that as its error, this function beside the same
    /// notices and the same end.
    ///
    /// # Errors
    /// [`TurnError::Protocol`] and [`TurnError::Program`] for a journal of another protocol or program; [`TurnError::Stalled`] is a defect of the core.
    pub fn rescue(journal: &Journal, config: Arc<Config>) -> Result<Rescued, TurnError> {
        again(journal, config, Watch::Nothing)
    }

    /// As [`Turn::rescue`], with a record of the session at each audit; see [`Turn::metas`].
    ///
    /// # Errors
    /// As there.
    pub fn retrace(journal: &Journal, config: Arc<Config>) -> Result<Rescued, TurnError> {
        again(journal, config, Watch::Audits)
    }
}

fn fitting(rescued: Rescued) -> Result<(Turn, Slice), TurnError> {
    let Rescued { turn, slice, diverged } = rescued;
    diverged.map_or(Ok((turn, slice)), Err)
}

fn again(journal: &Journal, config: Arc<Config>, watch: Watch) -> Result<Rescued, TurnError> {
    journal.check()?;
    let held = !journal.entries.is_empty() || journal.abandoned.is_some();
    let (mut turn, mut slice) = start(journal.input.clone(), config, Mode { held, watch })?;
    let diverged = turn.rerun(journal, &mut slice)?;
    Ok(Rescued { turn, slice, diverged })
}

fn start(input: TurnInput, config: Arc<Config>, mode: Mode) -> Result<(Turn, Slice), TurnError> {
    // The settings decide, because tables are compiled for a profile. The input keeps it, so that a journal says what it ran.
    if input.program != config.program() {
        return Err(TurnError::Program { asked: input.program, runs: config.program() });
    }
    let program = program(&config);
    Turn::launch(input, config.hash().to_owned(), mode, |input, door| program(input, door, config))
}

/// A program, ready to run a turn.
type Run = fn(TurnInput, Door, Arc<Config>) -> Program;

/// The program that a configuration is for.
#[cfg_attr(not(feature = "flow"), allow(unused_variables))]
fn program(config: &Config) -> Run {
    #[cfg(feature = "flow")]
    if config.flow.is_some() {
        return flow::program;
    }
    #[cfg(feature = "tables")]
    return tables::program;
    #[cfg(not(feature = "tables"))]
    |input, _, _| Box::pin(async move { Outcome::lost(&input.conversation) })
}

impl Outcome {
    /// The end of a turn that was left behind and of which nothing can be read any more.
    pub fn lost(conversation: &str) -> Outcome {
        let session = SessionAfter { intent: String::new(), state: String::new(), context: Map::new(), params: Map::new() };
        Outcome {
            conversation_id: conversation.to_owned(),
            intent: String::new(),
            state: String::new(),
            payload: None,
            context: None,
            // Whether it wrote is not known.
            fault: Some(Fault::abandoned(Abandon::Lost, true).report()),
            writes: Vec::new(),
            session,
            flow: None,
        }
    }
}
