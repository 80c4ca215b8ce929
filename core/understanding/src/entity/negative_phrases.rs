//! Phrases in which no value of an entity is meant.

use std::ops::Range;
use std::sync::Arc;

use convengine_text::phrase::PlacedPhrase;

use super::list::ListEntity;

/// Of no language, so that words have one form.
const NO_LOCALE: &str = "";

/// Phrases in which no value is meant. They are found as the spellings of a list are, but only in these forms of their words: otherwise
/// `booking` would also exclude `book`.
#[derive(Debug, Clone)]
pub(super) struct NegativePhrases(Arc<ListEntity>);

/// The places of a text that belong to such phrases.
pub(super) struct Excluded {
    text: PlacedPhrase,
    /// In words of the text.
    places: Vec<Range<usize>>,
}

impl NegativePhrases {
    /// Creates phrases of any language.
    pub fn new(phrases: &[String]) -> NegativePhrases {
        let entries: Vec<_> = phrases.iter().map(|phrase| (phrase.clone(), Vec::new())).collect();
        NegativePhrases(Arc::new(ListEntity::new(&entries, 0, NO_LOCALE)))
    }

    /// The words of a text that belong to a phrase; the places of two phrases may overlap.
    pub fn find_words(&self, words: &[String]) -> Vec<Range<usize>> {
        self.0.find_spellings(words)
    }

    /// Whether a text is a phrase as a whole.
    pub fn is_phrase(&self, text: &str) -> bool {
        let text = PlacedPhrase::without_accents(text);
        self.find_words(text.tokens()).contains(&(0..text.tokens().len()))
    }

    /// Finds the places of a text that belong to a phrase.
    pub fn find(&self, text: &str) -> Excluded {
        let text = PlacedPhrase::without_accents(text);
        Excluded { places: self.find_words(text.tokens()), text }
    }
}

impl Excluded {
    /// Whether all words of a place of the text, in bytes, belong to one phrase.
    pub fn contains(&self, place: &Range<usize>) -> bool {
        let is_touched = |range: &Range<usize>| range.start < place.end && place.start < range.end;
        let words = self.text.places();
        let first = words.iter().position(is_touched);
        let last = words.iter().rposition(is_touched);
        first.zip(last).is_some_and(|(first, last)| self.places.iter().any(|place| place.start <= first && last < place.end))
    }
}
