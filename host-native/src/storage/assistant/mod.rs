//! Storage of assistants: drafts, versions, deployments, secrets and sessions.

pub mod deployment;
pub mod draft;
pub mod handoff;
pub mod secret;
pub mod session;
pub mod version;
