//! Rules over tokens, compiled from the tables of a language, and their application to a text.
//!
//! A rule makes a value of a category from a pattern. A pattern is a row of items, separated by blanks:
//! `word`, `one|two` (one of several words), `(day after tomorrow|some day)` (one of several phrases), `{month}` (a value of a category),
//! signs such as `.` or `,`, `^` (the text or the sentence begins), `$` (it ends), and each of these with `?` behind it when it may be absent. A point behind a word needs no mention.
//! A word with an accent is one that must be written with it: `às` and not `as`.
//! `+word` is a word without a blank before it (`+p` in `7p`). `=word` says that the word follows, and does not take it. A pattern that begins with
//! regions in brackets (`[GB AU]`, `-` for a locale without one) counts in them alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Direction;
use crate::calendar::{DayRange, Duration, Part, Unit};
use crate::language::{CompiledLanguage, Language};
use crate::meaning::Meanings;
use crate::money::CurrencyNames;
use crate::number::Number;
use crate::number_words::{Lexicon, NumberForm, ReadNumber};
use crate::numbers::SignedNumber;
use crate::token::{Token, TokenKind, fold, token_before};
use crate::value_range::{RangeEnd, ValueRange};
use jiff::civil::{Date, DateTime, Time};

/// What rules make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Category {
    /// `{integer}`: a number without sign and fraction, in digits or words.
    Integer,
    /// `{number}`: a number without sign.
    Number,
    /// `{day}`: the number of a day of a month, as cardinal or ordinal.
    Day,
    /// `{ordinal}`: an ordinal.
    Ordinal,
    /// `{year}`: a year of four digits, of two behind an apostrophe, or in words.
    Year,
    /// `{short}`: a year of two digits.
    ShortYear,
    /// `{hour}`: 0 to 24.
    Hour,
    /// `{minute}`: 0 to 59.
    Minute,
    /// `{digits}`: two digits from 00 to 59.
    Digits,
    /// `{mm}`: minutes as they are said behind an hour: two digits, or words from ten.
    SpokenMinute,
    /// `{hhmm}`: a time in three or four digits without a sign between.
    HourMinute,
    /// `{someday}`: a day that is one only beside a time or in a range: Spanish `el 15`.
    SomeDay,
    /// `{month}`.
    Month,
    /// `{weekday}`.
    Weekday,
    /// `{wd}`: a weekday, also by a short name that is a word as well.
    ShortWeekday,
    /// `{nth}`: an ordinal in digits.
    Nth,
    /// `{unit}`: a unit of time.
    Unit,
    /// `{part}`: a part of the day.
    Part,
    /// `{span}`: a number and a unit.
    Span,
    /// `{duration}`.
    Duration,
    /// `{date}`.
    Date,
    /// `{clock}`: a time as it is said, also where it may be a duration: French `3 heures`. Rules of `{time}` say where it is a time.
    Clock,
    /// `{time}`.
    Time,
    /// `{datetime}`.
    DateTime,
    /// `{range}`: days from one to another.
    DateRange,
    /// A time from one to another.
    TimeRange,
    /// A time on a day to another.
    DateTimeRange,
    /// What happens again and again.
    Repetition,
    /// `{amount}`: a number, with a sign or a name of a currency if there is one, whatever it is worth.
    Amount,
    /// A number or an amount to another, or one of two: neither is meant alone.
    AmountRange,
    /// `{value}`: an end of a range: a number, or an amount of money.
    Value,
    /// `{money}`: an end of a range with a currency.
    Money,
    /// `{valuerange}`: a number or an amount of money to another; one end may be open.
    ValueRange,
}

const NAMES: [(&str, Category); 33] = [
    ("integer", Category::Integer),
    ("number", Category::Number),
    ("day", Category::Day),
    ("ordinal", Category::Ordinal),
    ("year", Category::Year),
    ("short", Category::ShortYear),
    ("hour", Category::Hour),
    ("minute", Category::Minute),
    ("digits", Category::Digits),
    ("mm", Category::SpokenMinute),
    ("hhmm", Category::HourMinute),
    ("someday", Category::SomeDay),
    ("month", Category::Month),
    ("weekday", Category::Weekday),
    ("wd", Category::ShortWeekday),
    ("nth", Category::Nth),
    ("unit", Category::Unit),
    ("part", Category::Part),
    ("span", Category::Span),
    ("duration", Category::Duration),
    ("date", Category::Date),
    ("clock", Category::Clock),
    ("time", Category::Time),
    ("datetime", Category::DateTime),
    ("range", Category::DateRange),
    ("timerange", Category::TimeRange),
    ("datetimerange", Category::DateTimeRange),
    ("repetition", Category::Repetition),
    ("amount", Category::Amount),
    ("amountrange", Category::AmountRange),
    ("value", Category::Value),
    ("money", Category::Money),
    ("valuerange", Category::ValueRange),
];

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

