//! `@number`, `@percent` and `@ordinal`.

use crate::input::Input;
use crate::number::Number;
use crate::number_words::NumberForm;
use crate::phrases::{ends_phrase, read_phrase};
use crate::token::TokenKind;

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

/// A number that begins at a token, with its sign. The value of a percentage is the hundredth. The parser keeps what is found.
pub(crate) fn read_signed(input: &mut Input, at: usize) -> Option<SignedNumber> {
    let (is_negative, start) = skip_minus(input, at);
    let numbers = input.numbers(start);
    let mut number = *numbers.first()?;
    // The word for one may be an article as well.
    let is_article = |text: &str| input.language.language.numbers.articles.split('|').any(|word| word == text);
    let is_one = number.end == start + 1 && skip_percent(input, number.end).is_none();
    if number.form == NumberForm::Article || is_one && input.tokens.get(start).is_some_and(|it| is_article(&it.text)) {
        let is_few_words = |input: &Input| {
            let words = input.tokens.iter().filter(|it| it.kind == TokenKind::Word).count();
            words <= SHORT_ANSWER && !input.tokens.iter().any(|it| it.kind == TokenKind::Digits)
        };
        // "un 10 %"
        let leads_to_number = !input.numbers(number.end).is_empty();
        let has_other = |input: &mut Input| {
            (number.end..input.tokens.len()).any(|from| input.numbers(from).iter().any(|it| it.form != NumberForm::Article))
        };
        let is_short = at == 0 && is_few_words(input) && !has_other(input);
        let is_answer = is_short || skip_percent(input, number.end).is_some();
        if !is_answer || leads_to_number || !is_cardinal_article(input, at) {
            return None;
        }
        number.form = NumberForm::Words;
    }
    let mut end = number.end;
    let mut value = if is_negative { number.value.negate() } else { number.value };
    if is_pronoun(input, start, end) || is_negative && number.form == NumberForm::Ordinal {
        return None;
    }
    // "half a percent"
    let is_part = matches!(number.form, NumberForm::Mixed | NumberForm::Ratio);
    let percent = skip_percent(input, end).or_else(|| {
        let of = read_phrase(&input.tokens, input.language.language.numbers.of, end).unwrap_or(end);
        let article = read_phrase(&input.tokens, input.language.language.numbers.articles, of).filter(|_| is_part)?;
        skip_percent(input, article)
    });
    if let Some(next) = percent.filter(|_| number.form != NumberForm::Ordinal) {
        value = value.divide(Number::from_integer(100))?;
        return Some(SignedNumber { end: next, value: (number.form != NumberForm::Doubtful).then_some(value), form: NumberForm::Percent });
    }
    // "twenty thirty" and "five six seven" are not numbers, or are several.
    let mut is_clear = !matches!(number.form, NumberForm::Doubtful | NumberForm::Short);
    while number.form == NumberForm::Words
        && let Some(next) = followed_by_number(input, end)
    {
        (is_clear, end) = (false, next);
    }
    Some(SignedNumber { end, value: is_clear.then_some(value), form: number.form })
}

/// Whether the word for one stands for a thing.
fn is_pronoun(input: &Input, at: usize, end: usize) -> bool {
    if end != at + 1 || !is_cardinal_article(input, at) {
        return false;
    }
    let numbers = &input.language.language.numbers;
    // "one-way"
    let is_joined = input.tokens.get(end).is_some_and(|it| it.is_joined);
    is_joined || ends_phrase(&input.tokens, numbers.before_pronoun, at) || read_phrase(&input.tokens, numbers.behind_pronoun, end).is_some()
}

/// Whether the article is also the word for one: German `eine`.
pub(crate) fn is_cardinal_article(input: &Input, at: usize) -> bool {
    input.tokens.get(at).is_some_and(|it| input.language.grammar.lexicon.is_one(&it.text))
}

/// The end of a number in words that follows directly.
fn followed_by_number(input: &mut Input, end: usize) -> Option<usize> {
    input.tokens.get(end).filter(|it| it.kind == TokenKind::Word)?;
    let numbers = input.numbers(end);
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
fn skip_minus(input: &Input, at: usize) -> (bool, usize) {
    let Some(token) = input.tokens.get(at) else { return (false, at) };
    let next_is_number = |at: usize| {
        let next = input.tokens.get(at);
        next.is_some_and(|token| !token.is_spaced && (token.kind == TokenKind::Digits || token.is_sign_of(".,½¼¾")))
    };
    match token.sign() {
        Some('-') if token.is_spaced && (next_is_number(at + 1) || at == 0) => (true, at + 1),
        Some('+') if token.is_spaced && next_is_number(at + 1) => (false, at + 1),
        _ => skip_minus_words(input, at).map_or((false, at), |end| (true, end)),
    }
}

/// Skips a word for the minus sign.
pub(crate) fn skip_minus_words(input: &Input, at: usize) -> Option<usize> {
    read_phrase(&input.tokens, input.language.language.numbers.minus, at)
}

/// Skips a percent sign or its words.
pub(crate) fn skip_percent(input: &Input, at: usize) -> Option<usize> {
    let token = input.tokens.get(at)?;
    if token.sign() == Some('%') {
        return Some(at + 1);
    }
    read_phrase(&input.tokens, input.language.language.numbers.percent, at)
}

/// A multiplier of at least a thousand.
pub(crate) fn multiplier_at(input: &Input, at: usize) -> Option<(u64, usize)> {
    let all = input.language.language.numbers.multipliers.iter().filter(|it| it.1 >= 1000);
    all.filter_map(|(names, factor)| Some((*factor, read_phrase(&input.tokens, names, at)?))).max_by_key(|it| it.1)
}
