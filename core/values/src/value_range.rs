//! Ranges of numbers and of amounts of money: their ends, what rules make of them, and what beside them forbids them.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::Kind;
use crate::grammar::{Action, Category, Meaning, Parser};
use crate::language::RangeWords;
use crate::money;
use crate::number::Number;
use crate::number_words::{NumberForm, ReadNumber, read_numbers};
use crate::numbers::{is_cardinal_article, read_phrase, skip_minus_words, skip_percent};
use crate::token::{Token, TokenKind, token_before};

/// An end of a range.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RangeEnd {
    value: Number,
    /// The decimal digits of an amount of money.
    amount: String,
    currency: Option<String>,
    /// The multiplier with which it ends, and the number before it: `3 million`.
    scale: Option<Scale>,
    /// Whether the word for the number may be an article.
    is_article: bool,
    /// Whether its currency is named behind it.
    is_named: bool,
    /// Whether its currency says nothing about the other end: `50 cents`.
    is_apart: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Scale {
    count: Number,
    factor: u64,
    /// Whether number and multiplier are one word: German `dreitausend`.
    is_compound: bool,
}

/// Numbers or amounts of money from one to another, one of which may be open.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValueRange {
    from: Option<RangeEnd>,
    to: Option<RangeEnd>,
}

/// Numbers that are at most this may be hours.
const MAX_HOUR: i64 = 24;
/// Numbers between these may be years.
const YEARS: std::ops::RangeInclusive<i64> = 1900..=2100;
/// From which number on a count before a multiplier is none of it: `500,000 to 1 million`.
const SCALED: u64 = 1_000;
/// How many tokens before a range a number may begin that reaches into it.
const REACH: usize = 6;

/// The ends of ranges that begin at a token.
pub(crate) fn read_ends(parser: &mut Parser, at: usize) -> Vec<(usize, Meaning)> {
    let mut ends = Vec::new();
    let is_taken = at
        .checked_sub(1)
        .is_some_and(|from| parser.numbers(from).iter().any(|number| number.end == at && number.form != NumberForm::Article));
    let is_sign = parser.tokens.get(at).is_some_and(|it| it.kind == TokenKind::Sign);
    let before = money::read_code(parser, at).filter(|_| is_sign || !is_taken);
    let number_at = before.as_ref().map_or(at, |currency| {
        let has_point = parser.tokens.get(currency.end).is_some_and(|token| token.glued_sign() == Some('.'));
        currency.end + usize::from(has_point)
    });
    let numbers = parser.numbers(number_at);
    for number in numbers.iter().copied().chain(read_before_and(parser, number_at)) {
        let is_article = number.form == NumberForm::Article;
        match number.form {
            NumberForm::Digits | NumberForm::Words | NumberForm::Mixed | NumberForm::Short => {}
            NumberForm::Article if is_cardinal_article(parser, number_at) => {}
            _ => continue,
        }
        let behind = money::read_code_behind(parser, number.end);
        let (code, end) = match (&before, &behind) {
            (None, None) if number.form == NumberForm::Short => continue,
            (None, None) => (None, number.end),
            (Some(before), _) => (Some(before), number.end),
            (None, Some(behind)) => (Some(behind), behind.end),
        };
        let Some(value) = number.value.multiply(Number::from_integer(code.map_or(1, |it| it.factor))) else { continue };
        let scale = scale_of(parser, number_at, number.end, value);
        let Some(amount) = money::amount_text(parser, value, number_at, number.end) else { continue };
        let currency = code.map(|it| it.code.clone());
        let is_article = is_article && currency.is_none();
        let is_named = before.is_none() && behind.is_some_and(|it| it.is_name);
        let end_of_range = RangeEnd { value, amount, currency, scale, is_article, is_named, is_apart: false };
        ends.push((end, Meaning::RangeEnd(Arc::new(end_of_range))));
    }
    // "50 cents", "$5 CAD"
    if let Some((end, money)) = money::read(parser, at).filter(|(end, _)| !ends.iter().any(|known| known.0 == *end))
        && let Some(amount) = money.get("amount").and_then(Value::as_str)
        && let Some(value) = Number::parse(amount)
    {
        let currency = money.get("currency").and_then(Value::as_str).map(str::to_owned);
        let end_of_range =
            RangeEnd { value, amount: amount.to_owned(), currency, scale: None, is_article: false, is_named: true, is_apart: true };
        ends.push((end, Meaning::RangeEnd(Arc::new(end_of_range))));
    }
    ends
}

/// Whether an end of a range is an amount of money.
pub(crate) fn is_money(meaning: &Meaning) -> bool {
    matches!(meaning, Meaning::RangeEnd(it) if it.currency.is_some())
}

