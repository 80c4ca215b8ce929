//! The number words of a language, compiled.

use std::collections::{BTreeMap, BTreeSet};

use crate::language::NumberWords;
use crate::number::Number;
use crate::token::{Token, TokenKind};

/// What a number word does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Lexeme {
    /// Is added.
    Add(u64),
    /// Multiplies what is before it.
    Multiply(u64),
    /// Is added, and makes an ordinal.
    Ordinal(u64),
    /// Makes an ordinal of what is before it.
    OrdinalEnding,
    /// Divides what is before it.
    Part(u64),
    /// Adds a fraction to what is before it.
    Addition(i64, i64),
    /// Adds a fraction to what is behind it.
    Prefix(i64, i64),
    /// Is a number, but no integer.
    Fraction(i64, i64),
    /// Is a group of so many.
    Group(u64),
    And,
    Article,
    /// Digits.
    Digits(Number),
}

/// The number words of a language by their first word, longer phrases first.
#[derive(Debug)]
pub(crate) struct Lexicon {
    phrases: BTreeMap<&'static str, Vec<(Vec<&'static str>, Lexeme)>>,
    /// The parts of compounds, and what else each may be.
    parts: BTreeMap<&'static str, (Lexeme, Option<Lexeme>)>,
    /// Number words that are also verbs, which end a clause: Hindi `दो`.
    pub verbs: BTreeSet<&'static str>,
}

impl Lexicon {
    /// Creates the lexicon of the words of a language.
    pub fn new(words: &NumberWords) -> Lexicon {
        let mut lexicon = Lexicon { phrases: BTreeMap::new(), parts: BTreeMap::new(), verbs: BTreeSet::new() };
        let mut add = |phrases: &'static str, lexeme: Lexeme| {
            for phrase in phrases.split('|').filter(|it| !it.is_empty()) {
                let (phrase, is_verb) = phrase.strip_prefix('~').map_or((phrase, false), |it| (it, true));
                if is_verb {
                    lexicon.verbs.insert(phrase);
                }
                let mut rest = phrase.split(' ');
                let Some(first) = rest.next() else { continue };
                let rest: Vec<&'static str> = rest.collect();
                if rest.is_empty() {
                    lexicon.parts.entry(first).and_modify(|part| part.1 = part.1.or(Some(lexeme))).or_insert((lexeme, None));
                }
                lexicon.phrases.entry(first).or_default().push((rest, lexeme));
            }
        };
        // An article that is also the word for one is an article first.
        add(words.articles, Lexeme::Article);
        words.cardinals.iter().for_each(|(names, value)| add(names, Lexeme::Add(*value)));
        words.multipliers.iter().for_each(|(names, by)| add(names, Lexeme::Multiply(*by)));
        words.parts.iter().for_each(|(names, by)| add(names, Lexeme::Part(*by)));
        words.ordinals.iter().for_each(|(names, value)| add(names, Lexeme::Ordinal(*value)));
        words.additions.iter().for_each(|(names, over, under)| add(names, Lexeme::Addition(*over, *under)));
        words.prefixes.iter().for_each(|(names, over, under)| add(names, Lexeme::Prefix(*over, *under)));
        words.fractions.iter().for_each(|(names, over, under)| add(names, Lexeme::Fraction(*over, *under)));
        words.groups.iter().for_each(|(names, value)| add(names, Lexeme::Group(*value)));
        add(words.and, Lexeme::And);
        for ending in words.ordinal_endings.split('|').filter(|it| !it.is_empty()) {
            lexicon.parts.entry(ending).or_insert((Lexeme::OrdinalEnding, None));
        }
        // A word that is an article, too, is read as one: German `ein`.
        lexicon
            .phrases
            .values_mut()
            .for_each(|all| all.sort_by_key(|(words, lexeme)| (std::cmp::Reverse(words.len()), *lexeme != Lexeme::Article)));
        lexicon
    }

    /// Whether a word is the cardinal for one.
    pub fn is_one(&self, word: &str) -> bool {
        self.phrases.get(word).is_some_and(|phrases| phrases.iter().any(|(rest, lexeme)| rest.is_empty() && *lexeme == Lexeme::Add(1)))
    }

    /// The meanings of the longest phrase at a token, and its number of tokens.
    pub fn find(&self, tokens: &[Token], at: usize) -> Option<(usize, Vec<Lexeme>)> {
        let first = tokens.get(at).filter(|it| it.kind == TokenKind::Word)?;
        let all = self.phrases.get(first.text.as_str())?;
        let fits =
            |rest: &[&str]| rest.iter().enumerate().all(|(index, word)| tokens.get(at + 1 + index).is_some_and(|it| it.text == *word));
        let length = all.iter().find(|it| fits(&it.0))?.0.len();
        Some((length + 1, all.iter().filter(|(rest, _)| rest.len() == length && fits(rest)).map(|it| it.1).collect()))
    }

    /// The parts of a number that is one word.
    pub fn split_compound(&self, word: &str) -> Option<Vec<(Lexeme, Option<Lexeme>)>> {
        // The longest part first; a part that leaves nothing to read is given back.
        type Parts = BTreeMap<&'static str, (Lexeme, Option<Lexeme>)>;
        fn split(parts: &Parts, rest: &str, depth: usize) -> Option<Vec<(Lexeme, Option<Lexeme>)>> {
            if rest.is_empty() {
                return Some(Vec::new());
            }
            if depth > 16 {
                return None;
            }
            let ends = rest.char_indices().map(|it| it.0).skip(1).chain([rest.len()]).collect::<Vec<_>>();
            ends.into_iter().rev().take_while(|it| *it > 0).find_map(|end| {
                let (part, behind) = rest.split_at(end);
                let lexeme = *parts.get(part)?;
                let mut found = split(parts, behind, depth + 1)?;
                found.insert(0, lexeme);
                Some(found)
            })
        }
        if word.len() > 120 {
            return None;
        }
        split(&self.parts, word, 0)
            .filter(|steps| steps.len() > 1 && !matches!(steps.first(), Some((Lexeme::And | Lexeme::OrdinalEnding, _))))
    }
}
