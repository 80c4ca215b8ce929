//! Selects chunks by keywords: where terms occur, cached with the directory, and the best chunks by BM25.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::knowledge::{Bm25, CollectionStats, KeywordCandidate, select_candidates};
use convengine_core::turn::KNOWLEDGE_LIST_DEPTH;

use super::directory::Directory;

/// The size of a cache: the number of occurrences, 8 bytes each.
const MAX_OCCURRENCES: usize = 1 << 20;

/// What a cached term costs besides its occurrences.
const TERM_OVERHEAD: usize = 16;

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

/// The occurrences of recently searched terms in a directory, which never change.
#[derive(Debug, Default)]
pub struct OccurrenceCache(Mutex<CachedTerms>);

#[derive(Debug, Default)]
struct CachedTerms {
    size: usize,
    terms: BTreeMap<String, Occurrences>,
}

impl OccurrenceCache {
    /// Returns the occurrences of a term, if they are cached.
    pub fn get(&self, term: &str) -> Option<Occurrences> {
        self.lock().terms.get(term).cloned()
    }

    /// Caches the occurrences of a term; a full cache is emptied first.
    pub fn insert(&self, term: &str, occurrences: &Occurrences) {
        let size = occurrences.len() + TERM_OVERHEAD;
        let mut cached = self.lock();
        if size > MAX_OCCURRENCES || cached.terms.contains_key(term) {
            return;
        }
        if cached.size + size > MAX_OCCURRENCES {
            *cached = CachedTerms::default();
        }
        cached.size += size;
        cached.terms.insert(term.to_owned(), Arc::clone(occurrences));
    }

    fn lock(&self) -> MutexGuard<'_, CachedTerms> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
    directory.place(position).is_some_and(|it| is_searched.get(it.source) == Some(&true))
}
