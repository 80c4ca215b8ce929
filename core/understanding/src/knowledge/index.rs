//! A knowledge base in memory, for the page, the pack player and tests.

use std::collections::{BTreeMap, BTreeSet};

use std::ops::Range;

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

/// Sources, their chunks, and where each term occurs.
#[derive(Debug, Clone, Default)]
pub struct KnowledgeIndex {
    sources: BTreeMap<String, IndexedSource>,
    /// The chunks by slot; a removed chunk leaves its slot empty.
    chunks: Vec<Option<Chunk>>,
    /// The slots of the chunks with each term.
    postings: BTreeMap<String, Vec<usize>>,
}

#[derive(Debug, Clone)]
struct IndexedSource {
    locale: String,
    /// The slots of its chunks, in order.
    slots: Range<usize>,
    /// The sum of their lengths.
    length: u64,
}

impl KnowledgeIndex {
    /// Creates an empty knowledge base.
    pub fn new() -> KnowledgeIndex {
        KnowledgeIndex::default()
    }

    /// Adds a source, or replaces the one with its id; returns the number of its chunks.
    pub fn add(&mut self, source: &Source) -> usize {
        self.remove(&source.id);
        let chunks = cut_source(source);
        let start = self.chunks.len();
        let length = chunks.iter().map(|it| u64::from(it.length)).sum();
        for chunk in chunks {
            let slot = self.chunks.len();
            for (term, _) in &chunk.terms {
                self.postings.entry(term.clone()).or_default().push(slot);
            }
            self.chunks.push(Some(chunk));
        }
        let slots = start..self.chunks.len();
        let count = slots.len();
        self.sources.insert(source.id.clone(), IndexedSource { locale: source.locale.clone(), slots, length });
        count
    }

    /// Removes a source; returns whether there was one.
    pub fn remove(&mut self, source: &str) -> bool {
        let Some(removed) = self.sources.remove(source) else { return false };
        for slot in removed.slots {
            let Some(chunk) = self.chunks.get_mut(slot).and_then(Option::take) else { continue };
            for (term, _) in chunk.terms {
                if let Some(places) = self.postings.get_mut(&term) {
                    places.retain(|it| *it != slot);
                    if places.is_empty() {
                        self.postings.remove(&term);
                    }
                }
            }
        }
        true
    }

    /// Returns a chunk by its id.
    pub fn chunk(&self, id: &str) -> Option<&Chunk> {
        let (source, number) = id.rsplit_once('#')?;
        let slot = self.sources.get(source)?.slots.clone().nth(number.parse::<usize>().ok()?.checked_sub(1)?)?;
        self.chunks.get(slot)?.as_ref()
    }

    /// Returns all chunks, by source.
    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.sources.values().flat_map(|it| it.slots.clone()).filter_map(|slot| self.chunks.get(slot)?.as_ref())
    }

    /// Searches the given sources, or all: returns the best `depth` chunks that contain a term of the question.
    pub fn search(&self, query: &str, sources: Option<&[String]>, depth: usize) -> KeywordSearch {
        let sources: Option<BTreeSet<&str>> = sources.map(|ids| ids.iter().map(String::as_str).collect());
        let is_searched = |id: &str| sources.as_ref().is_none_or(|ids| ids.contains(id));
        let searched: Vec<&IndexedSource> = self.sources.iter().filter(|it| is_searched(it.0)).map(|it| it.1).collect();
        let locales: BTreeSet<&str> = searched.iter().map(|it| it.locale.as_str()).collect();
        let terms = query_terms(query, &Vec::from_iter(locales));
        let mut frequencies = vec![0; terms.len()];
        let mut found: Vec<Option<KeywordCandidate>> = vec![None; self.chunks.len()];
        for (place, (term, frequency)) in terms.iter().zip(&mut frequencies).enumerate() {
            for slot in self.postings.get(term).into_iter().flatten() {
                let Some(chunk) = self.chunks.get(*slot).and_then(Option::as_ref).filter(|it| is_searched(&it.source)) else { continue };
                *frequency += 1;
                let new = || KeywordCandidate { chunk: chunk.id.clone(), length: chunk.length, counts: vec![0; terms.len()] };
                let counted = found.get_mut(*slot).and_then(|candidate| candidate.get_or_insert_with(new).counts.get_mut(place));
                let count = chunk.terms.binary_search_by(|it| it.0.cmp(term)).ok().and_then(|it| chunk.terms.get(it));
                if let (Some(counted), Some((_, count))) = (counted, count) {
                    *counted = *count;
                }
            }
        }
        let chunks = searched.iter().map(|it| it.slots.len() as u64).sum();
        let stats = CollectionStats { chunks, total_length: searched.iter().map(|it| it.length).sum(), frequencies };
        let candidates = select_candidates(&stats, &found.into_iter().flatten().collect::<Vec<_>>(), depth);
        KeywordSearch { terms, stats, candidates }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SourceFormat, rank_keyword};
    use super::*;

    fn source(id: &str, text: &str, locale: &str) -> Source {
        let (id, text, locale) = (id.to_owned(), text.to_owned(), locale.to_owned());
        Source { title: String::new(), id, text, url: None, locale, format: SourceFormat::Text, unreadable_pages: 0 }
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
        assert!(!index.postings.contains_key("card"), "nothing is left of removed sources");
    }
}
