//! An index that narrows many text patterns to those a text may match: the text is searched once for the literals they require.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::Input;
use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use convengine_text::required_literals::{LiteralAlternatives, fold_case, required_literals, selectivity};

use super::matcher::TextMatcher;

/// Characters of a literal that are indexed; the pattern itself checks the rest.
const MAX_LITERAL_CHARS: usize = 32;

/// Shorter literals occur in almost every text.
const MIN_LITERAL_CHARS: usize = 3;

/// An index over patterns, identified by position.
#[derive(Debug, Clone, Default)]
pub(super) struct MatcherSet {
    exact: BTreeMap<String, Vec<usize>>,
    /// Literals of CONTAINS and STARTS_WITH, searched in the lower-case text.
    substrings: LiteralIndex,
    /// Literals required by REGEX, searched in the case-folded text.
    required_literals: LiteralIndex,
    /// Patterns to try on every text.
    unindexed: Vec<usize>,
}

impl MatcherSet {
    /// Indexes patterns.
    pub fn new<'m>(matchers: impl Iterator<Item = &'m TextMatcher>) -> MatcherSet {
        let mut set = MatcherSet::default();
        let (mut words, mut regexes) = (Vec::new(), Vec::new());
        for (position, matcher) in matchers.enumerate() {
            match matcher {
                TextMatcher::Exact(text) => set.exact.entry(text.clone()).or_default().push(position),
                TextMatcher::Contains(word) => words.push((word.clone(), PatternRef { position, at_start: false })),
                TextMatcher::StartsWith(word) => words.push((word.clone(), PatternRef { position, at_start: true })),
                TextMatcher::Regex(regex) => regexes.push((position, required_literals(regex.pattern()))),
            }
        }
        set.substrings = LiteralIndex::new(words, &mut set.unindexed);
        set.required_literals = LiteralIndex::new(select_literals(regexes, &mut set.unindexed), &mut set.unindexed);
        set
    }

    /// Returns the positions of all patterns that may match, ascending; `lower` is the text in lower case.
    pub fn candidates(&self, text: &str, lower: &str) -> Vec<usize> {
        let mut found = self.unindexed.clone();
        found.extend(self.exact.get(lower.trim()).into_iter().flatten());
        self.substrings.find_into(lower, &mut found);
        if !self.required_literals.patterns.is_empty() {
            self.required_literals.find_into(&fold_case(text), &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Chooses for each pattern the requirement that fewest patterns share; a pattern without one is always tried.
fn select_literals(regexes: Vec<(usize, Vec<LiteralAlternatives>)>, always: &mut Vec<usize>) -> Vec<(String, PatternRef)> {
    let mut sharers: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (position, requirements) in &regexes {
        for piece in requirements.iter().flatten() {
            sharers.entry(piece.clone()).or_default().push(*position);
        }
    }
    let by_selectivity = |requirement: &LiteralAlternatives| {
        let sharing: usize = requirement.iter().filter_map(|piece| sharers.get(piece)).map(Vec::len).sum();
        (selectivity(requirement) < MIN_LITERAL_CHARS, sharing, Reverse(selectivity(requirement)))
    };
    let mut pieces = Vec::new();
    for (position, requirements) in regexes {
        match requirements.into_iter().min_by_key(by_selectivity) {
            Some(requirement) => pieces.extend(requirement.into_iter().map(|it| (it, PatternRef { position, at_start: false }))),
            None => always.push(position),
        }
    }
    pieces
}

/// The pattern that requires a literal, and whether only at the start of the text.
#[derive(Debug, Clone, Copy)]
struct PatternRef {
    position: usize,
    at_start: bool,
}

/// Literals searched for in one pass.
#[derive(Debug, Clone, Default)]
struct LiteralIndex {
    automaton: Option<NFA>,
    /// By the index of the literal in the automaton.
    patterns: Vec<Vec<PatternRef>>,
}

impl LiteralIndex {
    /// Builds the automaton; when there are too many literals for it, their patterns are always tried.
    fn new(pieces: Vec<(String, PatternRef)>, always: &mut Vec<usize>) -> LiteralIndex {
        let mut by_piece: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut places = Vec::with_capacity(pieces.len());
        for (piece, place) in pieces {
            by_piece.entry(piece.chars().take(MAX_LITERAL_CHARS).collect()).or_default().push(places.len());
            places.push(place);
        }
        if by_piece.is_empty() {
            return LiteralIndex::default();
        }
        let bytes: Vec<&[u8]> = by_piece.keys().map(String::as_bytes).collect();
        match NFA::new(bytes.as_slice()) {
            Ok(automaton) => LiteralIndex {
                automaton: Some(automaton),
                patterns: by_piece
                    .values()
                    .map(|positions| positions.iter().filter_map(|position| places.get(*position).copied()).collect())
                    .collect(),
            },
            Err(_) => {
                always.extend(places.iter().map(|it| it.position));
                LiteralIndex::default()
            }
        }
    }

    fn find_into(&self, text: &str, found: &mut Vec<usize>) {
        let Some(automaton) = &self.automaton else { return };
        let Ok(hits) = automaton.try_find_overlapping_iter(Input::new(text)) else {
            found.extend(self.patterns.iter().flatten().map(|it| it.position));
            return;
        };
        // A long text may contain a literal thousands of times, and thousands of patterns may share it.
        let mut seen = BTreeSet::new();
        for hit in hits {
            let (first, at_start) = (seen.insert(hit.pattern()), hit.start() == 0);
            if first || at_start {
                let places = self.patterns.get(hit.pattern().as_usize()).into_iter().flatten();
                found.extend(places.filter(|place| if place.at_start { at_start } else { first }).map(|it| it.position));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use convengine_turn::Rng;

    use super::*;

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
    fn few_of_thousands_of_patterns_are_tried() {
        let compile = |number: usize| {
            let (kind, pattern) = match number % 4 {
                0 => ("REGEX", format!(r"\b(order|parcel)\b.*\bitem {number}\b")),
                1 => ("EXACT", format!("order {number}")),
                2 => ("CONTAINS", format!("about item {number}x")),
                _ => ("STARTS_WITH", format!("item {number}x")),
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
