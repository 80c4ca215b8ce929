//! The effect that searches the knowledge base of an assistant. (docs/spec/flows.md#4.12)

use convengine_understanding::knowledge::{Chunk, CollectionStats, Fused, KeywordCandidate, fuse, rank_keyword};
use serde::{Deserialize, Serialize};

use super::{EffectClass, Usage};

/// Deadline in milliseconds; it includes the embedding of the query.
const DEADLINE_MS: u32 = 15_000;

/// A search by keywords and by vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnowledgeRequest {
    /// The assistant, by the id of its document.
    pub assistant: String,
    /// The kind of the document if it is not an assistant, such as `workflow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The sources to search; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<String>>,
    /// The query.
    pub query: String,
    /// The number of passages to return.
    pub top_k: u32,
    /// The weight of the vector list, 0 to 1; it decides which passages are returned.
    pub vector_weight: f64,
}

/// The number of chunks in each list.
pub const KNOWLEDGE_LIST_DEPTH: usize = 50;

/// The two lists, best first, and the passages of the best chunks of both. The core computes the scores and the fusion, so that all hosts
/// agree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KnowledgeReply {
    /// What the scores of the keyword list depend on.
    pub stats: CollectionStats,
    /// The chunks that hold a term of the query.
    pub keyword: Vec<KeywordCandidate>,
    /// The chunks nearest to the query; empty without embeddings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vector: Vec<VectorHit>,
    /// Why the query was not compared with the vectors that there are; the search is by keywords alone then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_error: Option<String>,
    /// What the embedding of the query has used; absent if it was not embedded, or if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The best chunks after fusion, at most `top_k`.
    pub passages: Vec<Passage>,
}

/// A chunk near to the query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VectorHit {
    /// The chunk.
    pub chunk: String,
    /// The cosine of the angle between its vector and that of the query.
    pub score: f64,
}

/// A chunk with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// The chunk.
    pub chunk: String,
    /// Its source.
    pub source: String,
    /// The title of the source.
    pub title: String,
    /// The address of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The text.
    pub text: String,
}

impl From<&Chunk> for Passage {
    fn from(chunk: &Chunk) -> Self {
        Passage {
            chunk: chunk.id.clone(),
            source: chunk.source.clone(),
            title: chunk.title.clone(),
            url: chunk.url.clone(),
            text: chunk.text.clone(),
        }
    }
}

impl KnowledgeReply {
    /// Fuses the lists, best first; the weight of an empty list moves to the other.
    pub fn fuse(&self, vector_weight: f64) -> Vec<Fused> {
        let keyword = rank_keyword(&self.stats, &self.keyword, KNOWLEDGE_LIST_DEPTH);
        let vector: Vec<(String, f64)> = self.vector.iter().map(|hit| (hit.chunk.clone(), hit.score)).collect();
        fuse(&keyword, &vector, vector_weight)
    }

    /// The chunks whose passages a host adds: it fills in the lists, asks for these, and reads their texts last.
    pub fn chunks_to_read(&self, request: &KnowledgeRequest) -> Vec<String> {
        let most = usize::try_from(request.top_k).unwrap_or(usize::MAX);
        self.fuse(request.vector_weight).into_iter().take(most).map(|it| it.chunk).collect()
    }
}

operation!(Knowledge: KnowledgeRequest => Box<KnowledgeReply>, class: EffectClass::Read, deadline_ms: |_| DEADLINE_MS);
