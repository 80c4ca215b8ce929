//! Amounts of money: a number with a sign, a code or a name of a currency.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::grammar::Parser;
use crate::language::Language;
use crate::number::Number;
use crate::number_words::NumberForm;
use crate::token::{Token, TokenKind, token_before};

/// ISO 4217 codes that are also accepted in lower case; the others could be words.
const LOWER_CASE_CODES: &str = "USD EUR GBP JPY CHF CAD AUD NZD CNY INR SEK NOK DKK PLN CZK HUF BRL MXN ZAR SGD HKD KRW TRY RUB AED SAR THB ILS RON \
                                UAH IDR PHP VND MYR CLP ARS COP";

/// The other codes of ISO 4217.
const OTHER_CODES: &str = "AFN ALL AMD ANG AOA AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BSD BTN BWP BYN BZD CDF CRC CUP CVE DJF DOP DZD EGP ERN \
                           ETB FJD FKP GEL GHS GIP GMD GNF GTQ GYD HNL HTG IQD IRR ISK JMD JOD KES KGS KHR KMF KPW KWD KYD KZT LAK LBP LKR LRD LSL \
                           LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MZN NAD NGN NIO NPR OMR PAB PEN PGK PKR PYG QAR RSD RWF SBD SCR SDG SHP \
                           SLE SOS SRD SSP STN SVC SYP SZL TJS TMT TND TOP TTD TWD TZS UGX UYU UZS VED VES VUV WST XAF XCD XOF XPF YER ZMW ZWG";

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

/// The dollar of a region, if it is not that of the United States.
const REGIONAL_DOLLARS: [(&str, &str); 9] =
    [("CA", "CAD"), ("AU", "AUD"), ("NZ", "NZD"), ("SG", "SGD"), ("HK", "HKD"), ("MX", "MXN"), ("AR", "ARS"), ("CL", "CLP"), ("CO", "COP")];

/// Multipliers that are written directly before a code: `50 MUSD`.
const CODE_PREFIXES: [(&str, u64); 4] = [("K", 1_000), ("M", 1_000_000), ("MM", 1_000_000), ("B", 1_000_000_000)];

/// The length of a code, and of the longest with its multiplier.
const CODE_LENGTH: usize = 3;
const MAX_CODE_LENGTH: usize = 5;

/// How many tokens before a currency a number may begin that it belongs to.
const MAX_NUMBER_WORDS: usize = 6;

/// A currency by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CurrencyName {
    /// ISO 4217, or `$`, `¥`, `peso` or `kr`, which the locale decides.
    code: &'static str,
    /// Whether the name is also an ordinary word.
    is_word: bool,
}

/// Names of currencies by their first word, longer ones first.
#[derive(Debug, Default)]
pub(crate) struct CurrencyNames {
    names: BTreeMap<&'static str, Vec<(Vec<&'static str>, CurrencyName)>>,
    cents: BTreeMap<&'static str, &'static str>,
}

impl CurrencyNames {
    /// Compiles the names of a language; a `~` before a name says that it is an ordinary word, too.
    pub fn new(language: &Language) -> CurrencyNames {
        let mut all = CurrencyNames::default();
        for (names, code) in language.currencies {
            for name in names.split('|') {
                let plain = name.strip_prefix('~').unwrap_or(name);
                let mut words = plain.split(' ');
                let Some(first) = words.next() else { continue };
                let name = CurrencyName { code, is_word: plain.len() < name.len() };
                all.names.entry(first).or_default().push((words.collect(), name));
            }
        }
        all.names.values_mut().for_each(|names| names.sort_by_key(|name| std::cmp::Reverse(name.0.len())));
        for (names, codes) in language.cents {
            names.split('|').for_each(|name| _ = all.cents.insert(name, codes));
        }
        all
    }

    /// Whether a word is the name of a hundredth part.
    pub fn is_cents(&self, word: &str) -> bool {
        self.cents.contains_key(word)
    }

    /// Whether a name is at a token.
    pub fn is_name(&self, tokens: &[Token], at: usize) -> bool {
        self.find(tokens, at).is_some()
    }

