//! Reads the ends of ranges of numbers and of amounts of money.

use std::sync::Arc;

use serde_json::Value;

use crate::input::Input;
use crate::meaning::Meaning;
use crate::money;
use crate::number::Number;
use crate::number_words::{NumberForm, ReadNumber, read_numbers};
use crate::numbers::is_cardinal_article;
use crate::token::{Token, TokenKind};
use crate::value_range::{REACH, RangeEnd, Scale};

/// The ends of ranges that begin at a token.
pub(crate) fn read_ends(input: &mut Input, at: usize) -> Vec<(usize, Meaning)> {
    let mut ends = Vec::new();
    let is_taken = at
        .checked_sub(1)
        .is_some_and(|from| input.numbers(from).iter().any(|number| number.end == at && number.form != NumberForm::Article));
    let is_sign = input.tokens.get(at).is_some_and(|it| it.kind == TokenKind::Sign);
    let before = money::read_code(input, at).filter(|_| is_sign || !is_taken);
    let number_at = before.as_ref().map_or(at, |currency| {
        let has_point = input.tokens.get(currency.end).is_some_and(|token| token.glued_sign() == Some('.'));
        currency.end + usize::from(has_point)
    });
    let numbers = input.numbers(number_at);
    for number in numbers.iter().copied().chain(read_before_and(input, number_at)) {
        let is_article = number.form == NumberForm::Article;
        match number.form {
            NumberForm::Digits | NumberForm::Words | NumberForm::Mixed | NumberForm::Short => {}
            NumberForm::Article if is_cardinal_article(input, number_at) => {}
            _ => continue,
        }
        let behind = money::read_code_behind(input, number.end);
        let (code, end) = match (&before, &behind) {
            (None, None) if number.form == NumberForm::Short => continue,
            (None, None) => (None, number.end),
            (Some(before), _) => (Some(before), number.end),
            (None, Some(behind)) => (Some(behind), behind.end),
        };
        let Some(value) = number.value.multiply(Number::from_integer(code.map_or(1, |it| it.factor))) else { continue };
        let scale = scale_of(input, number_at, number.end, value);
        let Some(amount) = money::amount_text(input, value, number_at, number.end) else { continue };
        let currency = code.map(|it| it.code.clone());
        let is_article = is_article && currency.is_none();
        let is_named = before.is_none() && behind.is_some_and(|it| it.is_name);
        let end_of_range = RangeEnd { value, amount, currency, scale, is_article, is_named, is_apart: false };
        ends.push((end, Meaning::RangeEnd(Arc::new(end_of_range))));
    }
    // "50 cents", "$5 CAD"
    if let Some((end, money)) = money::read(input, at).filter(|(end, _)| !ends.iter().any(|known| known.0 == *end))
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
fn read_before_and(input: &Input, at: usize) -> Vec<ReadNumber> {
    let is_and = |token: &Token| token.is_one_of(input.language.language.numbers.and);
    let words = input.tokens.iter().skip(at).take(REACH).take_while(|it| it.kind == TokenKind::Word);
    let Some(and_at) = words.into_iter().position(is_and).map(|offset| at + offset).filter(|it| *it > at) else { return Vec::new() };
    let before = input.tokens.get(..and_at).unwrap_or_default();
    read_numbers(before, at, input.language, input.meanings.marks).into_iter().filter(|it| it.end == and_at).collect()
}

/// The multiplier with which a number ends.
fn scale_of(input: &Input, at: usize, end: usize, value: Number) -> Option<Scale> {
    let last = input.tokens.get(end.checked_sub(1)?).filter(|it| it.kind == TokenKind::Word)?.text.clone();
    let numbers = &input.language.language.numbers;
    let multipliers = numbers.multipliers.iter().chain(numbers.short_multipliers);
    let mut all = multipliers
        .flat_map(|(names, factor)| names.split('|').map(|word| (word.trim_start_matches('~'), *factor)))
        .filter(|it| it.1 >= 100);
    let (word, factor) =
        all.clone().find(|it| it.0 == last).or_else(|| all.find(|(word, _)| numbers.is_compound && last.ends_with(word)))?;
    let count = value.divide(Number::from_integer(factor))?;
    let is_compound = word != last;
    let is_alone = end == at + 1 && !is_compound;
    let before = input.tokens.get(..end - 1).unwrap_or_default();
    let mut counts = read_numbers(before, at, input.language, input.meanings.marks).into_iter();
    let is_count = is_compound || is_alone || counts.any(|number| number.end == end - 1 && number.value == count);
    is_count.then_some(Scale { count, factor, is_compound })
}
