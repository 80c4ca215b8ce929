//! Assistants that are told by flow documents: what a document must be, where it is deployed, and its secrets.

pub mod check;
pub mod deployment;
pub mod flows;
pub mod plan;
pub mod purse;
pub mod run;
pub mod timers;
pub mod upgrade;
pub mod vault;
