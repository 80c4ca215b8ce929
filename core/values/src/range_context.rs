//! What beside a range of numbers or of amounts of money forbids it.

use crate::category::Category;
use crate::kind::Kind;
use crate::language::RangeWords;
use crate::meaning::Meaning;
use crate::money;
use crate::number_words::NumberForm;
use crate::numbers::{skip_minus_words, skip_percent};
use crate::parser::Parser;
use crate::phrases::read_phrase;
use crate::token::{Token, TokenKind, token_before};
use crate::value_range::{REACH, RangeEnd, ValueRange};

/// Numbers that are at most this may be hours.
const MAX_HOUR: i64 = 24;
/// Numbers between these may be years.
const YEARS: std::ops::RangeInclusive<i64> = 1900..=2100;

/// Whether nothing beside a range forbids it.
pub(crate) fn is_free(kind: Kind, parser: &mut Parser, at: usize, end: usize) -> bool {
    let Some((_, Meaning::ValueRange(range))) = parser.longest(Category::ValueRange, at) else { return false };
    let words = &parser.input.language.language.range_words;
    !is_cut(parser, at, end) && !is_denied(parser, words, at, end) && !is_asked(parser, words, at) && {
        let has_count = read_phrase(&parser.input.tokens, words.counted, end).is_some();
        kind == Kind::CurrencyRange || has_count || is_plain_count(parser, &range, at, end)
    }
}

/// Whether a range is only a part of what is said: a percentage, a negative number, a longer number.
fn is_cut(parser: &mut Parser, at: usize, end: usize) -> bool {
    let before = token_before(&parser.input.tokens, at);
    let has_minus = before.is_some_and(|token| token.sign() == Some('-'))
        || (at.saturating_sub(2)..at).any(|from| skip_minus_words(&parser.input, from).is_some_and(|it| it == at));
    let is_cents = parser.input.tokens.get(end).is_some_and(|it| parser.input.language.grammar.currencies.is_cents(&it.text));
    let is_money = money::read_code_behind(&parser.input, end).is_some();
    has_minus
        || is_cents
        || is_money
        || skip_percent(&parser.input, end).is_some()
        || parser.input.numbers(end).iter().any(|it| it.form != NumberForm::Article)
        || (at.saturating_sub(REACH)..at).any(|from| parser.input.numbers(from).iter().any(|it| it.end > at))
}

/// Whether a word of the clause denies the range.
fn is_denied(parser: &Parser, words: &RangeWords, at: usize, end: usize) -> bool {
    let language = parser.input.language.language;
    let is_edge = |token: &&Token| token.is_sign_of(".,;:!?।()") || token.is_one_of(language.numbers.and) || token.is_one_of(words.but);
    let denies = |token: &Token| token.is_one_of(words.denials);
    let before = parser.input.tokens.iter().take(at).rev().take_while(|it| !is_edge(it)).any(denies);
    before || parser.input.tokens.iter().skip(end).take_while(|it| !is_edge(it)).any(denies)
}

/// Whether the sentence asks whether or why it is so.
fn is_asked(parser: &Parser, words: &RangeWords, at: usize) -> bool {
    let is_edge = |token: &Token| token.is_sign_of(".,;:!?¿।");
    let begin = parser.input.tokens.iter().take(at).rposition(is_edge).map_or(0, |it| it + 1);
    read_phrase(&parser.input.tokens, words.questions, begin).is_some()
}

/// Whether a range of numbers without a word for what is counted is one: no score, no years, no hours.
fn is_plain_count(parser: &mut Parser, range: &ValueRange, at: usize, end: usize) -> bool {
    let is_digits = |at: usize| parser.input.tokens.get(at).is_some_and(|it| it.kind == TokenKind::Digits);
    let has_hyphen = (at..end).any(|at| parser.input.tokens.get(at).is_some_and(|token| token.sign() == Some('-')));
    let starts_with_number = is_digits(at) || !parser.input.numbers(at).is_empty();
    let (Some(from), Some(to)) = (&range.from, &range.to) else {
        return !range.from.iter().chain(&range.to).any(|it| it.is_article);
    };
    let is_year = |end: &RangeEnd| end.value.to_integer().is_some_and(|it| YEARS.contains(&it));
    if has_hyphen && starts_with_number || is_year(from) && is_year(to) {
        return false;
    }
    let is_hour = |end: &RangeEnd| end.value.to_integer().is_some_and(|it| it <= MAX_HOUR);
    let hours = parser.input.language.language.range_words.hours;
    let names_hours = parser.input.tokens.iter().any(|token| token.is_one_of(hours));
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
    let count = parser.input.tokens.len();
    (0..at).chain(end..count).any(|from| {
        TIMES.into_iter().any(|category| {
            let found = parser.longest(category, from);
            found.is_some_and(|found| (found.0 <= at || from >= end) && (found.1 != Meaning::Nothing || category == Category::Repetition))
        })
    })
}
