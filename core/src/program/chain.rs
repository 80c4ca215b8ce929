//! The program that runs a chain.

use std::sync::Arc;

use convengine_config::Config;
use convengine_flow::chain::{self, Runner};
use convengine_turn::{EffectContext, Outcome, Program, TurnInput};

/// Creates the program that runs the configuration's chain.
pub(super) fn build_program(input: TurnInput, effects: EffectContext, config: Arc<Config>) -> Program {
    Box::pin(async move {
        let Some(chain) = config.chain().map(|it| &**it) else { return Outcome::for_lost_turn(&input.conversation) };
        let mut runner = Runner::open(input, chain, config.hash_source(), effects.clone());
        match effects.run_unless_canceled(chain::run(&mut runner)).await {
            Ok(()) => runner.into_outcome(),
            Err(reason) => runner.into_canceled_outcome(reason),
        }
    })
}
