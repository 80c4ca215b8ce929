//! The programs that a turn runs: control tables, a flow document, a chain, or a task on its own.
//!
//! Each is a future that owns its input, opens the session in it, runs until it is finished or canceled, and builds the outcome. The
//! interpreters know nothing of turns; this is where they meet.

#[cfg(feature = "flows")]
mod chain;
#[cfg(feature = "flows")]
mod flow;
#[cfg(feature = "tables")]
mod tables;
#[cfg(feature = "tables")]
pub mod task;

use std::sync::Arc;

use convengine_config::Config;
use convengine_turn::{EffectContext, Program, ProgramRef, TurnError, TurnInput};

/// Creates the program of a turn. It runs nothing yet: the machine polls what it returns.
pub type ProgramFactory = fn(TurnInput, EffectContext, Arc<Config>) -> Program;

/// Selects the program for a configuration.
///
/// # Errors
/// [`TurnError::MissingFeature`] when this build does not have the program.
pub fn select_program(config: &Config) -> Result<ProgramFactory, TurnError> {
    match config.program() {
        #[cfg(feature = "flows")]
        ProgramRef::Flow => Ok(flow::build_program),
        #[cfg(feature = "flows")]
        ProgramRef::Chain => Ok(chain::build_program),
        #[cfg(feature = "tables")]
        ProgramRef::PipelineV2 | ProgramRef::PipelineV1 => Ok(tables::build_program),
        #[cfg(not(feature = "flows"))]
        ProgramRef::Flow | ProgramRef::Chain => Err(TurnError::MissingFeature { feature: "flows" }),
        #[cfg(not(feature = "tables"))]
        ProgramRef::PipelineV2 | ProgramRef::PipelineV1 => Err(TurnError::MissingFeature { feature: "tables" }),
    }
}
