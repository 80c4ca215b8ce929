//! Lists of values with synonyms and fuzzy matching.

use std::collections::BTreeMap;
use std::ops::Range;

use super::scanner::MAX_VALUES;
use super::{EntityMatch, Extraction};
use crate::text::phrase::{FoldedText, fold_text, is_one_word};

/// Minimum letters of a word for fuzzy matching.
const MIN_FUZZY_LETTERS: usize = 5;

/// A list of values with synonyms.
#[derive(Debug, Clone)]
pub struct ListEntity {
    values: Vec<String>,
    spellings: Vec<Spelling>,
    max_edits: usize,
}

/// A value or synonym that matches a value.
#[derive(Debug, Clone)]
struct Spelling {
    written: String,
    folded: String,
    value: usize,
}

impl ListEntity {
    pub(super) fn new(entries: &[(String, Vec<String>)], max_edits: u8) -> ListEntity {
        let mut list = ListEntity { values: Vec::new(), spellings: Vec::new(), max_edits: max_edits.into() };
        for (value, synonyms) in entries {
            let known = list.values.iter().position(|it| it == value);
            let index = known.unwrap_or(list.values.len());
            if known.is_none() {
                list.values.push(value.clone());
            }
            for written in [value].into_iter().chain(synonyms) {
                let folded = fold_text(written);
                if !folded.is_empty() {
                    list.spellings.push(Spelling { written: written.clone(), folded, value: index });
                }
            }
        }
        list
    }

