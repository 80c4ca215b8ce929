//! Reads the values of a kind in a text: where they are, and whether what is beside them forbids them.

use std::ops::Range;
use std::sync::Arc;

use jiff::civil::{DateTime, Time};
use serde_json::{Value, json};

use crate::action::Action;
use crate::category::Category;
use crate::compiled_language::{CompiledLanguage, language_of};
use crate::context::Context;
use crate::input::Input;
use crate::kind::Kind;
use crate::language::Veto;
use crate::meaning::{Meaning, Meanings};
use crate::number::Number;
use crate::number_words::NumberForm;
use crate::parser::Parser;
use crate::phrases::Phrases;
use crate::token::{Token, TokenKind, split_joined, split_tokens, token_before};
use crate::{money, range_context};

/// A value in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// In its stored form.
    pub value: Value,
    /// Its place in the text, in bytes.
    pub range: Range<usize>,
}

/// How many values of a kind are read in a text.
const MAX_READINGS: usize = 32;
/// How many tokens of a text are read.
const MAX_TOKENS: usize = 4_000;

/// Reads the values of a kind in a text, from left to right, as [`Parse::read`].
pub fn read(kind: Kind, text: &str, context: &Context<'_>) -> Vec<Reading> {
    Parse::new(text, context).read(kind)
}

/// The value of a kind that a text is as a whole.
pub fn read_whole(kind: Kind, text: &str, context: &Context<'_>) -> Option<Value> {
    let trimmed = text.trim();
    let readings = read(kind, trimmed, context);
    readings.into_iter().next().filter(|reading| reading.range == (0..trimmed.len())).map(|it| it.value)
}

/// A text in which values of all kinds are read: what is found for one kind serves the others.
pub struct Parse {
    parser: Parser,
}

impl Parse {
    /// Prepares a text.
    pub fn new(text: &str, context: &Context<'_>) -> Parse {
        let mut tokens = split_tokens(text);
        tokens.truncate(MAX_TOKENS);
        let language = language_of(context.locale);
        split_joined(&mut tokens, language.language.joined_words);
        Parse { parser: Parser::new(Input::new(text, tokens, language, Meanings::new(context))) }
    }

    /// Reads the values of a kind, from left to right.
    ///
    /// What is part of a larger value, such as a day of a range, is none.
    pub fn read(&mut self, kind: Kind) -> Vec<Reading> {
        read_with(kind, &mut self.parser, false)
    }

    /// Reads the values of a kind, from left to right, and also the two ends of ranges, for those who take several.
    pub fn read_each(&mut self, kind: Kind) -> Vec<Reading> {
        read_with(kind, &mut self.parser, true)
    }
}

fn read_with(kind: Kind, parser: &mut Parser, takes_ends: bool) -> Vec<Reading> {
    let tokens = Arc::clone(&parser.input.tokens);
    let lead_ins = parser.input.language.language.lead_ins;
    let mut readings = Vec::new();
    let mut at = 0;
    while at < tokens.len() && readings.len() < MAX_READINGS {
        let mut candidate = |at: usize| {
            let found = is_start(&tokens, at, kind).then(|| read_at(kind, parser, at, takes_ends)).flatten();
            found.filter(|it| is_end(&tokens, it.0))
        };
        let Some((end, value)) = candidate(at) else {
            at += 1;
            continue;
        };
        // What begins within it, reaches further and says more is meant: "on Friday next week".
        let words = |from: usize, to: usize| tokens.iter().take(to).skip(from).filter(|it| it.kind != TokenKind::Sign).count();
        let own_words = words(at, end);
        if (at + 1..end).any(|from| candidate(from).is_some_and(|found| found.0 > end && words(from, found.0) > own_words)) {
            at += 1;
            continue;
        }
        match value.filter(|_| is_free(kind, parser, at, end, takes_ends)) {
            Some(value) => {
                readings.push(Reading { value, range: range_of(&tokens, skip_lead_ins(kind, &tokens, lead_ins, at, end), end) });
            }
            // What is no clear number is not passed over in favor of another.
            None if matches!(kind, Kind::Number | Kind::Currency | Kind::Duration) && is_unclear(kind, parser, at) => break,
            None => {}
        }
        at = end;
    }
    readings
}

