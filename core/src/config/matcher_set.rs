//! An index that narrows many text patterns to those a text may match: the text is searched once for the literals they require.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::Input;
use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;

use super::matcher::TextMatcher;
use crate::text::literals::{Demand, demands, folded, sharpness};

/// Characters of a literal that are indexed; the pattern itself checks the rest.
const LONGEST: usize = 32;

/// Shorter literals occur in almost every text.
const SHORT: usize = 3;

/// An index over patterns, identified by position.
#[derive(Debug, Clone, Default)]
pub(super) struct MatcherSet {
    exact: BTreeMap<String, Vec<usize>>,
    /// Literals of CONTAINS and STARTS_WITH, searched in the lower-case text.
    words: Pieces,
    /// Literals required by REGEX, searched in the case-folded text.
    demands: Pieces,
    /// Patterns to try on every text.
    always: Vec<usize>,
}

impl MatcherSet {
    /// Indexes patterns.
    pub fn new<'m>(matchers: impl Iterator<Item = &'m TextMatcher>) -> MatcherSet {
        let mut set = MatcherSet::default();
        let (mut words, mut regexes) = (Vec::new(), Vec::new());
        for (position, matcher) in matchers.enumerate() {
            match matcher {
                TextMatcher::Exact(text) => set.exact.entry(text.clone()).or_default().push(position),
                TextMatcher::Contains(word) => words.push((word.clone(), Place { position, at_start: false })),
                TextMatcher::StartsWith(word) => words.push((word.clone(), Place { position, at_start: true })),
                TextMatcher::Regex(regex) => regexes.push((position, demands(regex.pattern()))),
            }
        }
        set.words = Pieces::new(words, &mut set.always);
        set.demands = Pieces::new(sharpest(regexes, &mut set.always), &mut set.always);
        set
    }

    /// Returns the positions of all patterns that may match, ascending; `lower` is the text in lower case.
    pub fn candidates(&self, text: &str, lower: &str) -> Vec<usize> {
        let mut found = self.always.clone();
        found.extend(self.exact.get(lower.trim()).into_iter().flatten());
        self.words.find(lower, &mut found);
        if !self.demands.places.is_empty() {
            self.demands.find(&folded(text), &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Chooses for each pattern the requirement that fewest patterns share; a pattern without one is always tried.
fn sharpest(regexes: Vec<(usize, Vec<Demand>)>, always: &mut Vec<usize>) -> Vec<(String, Place)> {
    let mut sharers: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (position, demands) in &regexes {
        for piece in demands.iter().flatten() {
            sharers.entry(piece.clone()).or_default().push(*position);
        }
    }
    let bluntness = |demand: &Demand| {
        let sharing: usize = demand.iter().filter_map(|it| sharers.get(it)).map(Vec::len).sum();
        (sharpness(demand) < SHORT, sharing, Reverse(sharpness(demand)))
    };
    let mut pieces = Vec::new();
    for (position, demands) in regexes {
        match demands.into_iter().min_by_key(bluntness) {
            Some(demand) => pieces.extend(demand.into_iter().map(|it| (it, Place { position, at_start: false }))),
            None => always.push(position),
        }
    }
    pieces
}

/// The pattern that requires a literal, and whether only at the start of the text.
#[derive(Debug, Clone, Copy)]
struct Place {
    position: usize,
    at_start: bool,
}

/// Literals searched for in one pass.
#[derive(Debug, Clone, Default)]
struct Pieces {
    automaton: Option<NFA>,
    /// By the index of the literal in the automaton.
    places: Vec<Vec<Place>>,
}

impl Pieces {
    /// Builds the automaton; when there are too many literals for it, their patterns are always tried.
    fn new(pieces: Vec<(String, Place)>, always: &mut Vec<usize>) -> Pieces {
        let mut by_piece: BTreeMap<String, Vec<Place>> = BTreeMap::new();
        for (piece, place) in pieces {
            by_piece.entry(piece.chars().take(LONGEST).collect()).or_default().push(place);
        }
        if by_piece.is_empty() {
            return Pieces::default();
        }
        let bytes: Vec<&[u8]> = by_piece.keys().map(String::as_bytes).collect();
        match NFA::new(bytes.as_slice()) {
            Ok(automaton) => Pieces { automaton: Some(automaton), places: by_piece.into_values().collect() },
            Err(_) => {
                always.extend(by_piece.values().flatten().map(|it| it.position));
                Pieces::default()
            }
        }
    }

    fn find(&self, text: &str, found: &mut Vec<usize>) {
        let Some(automaton) = &self.automaton else { return };
        let Ok(hits) = automaton.try_find_overlapping_iter(Input::new(text)) else {
            found.extend(self.places.iter().flatten().map(|it| it.position));
            return;
        };
        // A long text may contain a literal thousands of times, and thousands of patterns may share it.
        let mut seen = BTreeSet::new();
        for hit in hits {
            let (first, at_start) = (seen.insert(hit.pattern()), hit.start() == 0);
            if first || at_start {
                let places = self.places.get(hit.pattern().as_usize()).into_iter().flatten();
                found.extend(places.filter(|it| if it.at_start { at_start } else { first }).map(|it| it.position));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::Rng;

    const LETTERS: [&str; 14] = ["a", "B", "b", "s", "S", "ſ", "k", "K", "ß", "ẞ", "σ", "Σ", "İ", " "];

    fn pick<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
        of[usize::try_from(rng.next_u64()).unwrap_or_default() % of.len()]
    }

    fn text(rng: &mut Rng, most: u64) -> String {
        (0..rng.next_u64() % most).map(|_| pick(rng, &LETTERS)).collect()
    }

    fn pattern(rng: &mut Rng, depth: u32) -> String {
        let one = |rng: &mut Rng| if depth == 0 { text(rng, 4) } else { pattern(rng, depth - 1) };
        match rng.next_u64() % 14 {
            0 => format!("{}|{}", one(rng), one(rng)),
            1 => format!("({}|{}|{})", one(rng), one(rng), one(rng)),
            2 => format!("(?:{}){}", one(rng), pick(rng, &["?", "*", "+", "{2}", "{1,3}", "*?", "++"])),
            3 => format!("(?={}){}", one(rng), one(rng)),
            4 => format!("(?!{}){}", one(rng), one(rng)),
            5 => format!("(?<={}){}", text(rng, 3), one(rng)),
            6 => format!("(?>{}){}", one(rng), one(rng)),
            7 => format!("({}){}\\1", text(rng, 3), one(rng)),
            8 => format!("{}{}{}", one(rng), pick(rng, &[".", ".*", "[aS]", "[^b]", r"\w", r"\s", r"\b", "^", "$", "(?-i)"]), one(rng)),
            9 => format!("{}(*ACCEPT){}", one(rng), one(rng)),
            _ => format!("{}{}", one(rng), one(rng)),
        }
    }

    #[test]
    fn every_pattern_that_matches_is_a_candidate() {
        let mut rng = Rng::new(7);
        let kinds = ["REGEX", "REGEX", "REGEX", "EXACT", "CONTAINS", "STARTS_WITH"];
        let (mut matches, mut spared) = (0, 0);
        for _ in 0..30 {
            let compile = |rng: &mut Rng| {
                let kind = pick(rng, &kinds);
                let pattern = if kind == "REGEX" { pattern(rng, 3) } else { text(rng, 4) };
                let matcher = TextMatcher::compile(kind, &pattern).and_then(Result::ok)?;
                Some((pattern, matcher))
            };
            let rows: Vec<(String, TextMatcher)> = (0..40).filter_map(|_| compile(&mut rng)).collect();
            let set = MatcherSet::new(rows.iter().map(|it| &it.1));
            for _ in 0..30 {
                let text = text(&mut rng, 12);
                let lower = text.to_lowercase();
                let candidates = set.candidates(&text, &lower);
                assert!(candidates.is_sorted_by(|a, b| a < b));
                for (position, (pattern, matcher)) in rows.iter().enumerate() {
                    let found = candidates.contains(&position);
                    if matcher.matches(&text, &lower) == Ok(true) {
                        matches += 1;
                        assert!(found, "{pattern:?} matches {text:?}");
                    } else if !found {
                        spared += 1;
                    }
                }
            }
        }
        assert!(matches > 1_000 && spared > 5_000, "{matches} matches, {spared} spared");
    }

    #[test]
    fn of_thousands_of_patterns_few_are_tried() {
        let compile = |it: usize| {
            let (kind, pattern) = match it % 4 {
                0 => ("REGEX", format!(r"\b(order|parcel)\b.*\bitem {it}\b")),
                1 => ("EXACT", format!("order {it}")),
                2 => ("CONTAINS", format!("about item {it}x")),
                _ => ("STARTS_WITH", format!("item {it}x")),
            };
            TextMatcher::compile(kind, &pattern).and_then(Result::ok)
        };
        let rows: Vec<TextMatcher> = (0..4_000).filter_map(compile).collect();
        let set = MatcherSet::new(rows.iter());
        let candidates = |text: &str| set.candidates(text, &text.to_lowercase());
        assert_eq!(candidates("My ORDER of item 2016, please"), [20, 2016]);
        assert_eq!(candidates(" Order 1 "), [1]);
        assert_eq!(candidates("tell me about item 2x and item 3x"), [2]);
        assert_eq!(candidates("Item 3x"), [3]);
    }
}
