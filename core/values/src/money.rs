//! Amounts of money: a number with a sign, a code or a name of a currency.

use serde_json::{Value, json};

use crate::currency::{CODE_LENGTH, LOWER_CASE_CODES, dollar_of, is_code, krona_of, lists, own_currency, peso_of};
use crate::input::Input;
use crate::number::Number;
use crate::number_words::NumberForm;
use crate::numbers::{multiplier_at, skip_minus_words};
use crate::phrases::read_phrase;
use crate::token::{Token, TokenKind, token_before};

/// Signs that are no letters.
const SIGNS: [(&str, &str); 16] = [
    ("₡", "CRC"),
    ("₾", "GEL"),
    ("₭", "LAK"),
    ("₸", "KZT"),
    ("€", "EUR"),
    ("£", "GBP"),
    ("₹", "INR"),
    ("₩", "KRW"),
    ("₽", "RUB"),
    ("₺", "TRY"),
    ("₴", "UAH"),
    ("₪", "ILS"),
    ("₫", "VND"),
    ("฿", "THB"),
    ("₦", "NGN"),
    ("₱", "PHP"),
];

/// Letters before a dollar sign.
const DOLLARS: [(&str, &str); 13] = [
    ("mex", "MXN"),
    ("us", "USD"),
    ("u s", "USD"),
    ("ca", "CAD"),
    ("c", "CAD"),
    ("can", "CAD"),
    ("au", "AUD"),
    ("a", "AUD"),
    ("nz", "NZD"),
    ("hk", "HKD"),
    ("s", "SGD"),
    ("mx", "MXN"),
    ("r", "BRL"),
];

/// Multipliers that are written directly before a code: `50 MUSD`.
const CODE_PREFIXES: [(&str, u64); 4] = [("K", 1_000), ("M", 1_000_000), ("MM", 1_000_000), ("B", 1_000_000_000)];

/// The length of the longest code with its multiplier.
const MAX_CODE_LENGTH: usize = 5;

/// How many tokens before a currency a number may begin that it belongs to.
const MAX_NUMBER_WORDS: usize = 6;

/// A currency in a text.
pub(crate) struct Currency {
    pub end: usize,
    pub code: String,
    /// Whether it is a code, which is more exact than a sign.
    is_code: bool,
    /// Whether it is a name, which cents may follow.
    pub is_name: bool,
    is_word: bool,
    /// What a multiplier before the code multiplies with.
    pub factor: u64,
}

