//! Scores of chunks: BM25 for terms, the cosine for embeddings.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// How fast repeating a term stops counting.
const K1: f64 = 1.2;

/// How much longer chunks are held back.
const B: f64 = 0.75;

/// What BM25 needs to know of the searched chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionStats {
    /// The number of searched chunks.
    pub chunks: u64,
    /// The sum of their lengths in terms.
    pub total_length: u64,
    /// For each term of the question, the number of chunks that contain it.
    pub frequencies: Vec<u64>,
}

/// A chunk that contains at least one term of the question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeywordCandidate {
    /// The id of the chunk.
    pub chunk: String,
    /// Its length in terms.
    pub length: u32,
    /// For each term of the question, how often the chunk contains it.
    pub counts: Vec<u32>,
}

/// BM25 (k1 1.2, b 0.75) of the terms of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Bm25 {
    weights: Vec<f64>,
    average_length: f64,
}

impl Bm25 {
    /// Weighs the terms of a question by how rare they are.
    pub fn new(stats: &CollectionStats) -> Bm25 {
        Bm25 { weights: weights(stats), average_length: average_length(stats) }
    }

    /// Returns the score of a chunk of `length` terms that contains each term of the question `counts` times, 0 or more.
    pub fn score(&self, length: u32, counts: &[u32]) -> f64 {
        let saturation = K1 * (1.0 - B + B * f64::from(length) / self.average_length);
        let terms = self.weights.iter().zip(counts);
        terms.fold(0.0, |sum, (weight, count)| {
            let count = f64::from(*count);
            if count > 0.0 { sum + weight * count * (K1 + 1.0) / (count + saturation) } else { sum }
        })
    }
}

/// Ranks chunks by BM25, best first, and returns at most `depth`; equal scores are ordered by id.
pub fn rank_keyword(stats: &CollectionStats, candidates: &[KeywordCandidate], depth: usize) -> Vec<(String, f64)> {
    best(stats, candidates, depth).into_iter().map(|(it, score)| (it.chunk.clone(), score)).collect()
}

/// Returns the best `depth` candidates by BM25: those that a host passes on.
pub fn select_candidates(stats: &CollectionStats, candidates: &[KeywordCandidate], depth: usize) -> Vec<KeywordCandidate> {
    best(stats, candidates, depth).into_iter().map(|it| it.0.clone()).collect()
}

fn best<'a>(stats: &CollectionStats, candidates: &'a [KeywordCandidate], depth: usize) -> Vec<(&'a KeywordCandidate, f64)> {
    let bm25 = Bm25::new(stats);
    let scored = candidates.iter().map(|candidate| (candidate, bm25.score(candidate.length, &candidate.counts))).filter(|it| it.1 > 0.0);
    top(scored.collect(), depth, |left, right| left.chunk.cmp(&right.chunk))
}

/// The inverse document frequencies. A frequency above the number of chunks is a host's mistake and counts as that number.
fn weights(stats: &CollectionStats) -> Vec<f64> {
    let frequencies = stats.frequencies.iter().map(|it| (*it).min(stats.chunks) as f64);
    // The logarithm of the platform's library may differ in the last bit between native code and the browser.
    frequencies.map(|frequency| libm::log(1.0 + (stats.chunks as f64 - frequency + 0.5) / (frequency + 0.5))).collect()
}

fn average_length(stats: &CollectionStats) -> f64 {
    if stats.chunks == 0 || stats.total_length == 0 { 1.0 } else { stats.total_length as f64 / stats.chunks as f64 }
}

/// Returns the cosine of the angle between two embeddings, from -1 to 1; 0 when they cannot be compared.
pub fn cosine(left: &[f32], right: &[f32]) -> f64 {
    if left.len() != right.len() {
        return 0.0;
    }
    let (mut product, mut left_square, mut right_square) = (0.0, 0.0, 0.0);
    for (left, right) in left.iter().zip(right) {
        let (left, right) = (f64::from(*left), f64::from(*right));
        product += left * right;
        left_square += left * left;
        right_square += right * right;
    }
    let cosine = product / (left_square * right_square).sqrt();
    if cosine.is_finite() { cosine.clamp(-1.0, 1.0) } else { 0.0 }
}

/// Ranks chunks by the cosine of their embeddings, best first, and returns at most `depth`; equal scores are ordered by id.
pub fn rank_vector<'a>(query: &[f32], chunks: impl IntoIterator<Item = (&'a str, &'a [f32])>, depth: usize) -> Vec<(String, f64)> {
    let scored = chunks.into_iter().map(|(chunk, embedding)| (chunk, cosine(query, embedding))).collect();
    top(scored, depth, |left: &&str, right| left.cmp(right)).into_iter().map(|it| (it.0.to_owned(), it.1)).collect()
}

