//! A turn of a flow document.

use std::sync::Arc;

use crate::config::Config;
use crate::flow::{self, Walk};
use crate::turn::{Door, Outcome, Program, TurnInput};

/// Walks the document of a configuration.
pub(super) fn program(input: TurnInput, door: Door, config: Arc<Config>) -> Program {
    Box::pin(async move {
        let Some(flow) = config.flow.as_deref() else { return Outcome::lost(&input.conversation) };
        let mut walk = Walk::open(input, flow, config.hash(), door.clone());
        match door.unless_abandoned(flow::run(&mut walk)).await {
            Ok(()) => walk.outcome(),
            Err(why) => walk.abandoned(why),
        }
    })
}
