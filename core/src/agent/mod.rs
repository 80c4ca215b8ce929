//! The planner loop: a model calls tools one after the other until it can answer. (`spec/mcp-and-semantic.md` 2.3, 6.5)

mod call;
mod gate;
mod guard;
mod lifecycle;
mod observe;
mod plan;
mod planner;
mod run;
mod semantic;

pub use run::run;

/// The step's name in progress messages.
const STEP: &str = "McpToolStep";
