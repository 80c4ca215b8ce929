//! Rules over tokens, compiled from the tables of a language.
//!
//! A rule makes a value of a category from a pattern. A pattern is a row of items, separated by blanks:
//! `word`, `one|two` (one of several words), `(day after tomorrow|some day)` (one of several phrases), `{month}` (a value of a category),
//! signs such as `.` or `,`, `^` (the text or the sentence begins), `$` (it ends), and each of these with `?` behind it when it may be absent. A point behind a word needs no mention.
//! A word with an accent is one that must be written with it: `às` and not `as`.
//! `+word` is a word without a blank before it (`+p` in `7p`). `=word` says that the word follows, and does not take it. A pattern that begins with
//! regions in brackets (`[GB AU]`, `-` for a locale without one) counts in them alone.

use std::collections::BTreeMap;

use crate::action::Action;
use crate::category::{Category, NAMES};
use crate::common_rules::RULES;
use crate::currency::CurrencyNames;
use crate::language::Language;
use crate::lexicon::Lexicon;
use crate::token::fold;

/// A part of a pattern that takes tokens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Atom {
    Word(u32),
    /// A word that is written with an accent.
    Accented(u32),
    /// A word that no blank separates from what is before it.
    Glued(u32),
    /// A word that follows, and is not taken.
    Ahead(u32),
    Sign(char),
    Category(Category),
    /// The beginning of the text, or a sign that ends what is said before.
    Begin,
    /// The end of the text, or a sign that ends what is said.
    End,
}

/// An item of a pattern: one of several rows of atoms.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub alternatives: Vec<Vec<Atom>>,
    pub is_optional: bool,
}

#[derive(Debug)]
pub(crate) struct Rule {
    /// The regions in which it counts; all of them if `None`.
    pub regions: Option<&'static str>,
    pub items: Vec<Item>,
    pub action: Action,
}

/// The rules that make a category, by how they begin.
#[derive(Debug, Default)]
pub(crate) struct RuleSet {
    pub rules: Vec<Rule>,
    pub by_word: BTreeMap<u32, Vec<usize>>,
    pub by_sign: BTreeMap<char, Vec<usize>>,
    /// Rules that begin with `^`; they come first.
    pub by_begin: Vec<usize>,
    /// By the category with which they begin; none for those that may begin with the end of the text.
    pub by_category: BTreeMap<Option<Category>, Vec<usize>>,
    /// Rules that begin with what they make.
    pub own: Vec<usize>,
}

/// A set of categories.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Categories(u64);

impl Categories {
    fn with(self, category: Category) -> Categories {
        Categories(self.0 | 1 << category as u64)
    }

    /// The categories of both sets.
    pub fn and(self, other: Categories) -> Categories {
        Categories(self.0 | other.0)
    }

    /// Whether a category is in the set.
    pub fn contains(self, category: Category) -> bool {
        self.0 & 1 << category as u64 != 0
    }
}

/// What may begin where, also by rules that begin with a value: most tokens begin nothing, and no rule is tried at them.
#[derive(Debug, Default)]
pub(crate) struct Beginnings {
    /// By the number of a word.
    pub by_word: Vec<Categories>,
    pub by_sign: BTreeMap<char, Categories>,
    /// At the beginning of what is said.
    pub by_begin: Categories,
    /// Anywhere.
    pub everywhere: Categories,
    /// By a category: those whose rules begin with it, and itself.
    by_category: BTreeMap<Category, Categories>,
}

impl Beginnings {
    fn new(sets: &BTreeMap<Category, RuleSet>, word_count: usize) -> Beginnings {
        let mut direct = Beginnings { by_word: vec![Categories::default(); word_count], ..Beginnings::default() };
        for (category, set) in sets {
            for word in set.by_word.keys() {
                if let Some(place) = direct.by_word.get_mut(*word as usize) {
                    *place = place.with(*category);
                }
            }
            for sign in set.by_sign.keys() {
                let place = direct.by_sign.entry(*sign).or_default();
                *place = place.with(*category);
            }
            if !set.by_begin.is_empty() {
                direct.by_begin = direct.by_begin.with(*category);
            }
            for first in set.by_category.keys() {
                match first {
                    Some(first) => {
                        let place = direct.by_category.entry(*first).or_default();
                        *place = place.with(*category);
                    }
                    None => direct.everywhere = direct.everywhere.with(*category),
                }
            }
        }
        Beginnings {
            by_word: direct.by_word.iter().map(|it| direct.close(*it)).collect(),
            by_sign: direct.by_sign.iter().map(|(sign, categories)| (*sign, direct.close(*categories))).collect(),
            by_begin: direct.close(direct.by_begin),
            everywhere: direct.close(direct.everywhere),
            by_category: NAMES.iter().map(|(_, category)| (*category, direct.close(Categories::default().with(*category)))).collect(),
        }
    }

    /// The categories and all whose rules begin with one of them.
    fn close(&self, categories: Categories) -> Categories {
        let mut closed = categories;
        loop {
            let next = self.by_category.iter().filter(|it| closed.contains(*it.0)).fold(closed, |all, it| all.and(*it.1));
            if next == closed {
                return closed;
            }
            closed = next;
        }
    }

