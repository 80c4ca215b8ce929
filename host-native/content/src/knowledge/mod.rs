//! Knowledge bases of assistants: indexing sources in the background, and searching them. (docs/spec/flows.md#4.12)
//!
//! The core cuts, stems and scores. This module stores what it returns and looks up candidates, so that a server and the page find the
//! same chunks with the same scores.

mod charset;
pub mod directory;
pub mod document;
pub mod document_process;
pub mod effect;
pub mod embedding;
mod html;
mod html_simplifier;
pub mod indexing;
pub mod keyword;
mod pdf;
pub mod scan;
pub mod search;
pub mod vectors;

use tokio::sync::Notify;

use convengine_effects::llm::Models;
use convengine_settings::SearchMemory;
use convengine_storage::assistant::knowledge::vector::{self, VectorSearch};
use convengine_storage::kept_connection::KeptConnection;
use convengine_storage::{Connection, DatabaseConfig};
use directory::DirectoryCache;
use vectors::VectorCache;

/// What a server keeps of its knowledge bases.
#[derive(Debug)]
pub struct KnowledgeBases {
    /// The directories of recently searched knowledge bases.
    pub directories: DirectoryCache,
    /// Where the nearest vectors are found.
    pub vector_search: VectorSearch,
    /// The vectors of recently searched knowledge bases, if they are searched in memory.
    pub vectors: VectorCache,
    /// Stores sources.
    pub connection: KeptConnection,
    stored: Notify,
    indexed: Notify,
}

impl KnowledgeBases {
    /// Creates what a server keeps of the knowledge bases in the database of `connection`.
    pub async fn new(
        database: &DatabaseConfig,
        connection: &mut Connection,
        models: &Models,
        memory: SearchMemory,
    ) -> sqlx::Result<KnowledgeBases> {
        let mut vector_search = VectorSearch::Memory;
        if models.embedding_model().is_some() {
            vector_search = vector::prepare_search(connection).await?;
            if vector_search == VectorSearch::Memory {
                tracing::warn!("vectors are searched in memory, up to 50,000 chunks an assistant; install pgvector for more");
            }
        }
        Ok(KnowledgeBases {
            directories: DirectoryCache::new(memory),
            vector_search,
            vectors: VectorCache::new(memory),
            connection: KeptConnection::new(database.clone()),
            stored: Notify::new(),
            indexed: Notify::new(),
        })
    }

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
mod documents;
#[cfg(test)]
mod tests;
