//! Retrieval for knowledge bases: cutting sources into chunks, analysing text into terms, scoring and fusing result lists.
//!
//! Pure and deterministic: the server and the page produce the same chunks, terms and scores, to the byte. A host stores what
//! [`cut_source`] returns and looks up candidates; it does not score. Documentation: docs/spec/flows.md#4.12

mod analysis;
mod cut;
mod fusion;
mod index;
mod invisible;
mod markdown;
mod phrase_vectors;
mod score;
mod source;

pub use analysis::query_terms;
pub use cut::{MAX_CHUNK_CHARS, cut_source};
pub use fusion::{Fused, fuse};
pub use index::{KeywordSearch, KnowledgeIndex};
pub use phrase_vectors::PhraseVectors;
pub use score::{Bm25, CollectionStats, KeywordCandidate, cosine, rank_keyword, rank_vector, select_candidates};
pub use source::{Chunk, Source, SourceFormat, UNREADABLE, embedding_text};
