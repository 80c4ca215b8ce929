//! Queries of tools.

mod forms;
mod functions;
pub mod guard;
mod reprint;
