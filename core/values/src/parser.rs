//! Reads the values in a text with the rules of its language.

use std::sync::Arc;

use crate::action::Action;
use crate::calendar::{self, Duration, full_year};
use crate::category::{Category, NAMES};
use crate::context::Direction;
use crate::grammar::{Atom, Categories, Rule};
use crate::input::Input;
use crate::meaning::Meaning;
use crate::number_words::NumberForm;
use crate::numbers::SignedNumber;
use crate::token::{Token, TokenKind, token_before};
use crate::{digit_dates, money, numbers, range_ends};

/// What [`Parser::read_built_in`] reads of digits and number words.
const NUMERIC: [Category; 18] = [
    Category::Integer,
    Category::Number,
    Category::Day,
    Category::Ordinal,
    Category::Nth,
    Category::Year,
    Category::ShortYear,
    Category::Hour,
    Category::Minute,
    Category::Digits,
    Category::SpokenMinute,
    Category::HourMinute,
    Category::Duration,
    Category::Date,
    Category::DateTime,
    Category::Amount,
    Category::Value,
    Category::Money,
];

/// Values that begin at a token: where each ends, and what it is. The longest comes first.
pub(crate) type Found = Arc<[(usize, Meaning)]>;

/// A text that is read with the rules of a language.
pub(crate) struct Parser {
    pub input: Input,
    /// The words of the tokens as the grammar knows them.
    words: Vec<Option<u32>>,
    /// What may begin at each token.
    beginnings: Vec<Option<Categories>>,
    /// What has been read: for each token at which something may begin, by category.
    memo: Vec<Option<Box<[Option<Found>; NAMES.len()]>>>,
    signed_numbers: Vec<Option<Option<SignedNumber>>>,
    nothing: Found,
    captures: Vec<Meaning>,
    depth: usize,
}

/// How deep values may be nested.
const MAX_DEPTH: usize = 12;
/// How many values may begin at a token.
const MAX_VALUES: usize = 24;

impl Parser {
    /// Prepares to read a text.
    pub fn new(input: Input) -> Parser {
        let count = input.tokens.len();
        Parser {
            words: input.tokens.iter().map(|token| input.language.grammar.words.get(&token.text).copied()).collect(),
            input,
            beginnings: vec![None; count],
            memo: vec![None; count],
            signed_numbers: vec![None; count],
            nothing: Arc::new([]),
            captures: Vec::new(),
            depth: 0,
        }
    }

    /// The number that begins at a token, with its sign.
    pub fn signed_number(&mut self, at: usize) -> Option<SignedNumber> {
        if let Some(Some(known)) = self.signed_numbers.get(at) {
            return *known;
        }
        let found = numbers::read_signed(&mut self.input, at);
        if let Some(place) = self.signed_numbers.get_mut(at) {
            *place = Some(found);
        }
        found
    }

    /// The values of a category that begin at a token.
    pub fn read(&mut self, category: Category, at: usize) -> Found {
        if !self.may_begin(category, at) {
            return self.nothing.clone();
        }
        let nothing = self.nothing.clone();
        let is_too_deep = self.depth >= MAX_DEPTH;
        match self.known(category, at) {
            Some(Some(known)) => return known.clone(),
            // A rule that begins with what it makes finds nothing instead of itself.
            Some(place) if !is_too_deep => *place = Some(nothing),
            Some(_) | None => return nothing,
        }
        self.depth += 1;
        let mut found = self.read_built_in(category, at);
        self.read_rules(category, at, &mut found);
        // A rule that begins with what it makes goes on from what the others have found.
        if !found.is_empty() {
            self.read_own_rules(category, at, &mut found);
        }
        self.depth -= 1;
        if found.is_empty() {
            return self.nothing.clone();
        }
        found.sort_by_key(|it| std::cmp::Reverse(it.0));
        found.truncate(MAX_VALUES);
        let found: Found = found.into();
        if let Some(place) = self.known(category, at) {
            *place = Some(found.clone());
        }
        found
    }

    /// Where what has been read of a category at a token is kept.
    fn known(&mut self, category: Category, at: usize) -> Option<&mut Option<Found>> {
        self.memo.get_mut(at)?.get_or_insert_with(|| Box::new([const { None }; NAMES.len()])).get_mut(category as usize)
    }

