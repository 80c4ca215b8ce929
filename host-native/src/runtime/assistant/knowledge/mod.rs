//! Knowledge bases of assistants: indexing sources in the background, and searching them. (docs/spec/flows.md#4.12)
//!
//! The core cuts, stems and scores. This module stores what it returns and looks up candidates, so that a server and the page find the
//! same chunks with the same scores.

pub mod directory;
pub mod document;
pub mod embedding;
mod html;
pub mod indexing;
mod pdf;
pub mod search;
pub mod vectors;

use tokio::sync::Notify;

use directory::DirectoryCache;
use vectors::VectorCache;

/// What a server keeps of its knowledge bases.
#[derive(Debug, Default)]
pub struct KnowledgeBases {
    /// The directories of recently searched knowledge bases.
    pub directories: DirectoryCache,
    /// The vectors of recently searched knowledge bases.
    pub vectors: VectorCache,
    stored: Notify,
    indexed: Notify,
}

impl KnowledgeBases {
    /// Wakes the background tasks: a source has been stored.
    pub fn notify_stored(&self) {
        self.stored.notify_one();
        self.indexed.notify_one();
    }

    /// Wakes the embedding task: a source has been indexed.
    pub fn notify_indexed(&self) {
        self.indexed.notify_one();
    }

    /// Waits until a source may have been indexed.
    pub async fn wait_for_index(&self) {
        self.indexed.notified().await;
    }

    /// Waits until a source has been stored.
    pub async fn wait_for_source(&self) {
        self.stored.notified().await;
    }
}

#[cfg(test)]
mod tests;