/// Returns the best `depth` items in order, without sorting the others.
fn top<T>(mut scored: Vec<(T, f64)>, depth: usize, by_id: impl Fn(&T, &T) -> Ordering) -> Vec<(T, f64)> {
    let order = |left: &(T, f64), right: &(T, f64)| right.1.total_cmp(&left.1).then_with(|| by_id(&left.0, &right.0));
    if depth > 0 && depth < scored.len() {
        scored.select_nth_unstable_by(depth - 1, order);
    }
    scored.truncate(depth);
    scored.sort_unstable_by(order);
    scored
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(chunk: &str, length: u32, counts: &[u32]) -> KeywordCandidate {
        KeywordCandidate { chunk: chunk.to_owned(), length, counts: counts.to_vec() }
    }

    fn stats(chunks: u64, total_length: u64, frequencies: &[u64]) -> CollectionStats {
        CollectionStats { chunks, total_length, frequencies: frequencies.to_vec() }
    }

    fn bm25(stats: &CollectionStats, candidate: &KeywordCandidate) -> f64 {
        Bm25::new(stats).score(candidate.length, &candidate.counts)
    }

    #[test]
    fn bm25_has_the_standard_values() {
        // idf = ln(1 + 9.5/1.5), a chunk of average length: tf part 1.
        let score = bm25(&stats(10, 1000, &[1]), &candidate("a", 100, &[1]));
        assert!((score - 1.992_430_164_690_206).abs() < 1e-12, "{score}");
        // Twice the term in a chunk of half the length: 2 * 2.2 / (2 + 1.2 * 0.625).
        let twice = bm25(&stats(10, 1000, &[1]), &candidate("a", 50, &[2]));
        assert!((twice / score - 1.6).abs() < 1e-12, "{twice}");
        // A term of every chunk counts little, but not nothing.
        let common = bm25(&stats(10, 1000, &[10]), &candidate("a", 100, &[1]));
        assert!(common > 0.0 && common < 0.05, "{common}");
        // The bits are part of the contract between server and page.
        assert_eq!(score.to_bits(), 0x3fff_e0fe_73ce_8884, "{:x}", score.to_bits());
    }

    #[test]
    fn wrong_numbers_are_harmless() {
        for (stats, candidate) in [
            (stats(0, 0, &[0]), candidate("a", 0, &[0])),
            (stats(0, 0, &[7]), candidate("a", 0, &[1])),
            (stats(1, 0, &[u64::MAX]), candidate("a", u32::MAX, &[u32::MAX])),
            (stats(u64::MAX, u64::MAX, &[]), candidate("a", 1, &[1, 2])),
            (stats(5, 5, &[1, 1]), candidate("a", 1, &[])),
        ] {
            let score = bm25(&stats, &candidate);
            assert!(score.is_finite() && score >= 0.0, "{score} for {stats:?}");
        }
    }

    #[test]
    fn chunks_are_ranked_by_score_then_id() {
        let stats = stats(100, 1000, &[10, 2]);
        let all = [candidate("c", 10, &[1, 0]), candidate("b", 10, &[1, 0]), candidate("d", 10, &[0, 1]), candidate("e", 10, &[0, 0])];
        let ids = |depth| rank_keyword(&stats, &all, depth).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
        assert_eq!(ids(9), ["d", "b", "c"]);
        assert_eq!(ids(2), ["d", "b"]);
        assert_eq!(ids(0), Vec::<String>::new());
        assert_eq!(select_candidates(&stats, &all, 2), [all[2].clone(), all[1].clone()]);
    }

    #[test]
    fn cosine_compares_directions() {
        assert_eq!(cosine(&[1.0, 2.0], &[2.0, 4.0]), 1.0);
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 1.0]), 0.0);
        assert_eq!(cosine(&[1.0, 0.0], &[-3.0, 0.0]), -1.0);
        for (left, right) in
            [(&[][..], &[][..]), (&[0.0], &[1.0]), (&[1.0], &[1.0, 2.0]), (&[f32::NAN], &[1.0]), (&[f32::INFINITY], &[1.0])]
        {
            assert_eq!(cosine(left, right), 0.0, "{left:?} {right:?}");
        }
        let ranked = rank_vector(&[1.0, 0.0], [("b", &[0.0, 1.0][..]), ("c", &[1.0, 0.0]), ("a", &[2.0, 0.0])], 2);
        assert_eq!(ranked, [("a".to_owned(), 1.0), ("c".to_owned(), 1.0)]);
    }
}
