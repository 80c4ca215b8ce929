//! Runs the rules before the response is chosen.
//! Reads: `ce_rule`, the facts of the turn. Writes: what the rules say, the context's own keys. Waits for: nothing.

use super::Flow;
use crate::config::Phase;
use crate::rules;
use crate::turning::Turning;

pub(super) fn run(t: &mut Turning<'_>) -> Flow {
    rules::pass(t, Phase::PreResponseResolution, "RulesStep");
    t.session.write_context();
    Flow::Continue
}
