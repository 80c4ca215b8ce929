//! Selects chunks by keywords: where terms occur, cached by revision, and the best chunks by BM25.

use std::sync::Arc;

use convengine_core::knowledge::{Bm25, CollectionStats, KeywordCandidate, select_candidates};
use convengine_core::turn::KNOWLEDGE_LIST_DEPTH;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::directory::Directory;

/// The number of terms that the cache expects.
const EXPECTED_TERMS: usize = 1_024;

/// What a cached term costs besides its occurrences, in bytes.
const TERM_OVERHEAD: u64 = 128;

/// A chunk that contains a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrence {
    /// The position of the chunk in the directory.
    pub position: u32,
    /// How often the chunk contains the term.
    pub count: u32,
}

/// The chunks that contain a term, by position.
pub type Occurrences = Arc<[Occurrence]>;

/// A term in a revision of a knowledge base, of which the occurrences never change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct TermKey {
    base: i64,
    revision: i64,
    term: String,
}

#[derive(Debug, Clone, Copy)]
struct OccurrenceWeighter;

impl Weighter<TermKey, Occurrences> for OccurrenceWeighter {
    fn weight(&self, key: &TermKey, occurrences: &Occurrences) -> u64 {
        (size_of_val::<[Occurrence]>(occurrences) + key.term.len()) as u64 + TERM_OVERHEAD
    }
}

/// The occurrences of recently searched terms.
#[derive(Debug)]
pub struct OccurrenceCache(Cache<TermKey, Occurrences, OccurrenceWeighter>);

impl OccurrenceCache {
    /// Creates a cache of at most so many bytes.
    pub fn new(bytes: u64) -> OccurrenceCache {
        OccurrenceCache(Cache::with_weighter(EXPECTED_TERMS, bytes, OccurrenceWeighter))
    }

    /// Returns the occurrences of a term in a directory, if they are cached.
    pub fn get(&self, directory: &Directory, term: &str) -> Option<Occurrences> {
        self.0.get(&term_key(directory, term))
    }

    /// Caches the occurrences of a term in a directory.
    pub fn insert(&self, directory: &Directory, term: &str, occurrences: &Occurrences) {
        self.0.insert(term_key(directory, term), Arc::clone(occurrences));
    }
}

fn term_key(directory: &Directory, term: &str) -> TermKey {
    TermKey { base: directory.base, revision: directory.revision, term: term.to_owned() }
}

/// Converts the database ids of chunks to positions and adds the counts of an id that is repeated.
pub fn locate(directory: &Directory, counts: &[(i64, u32)]) -> Occurrences {
    let occurrence = |it: &(i64, u32)| Some(Occurrence { position: u32::try_from(directory.position(it.0)?).ok()?, count: it.1 });
    let mut located: Vec<Occurrence> = counts.iter().filter_map(occurrence).collect();
    located.sort_unstable_by_key(|it| it.position);
    located.dedup_by(|next, kept| {
        let is_same = next.position == kept.position;
        if is_same {
            kept.count = kept.count.saturating_add(next.count);
        }
        is_same
    });
    located.into()
}

/// How often each searched chunk contains each term.
struct Counts {
    terms: usize,
    /// The positions of the chunks that contain a term.
    positions: Vec<usize>,
    /// For each of them, a count for each term.
    counts: Vec<u32>,
    /// For each position of the directory, one more than the index in `positions`; 0 for none.
    slots: Vec<u32>,
}

impl Counts {
    fn row(&self, index: usize) -> &[u32] {
        self.counts.get(index * self.terms..(index + 1) * self.terms).unwrap_or_default()
    }

    fn add(&mut self, term: usize, occurrence: Occurrence) {
        let position = occurrence.position as usize;
        let Some(slot) = self.slots.get_mut(position) else { return };
        if *slot == 0 {
            self.positions.push(position);
            self.counts.resize(self.positions.len() * self.terms, 0);
            *slot = u32::try_from(self.positions.len()).unwrap_or(u32::MAX);
        }
        if let Some(count) = self.counts.get_mut((*slot as usize - 1) * self.terms + term) {
            *count = occurrence.count;
        }
    }
}

