//! Lists of values with synonyms, in the forms in which people write them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use convengine_text::language::{is_own_word, language_of, stem};
use convengine_text::phrase::{Phrase, PlacedPhrase};
use rust_stemmers::Stemmer;

use super::negative_phrases::NegativePhrases;
use super::scanner::MAX_VALUES;
use super::{EntityMatch, Extraction};

/// Minimum letters of a word for fuzzy matching.
const MIN_FUZZY_LETTERS: usize = 5;

/// How many words of a text may be written as one word of a spelling.
const MAX_JOINED_WORDS: usize = 4;

/// A list of values with synonyms.
#[derive(Debug, Clone)]
pub struct ListEntity {
    values: Vec<String>,
    spellings: Vec<Spelling>,
    /// Spellings by their first word, by all words as one, and, where stems are other words, by the stem of their first word.
    by_word: SpellingIndex,
    by_joined: SpellingIndex,
    by_stem: SpellingIndex,
    locale: String,
    max_edits: usize,
    negative: Option<NegativePhrases>,
}

/// Numbers of spellings by a word, in the order of the words.
#[derive(Debug, Clone, Default)]
struct SpellingIndex(Vec<(String, usize)>);

impl SpellingIndex {
    /// The spellings of a word.
    fn numbers(&self, word: &str) -> impl Iterator<Item = usize> {
        let start = self.0.partition_point(|it| *it.0 < *word);
        self.0.iter().skip(start).take_while(move |it| *it.0 == *word).map(|it| it.1)
    }
}

/// A value or synonym that matches a value.
#[derive(Debug, Clone)]
struct Spelling {
    written: String,
    /// Its words without case and accents.
    words: Vec<String>,
    /// Their stems; empty where they are the words.
    stems: Vec<String>,
    value: usize,
}

impl Spelling {
    /// The stems of its words.
    fn stems(&self) -> &[String] {
        if self.stems.is_empty() { &self.words } else { &self.stems }
    }
}

/// How a spelling fits words, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// Word by word.
    Exact,
    /// With other blanks and hyphens.
    Joined,
    /// In another form of the words.
    Inflected,
    /// With so many errors.
    Near(usize),
}

/// A value in the words of a text.
struct ListMatch {
    words: Range<usize>,
    fit: Fit,
    value: usize,
}

impl ListEntity {
    pub(super) fn new(entries: &[(String, Vec<String>)], max_edits: u8, locale: &str) -> ListEntity {
        let mut list = ListEntity {
            values: Vec::new(),
            spellings: Vec::new(),
            by_word: SpellingIndex::default(),
            by_joined: SpellingIndex::default(),
            by_stem: SpellingIndex::default(),
            locale: locale.to_owned(),
            max_edits: max_edits.into(),
            negative: None,
        };
        let stemmer = list.stemmer();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for (value, synonyms) in entries {
            let index = *known.entry(value).or_insert_with(|| {
                list.values.push(value.clone());
                list.values.len() - 1
            });
            for written in [value].into_iter().chain(synonyms) {
                list.add_spelling(written, index, stemmer.as_ref());
            }
        }
        for index in [&mut list.by_word, &mut list.by_joined, &mut list.by_stem] {
            index.0.sort_unstable();
        }
        list
    }

    /// The same list with phrases in which no value is meant.
    pub(super) fn with_negative_phrases(self, phrases: &[String]) -> ListEntity {
        ListEntity { negative: Some(NegativePhrases::new(phrases)), ..self }
    }

    pub(super) fn negative_phrases(&self) -> Option<&NegativePhrases> {
        self.negative.as_ref()
    }

    fn stemmer(&self) -> Option<Stemmer> {
        language_of(&self.locale).map(Stemmer::create)
    }

    /// The stem of a word. A word with a meaning of its own gets a stem that no other word has: "morgen" (tomorrow) is not a form of
    /// "morgens", nor "even" of "evening".
    fn stem_of(&self, word: &str, stemmer: Option<&Stemmer>) -> String {
        if is_own_word(word, &self.locale) { format!("={word}") } else { stem(word, stemmer) }
    }

