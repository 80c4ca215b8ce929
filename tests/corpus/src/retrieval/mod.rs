//! Measures retrieval on a small collection of our own: keyword search, vector search, and both together.
//!
//! The vector search uses [`embed`], which stands in for a model of embeddings, so its figures say how lists are fused, not how good a
//! model is.

mod embedding;
mod measure;

use std::collections::BTreeMap;

use anyhow::Result;
use convengine_core::knowledge::{KnowledgeIndex, Source, SourceFormat, fuse, rank_keyword, rank_vector};
use serde::Deserialize;

pub use embedding::{DIMENSIONS, embed};
pub use measure::Figures;

/// How many chunks each list has, as in the knowledge node.
const DEPTH: usize = 50;

/// The default weight of vectors in the knowledge node.
const VECTOR_WEIGHT: f64 = 0.5;

/// Passages, and questions with the passages that answer them.
#[derive(Debug, Clone, Deserialize)]
pub struct Collection {
    /// What is searched.
    pub passages: Vec<Passage>,
    /// What is asked.
    pub questions: Vec<Question>,
}

/// A source.
#[derive(Debug, Clone, Deserialize)]
pub struct Passage {
    /// The id of the source.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Its locale.
    pub locale: String,
}

/// A question with its judgements.
#[derive(Debug, Clone, Deserialize)]
pub struct Question {
    /// The question.
    pub text: String,
    /// The relevance by passage: 2 answers the question, 1 helps.
    pub relevant: BTreeMap<String, u32>,
}

/// A way to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// BM25 alone.
    Keyword,
    /// Embeddings alone.
    Vector,
    /// Both lists, fused.
    Hybrid,
}

impl Mode {
    /// All modes, in the order in which they are printed.
    pub const ALL: [Mode; 3] = [Mode::Keyword, Mode::Vector, Mode::Hybrid];

    /// Returns the name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Keyword => "keyword",
            Mode::Vector => "vector",
            Mode::Hybrid => "hybrid",
        }
    }
}

/// Reads the collection in `tests/retrieval`.
///
/// # Errors
/// If the file cannot be read or parsed.
pub fn read_collection() -> Result<Collection> {
    Ok(serde_json::from_slice(&std::fs::read(crate::root().join("tests/retrieval/data.json"))?)?)
}

/// A collection that is ready to be searched.
pub struct Searcher {
    index: KnowledgeIndex,
    embeddings: Vec<(String, Vec<f32>)>,
}

impl Searcher {
    /// Indexes a collection.
    pub fn new(collection: &Collection) -> Searcher {
        let mut index = KnowledgeIndex::new();
        for passage in &collection.passages {
            let Passage { id, title, text, locale } = passage.clone();
            index.add(&Source { id, title, text, url: None, locale, format: SourceFormat::Text, unreadable_pages: 0 });
        }
        let embeddings = index.chunks().map(|chunk| (chunk.id.clone(), embed(&chunk.embedding_text()))).collect();
        Searcher { index, embeddings }
    }

    /// Returns the ids of the sources found, best first, each once.
    pub fn search(&self, question: &str, mode: Mode) -> Vec<String> {
        let found = self.index.search(question, None, DEPTH);
        let keyword = match mode {
            Mode::Vector => Vec::new(),
            Mode::Keyword | Mode::Hybrid => rank_keyword(&found.stats, &found.candidates, DEPTH),
        };
        let vector = match mode {
            Mode::Keyword => Vec::new(),
            Mode::Vector | Mode::Hybrid => {
                rank_vector(&embed(question), self.embeddings.iter().map(|(id, embedding)| (id.as_str(), embedding.as_slice())), DEPTH)
            }
        };
        let mut sources: Vec<String> = Vec::new();
        for fused in fuse(&keyword, &vector, VECTOR_WEIGHT) {
            let source = fused.chunk.rsplit_once('#').map_or(fused.chunk.as_str(), |it| it.0);
            if !sources.iter().any(|it| it == source) {
                sources.push(source.to_owned());
            }
        }
        sources
    }

    /// Returns the mean figures of all questions.
    pub fn measure(&self, questions: &[Question], mode: Mode) -> Figures {
        Figures::mean(questions.iter().map(|question| Figures::new(&self.search(&question.text, mode), &question.relevant)))
    }
}
