//! Runs the planner loop: a model calls tools, one after the other, until it can answer. (docs/spec/pipeline.md#2.21)
//! Reads: `ce_mcp_tool`, `ce_mcp_planner`, settings, the dialogue act, the schema's facts. Writes: `context.mcp`, `mcp_*`, an open question.
//! Waits for: llm, tool, sleep, rule tasks.

use convengine_turn::Fault;

use super::StepOutcome;
use crate::planner_loop;
use crate::step_context::StepContext;

pub(super) async fn run(cx: &mut StepContext<'_>) -> Result<StepOutcome, Fault> {
    // The loop is the largest future of a turn, and most turns have no tools.
    Box::pin(planner_loop::run(cx)).await;
    Ok(StepOutcome::Continue)
}