/// The token at which a day or a time begins without its preposition and article.
fn skip_lead_ins(kind: Kind, tokens: &[Token], lead_ins: &str, at: usize, end: usize) -> usize {
    if !matches!(kind, Kind::Date | Kind::Time | Kind::DateTime) {
        return at;
    }
    let is_lead_in = |token: &Token| token.is_one_of(lead_ins);
    (at..end.saturating_sub(1)).find(|index| !tokens.get(*index).is_some_and(is_lead_in)).unwrap_or(at)
}

fn range_of(tokens: &[Token], from: usize, to: usize) -> Range<usize> {
    let start = tokens.get(from).map_or(0, |it| it.range.start);
    start..token_before(tokens, to).map_or(start, |it| it.range.end)
}

/// Reads a value of a kind at a token. It has no JSON value where the words are a value that is not read.
fn read_at(kind: Kind, parser: &mut Parser, at: usize, takes_several: bool) -> Option<(usize, Option<Value>)> {
    let category = match kind {
        Kind::Number | Kind::Percent | Kind::Ordinal => {
            // "der 3."
            if kind == Kind::Ordinal
                && let Some((end, meaning)) = parser.longest_rule(Category::Ordinal, at)
            {
                return Some((end, stored(meaning)));
            }
            let found = parser.signed_number(at)?;
            let fits = match kind {
                Kind::Percent => found.form == NumberForm::Percent,
                Kind::Ordinal => found.form == NumberForm::Ordinal,
                _ => found.form != NumberForm::Ordinal,
            };
            return fits.then(|| (found.end, found.value.and_then(Number::to_json)));
        }
        Kind::Currency => return money::read(&mut parser.input, at).map(|(end, money)| (end, Some(money))),
        Kind::Date => Category::Date,
        Kind::Month | Kind::Year => return read_period(kind, parser, at),
        Kind::Time => Category::Time,
        Kind::DateTime => Category::DateTime,
        Kind::Duration => Category::Duration,
        Kind::DateRange => Category::DateRange,
        Kind::TimeRange => Category::TimeRange,
        Kind::DateTimeRange => Category::DateTimeRange,
        Kind::NumberRange | Kind::CurrencyRange => {
            let (end, meaning) = parser.longest(Category::ValueRange, at)?;
            return Some((end, if let Meaning::ValueRange(it) = meaning { it.stored(kind) } else { None }));
        }
    };
    let (end, meaning) = if takes_several { parser.longest_single(category, at) } else { parser.longest(category, at) }?;
    Some((end, stored(meaning)))
}

/// Reads a month or a year: a range of days that is a whole one, or an answer that names one alone.
fn read_period(kind: Kind, parser: &mut Parser, at: usize) -> Option<(usize, Option<Value>)> {
    let (end, meaning) = match parser.longest(Category::DateRange, at) {
        Some(range) => range,
        None => {
            let (category, action) = match kind {
                Kind::Month => (Category::Month, Action::MonthPeriod),
                _ => (Category::Year, Action::YearPeriod),
            };
            let (end, name) = parser.longest(category, at)?;
            let is_alone = at == 0 && parser.input.tokens.iter().skip(end).all(|it| it.kind == TokenKind::Sign);
            (end, parser.input.meanings.make(action, &[name]).filter(|_| is_alone)?)
        }
    };
    let Meaning::DateRange(days) = meaning else { return Some((end, None)) };
    let (from, to) = (days.from?, days.to?);
    let value = match kind {
        Kind::Month => (from.day() == 1 && to == from.last_of_month()).then(|| from.strftime("%Y-%m").to_string()),
        _ => (from == from.first_of_year() && to == from.last_of_year()).then(|| from.strftime("%Y").to_string()),
    };
    value.map(|text| (end, Some(text.into())))
}

/// Whether the words at a token are a value that cannot be told.
fn is_unclear(kind: Kind, parser: &mut Parser, at: usize) -> bool {
    read_at(kind, parser, at, false).is_some_and(|it| it.1.is_none())
}

