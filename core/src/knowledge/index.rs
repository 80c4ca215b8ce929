//! A knowledge base in memory, for the page, the pack player and tests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::analysis::query_terms;
use super::cut::cut_source;
use super::score::{CollectionStats, KeywordCandidate, select_candidates};
use super::source::{Chunk, Source};

/// What a keyword search found: everything that BM25 needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeywordSearch {
    /// The terms of the question.
    pub terms: Vec<String>,
    /// Numbers of the searched sources.
    pub stats: CollectionStats,
    /// The best chunks, best first.
    pub candidates: Vec<KeywordCandidate>,
}

/// Sources and their chunks.
#[derive(Debug, Clone, Default)]
pub struct KnowledgeIndex {
    sources: BTreeMap<String, IndexedSource>,
}

#[derive(Debug, Clone)]
struct IndexedSource {
    locale: String,
    chunks: Vec<Chunk>,
}

impl KnowledgeIndex {
    /// Creates an empty knowledge base.
    pub fn new() -> KnowledgeIndex {
        KnowledgeIndex::default()
    }

    /// Adds a source, or replaces the one with its id; returns the number of its chunks.
    pub fn add(&mut self, source: &Source) -> usize {
        let chunks = cut_source(source);
        let count = chunks.len();
        self.sources.insert(source.id.clone(), IndexedSource { locale: source.locale.clone(), chunks });
        count
    }

    /// Removes a source; returns whether there was one.
    pub fn remove(&mut self, source: &str) -> bool {
        self.sources.remove(source).is_some()
    }

    /// Returns a chunk by its id.
    pub fn chunk(&self, id: &str) -> Option<&Chunk> {
        let (source, number) = id.rsplit_once('#')?;
        self.sources.get(source)?.chunks.get(number.parse::<usize>().ok()?.checked_sub(1)?)
    }

    /// Returns all chunks, by source.
    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.sources.values().flat_map(|it| &it.chunks)
    }

    /// Searches the given sources, or all: returns the best `depth` chunks that contain a term of the question.
    pub fn search(&self, query: &str, sources: Option<&[String]>, depth: usize) -> KeywordSearch {
        let searched: Vec<&IndexedSource> =
            self.sources.iter().filter(|it| sources.is_none_or(|ids| ids.contains(it.0))).map(|it| it.1).collect();
        let mut locales: Vec<&str> = searched.iter().map(|it| it.locale.as_str()).collect();
        locales.sort_unstable();
        locales.dedup();
        let terms = query_terms(query, &locales);
        let mut stats = CollectionStats { frequencies: vec![0; terms.len()], ..CollectionStats::default() };
        let mut candidates = Vec::new();
        for chunk in searched.iter().flat_map(|it| &it.chunks) {
            stats.chunks += 1;
            stats.total_length += u64::from(chunk.length);
            let counts: Vec<u32> = terms.iter().map(|it| chunk.count(it)).collect();
            stats.frequencies.iter_mut().zip(&counts).for_each(|(sum, count)| *sum += u64::from(*count > 0));
            if counts.iter().any(|it| *it > 0) {
                candidates.push(KeywordCandidate { chunk: chunk.id.clone(), length: chunk.length, counts });
            }
        }
        candidates = select_candidates(&stats, &candidates, depth);
        KeywordSearch { terms, stats, candidates }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SourceFormat, rank_keyword};
    use super::*;

    fn source(id: &str, text: &str, locale: &str) -> Source {
        let (id, text, locale) = (id.to_owned(), text.to_owned(), locale.to_owned());
        Source { title: String::new(), id, text, url: None, locale, format: SourceFormat::Text }
    }

    fn index() -> KnowledgeIndex {
        let mut index = KnowledgeIndex::new();
        assert_eq!(index.add(&source("fees", "Fees for cards. A card costs five euros.", "en")), 1);
        index.add(&source("limits", "Limits of transfers and of cards", "en"));
        index.add(&source("gebühr#1", "Gebühren für Karten", "de"));
        index
    }

    fn found(index: &KnowledgeIndex, query: &str, sources: Option<&[String]>) -> Vec<String> {
        let search = index.search(query, sources, 50);
        rank_keyword(&search.stats, &search.candidates, 50).into_iter().map(|it| it.0).collect()
    }

    #[test]
    fn searches_find_any_term() {
        let index = index();
        assert_eq!(found(&index, "What does the card cost?", None), ["fees#1", "limits#1"]);
        assert_eq!(found(&index, "Was kostet eine Karte?", None), ["gebühr#1#1"]);
        assert!(found(&index, "weather", None).is_empty());
        assert_eq!(found(&index, "card", Some(&["limits".to_owned()])), ["limits#1"]);
        assert!(found(&index, "card", Some(&[])).is_empty());
        let search = index.search("card weather", Some(&["fees".to_owned(), "limits".to_owned()]), 1);
        assert_eq!((search.stats.chunks, search.stats.frequencies, search.candidates.len()), (2, vec![2, 0], 1));
    }

    #[test]
    fn sources_are_replaced_and_removed() {
        let mut index = index();
        index.add(&source("fees", "Nothing here", "en"));
        assert_eq!(found(&index, "card", None), ["limits#1"]);
        assert!(index.remove("limits") && !index.remove("limits"));
        assert!(found(&index, "card", None).is_empty());
        assert_eq!(index.chunk("gebühr#1#1").map(|it| it.text.as_str()), Some("Gebühren für Karten"));
        for id in ["gebühr#1#0", "gebühr#1#2", "x#1", "x", "gebühr#1#x", ""] {
            assert!(index.chunk(id).is_none(), "{id}");
        }
        assert_eq!(index.chunks().count(), 2);
    }
}