/// An amount that begins at a token.
pub(crate) fn read(input: &mut Input, at: usize) -> Option<(usize, Value)> {
    let is_minus = |input: &Input, at: usize| {
        let token = input.tokens.get(at)?;
        // A hyphen between things is no sign.
        (token.sign() == Some('-') && token.is_spaced && input.tokens.get(at + 1).is_some_and(|it| !it.is_spaced)).then_some(at + 1)
    };
    let mut is_negative = false;
    let mut start = at;
    if let Some(next) = is_minus(input, at) {
        (is_negative, start) = (true, next);
    } else if let Some(next) = skip_minus_words(input, at) {
        (is_negative, start) = (true, next);
    }
    // In "three dollars two" the name belongs to the number before it.
    let is_taken = start
        .checked_sub(1)
        .is_some_and(|from| input.numbers(from).iter().any(|number| number.end == start && number.form != NumberForm::Article));
    let before = read_currency(input, start).filter(|currency| !(currency.is_name && (is_taken || currency.is_word)));
    let mut number_at = before.as_ref().map_or(start, |it| it.end);
    // "20 euros 3 times": the currency belongs to the number before it.
    let is_dollar = input.tokens.get(start).and_then(Token::sign) == Some('$');
    let is_apart = |currency: &Currency| currency.is_name || !is_dollar && input.tokens.get(currency.end).is_some_and(|it| it.is_spaced);
    if before.as_ref().is_some_and(is_apart) {
        let mut places = start.saturating_sub(MAX_NUMBER_WORDS)..start;
        if places.any(|from| input.numbers(from).iter().any(|number| number.end == start && number.form != NumberForm::Ordinal)) {
            return None;
        }
    }
    if before.is_some() && input.tokens.get(number_at).is_some_and(|token| token.sign() == Some('-')) {
        (is_negative, number_at) = (true, number_at + 1);
    }
    if before.as_ref().is_some_and(|it| it.is_name) && input.tokens.get(number_at).and_then(Token::sign) == Some('.') {
        number_at += 1;
    }
    let numbers = input.numbers(number_at);
    let is_amount = |form: NumberForm| {
        !matches!(
            form,
            NumberForm::Ordinal
                | NumberForm::Ratio
                | NumberForm::Share
                | NumberForm::YearWords
                | NumberForm::Percent
                | NumberForm::Doubtful
        )
    };
    let number = *numbers.iter().find(|it| is_amount(it.form))?;
    let mut value = number.value;
    // "a 12-cent stamp"
    let is_glued = |input: &Input, at: usize| input.tokens.get(at).is_some_and(|it| !it.is_spaced);
    let is_hyphen = input.tokens.get(number.end).is_some_and(|token| token.sign() == Some('-'))
        && is_glued(input, number.end)
        && is_glued(input, number.end + 1);
    // "half a dollar"
    let articles = input.language.language.numbers.articles;
    let article = read_phrase(&input.tokens, articles, number.end).filter(|_| number.form == NumberForm::Mixed);
    let name_at = article.unwrap_or_else(|| skip_marks(input, number.end + usize::from(is_hyphen)));
    let behind = read_currency(input, name_at).filter(|currency| currency.end > name_at && (!is_hyphen || currency.is_name));
    if before.is_none() && behind.is_none() {
        // "34 cents" is also French for 3400.
        return numbers.iter().filter(|number| is_amount(number.form) && number.form != NumberForm::Article).find_map(|cents| {
            read_cents_alone(input, cents.value, if cents.end == number.end { name_at } else { cents.end }, is_negative)
        });
    }
    let (currency, mut end) = match (before, behind) {
        (None, Some(behind)) => {
            let end = behind.end;
            (behind, end)
        }
        // "$5 CAD"
        (Some(before), Some(behind)) if behind.is_code && (!before.is_code || before.code == behind.code) => {
            let end = behind.end;
            (behind, end)
        }
        (Some(before), _) if number.form != NumberForm::Article => (before, number.end),
        _ => return None,
    };
    value = value.multiply(Number::from_integer(currency.factor))?;
    let is_last = |input: &Input, end: usize| {
        let next = input.tokens.get(end);
        next.is_none_or(|token| token.kind != TokenKind::Word && !(token.kind == TokenKind::Digits))
    };
    if currency.is_word && !is_last(input, end) && input.tokens.get(end).is_some_and(|it| !it.is_joined) {
        return None;
    }
    // "125 USD millones"
    if end > number.end
        && let Some((factor, next)) = multiplier_at(input, end)
    {
        (value, end) = (value.multiply(Number::from_integer(factor))?, next);
    }
    let mut has_cents = false;
    if let Some((cents, next)) = read_cents(input, end, &currency, value, number.form) {
        (value, end, has_cents) = (value.add(cents)?, next, true);
    } else if currency.end == end
        && (currency.is_name && number.form == NumberForm::Words && starts_like_cents(input, end)
            || currency.is_code && has_two_digits(input, end))
    {
        return None;
    }
    if let Some(next) = skip_slash_dash(input, end) {
        end = next;
    }
    let amount = match written_decimals(input, number_at, number.end).filter(|_| !has_cents) {
        Some(decimals) => with_decimals(value, decimals)?,
        None if has_cents => with_decimals(value, 2)?,
        None => value.to_decimal()?,
    };
    let amount = if is_negative && value != Number::ZERO { format!("-{amount}") } else { amount };
    Some((end, json!({"amount": amount, "currency": currency.code})))
}

/// The currency before an amount.
pub(crate) fn read_code(input: &Input, at: usize) -> Option<Currency> {
    read_currency(input, at).filter(|it| !it.is_word)
}

/// The currency behind a number; a name that is also an ordinary word counts at the end of what is said.
pub(crate) fn read_code_behind(input: &Input, number_end: usize) -> Option<Currency> {
    let at = skip_marks(input, number_end);
    let is_last = |currency: &Currency| input.tokens.get(currency.end).is_none_or(|it| it.kind == TokenKind::Sign);
    // The name may belong to the number behind it: "from 5 to $10".
    let leads = |currency: &Currency| !currency.is_name && input.tokens.get(currency.end).is_some_and(Token::is_glued_digits);
    read_currency(input, at).filter(|currency| (!currency.is_word || is_last(currency)) && !leads(currency))
}

/// The decimal digits of an amount, as many as are written.
pub(crate) fn amount_text(input: &Input, value: Number, from: usize, to: usize) -> Option<String> {
    match written_decimals(input, from, to) {
        Some(decimals) => with_decimals(value, decimals),
        None => value.to_decimal(),
    }
}

/// Whether two digits follow that may be hundredths: `15 USD 50 for two`.
fn has_two_digits(input: &Input, at: usize) -> bool {
    input.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Digits && token.text.len() == 2)
}

