//! The program that runs a flow document.

use std::sync::Arc;

use convengine_config::Config;
use convengine_flow::{self as flow, Walker};
use convengine_turn::{EffectContext, Outcome, Program, TurnInput};

/// Creates the program that runs the configuration's flow document.
pub(super) fn build_program(input: TurnInput, effects: EffectContext, config: Arc<Config>) -> Program {
    Box::pin(async move {
        let Some(flow) = config.flow() else { return Outcome::for_lost_turn(&input.conversation) };
        let mut walker = Walker::open(input, flow, config.hash_source(), effects.clone());
        match effects.run_unless_canceled(flow::run(&mut walker)).await {
            Ok(()) => walker.into_outcome(),
            Err(reason) => walker.into_canceled_outcome(reason),
        }
    })
}