/// The numbers in words that end before a conjunction: `between fifty and two hundred`.
fn read_before_and(parser: &Parser, at: usize) -> Vec<ReadNumber> {
    let is_and = |token: &Token| token.is_one_of(parser.language.language.numbers.and);
    let words = parser.tokens.iter().skip(at).take(REACH).take_while(|it| it.kind == TokenKind::Word);
    let Some(and_at) = words.into_iter().position(is_and).map(|offset| at + offset).filter(|it| *it > at) else { return Vec::new() };
    let before = parser.tokens.get(..and_at).unwrap_or_default();
    read_numbers(before, at, parser.language, parser.meanings.marks).into_iter().filter(|it| it.end == and_at).collect()
}

/// The multiplier with which a number ends.
fn scale_of(parser: &Parser, at: usize, end: usize, value: Number) -> Option<Scale> {
    let last = parser.tokens.get(end.checked_sub(1)?).filter(|it| it.kind == TokenKind::Word)?.text.clone();
    let numbers = &parser.language.language.numbers;
    let multipliers = numbers.multipliers.iter().chain(numbers.short_multipliers);
    let mut all = multipliers
        .flat_map(|(names, factor)| names.split('|').map(|word| (word.trim_start_matches('~'), *factor)))
        .filter(|it| it.1 >= 100);
    let (word, factor) =
        all.clone().find(|it| it.0 == last).or_else(|| all.find(|(word, _)| numbers.is_compound && last.ends_with(word)))?;
    let count = value.divide(Number::from_integer(factor))?;
    let is_compound = word != last;
    let is_alone = end == at + 1 && !is_compound;
    let before = parser.tokens.get(..end - 1).unwrap_or_default();
    let mut counts = read_numbers(before, at, parser.language, parser.meanings.marks).into_iter();
    let is_count = is_compound || is_alone || counts.any(|number| number.end == end - 1 && number.value == count);
    is_count.then_some(Scale { count, factor, is_compound })
}

/// What a rule makes of the ends of a range, or of two open ranges; `None` when it has none of them.
pub(crate) fn make(action: Action, values: &[Meaning]) -> Option<Meaning> {
    let range = match (action, values) {
        (Action::FromTo, [Meaning::RangeEnd(from), Meaning::RangeEnd(to)]) => between(from, to),
        (Action::FromTo, [Meaning::ValueRange(one), Meaning::ValueRange(other)]) => match (&one.from, &one.to, &other.from, &other.to) {
            (Some(from), None, None, Some(to)) | (None, Some(to), Some(from), None) => between(from, to),
            _ => None,
        },
        (Action::FromTo, [Meaning::ValueRange(_), _] | [_, Meaning::ValueRange(_)]) => None,
        (Action::From, [Meaning::RangeEnd(from)]) => Some(ValueRange { from: Some((**from).clone()), to: None }),
        (Action::Until, [Meaning::RangeEnd(to)]) => Some(ValueRange { from: None, to: Some((**to).clone()) }),
        _ => return None,
    };
    Some(range.map_or(Meaning::Nothing, |it| Meaning::ValueRange(Arc::new(it))))
}

/// A range of two ends; `None` when they do not go together.
fn between(from: &RangeEnd, to: &RangeEnd) -> Option<ValueRange> {
    let currency = match (&from.currency, &to.currency) {
        (Some(one), Some(other)) if one != other => return None,
        (None, Some(_)) if to.is_apart => return None,
        // "send 20 dollars to 30 people"
        (Some(_), None) if from.is_named => return None,
        (one, other) => one.clone().or_else(|| other.clone()),
    };
    let mut from = RangeEnd { currency: currency.clone(), ..scaled(from, to)? };
    let to = RangeEnd { currency, ..to.clone() };
    from.is_article = false;
    let difference = to.value.add(from.value.negate())?;
    (difference != Number::ZERO && !difference.is_negative()).then_some(ValueRange { from: Some(from), to: Some(to) })
}

/// The first end with the multiplier that is said behind the second alone: `2 to 3 million`; `None` when it may belong to both or not.
fn scaled(from: &RangeEnd, to: &RangeEnd) -> Option<RangeEnd> {
    let is_less = |one: Number, other: Number| {
        other.add(one.negate()).is_some_and(|difference| difference != Number::ZERO && !difference.is_negative())
    };
    let Some(scale) = to.scale.filter(|_| from.scale.is_none() && is_less(from.value, Number::from_integer(SCALED))) else {
        return Some(from.clone());
    };
    if !is_less(from.value, scale.count) {
        return (scale.factor < 1_000_000).then(|| from.clone());
    }
    if scale.factor < 1_000 || scale.is_compound || from.currency.is_some() {
        return None;
    }
    let value = from.value.multiply(Number::from_integer(scale.factor))?;
    Some(RangeEnd { value, amount: value.to_decimal()?, scale: to.scale, ..from.clone() })
}

impl ValueRange {
    /// Whether it has one end.
    pub fn is_open(&self) -> bool {
        self.from.is_none() || self.to.is_none()
    }