    fn add_spelling(&mut self, written: &str, value: usize, stemmer: Option<&Stemmer>) {
        let words = Phrase::without_accents(written).tokens().to_vec();
        let Some(first) = words.first() else { return };
        let mut stems: Vec<String> = words.iter().map(|it| self.stem_of(it, stemmer)).collect();
        if stems == words {
            stems.clear();
        }
        let number = self.spellings.len();
        self.by_word.0.push((first.clone(), number));
        if let Some(first) = stems.first() {
            self.by_stem.0.push((first.clone(), number));
        }
        self.by_joined.0.push((words.concat(), number));
        self.spellings.push(Spelling { written: written.to_owned(), words, stems, value });
    }

    /// The values in document order.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Spellings that belong to several values, with these values.
    pub(super) fn clashes(&self) -> Vec<(String, Vec<String>)> {
        // Of equal keys the last entry counts.
        let first: BTreeMap<&[String], usize> = self.spellings.iter().enumerate().rev().map(|(index, it)| (&*it.words, index)).collect();
        let mut clashing: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for spelling in &self.spellings {
            let Some(first) = first.get(&*spelling.words) else { continue };
            if self.spellings.get(*first).is_some_and(|it| it.value != spelling.value) {
                clashing.entry(*first).or_default().push(spelling.value);
            }
        }
        let clash = |(first, others): (usize, Vec<usize>)| {
            let spelling = self.spellings.get(first)?;
            Some((spelling.written.clone(), self.values_at([spelling.value].into_iter().chain(others).collect())))
        };
        clashing.into_iter().filter_map(clash).collect()
    }

    /// The values at these indexes, without duplicates, in document order.
    fn values_at(&self, mut numbers: Vec<usize>) -> Vec<String> {
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().filter_map(|it| self.values.get(it)).cloned().collect()
    }

    /// Finds the value of a text; several are ambiguous.
    pub(super) fn find(&self, text: &str) -> Extraction {
        let phrase = PlacedPhrase::without_accents(text);
        let mut values = self.values_at(self.find_words(phrase.tokens()).into_iter().flat_map(|it| it.1).collect());
        match values.len() {
            0 => Extraction::NotFound,
            1 => values.pop().map_or(Extraction::NotFound, |value| Extraction::Value(value.into())),
            _ => Extraction::Ambiguous(values),
        }
    }

    /// Finds all values in a text, from left to right.
    pub(super) fn find_all(&self, text: &str) -> Vec<EntityMatch> {
        let phrase = PlacedPhrase::without_accents(text);
        let found = self.find_words(phrase.tokens()).into_iter().take(MAX_VALUES).map(|(words, values)| {
            let places = phrase.places().get(words).unwrap_or_default();
            let range = places.first().map_or(0, |place| place.start)..places.last().map_or(0, |place| place.end);
            let mut values = self.values_at(values);
            let value = values.pop().filter(|_| values.is_empty());
            EntityMatch { range, value: value.map(Into::into) }
        });
        found.collect()
    }

    /// The values in words from left to right, each with its words. Where spellings overlap, the longest counts, then the one that fits best.
    /// A value within a negative phrase is none.
    fn find_words(&self, words: &[String]) -> Vec<(Range<usize>, Vec<usize>)> {
        let excluded = self.negative.as_ref().map(|it| it.find_words(words)).unwrap_or_default();
        let is_meant = |list_match: &ListMatch| {
            !excluded.iter().any(|phrase| phrase.start <= list_match.words.start && list_match.words.end <= phrase.end)
        };
        let mut matches = self.find_exact(words);
        matches.retain(is_meant);
        let length = |list_match: &ListMatch| {
            words.get(list_match.words.clone()).map_or(0, |words| words.iter().map(|word| word.chars().count()).sum::<usize>())
        };
        matches.sort_by_cached_key(|list_match| (Reverse(length(list_match)), list_match.fit, list_match.words.start));
        let mut found: Vec<(Range<usize>, Fit, Vec<usize>)> = Vec::new();
        take_matches(matches, &mut found);
        if self.max_edits > 0 {
            let mut near = self.find_near(words);
            near.retain(is_meant);
            near.sort_by_key(|list_match| (list_match.fit, list_match.words.start));
            take_matches(near, &mut found);
        }
        found.sort_by_key(|it| it.0.start);
        found.into_iter().map(|it| (it.0, it.2)).collect()
    }

