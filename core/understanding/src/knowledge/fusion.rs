//! Fuses the keyword list and the vector list into one, with a confidence for each chunk. (docs/spec/flows.md#4.12)

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How little the first ranks differ from the following ones.
const K: f64 = 60.0;

/// The BM25 score that counts as half certain.
const HALF_CERTAIN: f64 = 1.5;

/// A chunk of the fused list, with its places in both lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fused {
    /// The id of the chunk.
    pub chunk: String,
    /// The reciprocal rank score: above 0, and 1 for a chunk that is first in both lists.
    pub rrf: f64,
    /// How well the chunk itself fits, whatever its rank: from 0 to 1. Thresholds apply to this.
    pub conf: f64,
    /// The place in the keyword list, from 1.
    pub keyword_rank: Option<u32>,
    /// The BM25 score.
    pub keyword_score: Option<f64>,
    /// The place in the vector list, from 1.
    pub vector_rank: Option<u32>,
    /// The cosine.
    pub vector_score: Option<f64>,
}

/// Fuses two lists, each best first, by weighted reciprocal rank; `vector_weight` is from 0 to 1.
///
/// The weight of an empty list moves to the other. A chunk missing from one of two non-empty lists gets 0 from it.
pub fn fuse(keyword: &[(String, f64)], vector: &[(String, f64)], vector_weight: f64) -> Vec<Fused> {
    let (keyword_weight, vector_weight) = match (keyword.is_empty(), vector.is_empty()) {
        (true, _) => (0.0, 1.0),
        (false, true) => (1.0, 0.0),
        (false, false) => {
            let weight = if vector_weight.is_nan() { 0.5 } else { vector_weight.clamp(0.0, 1.0) };
            (1.0 - weight, weight)
        }
    };
    let (keyword, vector) = (places(keyword), places(vector));
    let chunks = keyword.keys().chain(vector.keys().filter(|it| !keyword.contains_key(*it)));
    let mut fused: Vec<Fused> = chunks
        .map(|chunk| {
            let (by_keyword, by_vector) = (keyword.get(chunk).copied(), vector.get(chunk).copied());
            Fused {
                chunk: (*chunk).to_owned(),
                rrf: contribution(by_keyword, keyword_weight) + contribution(by_vector, vector_weight),
                conf: vector_weight * by_vector.map_or(0.0, |(_, score)| certainty_of_cosine(score))
                    + keyword_weight * by_keyword.map_or(0.0, |(_, score)| certainty_of_bm25(score)),
                keyword_rank: by_keyword.map(|(rank, _)| rank),
                keyword_score: by_keyword.map(|(_, score)| score),
                vector_rank: by_vector.map(|(rank, _)| rank),
                vector_score: by_vector.map(|(_, score)| score),
            }
        })
        .filter(|it| it.rrf > 0.0)
        .collect();
    fused.sort_by(|left, right| {
        right.rrf.total_cmp(&left.rrf).then(right.conf.total_cmp(&left.conf)).then_with(|| left.chunk.cmp(&right.chunk))
    });
    fused
}

/// The rank and score of each chunk; a chunk that is listed twice keeps its better place.
fn places(list: &[(String, f64)]) -> BTreeMap<&str, (u32, f64)> {
    let mut places = BTreeMap::new();
    for (rank, (chunk, score)) in (1..).zip(list) {
        places.entry(chunk.as_str()).or_insert((rank, *score));
    }
    places
}

/// Multiplied by `K + 1` before dividing, so that the first place gives the exact weight.
fn contribution(place: Option<(u32, f64)>, weight: f64) -> f64 {
    place.map_or(0.0, |(rank, _)| weight * ((K + 1.0) / (K + f64::from(rank))))
}

fn certainty_of_cosine(cosine: f64) -> f64 {
    if cosine.is_nan() { 0.0 } else { cosine.clamp(0.0, 1.0) }
}

fn certainty_of_bm25(score: f64) -> f64 {
    if score.is_finite() && score > 0.0 { score / (score + HALF_CERTAIN) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[(&str, f64)]) -> Vec<(String, f64)> {
        items.iter().map(|it| (it.0.to_owned(), it.1)).collect()
    }

    fn ranked(ids: &str) -> Vec<(String, f64)> {
        ids.chars().map(|it| (it.to_string(), 1.0)).collect()
    }

    fn rrf(fused: &[Fused], chunk: &str) -> f64 {
        fused.iter().find(|it| it.chunk == chunk).map_or(0.0, |it| it.rrf)
    }

    #[test]
    fn ranks_have_the_specified_scores() {
        let fused = fuse(&ranked("axc"), &ranked("ayc"), 0.5);
        assert_eq!(rrf(&fused, "a"), 1.0);
        assert!((rrf(&fused, "c") - 0.968_254).abs() < 1e-6);
        let fused = fuse(&ranked("ab"), &ranked("xa"), 0.5);
        assert!((rrf(&fused, "a") - 0.991_935).abs() < 1e-6);
        assert_eq!(rrf(&fused, "x"), 0.5);
    }

    #[test]
    fn confidence_is_that_of_the_chunk() {
        let fused = fuse(&list(&[("a", 1.5), ("b", 0.5)]), &list(&[("a", 0.8), ("c", -0.3)]), 0.25);
        let conf = |chunk: &str| fused.iter().find(|hit| hit.chunk == chunk).unwrap().conf;
        assert!((conf("a") - (0.25 * 0.8 + 0.75 * 0.5)).abs() < 1e-12);
        assert!((conf("b") - 0.75 * 0.25).abs() < 1e-12);
        assert_eq!(conf("c"), 0.0);
        assert_eq!((fused[0].keyword_rank, fused[0].vector_score, fused[1].vector_rank), (Some(1), Some(0.8), None));
    }

    #[test]
    fn the_weight_of_an_empty_list_moves() {
        let keyword = fuse(&list(&[("a", 1.5)]), &[], 0.9);
        assert_eq!((keyword[0].rrf, keyword[0].conf, keyword[0].vector_rank), (1.0, 0.5, None));
        let vector = fuse(&[], &list(&[("a", 0.7)]), 0.0);
        assert_eq!((vector[0].rrf, vector[0].conf), (1.0, 0.7));
        assert!(fuse(&[], &[], 0.5).is_empty());
    }

    #[test]
    fn equal_ranks_are_ordered_by_confidence_then_id() {
        let ids = |fused: Vec<Fused>| fused.into_iter().map(|hit| hit.chunk).collect::<String>();
        assert_eq!(ids(fuse(&list(&[("b", 9.0)]), &list(&[("a", 0.1)]), 0.5)), "ba");
        assert_eq!(ids(fuse(&list(&[("b", 1.5)]), &list(&[("a", 0.5)]), 0.5)), "ab");
        assert_eq!(ids(fuse(&ranked("ab"), &ranked("xab"), 0.0)), "ab", "a list without weight adds nothing");
        assert_eq!(ids(fuse(&ranked("aab"), &[], 0.5)), "ab");
        assert!(fuse(&list(&[("a", f64::NAN)]), &list(&[("a", f64::INFINITY)]), f64::NAN).iter().all(|it| it.conf.is_finite()));
    }
}