/// Whether words follow that may be hundredths: `drei Euro zwanzig für zwei`.
fn starts_like_cents(input: &mut Input, at: usize) -> bool {
    let is_tens = |cents: i64| (10..100).contains(&cents);
    input.numbers(at).iter().any(|number| number.form == NumberForm::Words && number.value.to_integer().is_some_and(is_tens))
}

/// Skips what stands between an amount and its currency: the point of `2 Mio. Euro`, the dash of `980,- Euro`.
fn skip_marks(input: &Input, at: usize) -> usize {
    let sign = |at: usize| input.tokens.get(at).and_then(Token::glued_sign);
    let is_short = token_before(&input.tokens, at).is_some_and(|token| token.kind == TokenKind::Word && token.text.len() <= 3);
    match (sign(at), sign(at + 1)) {
        (Some('.'), _) if is_short => at + 1,
        (Some(',' | '.'), Some('-')) => at + 2,
        _ => at,
    }
}

/// How many decimals were written in digits.
fn written_decimals(input: &Input, from: usize, to: usize) -> Option<usize> {
    let last = input.tokens.get(to.checked_sub(1)?)?;
    let mark = input.tokens.get(to.checked_sub(2)?).and_then(Token::sign)?;
    let marks = input.meanings.marks;
    let is_decimal = mark == marks.decimal || mark == '.' && marks.group == ' ' && last.text.len() != 3;
    (to >= from + 3 && last.kind == TokenKind::Digits && is_decimal).then_some(last.text.len())
}

/// The decimal digits of an amount with at least so many places: `10.00`, not `10`.
fn with_decimals(value: Number, places: usize) -> Option<String> {
    let plain = value.to_decimal()?;
    let written = plain.split_once('.').map_or(0, |it| it.1.len());
    let zeros = "0".repeat(places.saturating_sub(written));
    Some(if written == 0 && !zeros.is_empty() { format!("{plain}.{zeros}") } else { plain + &zeros })
}

/// Skips the `/-` behind Indian amounts.
fn skip_slash_dash(input: &Input, at: usize) -> Option<usize> {
    let sign = |at: usize| input.tokens.get(at).and_then(Token::glued_sign);
    (sign(at) == Some('/') && sign(at + 1) == Some('-')).then_some(at + 2)
}

fn read_cents(input: &mut Input, at: usize, currency: &Currency, value: Number, form: NumberForm) -> Option<(Number, usize)> {
    value.to_integer()?;
    // "three dollars and fifty", "tres euros con cincuenta"
    let numbers = &input.language.language.numbers;
    let words = || numbers.and.split('|').chain(numbers.point.split('|').filter_map(|it| it.strip_prefix('~')));
    let is_and = |input: &Input, at: usize| input.tokens.get(at).is_some_and(|token| words().any(|word| word == token.text));
    let comma = usize::from(input.tokens.get(at).is_some_and(|token| token.sign() == Some(',')));
    let has_and = is_and(input, at + comma);
    let number_at = at + comma + usize::from(has_and);
    let numbers = input.numbers(number_at);
    let number = *numbers.iter().find(|number| matches!(number.form, NumberForm::Digits | NumberForm::Words | NumberForm::Article))?;
    let cents = number.value.to_integer().filter(|cents| (0..100).contains(cents))?;
    let hundredth = Number::new(cents.into(), 100)?;
    let name = input.tokens.get(number.end).filter(|it| it.kind == TokenKind::Word);
    if let Some(codes) = name.and_then(|token| input.language.grammar.currencies.cents.get(token.text.as_str())) {
        let fits = codes.is_empty() || codes.split(' ').any(|it| it == currency.code);
        return fits.then_some((hundredth, number.end + 1));
    }
    // "five dollars fifty", "5 euro 50", "12 €50": two digits at the end.
    let token = input.tokens.get(number_at)?;
    let is_two = token.kind == TokenKind::Word && cents >= 10 || token.kind == TokenKind::Digits && token.text.len() == 2;
    let is_spoken = (matches!(form, NumberForm::Words | NumberForm::Article) || token.kind == TokenKind::Digits) && at > 0;
    let is_after_currency = currency.end == at;
    let has_digits = input.tokens.get(number.end + 1).is_some_and(Token::is_glued_digits);
    let is_end = input
        .tokens
        .get(number.end)
        .is_none_or(|token| token.kind == TokenKind::Sign && !token.text.contains(['%', '/', '-']) && !has_digits);
    (is_two && is_spoken && is_after_currency && comma == 0 && is_end && number.form != NumberForm::Article)
        .then_some((hundredth, number.end))
}