    /// The places of all spellings in words, which may overlap.
    pub(super) fn find_spellings(&self, words: &[String]) -> Vec<Range<usize>> {
        self.find_exact(words).into_iter().map(|it| it.words).collect()
    }

    /// Whether a text has a value, also within a negative phrase.
    pub(super) fn may_have_value(&self, text: &str) -> bool {
        let words = Phrase::without_accents(text).tokens().to_vec();
        !self.find_exact(&words).is_empty() || self.max_edits > 0 && !self.find_near(&words).is_empty()
    }

    /// The spellings that fit without an error.
    fn find_exact(&self, words: &[String]) -> Vec<ListMatch> {
        let stemmer = self.stemmer();
        let stems: Vec<String> = words.iter().map(|word| self.stem_of(word, stemmer.as_ref())).collect();
        let mut matches = Vec::new();
        for (at, (word, word_stem)) in words.iter().zip(&stems).enumerate() {
            let mut add = |number: usize, length: usize, fit: Fit| {
                let Some(spelling) = self.spellings.get(number) else { return };
                matches.push(ListMatch { words: at..at + length, fit, value: spelling.value });
            };
            let begins = |text: &[String], with: &[String]| text.get(at..).is_some_and(|rest| rest.starts_with(with));
            for number in self.by_word.numbers(word) {
                let Some(spelling) = self.spellings.get(number).filter(|it| begins(words, &it.words)) else { continue };
                add(number, spelling.words.len(), Fit::Exact);
            }
            for number in self.by_stem.numbers(word_stem).chain(self.by_word.numbers(word_stem)) {
                let Some(spelling) = self.spellings.get(number) else { continue };
                if !begins(words, &spelling.words) && begins(&stems, spelling.stems()) {
                    add(number, spelling.words.len(), Fit::Inflected);
                }
            }
            let mut joined = String::new();
            for (length, next) in words.iter().skip(at).take(MAX_JOINED_WORDS).enumerate() {
                joined.push_str(next);
                let joined_stem = if length == 0 { word_stem.clone() } else { self.stem_of(&joined, stemmer.as_ref()) };
                for (key, fit) in [(&joined, Fit::Joined), (&joined_stem, Fit::Inflected)] {
                    for number in self.by_joined.numbers(key) {
                        if self.spellings.get(number).is_some_and(|it| !begins(words, &it.words)) {
                            add(number, length + 1, fit);
                        }
                    }
                }
            }
        }
        matches
    }

    /// The spellings that fit with errors.
    fn find_near(&self, words: &[String]) -> Vec<ListMatch> {
        let letters: Vec<Vec<char>> = words.iter().map(|word| word.chars().collect()).collect();
        let own_words: Vec<bool> = words.iter().map(|word| is_own_word(word, &self.locale)).collect();
        let mut matches = Vec::new();
        for spelling in &self.spellings {
            let count = spelling.words.len();
            for at in 0..(words.len() + 1).saturating_sub(count) {
                let mut pairs = words.iter().zip(&own_words).skip(at).zip(&spelling.words);
                // "Morgen" is not a misspelling of "morgens".
                if pairs.any(|((word, is_own), expected)| word != expected && (*is_own || is_own_word(expected, &self.locale))) {
                    continue;
                }
                let Some(edits) = letters.get(at..at + count).and_then(|words| words_distance(words, &spelling.words, self.max_edits))
                else {
                    continue;
                };
                if edits > 0 {
                    matches.push(ListMatch { words: at..at + count, fit: Fit::Near(edits), value: spelling.value });
                }
            }
        }
        matches
    }

    /// Returns the value of which the whole text is a spelling.
    pub(super) fn find_whole(&self, text: &str) -> Option<String> {
        // An exact value takes precedence over other spellings of the same words.
        if let Some(value) = self.values.iter().find(|it| *it == text) {
            return Some(value.clone());
        }
        let words = PlacedPhrase::without_accents(text).tokens().to_vec();
        let whole: Vec<ListMatch> = self.find_exact(&words).into_iter().filter(|found| found.words == (0..words.len())).collect();
        let best = whole.iter().map(|it| it.fit).min()?;
        let mut values = self.values_at(whole.into_iter().filter(|it| it.fit == best).map(|it| it.value).collect());
        values.pop().filter(|_| values.is_empty())
    }
}

