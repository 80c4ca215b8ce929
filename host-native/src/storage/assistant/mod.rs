//! Storage of assistants: drafts, versions, deployments, secrets, knowledge bases and sessions.

pub mod deployment;
pub mod draft;
pub mod handoff;
pub mod knowledge;
pub mod secret;
pub mod session;
pub mod version;