/// The stored form of a value.
fn stored(meaning: Meaning) -> Option<Value> {
    let moment = |moment: DateTime| {
        if moment.second() == 0 { moment.strftime("%Y-%m-%dT%H:%M") } else { moment.strftime("%Y-%m-%dT%H:%M:%S") }.to_string()
    };
    let time = |time: Time| if time.second() == 0 { time.strftime("%H:%M") } else { time.strftime("%H:%M:%S") }.to_string();
    Some(match meaning {
        Meaning::Integer(it) => it.into(),
        Meaning::Date(it) => it.to_string().into(),
        Meaning::Time(it) => time(it).into(),
        Meaning::DateTime(it) => moment(it).into(),
        Meaning::Duration(it) => it.to_iso()?.into(),
        Meaning::DateRange(it) => ends(it.from.map(|it| it.to_string()), it.to.map(|it| it.to_string())),
        Meaning::TimeRange(from, to) => ends(from.map(time), to.map(time)),
        Meaning::DateTimeRange(from, to) => ends(from.map(moment), to.map(moment)),
        _ => return None,
    })
}

fn ends(from: Option<String>, to: Option<String>) -> Value {
    let mut range = json!({});
    for (name, end) in [("from", from), ("to", to)] {
        if let (Some(end), Some(members)) = (end, range.as_object_mut()) {
            members.insert(name.to_owned(), end.into());
        }
    }
    range
}

/// Whether a value may begin at a token: not within a word, a number or an id.
fn is_start(tokens: &[Token], at: usize, kind: Kind) -> bool {
    let Some((token, before)) = tokens.get(at).zip(token_before(tokens, at)) else { return true };
    if token.is_spaced || kind == Kind::Currency && token.kind == TokenKind::Word && before.kind == TokenKind::Digits {
        return true;
    }
    if token.is_joined {
        return !matches!(kind, Kind::Number | Kind::Ordinal);
    }
    match before.kind {
        TokenKind::Word | TokenKind::Digits => false,
        // "5-6", "1.2.3", "3/4", "#5"
        TokenKind::Sign => {
            let outer = at.checked_sub(2).and_then(|it| tokens.get(it)).filter(|_| !before.is_spaced).map(|it| it.kind);
            // "1.1^+23"
            let signs = tokens.iter().take(at).rev().take_while(|it| it.kind == TokenKind::Sign);
            if signs.clone().next().is_some() && signs.take(3).any(|token| token.glued_sign() == Some('^')) {
                return false;
            }
            let is_within = match before.sign() {
                Some('.' | ',' | ':' | '\'') => outer == Some(TokenKind::Digits),
                Some('-' | '+') if at >= 2 && tokens.get(at - 2).and_then(Token::sign) == Some('^') => true,
                Some('/' | '-' | '&' | '+' | '*' | '=' | '^') => matches!(outer, Some(TokenKind::Digits | TokenKind::Word)),
                Some('#' | '@' | '_') => true,
                Some('$' | '€' | '£' | '₹' | '¥') => {
                    matches!(kind, Kind::Date | Kind::Time | Kind::DateTime | Kind::Duration | Kind::Ordinal)
                }
                _ => false,
            };
            !is_within
        }
    }
}

/// Whether a value may end before a token.
fn is_end(tokens: &[Token], end: usize) -> bool {
    let Some(next) = tokens.get(end).filter(|it| !it.is_spaced) else { return true };
    let has_more = tokens.get(end + 1).is_some_and(|token| !token.is_spaced && token.kind != TokenKind::Sign);
    let is_after_digits = token_before(tokens, end).is_some_and(|it| it.kind == TokenKind::Digits);
    match next.kind {
        TokenKind::Word => next.is_joined,
        TokenKind::Digits => false,
        TokenKind::Sign if next.sign() == Some('^') => false,
        TokenKind::Sign => !(next.is_sign_of("./:,'-@_") && has_more && is_after_digits),
    }
}

