//! `cs_knowledge_*`: the knowledge bases of assistants. (docs/spec/flows.md#4.12)
//!
//! A source has a version, and searches find the chunks of its indexed version. So a new text is indexed beside the old one and replaces
//! it at once.

pub mod chunk;
pub mod source;
pub mod vector;

mod posting;
pub use posting::{DirectoryRow, Posting, find_postings, find_revision, load_directory};

#[cfg(test)]
mod tests;
