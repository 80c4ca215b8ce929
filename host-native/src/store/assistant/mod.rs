//! Assistants: their drafts and versions, where they are deployed, and the secrets that they name.

pub mod deployment;
pub mod draft;
pub mod secret;
pub mod session;
pub mod version;