/// What is part of a value of one of these categories is none of a kind.
fn rivals(kind: Kind) -> &'static [Category] {
    match kind {
        Kind::Number => &[
            Category::Date,
            Category::Time,
            Category::DateTime,
            Category::TimeRange,
            Category::DateRange,
            Category::Ordinal,
            Category::AmountRange,
            Category::ValueRange,
        ],
        Kind::Ordinal => &[Category::Date, Category::DateTime, Category::DateRange, Category::AmountRange],
        Kind::Date => &[Category::DateRange, Category::Repetition],
        Kind::Time => {
            &[Category::TimeRange, Category::DateTimeRange, Category::DateTime, Category::Date, Category::DateRange, Category::Repetition]
        }
        Kind::DateTime => &[Category::Date, Category::DateTimeRange, Category::Repetition],
        Kind::Duration => &[
            Category::Date,
            Category::Time,
            Category::DateTime,
            Category::Repetition,
            Category::TimeRange,
            Category::DateRange,
            Category::AmountRange,
        ],
        Kind::DateRange => &[Category::Date, Category::DateTime, Category::Repetition],
        Kind::Month | Kind::Year => &[Category::Date, Category::DateTime, Category::DateRange, Category::Repetition],
        Kind::TimeRange => &[Category::Time, Category::Repetition],
        Kind::DateTimeRange => &[Category::Repetition],
        Kind::NumberRange | Kind::CurrencyRange => &[
            Category::Date,
            Category::Time,
            Category::DateTime,
            Category::Duration,
            Category::TimeRange,
            Category::DateRange,
            Category::DateTimeRange,
            Category::Ordinal,
            Category::AmountRange,
            Category::ValueRange,
        ],
        // "between 20 and 30 euros"
        Kind::Percent => &[Category::AmountRange, Category::TimeRange, Category::DateRange],
        Kind::Currency => &[Category::AmountRange, Category::ValueRange, Category::TimeRange, Category::DateRange],
    }
}

/// How many tokens before a value may begin what it is part of.
const REACH: usize = 8;

/// Whether tokens are within a range whose two ends are values of their own.
fn is_in_range(parser: &mut Parser, at: usize, end: usize) -> bool {
    (at.saturating_sub(REACH)..=at).any(|from| {
        [Category::DateRange, Category::TimeRange, Category::DateTimeRange].into_iter().any(|category| {
            let Some((to, meaning)) = parser.longest_single(category, from) else { return false };
            let has_two_ends = match meaning {
                Meaning::DateRange(it) => it.has_two_days,
                Meaning::TimeRange(from, to) => from.is_some() && to.is_some(),
                Meaning::DateTimeRange(from, to) => from.is_some() && to.is_some(),
                _ => false,
            };
            has_two_ends && to >= end
        })
    })
}

fn is_day_or_time(kind: Kind) -> bool {
    match kind {
        Kind::Date | Kind::Month | Kind::Year | Kind::Time | Kind::DateTime | Kind::DateRange | Kind::TimeRange | Kind::DateTimeRange => {
            true
        }
        Kind::Number | Kind::Percent | Kind::Ordinal | Kind::Currency | Kind::Duration | Kind::NumberRange | Kind::CurrencyRange => false,
    }
}

/// How many tokens before a value may deny it.
const CLAUSE_REACH: usize = 24;

/// Whether a word of the clause before a token denies what follows.
fn is_denied(parser: &Parser, at: usize) -> bool {
    let CompiledLanguage { negations, mock_negations, consent, .. } = parser.input.language;
    let ends_clause = |token: &Token| {
        token.sign().is_some_and(|sign| sign != '\'')
            || token.is_one_of(parser.input.language.language.numbers.and)
            || consent.changes.has_word(&token.text)
    };
    let before = parser.input.tokens.get(..at).unwrap_or_default();
    let length = before.iter().rev().take(CLAUSE_REACH).position(ends_clause).unwrap_or(CLAUSE_REACH);
    let clause = before.get(before.len().saturating_sub(length)..).unwrap_or_default();
    let mut denied = false;
    let mut place = 0;
    while place < clause.len() {
        // "why don't we" denies nothing.
        if let Some(next) = mock_negations.read(clause, place) {
            place = next;
            continue;
        }
        denied |= negations.read(clause, place).is_some();
        place += 1;
    }
    denied
}

/// Whether tokens are one of several values of which others follow.
fn is_before_others(parser: &mut Parser, at: usize, end: usize) -> bool {
    (at.saturating_sub(REACH)..=at).any(|from| {
        [Category::DateRange, Category::TimeRange, Category::DateTimeRange, Category::Repetition]
            .into_iter()
            .any(|category| parser.longest(category, from).is_some_and(|(to, meaning)| meaning == Meaning::Several && to > end))
    })
}