    /// Whether a value of a category may begin at a token.
    fn may_begin(&mut self, category: Category, at: usize) -> bool {
        let Some(known) = self.beginnings.get(at) else { return false };
        let all = known.unwrap_or_else(|| self.beginnings_at(at));
        all.contains(category)
    }

    fn beginnings_at(&mut self, at: usize) -> Categories {
        let beginnings = &self.input.language.grammar.beginnings;
        let mut all = beginnings.everywhere;
        if let Some(word) = self.words.get(at).copied().flatten() {
            all = all.and(beginnings.by_word.get(word as usize).copied().unwrap_or_default());
        }
        let Some(token) = self.input.tokens.get(at) else { return all };
        if let Some(sign) = token.sign() {
            all = all.and(beginnings.by_sign.get(&sign).copied().unwrap_or_default());
        }
        if self.is_begin(at) {
            all = all.and(beginnings.by_begin);
        }
        // "EUR 20"
        if token.kind == TokenKind::Word
            && self.input.tokens.get(at + 1).is_some_and(|token| token.kind == TokenKind::Digits || token.text == "$")
        {
            all = all.and(beginnings.of_category(Category::Value)).and(beginnings.of_category(Category::Money));
        }
        if matches!(token.text.as_str(), "p" | "pt") {
            all = all.and(beginnings.of_category(Category::Duration));
        }
        if token.kind == TokenKind::Digits || token.text == "'" || !self.input.numbers(at).is_empty() {
            all = NUMERIC.iter().fold(all, |all, it| all.and(beginnings.of_category(*it)));
        }
        if money::skip_name(&self.input, at) != at {
            all = all
                .and(beginnings.of_category(Category::Amount))
                .and(beginnings.of_category(Category::Value))
                .and(beginnings.of_category(Category::Money));
        }
        if let Some(place) = self.beginnings.get_mut(at) {
            *place = Some(all);
        }
        all
    }

    /// Whether the text or what is said begins at a token.
    fn is_begin(&self, at: usize) -> bool {
        let before = token_before(&self.input.tokens, at);
        before.is_none_or(|token| token.is_sign_of(".,;!?…:"))
    }

    /// The longest value of a category.
    pub fn longest(&mut self, category: Category, at: usize) -> Option<(usize, Meaning)> {
        self.read(category, at).first().cloned()
    }

    /// The longest value of a category that is one, and not several of them.
    pub fn longest_single(&mut self, category: Category, at: usize) -> Option<(usize, Meaning)> {
        self.read(category, at).iter().find(|it| it.1 != Meaning::Several).cloned()
    }

    /// The longest value of a category that a rule makes.
    pub fn longest_rule(&mut self, category: Category, at: usize) -> Option<(usize, Meaning)> {
        let mut found = Vec::new();
        self.read_rules(category, at, &mut found);
        found.into_iter().max_by_key(|it| it.0)
    }

