//! Joins what the words of a text say with what its embedding says.

use super::calibration::Evidence;
use super::classifier::{LexicalClassifier, RankedClass, Ranking};

/// What a similarity of 1 more than that of the other classes adds to the log-odds. Models of embeddings differ in how similar unrelated
/// texts are, but less in the distance between the right class and the next: 0.1 to 0.3 for a paraphrase, below 0.05 for anything else.
const MARGIN_FACTOR: f64 = 20.0;

/// What a similarity of 1 more than usual adds to the log-odds.
const SIMILARITY_FACTOR: f64 = 8.0;

/// A similarity that speaks neither for a class nor against it.
const USUAL_SIMILARITY: f64 = 0.5;

impl LexicalClassifier {
    /// Adds the similarities of classes to a ranking. A class without one is as similar as the least similar that has one, because only
    /// the most similar classes are given. Without similarities the ranking stays as it is.
    #[must_use]
    pub fn fuse(&self, ranking: Ranking, similarities: &[(usize, f64)]) -> Ranking {
        let Some(least) = similarities.iter().map(|it| it.1).min_by(f64::total_cmp) else { return ranking };
        let similarity_of =
            |class: usize| similarities.iter().find(|&&(other, _)| other == class).map_or(least, |&(_, similarity)| similarity);
        let mut order: Vec<f64> = ranking.classes.iter().map(|it| similarity_of(it.class)).collect();
        order.sort_by(|a, b| b.total_cmp(a));
        let (best, second) = (order.first().copied().unwrap_or(least), order.get(1).copied());
        let rank = |ranked: &RankedClass| {
            let similarity = similarity_of(ranked.class);
            let margin = if similarity < best { similarity - best } else { similarity - second.unwrap_or(similarity) };
            #[allow(clippy::cast_possible_truncation, reason = "they were single")]
            let evidence = Evidence { score: ranked.score as f32, margin: ranked.margin as f32, known: ranking.known as f32 };
            let added = MARGIN_FACTOR * margin + SIMILARITY_FACTOR * (similarity - USUAL_SIMILARITY);
            RankedClass { confidence: self.calibration.confidence_with(&evidence, added), similarity: Some(similarity), ..*ranked }
        };
        let mut classes: Vec<RankedClass> = ranking.classes.iter().map(rank).collect();
        classes.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        Ranking { classes, ..ranking }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::tests::shop;

    #[test]
    fn similarity_decides_where_words_do_not() {
        let classifier = LexicalClassifier::train(&shop());
        let ranking = classifier.rank("xyzzy");
        let classes: Vec<usize> = ranking.classes.iter().map(|it| it.class).collect();
        let [.., last] = classes.as_slice() else { panic!("there are classes") };
        let fused = classifier.fuse(ranking.clone(), &[(*last, 0.8), (classes[0], 0.4)]);
        assert_eq!((fused.classes[0].class, fused.classes[0].similarity), (*last, Some(0.8)));
        assert!(fused.classes[0].confidence > 0.7 && fused.classes[1].confidence < 0.05, "{fused:?}");
        assert!(fused.classes[1..].iter().all(|ranked| ranked.similarity == Some(0.4)), "{fused:?}");
        assert_eq!(classifier.fuse(ranking.clone(), &[]), ranking);
    }

    #[test]
    fn a_low_similarity_takes_confidence_away() {
        let classifier = LexicalClassifier::train(&shop());
        let ranking = classifier.rank("where is the refund");
        let confidence = |ranking: &Ranking, class: usize| {
            ranking.classes.iter().find(|ranked| ranked.class == class).map_or(0.0, |ranked| ranked.confidence)
        };
        let best = ranking.classes[0].class;
        let fused = classifier.fuse(ranking.clone(), &[(best, 0.1), (best + 1, 0.1)]);
        assert!(confidence(&fused, best) < confidence(&ranking, best), "{fused:?}");
    }
}
