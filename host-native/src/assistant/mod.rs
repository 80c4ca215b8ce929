//! Assistants defined by flow documents: validation, deployment, sessions, timers, quotas and secrets.

pub mod check;
pub mod deployment;
pub mod flows;
pub mod plan;
pub mod purse;
pub mod run;
pub mod timers;
pub mod upgrade;
pub mod vault;
