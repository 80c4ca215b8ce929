//! Retrieval for knowledge bases: cutting sources into chunks, analysing text into terms, scoring and fusing result lists.
//!
//! Pure and deterministic: the server and the page produce the same chunks, terms and scores, to the byte. A host stores what
//! [`cut_source`] returns and looks up candidates; it does not score. Documentation: docs/spec/flows.md#4.12
//!
//! ```
//! use convengine_understanding::knowledge::{KnowledgeIndex, Source, rank_keyword};
//!
//! let source: Source = serde_json::from_str(
//!     r#"{"id": "delivery", "title": "Delivery", "text": "Parcels arrive within two days. Islands take a week.", "locale": "en-US"}"#,
//! )?;
//! let mut index = KnowledgeIndex::new();
//! assert_eq!(index.add(&source), 1);
//! let found = index.search("How long do parcels take?", None, 50);
//! assert_eq!(rank_keyword(&found.stats, &found.candidates, 50)[0].0, "delivery#1");
//! # Ok::<(), serde_json::Error>(())
//! ```

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
