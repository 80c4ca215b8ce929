//! The program that runs a flow document.

use std::sync::Arc;

use crate::config::Config;
use crate::flow::{self, Walk};
use crate::turn::{Door, Outcome, Program, TurnInput};

/// Creates the program that runs the configuration's flow document.
pub(super) fn program(input: TurnInput, effects: Door, config: Arc<Config>) -> Program {
    Box::pin(async move {
        let Some(flow) = config.flow.as_deref() else { return Outcome::lost(&input.conversation) };
        let mut walker = Walk::open(input, flow, config.hash(), effects.clone());
        match effects.unless_abandoned(flow::run(&mut walker)).await {
            Ok(()) => walker.outcome(),
            Err(reason) => walker.abandoned(reason),
        }
    })
}