/// What a rule makes of the values in its pattern.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Action {
    /// The month with this number.
    Month(i8),
    /// The weekday with this number, from 1 for Monday.
    Weekday(i8),
    /// A unit of time.
    Unit(Unit),
    /// A part of the day.
    Part(Part),
    /// The value in the pattern.
    Same,
    /// A number, or one, of a unit.
    Count,
    /// A fraction of a unit: `half an hour`.
    Fraction(i64, i64),
    /// A fraction of this unit, where both are one word: Italian `mezzora`.
    FractionOf(i64, i64, Unit),
    /// One of this unit.
    UnitOf(Unit),
    /// So many of the unit in the pattern.
    CountOf(u64),
    /// The number in the pattern, of this unit.
    CountOfUnit(Unit),
    /// A number and a fraction of a unit.
    CountAndFraction(i64, i64),
    /// All durations together.
    Sum,
    /// A duration and a fraction of its last unit: `an hour and a half`.
    AndFraction(i64, i64),
    /// A duration and a number of its next smaller unit: `one hour thirty`.
    AndSmaller,
    /// So many days from today.
    Days(i32),
    /// So many days from today: back when a word of the past is in the clause, else ahead. Hindi `कल`.
    DaysByTense(i32, &'static str),
    /// The nearest weekday to come; in a week if it is today's.
    ComingWeekday,
    /// The nearest weekday that is gone.
    PastWeekday,
    /// The year so many years from this one.
    YearOffset(i32),
    /// The weekday in the week that is so many weeks from this one.
    WeekdayOfWeek(i32),
    /// A weekday so many weeks after the coming one: `Friday week`.
    WeekdayPlusWeeks(i32),
    /// A weekday in the week that is a duration of weeks after (1) or before (-1) this one; of days, the day itself.
    WeekdayShift(i32),
    /// The day that day, month and year name; what is absent is what comes next.
    Calendar,
    /// As `Calendar`, but the last one that is gone when a word of the past is in the clause.
    CalendarByTense(&'static str),
    /// A day of the month that is so many months from this one.
    DayOfMonth(i32),
    /// The first (1) or last (-1) day of a month: the month in the pattern, else the one so many months from this one.
    MonthEdge(i32, i32),
    /// The first (1) or last (-1) day of the year in the pattern, else of the one so many years from this one.
    YearEdge(i32, i32),
    /// The last (-1) or n-th weekday of the month in the pattern, else of the one so many months away; 0 takes the ordinal in the pattern.
    NthWeekday(i32, i32),
    /// The n-th weekday of a month of a year: `Thanksgiving`.
    Holiday(i8, i8, i8),
    /// So many days after the n-th weekday of a month of a year: Black Friday is the day after the fourth Thursday.
    DaysAfterHoliday(i8, i8, i8, i32),
    /// A day of each year, with a year if the pattern has one.
    Yearly(i8, i8),
    /// So many days after Easter Sunday.
    Easter(i32),
    /// A duration after (1) or before (-1) the date in the pattern, else after today.
    Shift(i32),
    /// As `Shift`, with a fixed number of a unit.
    ShiftBy(i32, Unit),
    /// The time that hour, minute, second and part of the day name.
    Clock,
    /// So many minutes, or those in the pattern with this sign, after the hour.
    MinutesAfter(i32),
    /// The minutes in the pattern after (1) or before (-1) the hour.
    Minutes(i32),
    /// The minutes in the pattern before a time in hour and minute.
    MinutesBeforeTime,
    /// A time in a part of the day.
    TimeIn(Part),
    /// The last minute of the date in the pattern, else of today.
    EndOfDay,
    /// A fixed time.
    At(i8, i8),
    /// A date, or day, month and year, and a time.
    Join,
    /// A date and a time in a part of the day.
    JoinPart(Part),
    /// A time or an hour on the day so many days from today, with the part of the day if one is named.
    JoinDays(i32, Option<Part>),
    /// The moment of the turn.
    Now,
    /// A duration after (1) or before (-1) the moment of the turn.
    ShiftNow(i32),
    /// From the first to the second value.
    FromTo,
    /// From an hour to a time, whose part of the day is that of both where it can be.
    HourTo,
    /// As `HourTo`, from an hour and minutes.
    ClockTo,
    /// From the first to the second time, which share a part of the day: `from 5 to 7 pm`.
    FromToIn(Part),
    /// From the first to the second time or hour of one day.
    FromToSameDay,
    /// From the coming weekday to the next one after it.
    WeekdayToWeekday,
    /// From one time to a later one, or from one hour to another, in the part of the day that is before each or before both.
    ClockFromTo,
    /// From the value on.
    From,
    /// Until the value.
    Until,
    /// The unit that is so many of it from now: `next week`.
    Period(i32, Unit),
    /// The month in the pattern, with a year if the pattern has one; of two months, from the first to the second.
    MonthPeriod,
    /// The year in the pattern.
    YearPeriod,
    /// From one day of a month, of the next one without a month, to another; of two months with the year of the second.
    DaysOfMonth,
    /// No value when one of the words is in the clause.
    NothingIf(&'static str),
    /// No value: it says that the words are none of what they look like.
    Nothing,
    /// Several values, or one of several: no value for those who take one.
    Several,
}

/// A value that a rule has made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meaning {
    /// An integer: of a day, a year, an hour.
    Integer(i64),
    /// A number.
    Number(Number),
    Month(i8),
    Weekday(i8),
    Unit(Unit),
    Part(Part),
    Duration(Arc<Duration>),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    DateRange(DayRange),
    TimeRange(Option<Time>, Option<Time>),
    DateTimeRange(Option<DateTime>, Option<DateTime>),
    RangeEnd(Arc<RangeEnd>),
    ValueRange(Arc<ValueRange>),
    /// Words that are no value.
    Nothing,
    /// Words that are several values, of which none is meant alone.
    Several,
}

impl Meaning {
    /// Creates the meaning of a duration.
    pub fn from_duration(duration: Duration) -> Meaning {
        Meaning::Duration(Arc::new(duration))
    }
}

/// A part of a pattern that takes tokens.
#[derive(Debug, Clone, PartialEq)]
enum Atom {
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
struct Item {
    alternatives: Vec<Vec<Atom>>,
    is_optional: bool,
}

#[derive(Debug)]
struct Rule {
    /// The regions in which it counts; all of them if `None`.
    regions: Option<&'static str>,
    items: Vec<Item>,
    action: Action,
}

/// The rules that make a category, by how they begin.
#[derive(Debug, Default)]
struct RuleSet {
    rules: Vec<Rule>,
    by_word: BTreeMap<u32, Vec<usize>>,
    by_sign: BTreeMap<char, Vec<usize>>,
    /// Rules that begin with `^`; they come first.
    by_begin: Vec<usize>,
    /// By the category with which they begin; none for those that may begin with the end of the text.
    by_category: BTreeMap<Option<Category>, Vec<usize>>,
    /// Rules that begin with what they make.
    own: Vec<usize>,
}

/// A set of categories.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Categories(u64);

impl Categories {
    fn with(self, category: Category) -> Categories {
        Categories(self.0 | 1 << category as u64)
    }

    fn and(self, other: Categories) -> Categories {
        Categories(self.0 | other.0)
    }

    fn contains(self, category: Category) -> bool {
        self.0 & 1 << category as u64 != 0
    }
}

/// What may begin where, also by rules that begin with a value: most tokens begin nothing, and no rule is tried at them.
#[derive(Debug, Default)]
struct Beginnings {
    /// By the number of a word.
    by_word: Vec<Categories>,
    by_sign: BTreeMap<char, Categories>,
    /// At the beginning of what is said.
    by_begin: Categories,
    /// Anywhere.
    everywhere: Categories,
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

    fn of_category(&self, category: Category) -> Categories {
        self.by_category.get(&category).copied().unwrap_or_default()
    }
}

/// The compiled rules of a language.
#[derive(Debug)]
pub(crate) struct Grammar {
    words: BTreeMap<String, u32>,
    sets: BTreeMap<Category, RuleSet>,
    beginnings: Beginnings,
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
        for (category, rules) in language.rules.iter().chain(crate::common_rules::RULES) {
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

/// Values that begin at a token: where each ends, and what it is. The longest comes first.
pub(crate) type Found = Arc<[(usize, Meaning)]>;

/// A text that is read with the rules of a language.
pub(crate) struct Parser {
    text: Arc<str>,
    pub tokens: Arc<[Token]>,
    pub language: &'static CompiledLanguage,
    pub meanings: Meanings,
    /// The words of the tokens as the grammar knows them.
    words: Vec<Option<u32>>,
    /// What may begin at each token.
    beginnings: Vec<Option<Categories>>,
    /// What has been read: for each token at which something may begin, by category.
    memo: Vec<Option<Box<[Option<Found>; NAMES.len()]>>>,
    numbers: Vec<Option<Arc<[ReadNumber]>>>,
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
    /// Prepares to read the tokens of a text.
    pub fn new(text: &str, tokens: Vec<Token>, language: &'static CompiledLanguage, meanings: Meanings) -> Parser {
        let words = tokens.iter().map(|token| language.grammar.words.get(&token.text).copied()).collect();
        Parser {
            text: text.into(),
            language,
            meanings,
            words,
            beginnings: vec![None; tokens.len()],
            memo: vec![None; tokens.len()],
            numbers: vec![None; tokens.len()],
            signed_numbers: vec![None; tokens.len()],
            tokens: tokens.into(),
            nothing: Arc::new([]),
            captures: Vec::new(),
            depth: 0,
        }
    }

    /// A token as it is written.
    pub fn written(&self, token: &Token) -> &str {
        self.text.get(token.range.clone()).unwrap_or_default()
    }

    /// The numbers that begin at a token, the longest first.
    pub fn numbers(&mut self, at: usize) -> Arc<[ReadNumber]> {
        if let Some(Some(known)) = self.numbers.get(at) {
            return known.clone();
        }
        let found: Arc<[ReadNumber]> = crate::number_words::read_numbers(&self.tokens, at, self.language, self.meanings.marks).into();
        if let Some(place) = self.numbers.get_mut(at) {
            *place = Some(found.clone());
        }
        found
    }

    /// The number that begins at a token, with its sign.
    pub fn signed_number(&mut self, at: usize) -> Option<SignedNumber> {
        if let Some(Some(known)) = self.signed_numbers.get(at) {
            return *known;
        }
        let found = crate::numbers::read_signed(self, at);
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
        let beginnings = &self.language.grammar.beginnings;
        let mut all = beginnings.everywhere;
        if let Some(word) = self.words.get(at).copied().flatten() {
            all = all.and(beginnings.by_word.get(word as usize).copied().unwrap_or_default());
        }
        let Some(token) = self.tokens.get(at) else { return all };
        if let Some(sign) = token.sign() {
            all = all.and(beginnings.by_sign.get(&sign).copied().unwrap_or_default());
        }
        if self.is_begin(at) {
            all = all.and(beginnings.by_begin);
        }
        // "EUR 20"
        if token.kind == TokenKind::Word
            && self.tokens.get(at + 1).is_some_and(|token| token.kind == TokenKind::Digits || token.text == "$")
        {
            all = all.and(beginnings.of_category(Category::Value)).and(beginnings.of_category(Category::Money));
        }
        if matches!(token.text.as_str(), "p" | "pt") {
            all = all.and(beginnings.of_category(Category::Duration));
        }
        if token.kind == TokenKind::Digits || token.text == "'" || !self.numbers(at).is_empty() {
            all = NUMERIC.iter().fold(all, |all, it| all.and(beginnings.of_category(*it)));
        }
        if crate::money::skip_name(self, at) != at {
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
        let before = token_before(&self.tokens, at);
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
            let token = this.tokens.get(at).filter(|it| digits(it, most))?;
            token.text.parse().ok()
        };
        let integers = |this: &mut Parser, form: fn(NumberForm) -> bool| -> Vec<(usize, i64)> {
            let numbers = this.numbers(at);
            // An article that is the word for one, too.
            let is_one = |form: NumberForm| form == NumberForm::Article && crate::numbers::is_cardinal_article(this, at);
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
                let numbers = self.numbers(at);
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
                    self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Word || token.text.len() <= 2) && number.1 > 0
                });
                in_range(all, 1, 31)
            }
            Category::Nth if self.tokens.get(at).is_none_or(|it| it.kind != TokenKind::Digits) => Vec::new(),
            Category::Ordinal | Category::Nth => in_range(integers(self, |it| it == NumberForm::Ordinal), 1, i64::from(i32::MAX)),
            Category::Year => {
                let mut all = Vec::new();
                if let Some(token) = self.tokens.get(at) {
                    match token.kind {
                        TokenKind::Digits if token.text.len() == 4 => all.extend(token.text.parse().ok().map(|year| (at + 1, year))),
                        TokenKind::Word => {
                            let numbers = self.numbers(at);
                            let years = numbers.iter().filter(|number| matches!(number.form, NumberForm::Words | NumberForm::YearWords));
                            all.extend(years.filter_map(|number| Some((number.end, number.value.to_integer()?))));
                        }
                        TokenKind::Sign if token.text == "'" => {
                            let next = self.tokens.get(at + 1).filter(|token| token.is_glued_digits() && token.text.len() == 2);
                            all.extend(next.and_then(|token| token.text.parse().ok()).map(|year| (at + 2, full_year(year))));
                        }
                        TokenKind::Digits | TokenKind::Sign => {}
                    }
                }
                in_range(all, 1000, 9999)
            }
            Category::ShortYear => {
                let token = self.tokens.get(at).filter(|token| digits(token, 2) && token.text.len() == 2);
                let year = token.and_then(|token| token.text.parse().ok());
                year.map(|year| (at + 1, Meaning::Integer(full_year(year)))).into_iter().collect()
            }
            Category::Hour => {
                let mut all = integers(self, is_whole);
                all.extend(plain_digits(self, 2).map(|hour| (at + 1, hour)));
                // "a dozen" is not an hour.
                let articles = self.language.language.numbers.articles;
                let is_article = |token: &Token| token.is_one_of(articles) && !self.language.language.numbers.has_ones_first;
                all.retain(|_| {
                    self.tokens.get(at).is_some_and(|token| token.text.len() <= 2 || token.kind == TokenKind::Word && !is_article(token))
                });
                all.retain(|number| number.0 == at + 1 || !self.tokens.get(at).is_some_and(is_article));
                // "la una", "ein Uhr"
                let is_one = all.is_empty() && crate::numbers::is_cardinal_article(self, at);
                all.extend(is_one.then_some((at + 1, 1)));
                in_range(all, 0, 24)
            }
            Category::Minute => {
                let mut all = integers(self, is_whole);
                all.extend(plain_digits(self, 2).map(|minute| (at + 1, minute)));
                in_range(all, 0, 59)
            }
            Category::Digits => {
                let value = plain_digits(self, 2).filter(|_| self.tokens.get(at).is_some_and(|it| it.text.len() == 2));
                in_range(value.map(|value| (at + 1, value)).into_iter().collect(), 0, 59)
            }
            Category::Duration => self.read_iso_duration(at).into_iter().collect(),
            Category::Date => {
                let moment = crate::digit_dates::read_iso_moment(self, at).map(|(end, moment)| (end, Meaning::Date(moment.date())));
                crate::digit_dates::read_digits(self, at).into_iter().chain(moment).collect()
            }
            Category::DateTime => {
                crate::digit_dates::read_iso_moment(self, at).map(|(end, moment)| (end, Meaning::DateTime(moment))).into_iter().collect()
            }
            Category::Amount => {
                let start = crate::money::skip_name(self, at);
                let is_digits = self.tokens.get(start).is_some_and(|it| it.kind == TokenKind::Digits);
                let is_amount =
                    |form: NumberForm| matches!(form, NumberForm::Digits | NumberForm::Words) || form == NumberForm::Mixed && is_digits;
                let ends: Vec<usize> = self.numbers(start).iter().filter(|it| is_amount(it.form)).map(|it| it.end).collect();
                let behind = ends.iter().map(|it| crate::money::skip_name(self, *it));
                behind.chain(ends.iter().copied()).map(|end| (end, Meaning::Nothing)).collect()
            }
            Category::Value => crate::value_range::read_ends(self, at),
            Category::Money => {
                let ends = self.read(Category::Value, at);
                ends.iter().filter(|it| crate::value_range::is_money(&it.1)).cloned().collect()
            }
            Category::SpokenMinute => {
                let mut all = integers(self, is_whole);
                all.retain(|number| {
                    let token = self.tokens.get(at);
                    token.is_some_and(|token| if token.kind == TokenKind::Word { number.1 >= 10 } else { token.text.len() == 2 })
                });
                in_range(all, 0, 59)
            }
            Category::HourMinute => {
                let value = plain_digits(self, 4).filter(|_| self.tokens.get(at).is_some_and(|it| it.text.len() >= 3));
                let time = value.and_then(|it| crate::calendar::time(it / 100, it % 100, 0));
                time.map(|time| (at + 1, Meaning::Time(time))).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Reads a duration in ISO 8601.
    fn read_iso_duration(&self, at: usize) -> Option<(usize, Meaning)> {
        let token = self.tokens.get(at).filter(|token| token.is_spaced && token.text.starts_with('p'))?;
        let (duration, length) = Duration::parse_iso(self.text.get(token.range.start..)?)?;
        let end = self.tokens.iter().skip(at).position(|next| next.range.start >= token.range.start + length);
        Some((end.map_or(self.tokens.len(), |offset| at + offset), Meaning::from_duration(duration)))
    }

    fn read_rules(&mut self, category: Category, at: usize, found: &mut Vec<(usize, Meaning)>) {
        let grammar = &self.language.grammar;
        let Some(set) = grammar.sets.get(&category) else { return };
        let by_word = self.words.get(at).copied().flatten().and_then(|it| set.by_word.get(&it));
        let by_sign = self.tokens.get(at).and_then(Token::sign).and_then(|it| set.by_sign.get(&it));
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
                !regions.split(' ').any(|region| *region == *self.meanings.region || region == "-" && self.meanings.region.is_empty())
            }) {
                continue;
            }
            captured.clear();
            self.match_items(rule, 0, at, at, &mut captured, found);
        }
        self.captures = captured;
    }

    fn read_own_rules(&mut self, category: Category, at: usize, found: &mut Vec<(usize, Meaning)>) {
        let Some(set) = self.language.grammar.sets.get(&category).filter(|it| !it.own.is_empty()) else { return };
        if let Some(place) = self.known(category, at) {
            *place = Some(found.clone().into());
        }
        for rule in set.own.iter().filter_map(|it| set.rules.get(*it)) {
            self.match_items(rule, 0, at, at, &mut Vec::new(), found);
        }
    }

    /// Whether one of several words is in the same clause as a token.
    fn is_in_clause(&self, words: &str, at: usize) -> bool {
        let and = self.language.language.numbers.and;
        let is_mark = |token: &&Token| token.is_sign_of(".,;!?।") || token.is_one_of(and);
        let has = |token: &Token| token.is_one_of(words);
        let (before, behind) = self.tokens.split_at(at.min(self.tokens.len()));
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
            let mut meanings = self.meanings.clone();
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
                && this.tokens.get(at).is_some_and(|token| token.glued_sign() == Some('.'))
                && token_before(&this.tokens, at).is_some_and(|it| it.kind == TokenKind::Word)
        };
        match atom {
            Atom::Sign(sign) => {
                if self.tokens.get(at).and_then(Token::sign) == Some(*sign) {
                    self.match_atoms(rule, item, rest, begin, at + 1, captures, found);
                }
            }
            Atom::Begin => {
                if self.is_begin(at) {
                    self.match_atoms(rule, item, rest, begin, at, captures, found);
                }
            }
            Atom::End => {
                let next = self.tokens.get(at);
                let has_digits = self.tokens.get(at + 1).is_some_and(Token::is_glued_digits);
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
                if self.words.get(at).copied().flatten() == Some(*word) && self.tokens.get(at).is_some_and(|it| it.has_accent) {
                    self.match_atoms(rule, item, rest, begin, at + 1, captures, found);
                }
            }
            Atom::Glued(word) => {
                if self.words.get(at).copied().flatten() == Some(*word) && self.tokens.get(at).is_some_and(|it| !it.is_spaced) {
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

/// The year that two digits stand for.
pub(crate) fn full_year(digits: i64) -> i64 {
    if digits < 70 { 2000 + digits } else { 1900 + digits }
}