    /// The values in document order.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Spellings that belong to several values, with these values.
    pub(super) fn clashes(&self) -> Vec<(String, Vec<String>)> {
        // Of equal keys the last entry counts.
        let first: BTreeMap<&str, usize> = self.spellings.iter().enumerate().rev().map(|(index, it)| (it.folded.as_str(), index)).collect();
        let mut clashing: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for spelling in &self.spellings {
            let Some(first) = first.get(spelling.folded.as_str()) else { continue };
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

    /// Finds a value as whole words in a text: by the longest spelling, then the leftmost, else by fuzzy matching.
    pub(super) fn find(&self, text: &str) -> Extraction {
        let text = fold_text(text);
        let mut best: Option<(usize, usize)> = None;
        let mut fitting = Vec::new();
        for spelling in &self.spellings {
            let length = spelling.folded.chars().count();
            if best.is_some_and(|it| it.0 > length) {
                continue;
            }
            let Some(at) = find_whole_words(&text, &spelling.folded) else { continue };
            if best.is_none_or(|it| it.0 < length || it.1 > at) {
                best = Some((length, at));
                fitting.clear();
            }
            if best == Some((length, at)) {
                fitting.push(spelling.value);
            }
        }
        let mut values = self.values_at(fitting);
        match values.len() {
            0 => self.find_nearest(&text).map_or(Extraction::NotFound, |it| Extraction::Value(it.into())),
            1 => values.pop().map_or(Extraction::NotFound, |it| Extraction::Value(it.into())),
            _ => Extraction::Ambiguous(values),
        }
    }

    /// Finds all values as whole words in a text, from left to right. Where spellings overlap, the longest is taken, then the leftmost.
    pub(super) fn find_all(&self, text: &str) -> Vec<EntityMatch> {
        let folded = FoldedText::new(text);
        let mut exact: Vec<(Range<usize>, usize)> = Vec::new();
        for spelling in &self.spellings {
            let length = spelling.folded.len();
            exact.extend(whole_words(folded.as_str(), &spelling.folded).map(|at| (at..at + length, spelling.value)));
        }
        exact.sort_by_key(|it| (std::cmp::Reverse(it.0.len()), it.0.start));
        let mut found: Vec<(Range<usize>, Vec<usize>)> = Vec::new();
        for (range, value) in exact {
            match found.iter_mut().find(|it| overlap(&it.0, &range)) {
                // A spelling of several values.
                Some(same) if same.0 == range => same.1.push(value),
                Some(_) => {}
                None => found.push((range, vec![value])),
            }
        }
        self.add_nearest(folded.as_str(), &mut found);
        found.sort_by_key(|it| it.0.start);
        let found = found.into_iter().take(MAX_VALUES).map(|(range, values)| {
            let mut values = self.values_at(values);
            let value = values.pop().filter(|_| values.is_empty());
            EntityMatch { range: folded.source_range(range), value: value.map(Into::into) }
        });
        found.collect()
    }

    /// Adds the nearest values in the words that no spelling has taken; words in which two values tie have none.
    fn add_nearest(&self, text: &str, found: &mut Vec<(Range<usize>, Vec<usize>)>) {
        if self.max_edits == 0 {
            return;
        }
        let words = word_ranges(text);
        let letters = split_words(text);
        let mut near: Vec<(usize, Range<usize>, usize)> = Vec::new();
        for spelling in &self.spellings {
            let spelling_words = split_words(&spelling.folded);
            let count = spelling_words.len().max(1);
            for (run, places) in letters.windows(count).zip(words.windows(count)) {
                let (Some(first), Some(last)) = (places.first(), places.last()) else { continue };
                if let Some(edits) = words_distance(run, &spelling_words, self.max_edits) {
                    near.push((edits, first.start..last.end, spelling.value));
                }
            }
        }
        near.sort_by_key(|it| (it.0, it.1.start));
        let mut nearest: Vec<(usize, Range<usize>, Vec<usize>)> = Vec::new();
        for (edits, range, value) in near.into_iter().filter(|near| !found.iter().any(|it| overlap(&it.0, &near.1))) {
            match nearest.iter_mut().find(|it| overlap(&it.1, &range)) {
                Some(same) if same.0 == edits && same.1 == range => same.2.push(value),
                Some(_) => {}
                None => nearest.push((edits, range, vec![value])),
            }
        }
        found.extend(nearest.into_iter().map(|it| (it.1, it.2)));
    }

    /// Returns the value of which the whole text is a spelling.
    pub(super) fn find_whole(&self, text: &str) -> Option<String> {
        // An exact value takes precedence over other spellings that fold to the same text.
        if let Some(value) = self.values.iter().find(|it| *it == text) {
            return Some(value.clone());
        }
        let text = fold_text(text);
        let fitting = self.spellings.iter().filter(|it| it.folded == text).map(|it| it.value).collect();
        let mut values = self.values_at(fitting);
        values.pop().filter(|_| values.is_empty())
    }

    /// Returns the value with the smallest edit distance; `None` for a tie.
    fn find_nearest(&self, text: &str) -> Option<String> {
        let text_words: Vec<Vec<char>> = split_words(text);
        let mut least = self.max_edits;
        let mut nearest: Vec<usize> = Vec::new();
        for spelling in self.spellings.iter().filter(|_| self.max_edits > 0) {
            let spelling_words = split_words(&spelling.folded);
            for run in text_words.windows(spelling_words.len().max(1)) {
                let Some(edits) = words_distance(run, &spelling_words, least) else { continue };
                if edits < least {
                    least = edits;
                    nearest.clear();
                }
                nearest.push(spelling.value);
            }
        }
        let mut values = self.values_at(nearest);
        values.pop().filter(|_| values.is_empty())
    }
}

/// The position of the first occurrence of a spelling as whole words.
fn find_whole_words(text: &str, spelling: &str) -> Option<usize> {
    whole_words(text, spelling).next()
}

/// The positions at which a spelling occurs as whole words.
fn whole_words(text: &str, spelling: &str) -> impl Iterator<Item = usize> {
    let is_cut = |left: Option<char>, right: Option<char>| left.zip(right).is_some_and(|it| is_one_word(it.0, it.1));
    let (first, last) = (spelling.chars().next(), spelling.chars().next_back());
    text.match_indices(spelling).map(|it| it.0).filter(move |at| {
        let before = text.get(..*at).and_then(|it| it.chars().next_back());
        let behind = text.get(at + spelling.len()..).and_then(|it| it.chars().next());
        !is_cut(before, first) && !is_cut(last, behind)
    })
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// The places of the words that [`split_words`] returns.
fn word_ranges(text: &str) -> Vec<Range<usize>> {
    let words = text.split(|it: char| !it.is_alphanumeric()).scan(0, |end, it| {
        let start = *end;
        // The separator may be longer than a byte.
        let separator = text.get(start + it.len()..).and_then(|it| it.chars().next()).map_or(0, char::len_utf8);
        *end = start + it.len() + separator;
        Some(start..start + it.len())
    });
    words.filter(|it| !it.is_empty()).collect()
}

fn split_words(text: &str) -> Vec<Vec<char>> {
    let words = text.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty());
    words.map(|it| it.chars().collect()).collect()
}

/// The edit distance of a sequence of words; `None` when it exceeds `most`.
fn words_distance(words: &[Vec<char>], expected: &[Vec<char>], most: usize) -> Option<usize> {
    if expected.is_empty() {
        return None;
    }
    words.iter().zip(expected).try_fold(0, |sum, (words, expected)| {
        if words == expected {
            return Some(sum);
        }
        let can_differ = words.len().min(expected.len()) >= MIN_FUZZY_LETTERS && words.len().abs_diff(expected.len()) <= most;
        let edits = if can_differ { sum + edit_distance(words, expected) } else { usize::MAX };
        (edits <= most).then_some(edits)
    })
}

/// The Damerau-Levenshtein distance (optimal string alignment) of two texts.
pub(crate) fn edit_distance(left: &[char], right: &[char]) -> usize {
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
        let entry = |it: &str| {
            let (value, synonyms) = it.split_once('=').unwrap_or((it, ""));
            (value.to_owned(), synonyms.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect())
        };
        ListEntity::new(&text.split('|').map(entry).collect::<Vec<_>>(), max_edits)
    }

    fn found_text(found: Extraction) -> String {
        match found {
            Extraction::NotFound => String::new(),
            Extraction::Value(value) => value.as_str().unwrap().to_owned(),
            Extraction::Ambiguous(values) => values.join("|"),
        }
    }

    #[test]
    fn the_longest_then_the_leftmost_is_found() {
        let list = list("Credit=credit card,visa|Card=plastic|Café crème|C++|T-shirt|Large=big,grande|Small=little|大杯", 0);
        for (text, expected) in [
            ("credit", "Credit"),
            ("my CREDIT  card please", "Credit"),
            ("the card", "Card"),
            ("cards", ""),
            ("a cafe creme!", "Café crème"),
            ("CAFE\u{301} CRE\u{300}ME", "Café crème"),
            ("I know c++ well", "C++"),
            ("c", ""),
            ("c+", ""),
            ("a t-shirt", "T-shirt"),
            ("a t shirt", ""),
            ("large or small", "Large"),
            ("small or large", "Small"),
            ("big or plastic", "Card"),
            ("big, little", "Small"),
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
        assert_eq!(found_text(list.find("basic gold")), "Silver|Bronze");
        assert_eq!(found_text(list.find("premum")), "");
        assert_eq!((list.find_whole("premium"), list.find_whole("GOLD")), (None, Some("Gold".to_owned())));
        let clash = |spelling: &str, values: &[&str]| (spelling.to_owned(), values.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(list.clashes(), [clash("premium", &["Gold", "Silver", "Bronze"]), clash("basic", &["Silver", "Bronze"])]);
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
            ("golds", ""),
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
        assert_eq!(found_text(two.find("planek")), "", "two values tie");
        assert_eq!(found_text(list("standard", 0).find("standrd")), "");
    }

    #[test]
    fn the_nearest_values_are_found_in_the_words_that_are_left() {
        let values = |text: &str| {
            let found = list("planet|planed|standard|gold", 2).find_all(text).into_iter();
            found.map(|it| it.value.map_or("?".to_owned(), |it| it.as_str().unwrap().to_owned())).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(values("gold, then standrad or planett"), "gold standard planet");
        assert_eq!(values("planek, Gold"), "? gold");
        assert_eq!(values("plane tsandard"), "? standard");
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
