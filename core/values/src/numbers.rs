//! `@number`, `@percent` and `@ordinal`.

use crate::grammar::Parser;
use crate::number::Number;
use crate::number_words::NumberForm;
use crate::token::{Token, TokenKind};

/// How many words an answer may have in which an article counts as one.
const SHORT_ANSWER: usize = 4;

/// A number in a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignedNumber {
    /// The token behind it.
    pub end: usize,
    /// `None` where the words are a number that is not clear.
    pub value: Option<Number>,
    pub form: NumberForm,
}

/// A number that begins at a token, with its sign. The value of a percentage is the hundredth. [`Parser::signed_number`] keeps it.
pub(crate) fn read_signed(parser: &mut Parser, at: usize) -> Option<SignedNumber> {
    let (is_negative, start) = skip_minus(parser, at);
    let numbers = parser.numbers(start);
    let mut number = *numbers.first()?;
    // The word for one may be an article as well.
    let is_article = |text: &str| parser.language.language.numbers.articles.split('|').any(|word| word == text);
    let is_one = number.end == start + 1 && skip_percent(parser, number.end).is_none();
    if number.form == NumberForm::Article || is_one && parser.tokens.get(start).is_some_and(|it| is_article(&it.text)) {
        let is_few_words = |parser: &Parser| {
            let words = parser.tokens.iter().filter(|it| it.kind == TokenKind::Word).count();
            words <= SHORT_ANSWER && !parser.tokens.iter().any(|it| it.kind == TokenKind::Digits)
        };
        // "un 10 %"
        let leads_to_number = !parser.numbers(number.end).is_empty();
        let has_other = |parser: &mut Parser| {
            (number.end..parser.tokens.len()).any(|from| parser.numbers(from).iter().any(|it| it.form != NumberForm::Article))
        };
        let is_short = at == 0 && is_few_words(parser) && !has_other(parser);
        let is_answer = is_short || skip_percent(parser, number.end).is_some();
        if !is_answer || leads_to_number || !is_cardinal_article(parser, at) {
            return None;
        }
        number.form = NumberForm::Words;
    }
    let mut end = number.end;
    let mut value = if is_negative { number.value.negate() } else { number.value };
    if is_pronoun(parser, start, end) || is_negative && number.form == NumberForm::Ordinal {
        return None;
    }
    // "half a percent"
    let is_part = matches!(number.form, NumberForm::Mixed | NumberForm::Ratio);
    let percent = skip_percent(parser, end).or_else(|| {
        let of = read_phrase(&parser.tokens, parser.language.language.numbers.of, end).unwrap_or(end);
        let article = read_phrase(&parser.tokens, parser.language.language.numbers.articles, of).filter(|_| is_part)?;
        skip_percent(parser, article)
    });
    if let Some(next) = percent.filter(|_| number.form != NumberForm::Ordinal) {
        value = value.divide(Number::from_integer(100))?;
        return Some(SignedNumber { end: next, value: (number.form != NumberForm::Doubtful).then_some(value), form: NumberForm::Percent });
    }
    // "twenty thirty" and "five six seven" are not numbers, or are several.
    let mut is_clear = !matches!(number.form, NumberForm::Doubtful | NumberForm::Short);
    while number.form == NumberForm::Words
        && let Some(next) = followed_by_number(parser, end)
    {
        (is_clear, end) = (false, next);
    }
    Some(SignedNumber { end, value: is_clear.then_some(value), form: number.form })
}

/// Whether the word for one stands for a thing.
fn is_pronoun(parser: &Parser, at: usize, end: usize) -> bool {
    if end != at + 1 || !is_cardinal_article(parser, at) {
        return false;
    }
    let numbers = &parser.language.language.numbers;
    // "one-way"
    let is_joined = parser.tokens.get(end).is_some_and(|it| it.is_joined);
    is_joined
        || ends_phrase(&parser.tokens, numbers.before_pronoun, at)
        || read_phrase(&parser.tokens, numbers.behind_pronoun, end).is_some()
}

/// Whether the article is also the word for one: German `eine`.
pub(crate) fn is_cardinal_article(parser: &Parser, at: usize) -> bool {
    parser.tokens.get(at).is_some_and(|it| parser.language.grammar.lexicon.is_one(&it.text))
}

/// The end of a number in words that follows directly.
fn followed_by_number(parser: &mut Parser, end: usize) -> Option<usize> {
    parser.tokens.get(end).filter(|it| it.kind == TokenKind::Word)?;
    let numbers = parser.numbers(end);
    numbers
        .first()
        .filter(|number| {
            matches!(
                number.form,
                NumberForm::Words | NumberForm::YearWords | NumberForm::Ordinal | NumberForm::Mixed | NumberForm::Doubtful
            )
        })
        .map(|it| it.end)
}

/// Skips a minus sign or word before a number.
fn skip_minus(parser: &Parser, at: usize) -> (bool, usize) {
    let Some(token) = parser.tokens.get(at) else { return (false, at) };
    let next_is_number = |at: usize| {
        let next = parser.tokens.get(at);
        next.is_some_and(|token| !token.is_spaced && (token.kind == TokenKind::Digits || token.is_sign_of(".,½¼¾")))
    };
    match token.sign() {
        Some('-') if token.is_spaced && (next_is_number(at + 1) || at == 0) => (true, at + 1),
        Some('+') if token.is_spaced && next_is_number(at + 1) => (false, at + 1),
        _ => skip_minus_words(parser, at).map_or((false, at), |end| (true, end)),
    }
}

/// Skips a word for the minus sign.
pub(crate) fn skip_minus_words(parser: &Parser, at: usize) -> Option<usize> {
    read_phrase(&parser.tokens, parser.language.language.numbers.minus, at)
}

/// Skips a percent sign or its words.
pub(crate) fn skip_percent(parser: &Parser, at: usize) -> Option<usize> {
    let token = parser.tokens.get(at)?;
    if token.sign() == Some('%') {
        return Some(at + 1);
    }
    read_phrase(&parser.tokens, parser.language.language.numbers.percent, at)
}

/// A multiplier of at least a thousand.
pub(crate) fn multiplier_at(parser: &Parser, at: usize) -> Option<(u64, usize)> {
    let all = parser.language.language.numbers.multipliers.iter().filter(|it| it.1 >= 1000);
    all.filter_map(|(names, factor)| Some((*factor, read_phrase(&parser.tokens, names, at)?))).max_by_key(|it| it.1)
}

/// The token behind the longest of a few phrases; of lists of many, [`crate::phrases::Phrases`] finds it.
pub(crate) fn read_phrase(tokens: &[Token], phrases: &str, at: usize) -> Option<usize> {
    let first = tokens.get(at)?;
    let length = |phrase: &str| {
        let fits = phrase.split(' ').enumerate().all(|(index, word)| tokens.get(at + index).is_some_and(|it| it.text == word));
        fits.then(|| phrase.split(' ').count())
    };
    // Most phrases begin otherwise, and are not split.
    let longest = phrases.split('|').filter(|phrase| !phrase.is_empty() && phrase.starts_with(&first.text)).filter_map(length).max()?;
    Some(at + longest)
}

/// Whether one of several phrases ends before a token.
pub(crate) fn ends_phrase(tokens: &[Token], phrases: &str, at: usize) -> bool {
    phrases.split('|').filter(|it| !it.is_empty()).any(|phrase| {
        let count = phrase.split(' ').count();
        at.checked_sub(count).is_some_and(|from| {
            phrase.split(' ').enumerate().all(|(index, word)| tokens.get(from + index).is_some_and(|it| it.text == word))
        })
    })
}
