//! Storage of assistants, workflows, chains and AI agents: drafts, versions, deployments, tools, secrets, knowledge bases and sessions.

pub mod deployment;
pub mod deployment_token;
pub mod draft;
pub mod handoff;
pub mod knowledge;
pub mod program_key;
pub mod secret;
pub mod session;
pub mod tool;
pub mod version;

pub use program_key::{DocumentKind, ProgramKey};