/// Whether a value is no part of something else, and nothing beside it forbids it.
fn is_free(kind: Kind, parser: &mut Parser, at: usize, end: usize, takes_ends: bool) -> bool {
    let is_end_of_range = takes_ends && is_in_range(parser, at, end);
    for category in rivals(kind) {
        for from in at.saturating_sub(REACH)..end {
            let is_month = kind == Kind::Ordinal && parser.longest(Category::Month, from).is_some();
            let is_larger = |to: usize| match kind {
                // "the third" is a day and an ordinal.
                Kind::Ordinal => (to - from) >= (end - at) + 2 || to > end || from < at && is_month,
                // What says no more than the range is none of another kind.
                Kind::NumberRange | Kind::CurrencyRange => to > end || from < at,
                _ if *category == Category::Repetition => to - from >= end - at,
                _ if matches!(category, Category::AmountRange | Category::ValueRange) => to >= end && from <= at || to > end || from < at,
                _ => (to - from) > (end - at) || matches!(kind, Kind::Number) && to - from == end - at && to - from > 1,
            };
            let overlaps = |to: usize| from < end && at < to;
            // "about 3" may be a time, but more often is not.
            let is_short = kind == Kind::Number && *category == Category::Time && from + 1 == at && end == at + 1;
            let is_bare = is_short && parser.input.numbers(from).is_empty();
            let found = if takes_ends { parser.longest_single(*category, from) } else { parser.longest(*category, from) };
            let Some((to, meaning)) = found else { continue };
            let is_range = matches!(category, Category::DateRange | Category::TimeRange | Category::DateTimeRange);
            // What is said to be no value refuses what is as long.
            // That words are no day says nothing about a time, and that they are no range nothing about a day.
            let is_date_kind = matches!(kind, Kind::Date | Kind::Time | Kind::DateTime);
            let is_other = matches!(category, Category::Date | Category::Time | Category::DateTime) || is_date_kind && is_range;
            let is_range_of_values = matches!(kind, Kind::NumberRange | Kind::CurrencyRange);
            let is_none = matches!(meaning, Meaning::Nothing | Meaning::Several);
            let is_refused = is_none && kind != Kind::Ordinal && !is_range_of_values && !is_other && to - from == end - at && to - from > 1;
            // "at least 50" has one number, "from 50 to 80" two.
            if !is_range_of_values && matches!(&meaning, Meaning::ValueRange(it) if it.is_open()) {
                continue;
            }
            // That words are no day or time says nothing about a range of numbers.
            if is_range_of_values && is_none && matches!(category, Category::Date | Category::Time | Category::DateTime) {
                continue;
            }
            let is_full_hour = matches!(meaning, Meaning::Time(it) if it.minute() == 0);
            if overlaps(to)
                && (is_larger(to) && !(is_bare && to == end && is_full_hour) || is_refused)
                && !(is_end_of_range && is_range)
                && is_end(&parser.input.tokens, to)
            {
                return false;
            }
        }
    }
    // The third of "two third" and of "a third" is a part.
    let is_in_number = |parser: &mut Parser, from: usize| {
        parser
            .input
            .numbers(from)
            .iter()
            .any(|number| number.end >= end && !matches!(number.form, NumberForm::Ordinal | NumberForm::Article))
    };
    if kind == Kind::Ordinal && (at.saturating_sub(REACH)..at).any(|from| is_in_number(parser, from)) {
        return false;
    }
    if matches!(kind, Kind::NumberRange | Kind::CurrencyRange) && !range_context::is_free(kind, parser, at, end) {
        return false;
    }
    // "We're not open now" says when.
    let is_now = kind == Kind::DateTime
        && parser.longest(Category::DateTime, at).is_some_and(|found| found.1 == Meaning::DateTime(parser.input.meanings.now));
    if is_day_or_time(kind) && !is_now && is_denied(parser, at) {
        return false;
    }
    // What is behind one of several values is the next of them.
    let is_before_others = takes_ends && is_before_others(parser, at, end);
    let tokens = &parser.input.tokens;
    let is_forbidden_behind = |veto: &Veto<Phrases>| !is_before_others && veto.behind.read(tokens, end).is_some();
    let kind = if matches!(kind, Kind::Month | Kind::Year) { Kind::DateRange } else { kind };
    let mut vetoes = parser.input.language.vetoes.iter().filter(|it| it.kinds.contains(&kind));
    vetoes.all(|veto| !veto.before.end_before(tokens, at) && !is_forbidden_behind(veto))
}