/// Selects the best chunks of the searched sources, with the numbers that their scores depend on; `occurrences` has those of each term.
pub fn select(directory: &Directory, is_searched: &[bool], occurrences: &[Occurrences]) -> (CollectionStats, Vec<KeywordCandidate>) {
    let mut stats = CollectionStats { frequencies: vec![0; occurrences.len()], ..CollectionStats::default() };
    for (source, _) in directory.sources.iter().zip(is_searched).filter(|it| *it.1) {
        stats.chunks += source.chunks.len() as u64;
        stats.total_length += source.chunks.iter().map(|it| u64::from(it.1)).sum::<u64>();
    }
    let slots = vec![0; directory.len()];
    let mut counts = Counts { terms: occurrences.len(), positions: Vec::new(), counts: Vec::new(), slots };
    for (term, (occurrences, frequency)) in occurrences.iter().zip(&mut stats.frequencies).enumerate() {
        for occurrence in occurrences.iter().filter(|it| is_covered(directory, is_searched, it.position as usize)) {
            counts.add(term, *occurrence);
            *frequency += 1;
        }
    }
    let candidates: Vec<KeywordCandidate> =
        find_best(&stats, directory, &counts).into_iter().filter_map(|it| candidate(directory, &counts, it)).collect();
    let selected = select_candidates(&stats, &candidates, KNOWLEDGE_LIST_DEPTH);
    (stats, selected)
}

/// Returns the indexes of the best chunks and of all that are as good as the last of them: their order depends on their names, which are
/// not made for all chunks.
fn find_best(stats: &CollectionStats, directory: &Directory, counts: &Counts) -> Vec<usize> {
    let bm25 = Bm25::new(stats);
    let score = |(index, position): (usize, &usize)| (bm25.score(directory.chunk_length(*position), counts.row(index)), index);
    let scored: Vec<(f64, usize)> = counts.positions.iter().enumerate().map(score).collect();
    let mut scores: Vec<f64> = scored.iter().map(|it| it.0).collect();
    let least = if scores.len() > KNOWLEDGE_LIST_DEPTH {
        *scores.select_nth_unstable_by(KNOWLEDGE_LIST_DEPTH - 1, |left, right| right.total_cmp(left)).1
    } else {
        0.0
    };
    scored.into_iter().filter(|it| it.0 >= least).map(|it| it.1).collect()
}

fn candidate(directory: &Directory, counts: &Counts, index: usize) -> Option<KeywordCandidate> {
    let position = *counts.positions.get(index)?;
    Some(KeywordCandidate {
        chunk: directory.name(position)?,
        length: directory.chunk_length(position),
        counts: counts.row(index).to_vec(),
    })
}

fn is_covered(directory: &Directory, is_searched: &[bool], position: usize) -> bool {
    directory.place(position).is_some_and(|place| is_searched.get(place.source) == Some(&true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_cache_of_occurrences_evicts_some_and_keeps_the_rest() {
        let (cache, directory) = (OccurrenceCache::new(1 << 20), Directory::default());
        let occurrences: Occurrences = vec![Occurrence { position: 0, count: 1 }; 256].into();
        let terms: Vec<String> = (0..2_000).map(|it| format!("term{it}")).collect();
        for term in &terms {
            cache.insert(&directory, term, &occurrences);
        }
        assert!(cache.0.weight() <= 1 << 20);
        let kept = terms.iter().filter(|term| cache.get(&directory, term).is_some()).count();
        assert!(kept > 200, "most of what fits is still there: {kept}");
        let mut later = Directory::default();
        later.revision += 1;
        assert!(terms.iter().all(|term| cache.get(&later, term).is_none()), "another revision");
    }
}
