//! Assistants that are told by flow documents: what a document must be, where it is deployed, and its secrets.

pub mod check;
pub mod deployment;
pub mod vault;
