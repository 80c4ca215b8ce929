//! What users say, normalised to be compared with phrases and patterns. (`convoship.md` 5.3)

/// The tokens of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase(Vec<String>);

impl Phrase {
    /// Normalises a text as its locale says.
    pub fn of(_text: &str, _locale: &str) -> Phrase {
        Phrase(Vec::new())
    }

    /// Its tokens.
    pub fn tokens(&self) -> &[String] {
        &self.0
    }

    /// How much an utterance is like a small-talk pattern, from 0 to 1; 0 when it is too long for it.
    pub fn likeness(&self, _pattern: &Phrase) -> f64 {
        0.0
    }

    /// Whether an utterance hits a training phrase: the number of tokens that match, and the score.
    pub fn hit(&self, _phrase: &Phrase) -> Option<(usize, f64)> {
        None
    }
}
