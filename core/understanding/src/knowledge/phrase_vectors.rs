//! The embedded phrases of intents.

use super::score::rank_vector;

/// The phrases of intents with their embeddings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhraseVectors(Vec<(String, Vec<f32>)>);

impl PhraseVectors {
    /// Pairs phrases, given by the ids of their intents, with their embeddings.
    pub fn new(intents: impl IntoIterator<Item = String>, vectors: impl IntoIterator<Item = Vec<f32>>) -> PhraseVectors {
        PhraseVectors(intents.into_iter().zip(vectors).collect())
    }

    /// Returns the intents with the phrases nearest to a text, best first and at most `depth`, each with the cosine of its nearest phrase.
    pub fn find_nearest(&self, text: &[f32], depth: usize) -> Vec<(String, f64)> {
        let phrases = self.0.iter().map(|(phrase, vector)| (phrase.as_str(), vector.as_slice()));
        let mut nearest: Vec<(String, f64)> = Vec::new();
        for (intent, similarity) in rank_vector(text, phrases, usize::MAX) {
            if nearest.len() >= depth {
                break;
            }
            if nearest.iter().all(|it| it.0 != intent) {
                nearest.push((intent, similarity));
            }
        }
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intent_is_as_near_as_its_nearest_phrase() {
        let intents = ["pay", "card", "pay", "loan"].map(str::to_owned);
        let vectors = [[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, -1.0]].map(|it| it.to_vec());
        let vectors = PhraseVectors::new(intents, vectors);
        let nearest = |text: [f32; 2], depth| vectors.find_nearest(&text, depth).into_iter().map(|(intent, _)| intent).collect::<Vec<_>>();
        assert_eq!(nearest([1.0, 0.0], 9), ["pay", "card", "loan"]);
        assert_eq!(nearest([0.0, -2.0], 1), ["loan"]);
        assert_eq!(PhraseVectors::default().find_nearest(&[1.0], 9), []);
    }
}