    fn find(&self, tokens: &[Token], at: usize) -> Option<(usize, CurrencyName)> {
        let first = tokens.get(at).filter(|it| it.kind == TokenKind::Word)?;
        let fits =
            |rest: &[&str]| rest.iter().enumerate().all(|(index, word)| tokens.get(at + 1 + index).is_some_and(|it| it.text == *word));
        let (rest, name) = self.names.get(first.text.as_str())?.iter().find(|it| fits(&it.0))?;
        Some((at + 1 + rest.len(), *name))
    }
}

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
pub(crate) fn read(parser: &mut Parser, at: usize) -> Option<(usize, Value)> {
    let is_minus = |parser: &Parser, at: usize| {
        let token = parser.tokens.get(at)?;
        // A hyphen between things is no sign.
        (token.sign() == Some('-') && token.is_spaced && parser.tokens.get(at + 1).is_some_and(|it| !it.is_spaced)).then_some(at + 1)
    };
    let mut is_negative = false;
    let mut start = at;
    if let Some(next) = is_minus(parser, at) {
        (is_negative, start) = (true, next);
    } else if let Some(next) = crate::numbers::skip_minus_words(parser, at) {
        (is_negative, start) = (true, next);
    }
    // In "three dollars two" the name belongs to the number before it.
    let is_taken = start
        .checked_sub(1)
        .is_some_and(|from| parser.numbers(from).iter().any(|number| number.end == start && number.form != NumberForm::Article));
    let before = read_currency(parser, start).filter(|currency| !(currency.is_name && (is_taken || currency.is_word)));
    let mut number_at = before.as_ref().map_or(start, |it| it.end);
    // "20 euros 3 times": the currency belongs to the number before it.
    let is_dollar = parser.tokens.get(start).and_then(Token::sign) == Some('$');
    let is_apart = |currency: &Currency| currency.is_name || !is_dollar && parser.tokens.get(currency.end).is_some_and(|it| it.is_spaced);
    if before.as_ref().is_some_and(is_apart) {
        let mut places = start.saturating_sub(MAX_NUMBER_WORDS)..start;
        if places.any(|from| parser.numbers(from).iter().any(|number| number.end == start && number.form != NumberForm::Ordinal)) {
            return None;
        }
    }
    if before.is_some() && parser.tokens.get(number_at).is_some_and(|token| token.sign() == Some('-')) {
        (is_negative, number_at) = (true, number_at + 1);
    }
    if before.as_ref().is_some_and(|it| it.is_name) && parser.tokens.get(number_at).and_then(Token::sign) == Some('.') {
        number_at += 1;
    }
    let numbers = parser.numbers(number_at);
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
    let is_glued = |parser: &Parser, at: usize| parser.tokens.get(at).is_some_and(|it| !it.is_spaced);
    let is_hyphen = parser.tokens.get(number.end).is_some_and(|token| token.sign() == Some('-'))
        && is_glued(parser, number.end)
        && is_glued(parser, number.end + 1);
    // "half a dollar"
    let articles = parser.language.language.numbers.articles;
    let article = crate::numbers::read_phrase(&parser.tokens, articles, number.end).filter(|_| number.form == NumberForm::Mixed);
    let name_at = article.unwrap_or_else(|| skip_marks(parser, number.end + usize::from(is_hyphen)));
    let behind = read_currency(parser, name_at).filter(|currency| currency.end > name_at && (!is_hyphen || currency.is_name));
    if before.is_none() && behind.is_none() {
        // "34 cents" is also French for 3400.
        return numbers
            .iter()
            .filter(|number| is_amount(number.form) && number.form != NumberForm::Article)
            .find_map(|it| read_cents_alone(parser, it.value, if it.end == number.end { name_at } else { it.end }, is_negative));
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
    let is_last = |parser: &Parser, end: usize| {
        let next = parser.tokens.get(end);
        next.is_none_or(|token| token.kind != TokenKind::Word && !(token.kind == TokenKind::Digits))
    };
    if currency.is_word && !is_last(parser, end) && parser.tokens.get(end).is_some_and(|it| !it.is_joined) {
        return None;
    }
    // "125 USD millones"
    if end > number.end
        && let Some((factor, next)) = crate::numbers::multiplier_at(parser, end)
    {
        (value, end) = (value.multiply(Number::from_integer(factor))?, next);
    }
    let mut has_cents = false;
    if let Some((cents, next)) = read_cents(parser, end, &currency, value, number.form) {
        (value, end, has_cents) = (value.add(cents)?, next, true);
    } else if currency.end == end
        && (currency.is_name && number.form == NumberForm::Words && starts_like_cents(parser, end)
            || currency.is_code && has_two_digits(parser, end))
    {
        return None;
    }
    if let Some(next) = skip_slash_dash(parser, end) {
        end = next;
    }
    let amount = match written_decimals(parser, number_at, number.end).filter(|_| !has_cents) {
        Some(decimals) => with_decimals(value, decimals)?,
        None if has_cents => with_decimals(value, 2)?,
        None => value.to_decimal()?,
    };
    let amount = if is_negative && value != Number::ZERO { format!("-{amount}") } else { amount };
    Some((end, json!({"amount": amount, "currency": currency.code})))
}

/// The currency before an amount.
pub(crate) fn read_code(parser: &Parser, at: usize) -> Option<Currency> {
    read_currency(parser, at).filter(|it| !it.is_word)
}

/// The currency behind a number; a name that is also an ordinary word counts at the end of what is said.
pub(crate) fn read_code_behind(parser: &Parser, number_end: usize) -> Option<Currency> {
    let at = skip_marks(parser, number_end);
    let is_last = |currency: &Currency| parser.tokens.get(currency.end).is_none_or(|it| it.kind == TokenKind::Sign);
    // The name may belong to the number behind it: "from 5 to $10".
    let leads = |currency: &Currency| !currency.is_name && parser.tokens.get(currency.end).is_some_and(Token::is_glued_digits);
    read_currency(parser, at).filter(|currency| (!currency.is_word || is_last(currency)) && !leads(currency))
}

/// The decimal digits of an amount, as many as are written.
pub(crate) fn amount_text(parser: &Parser, value: Number, from: usize, to: usize) -> Option<String> {
    match written_decimals(parser, from, to) {
        Some(decimals) => with_decimals(value, decimals),
        None => value.to_decimal(),
    }
}

/// Whether two digits follow that may be hundredths: `15 USD 50 for two`.
fn has_two_digits(parser: &Parser, at: usize) -> bool {
    parser.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Digits && token.text.len() == 2)
}