    /// The stored form of a range of a kind; `None` when it is one of the other kind.
    pub fn stored(&self, kind: Kind) -> Option<Value> {
        let mut range = serde_json::Map::new();
        for (name, end) in [("from", &self.from), ("to", &self.to)] {
            let Some(end) = end else { continue };
            let value = match (&end.currency, kind) {
                (None, Kind::NumberRange) => end.value.to_json()?,
                (Some(currency), Kind::CurrencyRange) => json!({"amount": end.amount, "currency": currency}),
                _ => return None,
            };
            range.insert(name.to_owned(), value);
        }
        Some(Value::Object(range))
    }
}

/// Whether nothing beside a range forbids it.
pub(crate) fn is_free(kind: Kind, parser: &mut Parser, at: usize, end: usize) -> bool {
    let Some((_, Meaning::ValueRange(range))) = parser.longest(Category::ValueRange, at) else { return false };
    let words = &parser.language.language.range_words;
    !is_cut(parser, at, end) && !is_denied(parser, words, at, end) && !is_asked(parser, words, at) && {
        let has_count = read_phrase(&parser.tokens, words.counted, end).is_some();
        kind == Kind::CurrencyRange || has_count || is_plain_count(parser, &range, at, end)
    }
}

/// Whether a range is only a part of what is said: a percentage, a negative number, a longer number.
fn is_cut(parser: &mut Parser, at: usize, end: usize) -> bool {
    let before = token_before(&parser.tokens, at);
    let has_minus = before.is_some_and(|token| token.sign() == Some('-'))
        || (at.saturating_sub(2)..at).any(|from| skip_minus_words(parser, from).is_some_and(|it| it == at));
    let is_cents = parser.tokens.get(end).is_some_and(|it| parser.language.grammar.currencies.is_cents(&it.text));
    let is_money = money::read_code_behind(parser, end).is_some();
    has_minus
        || is_cents
        || is_money
        || skip_percent(parser, end).is_some()
        || parser.numbers(end).iter().any(|it| it.form != NumberForm::Article)
        || (at.saturating_sub(REACH)..at).any(|from| parser.numbers(from).iter().any(|it| it.end > at))
}

/// Whether a word of the clause denies the range.
fn is_denied(parser: &Parser, words: &RangeWords, at: usize, end: usize) -> bool {
    let language = parser.language.language;
    let is_edge = |token: &&Token| token.is_sign_of(".,;:!?।()") || token.is_one_of(language.numbers.and) || token.is_one_of(words.but);
    let denies = |token: &Token| token.is_one_of(words.denials);
    let before = parser.tokens.iter().take(at).rev().take_while(|it| !is_edge(it)).any(denies);
    before || parser.tokens.iter().skip(end).take_while(|it| !is_edge(it)).any(denies)
}

/// Whether the sentence asks whether or why it is so.
fn is_asked(parser: &Parser, words: &RangeWords, at: usize) -> bool {
    let is_edge = |token: &Token| token.is_sign_of(".,;:!?¿।");
    let begin = parser.tokens.iter().take(at).rposition(is_edge).map_or(0, |it| it + 1);
    read_phrase(&parser.tokens, words.questions, begin).is_some()
}

/// Whether a range of numbers without a word for what is counted is one: no score, no years, no hours.
fn is_plain_count(parser: &mut Parser, range: &ValueRange, at: usize, end: usize) -> bool {
    let is_digits = |at: usize| parser.tokens.get(at).is_some_and(|it| it.kind == TokenKind::Digits);
    let has_hyphen = (at..end).any(|at| parser.tokens.get(at).is_some_and(|token| token.sign() == Some('-')));
    let starts_with_number = is_digits(at) || !parser.numbers(at).is_empty();
    let (Some(from), Some(to)) = (&range.from, &range.to) else {
        return !range.from.iter().chain(&range.to).any(|it| it.is_article);
    };
    let is_year = |end: &RangeEnd| end.value.to_integer().is_some_and(|it| YEARS.contains(&it));
    if has_hyphen && starts_with_number || is_year(from) && is_year(to) {
        return false;
    }
    let is_hour = |end: &RangeEnd| end.value.to_integer().is_some_and(|it| it <= MAX_HOUR);
    let hours = parser.language.language.range_words.hours;
    let names_hours = parser.tokens.iter().any(|token| token.is_one_of(hours));
    !(is_hour(from) && is_hour(to) && (names_hours || has_time(parser, at, end)))
}

/// Whether the text names a day or a time.
fn has_time(parser: &mut Parser, at: usize, end: usize) -> bool {
    const TIMES: [Category; 8] = [
        Category::Date,
        Category::Time,
        Category::DateTime,
        Category::Part,
        Category::Weekday,
        Category::Month,
        Category::DateRange,
        Category::Repetition,
    ];
    let count = parser.tokens.len();
    (0..at).chain(end..count).any(|from| {
        TIMES.into_iter().any(|category| {
            let found = parser.longest(category, from);
            found.is_some_and(|found| (found.0 <= at || from >= end) && (found.1 != Meaning::Nothing || category == Category::Repetition))
        })
    })
}