/// Reads an amount of hundredths alone: `34 cents`.
fn read_cents_alone(input: &Input, value: Number, end: usize, is_negative: bool) -> Option<(usize, Value)> {
    let name = input.tokens.get(end)?;
    let own = own_currency(&input.meanings.language, &input.meanings.region);
    // "50p" is money where it is the own one.
    let is_clear =
        |codes: &str| name.text.len() > 1 || !name.is_spaced && own.is_some_and(|it| codes == it) && value.to_integer().is_some();
    let codes = input.language.grammar.currencies.cents.get(name.text.as_str()).filter(|it| is_clear(it))?;
    let code = own
        .filter(|own| codes.is_empty() || codes.split(' ').any(|code| code == *own))
        .or(codes.split(' ').next())
        .filter(|it| !it.is_empty())?;
    let amount = with_decimals(value.divide(Number::from_integer(100))?, 2)?;
    let amount = if is_negative { format!("-{amount}") } else { amount };
    Some((end + 1, json!({"amount": amount, "currency": code})))
}

/// Skips a sign or a name of a currency, if one is there.
pub(crate) fn skip_name(input: &Input, at: usize) -> usize {
    let sign = input.tokens.get(at).and_then(Token::sign);
    if sign.is_some_and(|found| matches!(found, '$' | '¥') || SIGNS.iter().any(|(sign, _)| sign.starts_with(found))) {
        return at + 1;
    }
    input.language.grammar.currencies.find(&input.tokens, at).map_or(at, |it| it.0)
}

fn read_currency(input: &Input, at: usize) -> Option<Currency> {
    let token = input.tokens.get(at)?;
    let region = &*input.meanings.region;
    let plain = |end: usize, code: String| Currency { end, code, is_code: false, is_name: false, is_word: false, factor: 1 };
    match token.kind {
        TokenKind::Sign => {
            if token.text == "$" {
                return Some(plain(at + 1, dollar_of(region).to_owned()));
            }
            if token.text == "¥" {
                let code = if &*input.meanings.language == "zh" || region == "CN" { "CNY" } else { "JPY" };
                return Some(plain(at + 1, code.to_owned()));
            }
            SIGNS.iter().find(|it| it.0 == token.text).map(|(_, code)| plain(at + 1, (*code).to_owned()))
        }
        TokenKind::Word => {
            if let Some(next) = input.tokens.get(at + 1).filter(|token| token.sign() == Some('$')) {
                let named = DOLLARS
                    .iter()
                    .find(|entry| entry.0 == token.text && (!next.is_spaced || !matches!(entry.0, "a" | "s" | "r")))
                    .map(|it| it.1.to_owned());
                let code = token.text.to_ascii_uppercase();
                if let Some(code) = named.or_else(|| is_code(&code).then_some(code)) {
                    return Some(plain(at + 2, code));
                }
            }
            if let Some((end, name)) = input.language.grammar.currencies.find(&input.tokens, at) {
                let code = match name.code {
                    "$" => dollar_of(region),
                    "peso" => peso_of(region)?,
                    "kr" => krona_of(&input.meanings.language, region)?,
                    code => code,
                };
                let is_own = name.is_word && own_currency(&input.meanings.language, region) == Some(code);
                let is_word = name.is_word && !is_own;
                return Some(Currency { end, code: code.to_owned(), is_code: false, is_name: true, is_word, factor: 1 });
            }
            let written = input.written(token);
            if written == "zł" || written == "Kč" || token.text == "kr" {
                let code = match written {
                    "zł" => "PLN",
                    "Kč" => "CZK",
                    _ => krona_of(&input.meanings.language, region)?,
                };
                return Some(plain(at + 1, code.to_owned()));
            }
            if !(CODE_LENGTH..=MAX_CODE_LENGTH).contains(&written.len()) {
                return None;
            }
            let code = written.to_ascii_uppercase();
            let is_upper = code == written;
            // Codes that are words in capitals stand behind the amount.
            let next_is_digits = input.tokens.get(at + 1).is_some_and(|it| it.kind == TokenKind::Digits);
            let next_word = input.tokens.get(at + 2).is_some_and(|it| it.kind == TokenKind::Word);
            let is_doubtful = next_is_digits && next_word && !lists(LOWER_CASE_CODES, &code);
            let of_code = |code: &str, factor: u64| {
                if is_doubtful {
                    return None;
                }
                let is_known = if is_upper { is_code(code) } else { lists(LOWER_CASE_CODES, code) } || code == "RMB";
                let code = if code == "RMB" { "CNY" } else { code };
                is_known.then(|| Currency { end: at + 1, code: code.to_owned(), is_code: true, is_name: false, is_word: false, factor })
            };
            of_code(&code, 1).or_else(|| {
                CODE_PREFIXES.iter().filter(|_| is_upper).find_map(|(prefix, factor)| of_code(code.strip_prefix(prefix)?, *factor))
            })
        }
        TokenKind::Digits => None,
    }
}