    fn read_built_in(&mut self, category: Category, at: usize) -> Vec<(usize, Meaning)> {
        let digits = |token: &Token, most: usize| token.kind == TokenKind::Digits && token.text.len() <= most;
        let plain_digits = |this: &Parser, most: usize| -> Option<i64> {
            let token = this.input.tokens.get(at).filter(|it| digits(it, most))?;
            token.text.parse().ok()
        };
        let integers = |this: &mut Parser, form: fn(NumberForm) -> bool| -> Vec<(usize, i64)> {
            let numbers = this.input.numbers(at);
            // An article that is the word for one, too.
            let is_one = |form: NumberForm| form == NumberForm::Article && numbers::is_cardinal_article(&this.input, at);
            numbers
                .iter()
                .filter(|number| form(if is_one(number.form) { NumberForm::Words } else { number.form }))
                .filter_map(|number| Some((number.end, number.value.to_integer()?)))
                .collect()
        };
        let is_whole = |form: NumberForm| matches!(form, NumberForm::Digits | NumberForm::Words);
        let is_place = |form: NumberForm| matches!(form, NumberForm::Digits | NumberForm::Words | NumberForm::Ordinal);
        let in_range = |all: Vec<(usize, i64)>, low: i64, high: i64| -> Vec<(usize, Meaning)> {
            let fitting = all.into_iter().filter(|(_, number)| (low..=high).contains(number));
            fitting.map(|(end, number)| (end, Meaning::Integer(number))).collect()
        };
        match category {
            Category::Integer => in_range(integers(self, is_whole), 0, 4_000_000),
            Category::Number => {
                let numbers = self.input.numbers(at);
                let all = numbers.iter().filter(|number| {
                    !matches!(number.form, NumberForm::Ordinal | NumberForm::Percent | NumberForm::Short | NumberForm::Share)
                });
                all.map(|number| (number.end, Meaning::Number(number.value))).collect()
            }
            Category::Day => {
                let mut all = integers(self, is_place);
                // "5.3." has a day and a month, and no number.
                if let Some(day) = plain_digits(self, 2) {
                    all.push((at + 1, day));
                }
                all.retain(|number| {
                    self.input.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Word || token.text.len() <= 2) && number.1 > 0
                });
                in_range(all, 1, 31)
            }
            Category::Nth if self.input.tokens.get(at).is_none_or(|it| it.kind != TokenKind::Digits) => Vec::new(),
            Category::Ordinal | Category::Nth => in_range(integers(self, |it| it == NumberForm::Ordinal), 1, i64::from(i32::MAX)),
            Category::Year => {
                let mut all = Vec::new();
                if let Some(token) = self.input.tokens.get(at) {
                    match token.kind {
                        TokenKind::Digits if token.text.len() == 4 => all.extend(token.text.parse().ok().map(|year| (at + 1, year))),
                        TokenKind::Word => {
                            let numbers = self.input.numbers(at);
                            let years = numbers.iter().filter(|number| matches!(number.form, NumberForm::Words | NumberForm::YearWords));
                            all.extend(years.filter_map(|number| Some((number.end, number.value.to_integer()?))));
                        }
                        TokenKind::Sign if token.text == "'" => {
                            let next = self.input.tokens.get(at + 1).filter(|token| token.is_glued_digits() && token.text.len() == 2);
                            all.extend(next.and_then(|token| token.text.parse().ok()).map(|year| (at + 2, full_year(year))));
                        }
                        TokenKind::Digits | TokenKind::Sign => {}
                    }
                }
                in_range(all, 1000, 9999)
            }
            Category::ShortYear => {
                let token = self.input.tokens.get(at).filter(|token| digits(token, 2) && token.text.len() == 2);
                let year = token.and_then(|token| token.text.parse().ok());
                year.map(|year| (at + 1, Meaning::Integer(full_year(year)))).into_iter().collect()
            }
            Category::Hour => {
                let mut all = integers(self, is_whole);
                all.extend(plain_digits(self, 2).map(|hour| (at + 1, hour)));
                // "a dozen" is not an hour.
                let articles = self.input.language.language.numbers.articles;
                let is_article = |token: &Token| token.is_one_of(articles) && !self.input.language.language.numbers.has_ones_first;
                all.retain(|_| {
                    self.input
                        .tokens
                        .get(at)
                        .is_some_and(|token| token.text.len() <= 2 || token.kind == TokenKind::Word && !is_article(token))
                });
                all.retain(|number| number.0 == at + 1 || !self.input.tokens.get(at).is_some_and(is_article));
                // "la una", "ein Uhr"
                let is_one = all.is_empty() && numbers::is_cardinal_article(&self.input, at);
                all.extend(is_one.then_some((at + 1, 1)));
                in_range(all, 0, 24)
            }
            Category::Minute => {
                let mut all = integers(self, is_whole);
                all.extend(plain_digits(self, 2).map(|minute| (at + 1, minute)));
                in_range(all, 0, 59)
            }
            Category::Digits => {
                let value = plain_digits(self, 2).filter(|_| self.input.tokens.get(at).is_some_and(|token| token.text.len() == 2));
                in_range(value.map(|value| (at + 1, value)).into_iter().collect(), 0, 59)
            }
            Category::Duration => self.read_iso_duration(at).into_iter().collect(),
            Category::Date => {
                let moment = digit_dates::read_iso_moment(&self.input, at).map(|(end, moment)| (end, Meaning::Date(moment.date())));
                digit_dates::read_digits(&self.input, at).into_iter().chain(moment).collect()
            }
            Category::DateTime => {
                digit_dates::read_iso_moment(&self.input, at).map(|(end, moment)| (end, Meaning::DateTime(moment))).into_iter().collect()
            }
            Category::Amount => {
                let start = money::skip_name(&self.input, at);
                let is_digits = self.input.tokens.get(start).is_some_and(|it| it.kind == TokenKind::Digits);
                let is_amount =
                    |form: NumberForm| matches!(form, NumberForm::Digits | NumberForm::Words) || form == NumberForm::Mixed && is_digits;
                let ends: Vec<usize> = self.input.numbers(start).iter().filter(|it| is_amount(it.form)).map(|it| it.end).collect();
                let behind = ends.iter().map(|it| money::skip_name(&self.input, *it));
                behind.chain(ends.iter().copied()).map(|end| (end, Meaning::Nothing)).collect()
            }
            Category::Value => range_ends::read_ends(&mut self.input, at),
            Category::Money => {
                let ends = self.read(Category::Value, at);
                ends.iter().filter(|it| range_ends::is_money(&it.1)).cloned().collect()
            }
            Category::SpokenMinute => {
                let mut all = integers(self, is_whole);
                all.retain(|number| {
                    let token = self.input.tokens.get(at);
                    token.is_some_and(|token| if token.kind == TokenKind::Word { number.1 >= 10 } else { token.text.len() == 2 })
                });
                in_range(all, 0, 59)
            }
            Category::HourMinute => {
                let value = plain_digits(self, 4).filter(|_| self.input.tokens.get(at).is_some_and(|token| token.text.len() >= 3));
                let time = value.and_then(|value| calendar::time(value / 100, value % 100, 0));
                time.map(|time| (at + 1, Meaning::Time(time))).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Reads a duration in ISO 8601.
    fn read_iso_duration(&self, at: usize) -> Option<(usize, Meaning)> {
        let token = self.input.tokens.get(at).filter(|token| token.is_spaced && token.text.starts_with('p'))?;
        let (duration, length) = Duration::parse_iso(self.input.text_from(token))?;
        let end = self.input.tokens.iter().skip(at).position(|next| next.range.start >= token.range.start + length);
        Some((end.map_or(self.input.tokens.len(), |offset| at + offset), Meaning::from_duration(duration)))
    }

    fn read_rules(&mut self, category: Category, at: usize, found: &mut Vec<(usize, Meaning)>) {
        let grammar = &self.input.language.grammar;
        let Some(set) = grammar.sets.get(&category) else { return };
        let by_word = self.words.get(at).copied().flatten().and_then(|it| set.by_word.get(&it));
        let by_sign = self.input.tokens.get(at).and_then(Token::sign).and_then(|it| set.by_sign.get(&it));
        let mut numbers: Vec<usize> = Vec::new();
        for (first, rules) in &set.by_category {
            // Most tokens begin none of what rules begin with.
            if first.is_none_or(|first| first == category || !self.read(first, at).is_empty()) {
                numbers.extend(rules);
            }
        }
        numbers.sort_unstable();
        let captures = std::mem::take(&mut self.captures);
        let mut captured = captures;
        for number in [&set.by_begin].into_iter().chain(by_word).chain(by_sign).flatten().chain(&numbers) {
            let Some(rule) = set.rules.get(*number) else { continue };
            if rule.regions.is_some_and(|regions| {
                !regions
                    .split(' ')
                    .any(|region| *region == *self.input.meanings.region || region == "-" && self.input.meanings.region.is_empty())
            }) {
                continue;
            }
            captured.clear();
            self.match_items(rule, 0, at, at, &mut captured, found);
        }
        self.captures = captured;
    }

    fn read_own_rules(&mut self, category: Category, at: usize, found: &mut Vec<(usize, Meaning)>) {
        let Some(set) = self.input.language.grammar.sets.get(&category).filter(|it| !it.own.is_empty()) else { return };
        if let Some(place) = self.known(category, at) {
            *place = Some(found.clone().into());
        }
        for rule in set.own.iter().filter_map(|it| set.rules.get(*it)) {
            self.match_items(rule, 0, at, at, &mut Vec::new(), found);
        }
    }

    /// Whether one of several words is in the same clause as a token.
    fn is_in_clause(&self, words: &str, at: usize) -> bool {
        let and = self.input.language.language.numbers.and;
        let is_mark = |token: &&Token| token.is_sign_of(".,;!?।") || token.is_one_of(and);
        let has = |token: &Token| token.is_one_of(words);
        let (before, behind) = self.input.tokens.split_at(at.min(self.input.tokens.len()));
        before.iter().rev().take_while(|it| !is_mark(it)).any(has) || behind.iter().take_while(|it| !is_mark(it)).any(has)
    }

    /// Matches the items of a rule from one on; adds what the rule makes.
    fn match_items(
        &mut self,
        rule: &'static Rule,
        item: usize,
        begin: usize,
        at: usize,
        captures: &mut Vec<Meaning>,
        found: &mut Vec<(usize, Meaning)>,
    ) {
        let Some(current) = rule.items.get(item) else {
            if matches!(rule.action, Action::NothingIf(words) if !self.is_in_clause(words, begin)) {
                return;
            }
            let mut meanings = self.input.meanings.clone();
            if let Action::DaysByTense(_, past) | Action::CalendarByTense(past) = rule.action
                && self.is_in_clause(past, begin)
            {
                meanings.direction = Direction::Past;
            }
            if at > begin
                && let Some(meaning) = meanings.make(rule.action, captures)
                && !found.iter().any(|it| it.0 == at)
            {
                found.push((at, meaning));
            }
            return;
        };
        for alternative in &current.alternatives {
            self.match_atoms(rule, item, alternative, begin, at, captures, found);
        }
        if current.is_optional {
            self.match_items(rule, item + 1, begin, at, captures, found);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the state of a match")]
    fn match_atoms(
        &mut self,
        rule: &'static Rule,
        item: usize,
        atoms: &'static [Atom],
        begin: usize,
        at: usize,
        captures: &mut Vec<Meaning>,
        found: &mut Vec<(usize, Meaning)>,
    ) {
        let Some((atom, rest)) = atoms.split_first() else { return self.match_items(rule, item + 1, begin, at, captures, found) };
        // The point of an abbreviation.
        let is_point = |this: &Parser| {
            at > begin
                && this.input.tokens.get(at).is_some_and(|token| token.glued_sign() == Some('.'))
                && token_before(&this.input.tokens, at).is_some_and(|it| it.kind == TokenKind::Word)
        };
        match atom {
            Atom::Sign(sign) => {
                if self.input.tokens.get(at).and_then(Token::sign) == Some(*sign) {
                    self.match_atoms(rule, item, rest, begin, at + 1, captures, found);
                }
            }
            Atom::Begin => {
                if self.is_begin(at) {
                    self.match_atoms(rule, item, rest, begin, at, captures, found);
                }
            }
            Atom::End => {
                let next = self.input.tokens.get(at);
                let has_digits = self.input.tokens.get(at + 1).is_some_and(Token::is_glued_digits);
                if next.is_none_or(|token| token.is_sign_of(".,;!?)…।") && !has_digits) {
                    self.match_atoms(rule, item, rest, begin, at, captures, found);
                }
            }
            Atom::Word(word) => {
                if self.words.get(at).copied().flatten() == Some(*word) {
                    self.match_atoms(rule, item, rest, begin, at + 1, captures, found);
                } else if is_point(self) && self.words.get(at + 1).copied().flatten() == Some(*word) {
                    self.match_atoms(rule, item, rest, begin, at + 2, captures, found);
                }
            }
            Atom::Accented(word) => {
                if self.words.get(at).copied().flatten() == Some(*word) && self.input.tokens.get(at).is_some_and(|it| it.has_accent) {
                    self.match_atoms(rule, item, rest, begin, at + 1, captures, found);
                }
            }
            Atom::Glued(word) => {
                if self.words.get(at).copied().flatten() == Some(*word) && self.input.tokens.get(at).is_some_and(|it| !it.is_spaced) {
                    self.match_atoms(rule, item, rest, begin, at + 1, captures, found);
                }
            }
            Atom::Ahead(word) => {
                if self.words.get(at).copied().flatten() == Some(*word) {
                    self.match_atoms(rule, item, rest, begin, at, captures, found);
                }
            }
            Atom::Category(category) => {
                let mut values = self.read(*category, at);
                if values.is_empty() && is_point(self) {
                    values = self.read(*category, at + 1);
                }
                for (end, meaning) in values.iter() {
                    captures.push(meaning.clone());
                    self.match_atoms(rule, item, rest, begin, *end, captures, found);
                    captures.pop();
                }
            }
        }
    }
}
