//! Assistants, workflows and AI agents defined by documents: validation, evals, deployment, sessions, timers, quotas, secrets and knowledge bases.

pub mod bundle;
pub mod check;
pub mod deployment;
pub mod evals;
pub mod flow_cache;
pub mod knowledge;
pub mod mcp_tools;
pub mod phrase_vectors;
pub mod plan;
pub mod references;
pub mod run;
pub mod saving;
pub mod secret_store;
pub mod session_changes;
pub mod spend_budget;
pub mod timers;
pub mod upgrade;
pub mod version_cache;
pub mod workspace_tools;
