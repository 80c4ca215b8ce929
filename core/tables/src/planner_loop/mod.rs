//! The planner loop: a model calls tools one after the other until it can answer. (docs/spec/tools.md#2.3, docs/spec/tools.md#6.5)

mod approved_call;
mod consent;
mod gate;
mod guard;
mod lifecycle;
mod loop_state;
mod observation;
mod plan;
mod planner;
mod planner_run;
mod run;
mod semantic;
mod tool_call;

pub use run::run;
