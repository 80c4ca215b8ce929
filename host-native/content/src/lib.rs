//! What conversations run on: the configuration in use, documents, their deployments, knowledge bases, imports, and what models may cost.
//!
//! Nothing here runs a turn; `convengine-turns` does.

pub mod bundle;
pub mod charged_call;
pub mod check;
pub mod config;
mod content;
pub mod deployment;
pub mod flow_cache;
pub mod knowledge;
pub mod mcp_approval;
pub mod mcp_tools;
pub mod phrase_vectors;
pub mod plan;
pub mod references;
pub mod saving;
pub mod secret_store;
pub mod spend_budget;
pub mod spend_cap;
pub mod version_cache;
pub mod workspace_tools;

pub use content::Content;