/// Takes matches in their order; those that overlap earlier ones are left out, and equal ones belong to several values.
fn take_matches(matches: Vec<ListMatch>, found: &mut Vec<(Range<usize>, Fit, Vec<usize>)>) {
    for list_match in matches {
        match found.iter_mut().find(|other| other.0.start < list_match.words.end && list_match.words.start < other.0.end) {
            Some(same) if same.0 == list_match.words && same.1 == list_match.fit => same.2.push(list_match.value),
            Some(_) => {}
            None => found.push((list_match.words, list_match.fit, vec![list_match.value])),
        }
    }
}

/// The edit distance of a sequence of words; `None` when it exceeds `most`.
fn words_distance(words: &[Vec<char>], expected: &[String], most: usize) -> Option<usize> {
    if expected.is_empty() {
        return None;
    }
    words.iter().zip(expected).try_fold(0, |sum, (word, expected)| {
        let length = expected.chars().count();
        if word.len() == length && expected.chars().eq(word.iter().copied()) {
            return Some(sum);
        }
        let can_differ = word.len().min(length) >= MIN_FUZZY_LETTERS && word.len().abs_diff(length) <= most;
        let edits = if can_differ { sum + edit_distance(word, &expected.chars().collect::<Vec<_>>()) } else { usize::MAX };
        (edits <= most).then_some(edits)
    })
}