/// Whether words follow that may be hundredths: `drei Euro zwanzig für zwei`.
fn starts_like_cents(parser: &mut Parser, at: usize) -> bool {
    let is_tens = |cents: i64| (10..100).contains(&cents);
    parser.numbers(at).iter().any(|number| number.form == NumberForm::Words && number.value.to_integer().is_some_and(is_tens))
}

/// Skips what stands between an amount and its currency: the point of `2 Mio. Euro`, the dash of `980,- Euro`.
fn skip_marks(parser: &Parser, at: usize) -> usize {
    let sign = |at: usize| parser.tokens.get(at).and_then(Token::glued_sign);
    let is_short = token_before(&parser.tokens, at).is_some_and(|token| token.kind == TokenKind::Word && token.text.len() <= 3);
    match (sign(at), sign(at + 1)) {
        (Some('.'), _) if is_short => at + 1,
        (Some(',' | '.'), Some('-')) => at + 2,
        _ => at,
    }
}

/// How many decimals were written in digits.
fn written_decimals(parser: &Parser, from: usize, to: usize) -> Option<usize> {
    let last = parser.tokens.get(to.checked_sub(1)?)?;
    let mark = parser.tokens.get(to.checked_sub(2)?).and_then(Token::sign)?;
    let marks = parser.meanings.marks;
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
fn skip_slash_dash(parser: &Parser, at: usize) -> Option<usize> {
    let sign = |at: usize| parser.tokens.get(at).and_then(Token::glued_sign);
    (sign(at) == Some('/') && sign(at + 1) == Some('-')).then_some(at + 2)
}

fn read_cents(parser: &mut Parser, at: usize, currency: &Currency, value: Number, form: NumberForm) -> Option<(Number, usize)> {
    value.to_integer()?;
    // "three dollars and fifty", "tres euros con cincuenta"
    let numbers = &parser.language.language.numbers;
    let words = || numbers.and.split('|').chain(numbers.point.split('|').filter_map(|it| it.strip_prefix('~')));
    let is_and = |parser: &Parser, at: usize| parser.tokens.get(at).is_some_and(|token| words().any(|word| word == token.text));
    let comma = usize::from(parser.tokens.get(at).is_some_and(|token| token.sign() == Some(',')));
    let has_and = is_and(parser, at + comma);
    let number_at = at + comma + usize::from(has_and);
    let numbers = parser.numbers(number_at);
    let number = *numbers.iter().find(|number| matches!(number.form, NumberForm::Digits | NumberForm::Words | NumberForm::Article))?;
    let cents = number.value.to_integer().filter(|cents| (0..100).contains(cents))?;
    let hundredth = Number::new(cents.into(), 100)?;
    let name = parser.tokens.get(number.end).filter(|it| it.kind == TokenKind::Word);
    if let Some(codes) = name.and_then(|token| parser.language.grammar.currencies.cents.get(token.text.as_str())) {
        let fits = codes.is_empty() || codes.split(' ').any(|it| it == currency.code);
        return fits.then_some((hundredth, number.end + 1));
    }
    // "five dollars fifty", "5 euro 50", "12 €50": two digits at the end.
    let token = parser.tokens.get(number_at)?;
    let is_two = token.kind == TokenKind::Word && cents >= 10 || token.kind == TokenKind::Digits && token.text.len() == 2;
    let is_spoken = (matches!(form, NumberForm::Words | NumberForm::Article) || token.kind == TokenKind::Digits) && at > 0;
    let is_after_currency = currency.end == at;
    let has_digits = parser.tokens.get(number.end + 1).is_some_and(Token::is_glued_digits);
    let is_end = parser
        .tokens
        .get(number.end)
        .is_none_or(|token| token.kind == TokenKind::Sign && !token.text.contains(['%', '/', '-']) && !has_digits);
    (is_two && is_spoken && is_after_currency && comma == 0 && is_end && number.form != NumberForm::Article)
        .then_some((hundredth, number.end))
}

/// Reads an amount of hundredths alone: `34 cents`.
fn read_cents_alone(parser: &Parser, value: Number, end: usize, is_negative: bool) -> Option<(usize, Value)> {
    let name = parser.tokens.get(end)?;
    let own = own_currency(&parser.meanings.language, &parser.meanings.region);
    // "50p" is money where it is the own one.
    let is_clear =
        |codes: &str| name.text.len() > 1 || !name.is_spaced && own.is_some_and(|it| codes == it) && value.to_integer().is_some();
    let codes = parser.language.grammar.currencies.cents.get(name.text.as_str()).filter(|it| is_clear(it))?;
    let code = own
        .filter(|own| codes.is_empty() || codes.split(' ').any(|code| code == *own))
        .or(codes.split(' ').next())
        .filter(|it| !it.is_empty())?;
    let amount = with_decimals(value.divide(Number::from_integer(100))?, 2)?;
    let amount = if is_negative { format!("-{amount}") } else { amount };
    Some((end + 1, json!({"amount": amount, "currency": code})))
}

/// Skips a sign or a name of a currency, if one is there.
pub(crate) fn skip_name(parser: &Parser, at: usize) -> usize {
    let sign = parser.tokens.get(at).and_then(Token::sign);
    if sign.is_some_and(|found| matches!(found, '$' | '¥') || SIGNS.iter().any(|(sign, _)| sign.starts_with(found))) {
        return at + 1;
    }
    parser.language.grammar.currencies.find(&parser.tokens, at).map_or(at, |it| it.0)
}

fn read_currency(parser: &Parser, at: usize) -> Option<Currency> {
    let token = parser.tokens.get(at)?;
    let region = &*parser.meanings.region;
    let plain = |end: usize, code: String| Currency { end, code, is_code: false, is_name: false, is_word: false, factor: 1 };
    match token.kind {
        TokenKind::Sign => {
            if token.text == "$" {
                return Some(plain(at + 1, dollar_of(region).to_owned()));
            }
            if token.text == "¥" {
                let code = if &*parser.meanings.language == "zh" || region == "CN" { "CNY" } else { "JPY" };
                return Some(plain(at + 1, code.to_owned()));
            }
            SIGNS.iter().find(|it| it.0 == token.text).map(|(_, code)| plain(at + 1, (*code).to_owned()))
        }
        TokenKind::Word => {
            if let Some(next) = parser.tokens.get(at + 1).filter(|token| token.sign() == Some('$')) {
                let named = DOLLARS
                    .iter()
                    .find(|entry| entry.0 == token.text && (!next.is_spaced || !matches!(entry.0, "a" | "s" | "r")))
                    .map(|it| it.1.to_owned());
                let code = token.text.to_ascii_uppercase();
                if let Some(code) = named.or_else(|| is_code(&code).then_some(code)) {
                    return Some(plain(at + 2, code));
                }
            }
            if let Some((end, name)) = parser.language.grammar.currencies.find(&parser.tokens, at) {
                let code = match name.code {
                    "$" => dollar_of(region),
                    "peso" => peso_of(region)?,
                    "kr" => krona_of(&parser.meanings.language, region)?,
                    code => code,
                };
                let is_own = name.is_word && own_currency(&parser.meanings.language, region) == Some(code);
                let is_word = name.is_word && !is_own;
                return Some(Currency { end, code: code.to_owned(), is_code: false, is_name: true, is_word, factor: 1 });
            }
            let written = parser.written(token);
            if written == "zł" || written == "Kč" || token.text == "kr" {
                let code = match written {
                    "zł" => "PLN",
                    "Kč" => "CZK",
                    _ => krona_of(&parser.meanings.language, region)?,
                };
                return Some(plain(at + 1, code.to_owned()));
            }
            if !(CODE_LENGTH..=MAX_CODE_LENGTH).contains(&written.len()) {
                return None;
            }
            let code = written.to_ascii_uppercase();
            let is_upper = code == written;
            // Codes that are words in capitals stand behind the amount.
            let next_is_digits = parser.tokens.get(at + 1).is_some_and(|it| it.kind == TokenKind::Digits);
            let next_word = parser.tokens.get(at + 2).is_some_and(|it| it.kind == TokenKind::Word);
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

fn dollar_of(region: &str) -> &'static str {
    REGIONAL_DOLLARS.iter().find(|it| it.0 == region).map_or("USD", |it| it.1)
}

fn peso_of(region: &str) -> Option<&'static str> {
    match region {
        "MX" => Some("MXN"),
        "AR" => Some("ARS"),
        "CL" => Some("CLP"),
        "CO" => Some("COP"),
        "UY" => Some("UYU"),
        "DO" => Some("DOP"),
        "CU" => Some("CUP"),
        "PH" => Some("PHP"),
        _ => None,
    }
}

fn krona_of(language: &str, region: &str) -> Option<&'static str> {
    match (language, region) {
        (_, "SE") | ("sv", _) => Some("SEK"),
        (_, "DK") | ("da", _) => Some("DKK"),
        (_, "NO") | ("nb" | "nn" | "no", _) => Some("NOK"),
        (_, "IS") => Some("ISK"),
        _ => None,
    }
}

/// The currency of a region, or of the language's own region.
fn own_currency(language: &str, region: &str) -> Option<&'static str> {
    Some(match (language, region) {
        (_, "US") => "USD",
        (_, "GB") => "GBP",
        (_, "CA") => "CAD",
        (_, "AU") => "AUD",
        (_, "NZ") => "NZD",
        (_, "IN") => "INR",
        (_, "BR") => "BRL",
        (_, "MX") => "MXN",
        (_, "CH" | "LI") => "CHF",
        (_, "ZA") => "ZAR",
        (_, "SG") => "SGD",
        (_, "HK") => "HKD",
        (_, "IE" | "DE" | "AT" | "FR" | "BE" | "NL" | "LU" | "IT" | "ES" | "PT" | "FI" | "GR") => "EUR",
        ("pt", "") => "BRL",
        ("en", "") => "USD",
        ("hi", "") => "INR",
        ("de" | "fr" | "es" | "it" | "nl", "") => "EUR",
        _ => return None,
    })
}

/// Whether a code in upper case is a currency of ISO 4217.
pub fn is_code(code: &str) -> bool {
    lists(LOWER_CASE_CODES, code) || lists(OTHER_CODES, code)
}

fn lists(codes: &str, code: &str) -> bool {
    // A list has codes of this length between blanks, so that letters alone are found as a code or not at all.
    code.len() == CODE_LENGTH && code.bytes().all(|it| it.is_ascii_uppercase()) && codes.contains(code)
}