    /// What may begin where a value of a category does.
    pub fn of_category(&self, category: Category) -> Categories {
        self.by_category.get(&category).copied().unwrap_or_default()
    }
}

/// The compiled rules of a language.
#[derive(Debug)]
pub(crate) struct Grammar {
    pub words: BTreeMap<String, u32>,
    pub sets: BTreeMap<Category, RuleSet>,
    pub beginnings: Beginnings,
    pub lexicon: Lexicon,
    pub currencies: CurrencyNames,
}

impl Grammar {
    /// Compiles the rules and words of a language.
    pub fn new(language: &Language) -> Grammar {
        let mut grammar = Grammar {
            words: BTreeMap::new(),
            sets: BTreeMap::new(),
            beginnings: Beginnings::default(),
            lexicon: Lexicon::new(&language.numbers),
            currencies: CurrencyNames::new(language),
        };
        for (category, rules) in language.rules.iter().chain(RULES) {
            for (pattern, action) in *rules {
                let (regions, pattern) = match pattern.strip_prefix('[').and_then(|it| it.split_once(']')) {
                    Some((regions, pattern)) => (Some(regions), pattern),
                    None => (None, *pattern),
                };
                let items = grammar.compile(pattern);
                grammar.sets.entry(*category).or_default().add(Rule { regions, items, action: *action }, *category);
            }
        }
        grammar.beginnings = Beginnings::new(&grammar.sets, grammar.words.len());
        grammar
    }

    fn word(&mut self, text: &str) -> u32 {
        let next = self.words.len() as u32;
        *self.words.entry(text.to_owned()).or_insert(next)
    }

    fn compile(&mut self, pattern: &str) -> Vec<Item> {
        let mut items = Vec::new();
        let mut rest = pattern.trim();
        // Phrases alone need no parentheses.
        if pattern.contains('|') && !pattern.contains(['(', '{']) {
            let alternatives = pattern.split('|').map(|it| self.phrase(it)).collect();
            return vec![Item { alternatives, is_optional: false }];
        }
        while !rest.is_empty() {
            let (body, after) = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
                Some(found) => found,
                None => {
                    let end = rest.find(' ').unwrap_or(rest.len());
                    let (body, after) = rest.split_at(end);
                    match body.strip_suffix('?') {
                        Some(body) => (body, rest.get(body.len()..).unwrap_or_default()),
                        None => (body, after),
                    }
                }
            };
            let is_optional = after.starts_with('?');
            rest = after.strip_prefix('?').unwrap_or(after).trim_start();
            let alternatives = body.split('|').map(|it| self.phrase(it)).collect();
            items.push(Item { alternatives, is_optional });
        }
        items
    }

    fn phrase(&mut self, text: &str) -> Vec<Atom> {
        text.split(' ').filter(|it| !it.is_empty()).map(|it| self.atom(it)).collect()
    }

    fn atom(&mut self, text: &str) -> Atom {
        if let Some(name) = text.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
            let category = NAMES.iter().find(|it| it.0 == name).map(|it| it.1);
            debug_assert!(category.is_some(), "no category {name}");
            return Atom::Category(category.unwrap_or(Category::Integer));
        }
        if let Some(word) = text.strip_prefix('=').filter(|it| !it.is_empty()) {
            return Atom::Ahead(self.word(word));
        }
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (Some('^'), None) => Atom::Begin,
            (Some('$'), None) => Atom::End,
            (Some(sign), None) if !sign.is_alphanumeric() => Atom::Sign(sign),
            (Some('+'), Some(_)) => Atom::Glued(self.word(characters_behind_first(text))),
            (Some('='), Some(_)) => Atom::Ahead(self.word(characters_behind_first(text))),
            _ => {
                let folded = fold(text);
                if folded == text { Atom::Word(self.word(text)) } else { Atom::Accented(self.word(&folded)) }
            }
        }
    }
}

fn characters_behind_first(text: &str) -> &str {
    text.get(1..).unwrap_or_default()
}

impl RuleSet {
    fn add(&mut self, rule: Rule, category: Category) {
        let number = self.rules.len();
        for item in &rule.items {
            for first in item.alternatives.iter().filter_map(|it| it.first()) {
                let list = match first {
                    Atom::Category(it) if *it == category => &mut self.own,
                    Atom::Word(word) | Atom::Accented(word) | Atom::Glued(word) | Atom::Ahead(word) => {
                        self.by_word.entry(*word).or_default()
                    }
                    Atom::Sign(sign) => self.by_sign.entry(*sign).or_default(),
                    Atom::Begin => &mut self.by_begin,
                    Atom::Category(category) => self.by_category.entry(Some(*category)).or_default(),
                    Atom::End => self.by_category.entry(None).or_default(),
                };
                if list.last() != Some(&number) {
                    list.push(number);
                }
            }
            if !item.is_optional {
                break;
            }
        }
        self.rules.push(rule);
    }
}