/// The Damerau-Levenshtein distance (optimal string alignment) of two texts.
pub fn edit_distance(left: &[char], right: &[char]) -> usize {
    let mut older: Vec<usize> = Vec::new();
    let mut old: Vec<usize> = (0..=right.len()).collect();
    let mut before = None;
    for (row, one) in left.iter().enumerate() {
        let mut new = vec![row + 1];
        let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX - 1);
        let mut other_before = None;
        for (column, other) in right.iter().enumerate() {
            let replaced = at(&old, column) + usize::from(one != other);
            let mut least = replaced.min(at(&old, column + 1) + 1).min(at(&new, column) + 1);
            if before == Some(other) && other_before == Some(one) {
                least = least.min(at(&older, column - 1) + 1);
            }
            new.push(least);
            other_before = Some(other);
        }
        older = std::mem::replace(&mut old, new);
        before = Some(one);
    }
    old.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str, max_edits: u8) -> ListEntity {
        let entry = |entry: &str| {
            let (value, synonyms) = entry.split_once('=').unwrap_or((entry, ""));
            (value.to_owned(), synonyms.split(',').filter(|synonym| !synonym.is_empty()).map(str::to_owned).collect())
        };
        ListEntity::new(&text.split('|').map(entry).collect::<Vec<_>>(), max_edits, "en-US")
    }

    fn found_text(found: Extraction) -> String {
        match found {
            Extraction::NotFound => String::new(),
            Extraction::Value(value) => value.as_str().unwrap().to_owned(),
            Extraction::Ambiguous(values) => values.join("|"),
        }
    }

    #[test]
    fn values_are_found_as_people_write_them() {
        let list = list("Credit=credit card,visa|Card=plastic|Café crème|C++|T-shirt|Large=big,grande|Small=little|大杯", 0);
        for (text, expected) in [
            ("credit", "Credit"),
            ("my CREDIT  card please", "Credit"),
            ("the card", "Card"),
            ("cards", "Card"),
            ("my credit cards", "Credit"),
            ("a cafe creme!", "Café crème"),
            ("CAFE\u{301} CRE\u{300}ME", "Café crème"),
            ("I know c++ well", "C++"),
            ("c", ""),
            ("c+", ""),
            ("a t-shirt", "T-shirt"),
            ("a t shirt", "T-shirt"),
            ("two tshirts", "T-shirt"),
            ("large or small", "Large|Small"),
            ("small, not large", "Large|Small"),
            ("big or plastic", "Card|Large"),
            ("big and large", "Large"),
            ("grandeur", ""),
            ("visa's", "Credit"),
            ("我要大杯咖啡", "大杯"),
            ("carte", ""),
            ("", ""),
        ] {
            assert_eq!(found_text(list.find(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_spelling_of_several_values_is_ambiguous() {
        let list = list("Gold=premium|Silver=Premium,basic|Bronze=basic,PREMIUM", 2);
        assert_eq!(found_text(list.find("premium please")), "Gold|Silver|Bronze");
        assert_eq!(found_text(list.find("basic")), "Silver|Bronze");
        assert_eq!(found_text(list.find("basic gold")), "Gold|Silver|Bronze");
        assert_eq!(found_text(list.find("premum")), "Gold|Silver|Bronze");
        assert_eq!((list.find_whole("premium"), list.find_whole("GOLD")), (None, Some("Gold".to_owned())));
        let clash = |spelling: &str, values: &[&str]| (spelling.to_owned(), values.iter().map(|value| (*value).to_owned()).collect());
        assert_eq!(list.clashes(), [clash("premium", &["Gold", "Silver", "Bronze"]), clash("basic", &["Silver", "Bronze"])]);
    }

    #[test]
    fn a_word_with_a_meaning_of_its_own_is_no_form_of_another() {
        for (locale, synonym, text, expected) in [
            ("de-DE", "morgens", "Morgens, bitte", true),
            ("de-DE", "morgens", "morgen", false),
            ("de-DE", "morgen", "morgen", true),
            ("de-DE", "morgen", "morgens", false),
            ("de-DE", "abend", "abends", true),
            ("de-DE", "früh", "früher", false),
            ("en-US", "evening", "evenings", true),
            ("en-US", "evening", "even better", false),
            ("es-ES", "mesa", "dos mesas", true),
            ("es-ES", "mesa", "el mes que viene", false),
            ("it-IT", "prestito", "presto", false),
        ] {
            for max_edits in [0, 1] {
                let list = ListEntity::new(&[("X".to_owned(), vec![synonym.to_owned()])], max_edits, locale);
                assert_eq!(found_text(list.find(text)) == "X", expected, "{locale}: {synonym}, {text}, {max_edits}");
                assert_eq!(list.find_whole(synonym).as_deref(), Some("X"), "{locale}: {synonym}");
            }
        }
    }

    #[test]
    fn spellings_of_one_value_do_not_clash() {
        assert_eq!(list("Gold=gold,GOLD,or|Silver=argent|Gold=aurum", 0).clashes(), []);
        assert_eq!(found_text(list("Gold=gold,GOLD|Gold=aurum", 0).find("gold")), "Gold");
        let list = list("a b=x| ", 0);
        assert_eq!(
            (list.values().len(), list.find_whole(" A   B "), list.find_whole("a"), list.find_whole("a b c")),
            (2, Some("a b".to_owned()), None, None)
        );
    }

    #[test]
    fn typing_errors_are_tolerated() {
        let one = list("express=express mail|standard|gold|overnight=next day delivery|expresso", 1);
        for (text, expected) in [
            ("expres", "express"),
            ("exrpess please", "express"),
            ("standrad", "standard"),
            ("standrd, please", "standard"),
            ("stndrd", ""),
            ("golf", ""),
            ("golds", "gold"),
            ("next day delivry", "overnight"),
            ("next dat delivery", ""),
            ("exprees mail", "express"),
            ("stand", ""),
            ("exp", ""),
        ] {
            assert_eq!(found_text(one.find(text)), expected, "{text}");
        }
        let two = list("standard|planet|planed", 2);
        assert_eq!(found_text(two.find("stundord")), "standard");
        assert_eq!(found_text(two.find("planek")), "planet|planed", "two values tie");
        assert_eq!(found_text(list("standard", 0).find("standrd")), "");
    }

    #[test]
    fn the_nearest_values_are_found_in_the_words_that_are_left() {
        let values = |text: &str| {
            let found = list("planet|planed|standard|gold", 2).find_all(text).into_iter();
            found
                .map(|entity| entity.value.map_or("?".to_owned(), |value| value.as_str().unwrap().to_owned()))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(values("gold, then standrad or planett"), "gold standard planet");
        assert_eq!(values("planek, Gold"), "? gold");
        assert_eq!(values("planec tsandard"), "? standard");
    }

    #[test]
    fn edits_are_counted() {
        let count = |left: &str, right: &str| edit_distance(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>());
        for (left, right, expected) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("ab", "ba", 1), ("kitten", "sitting", 3), ("ca", "abc", 3), ("abcdef", "abdcef", 1)]
        {
            assert_eq!((count(left, right), count(right, left)), (expected, expected), "{left} {right}");
        }
    }
}
