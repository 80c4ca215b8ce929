//! `@currency`: an amount with a currency symbol, code or name before or after it.

use std::ops::Range;

use serde_json::{Map, Value};

use super::locale::{language, region, words_of_locale};
use super::number;
use super::scanner::{Parsed, SpanScanner, find_each, find_first};

/// ISO 4217 codes that are also accepted in lower case; the others could be words.
const LOWER_CASE_CODES: &str =
    "USDEURGBPJPYCHFCADAUDNZDCNYINRSEKNOKDKKPLNCZKHUFBRLMXNZARSGDHKDKRWTRYRUBAEDSARTHBILSRONUAHIDRPHPVNDMYRCLPARSCOP";

/// The other codes of ISO 4217.
const OTHER_CODES: &str = "AFNALLAMDANGAOAAWGAZNBAMBBDBDTBGNBHDBIFBMDBNDBOBBSDBTNBWPBYNBZDCDFCRCCUPCVEDJFDOPDZDEGPERNETBFJDFKPGELGHSGIPGMDGNFGTQ\
                     GYDHNLHTGIQDIRRISKJMDJODKESKGSKHRKMFKPWKWDKYDKZTLAKLBPLKRLRDLSLLYDMADMDLMGAMKDMMKMNTMOPMRUMURMVRMWKMZNNADNGNNIONPROMR\
                     PABPENPGKPKRPYGQARRSDRWFSBDSCRSDGSHPSLESOSSRDSSPSTNSVCSYPSZLTJSTMTTNDTOPTTDTWDTZSUGXUYUUZSVEDVESVUVWSTXAFXCDXOFXPFYER\
                     ZMWZWG";

/// Symbols, longer ones first; `$`, `¥` and `kr` are resolved by locale.
const SYMBOLS: [(&str, &str); 28] = [
    ("US$", "USD"),
    ("CA$", "CAD"),
    ("AU$", "AUD"),
    ("NZ$", "NZD"),
    ("HK$", "HKD"),
    ("MX$", "MXN"),
    ("R$", "BRL"),
    ("C$", "CAD"),
    ("A$", "AUD"),
    ("S$", "SGD"),
    ("$", "$"),
    ("€", "EUR"),
    ("£", "GBP"),
    ("¥", "¥"),
    ("￥", "¥"),
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
    ("zł", "PLN"),
    ("Kč", "CZK"),
    ("kr", "kr"),
];

/// Names of currencies, one row each.
const NAMES: &str = "dollar,dollars,bucks,dolar,dolares,dollari,dollaro,डॉलर|euro,euros,यूरो|pound,pounds,quid,pfund,libra,libras,livre,livres,\
                     sterlina,sterline,pond|us dollar,us dollars,american dollar,american dollars|canadian dollar,canadian dollars|\
                     australian dollar,australian dollars|yen|rupee,rupees,rupie,rupien,rupias,roupie,roupies,रुपये,रुपए,रुपया,रुपयों|franken,franc,francs,franchi|real,reais";
/// Symbols or codes for the rows of [`NAMES`].
const NAME_CURRENCIES: [&str; 10] = ["$", "EUR", "GBP", "USD", "CAD", "AUD", "JPY", "INR", "CHF", "BRL"];

/// Names of the hundredth part.
const CENT_NAMES: &str = "cents,cent,centimes,centime,centimos,centimo,centavos,centavo,centesimi,centesimo,pence,penny";

/// Symbols whose currency depends on the region.
const REGIONAL_SYMBOLS: [(&str, &str, &str); 14] = [
    ("$", "CA", "CAD"),
    ("$", "AU", "AUD"),
    ("$", "NZ", "NZD"),
    ("$", "SG", "SGD"),
    ("$", "HK", "HKD"),
    ("$", "MX", "MXN"),
    ("$", "AR", "ARS"),
    ("$", "CL", "CLP"),
    ("$", "CO", "COP"),
    ("kr", "SE", "SEK"),
    ("kr", "NO", "NOK"),
    ("kr", "DK", "DKK"),
    ("kr", "IS", "ISK"),
    ("¥", "CN", "CNY"),
];

/// Returns the first amount of a text, and whether it is the whole text.
pub(super) fn find(text: &str, locale: &str) -> Option<(Value, bool)> {
    find_first(text, |start| read_money(start, locale))
}

/// Returns the amounts of a text with their places.
pub(super) fn find_all(text: &str, locale: &str) -> Vec<(Value, Range<usize>)> {
    find_each(text, |start| read_money(start, locale))
}

/// Normalizes an object with `amount` and `currency`.
pub(super) fn accept(value: &Value) -> Option<Value> {
    let amount = match value.get("amount")? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let digits = amount.strip_prefix('-').unwrap_or(&amount);
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_decimal = [whole, decimals].iter().all(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()));
    let currency = value.get("currency")?.as_str()?.trim().to_ascii_uppercase();
    (is_decimal && is_code(&currency)).then(|| stored_amount(amount, currency))
}

fn stored_amount(amount: String, currency: String) -> Value {
    let members = [("amount".to_owned(), amount.into()), ("currency".to_owned(), currency.into())];
    Value::Object(Map::from_iter(members))
}

fn read_money<'t>(start: SpanScanner<'t>, locale: &str) -> Parsed<'t, Value> {
    // A minus sign before the symbol: "-$5".
    let minus =
        start.eat("-−").filter(|it| !start.previous_char().is_some_and(char::is_alphanumeric) && read_currency(*it, locale).is_some());
    let from = minus.unwrap_or(start);
    let before = read_currency(from, locale).filter(|_| !from.previous_char().is_some_and(char::is_alphabetic));
    let number = before.as_ref().map_or(from, |it| it.1.skip_spaces());
    let (mut amount, mut end) = number::read_signed(number, locale)?;
    if minus.is_some() {
        amount.insert(0, '-');
    }
    let behind = read_currency(end.skip_spaces(), locale).filter(|it| it.1.is_word_end() || it.1.read_digits().is_some());
    // A code is more exact than a sign: "$5 CAD".
    let (code, may_have_cents) = match (before, behind) {
        (before, Some((code, next))) if before.is_none() || is_code_between(end.skip_spaces(), next) => {
            // No cents after a code: "100 AUD 50".
            let is_spoken = !is_code_between(end.skip_spaces(), next);
            end = next;
            (code, is_spoken)
        }
        (Some((code, _)), _) => (code, false),
        (None, _) => return None,
    };
    if !amount.contains('.')
        && let Some((cents, next)) = read_cents(end, locale, may_have_cents)
    {
        amount.push('.');
        amount.push_str(&cents);
        end = next;
    }
    (end.is_word_end() && !end.is_number_continued()).then(|| (stored_amount(amount, code), end))
}

/// Whether the text between two positions is a currency code.
fn is_code_between(start: SpanScanner<'_>, end: SpanScanner<'_>) -> bool {
    let read = start.rest().len() - end.rest().len();
    start.rest().get(..read).is_some_and(|it| is_code(&it.to_ascii_uppercase()))
}

/// Reads a currency as its code.
fn read_currency<'t>(at: SpanScanner<'t>, locale: &str) -> Parsed<'t, String> {
    if let Some((sign, end)) = SYMBOLS.iter().find_map(|it| Some((it.1, at.eat_text(it.0)?))) {
        let is_letters = end.previous_char().is_some_and(char::is_alphabetic);
        if !is_letters || !end.next_char().is_some_and(char::is_alphabetic) {
            return Some((code_of_symbol(sign, locale)?, end));
        }
    }
    if let Some((row, end)) = at.read_row(NAMES) {
        return Some((code_of_symbol(NAME_CURRENCIES.get(row)?, locale)?, end));
    }
    let written = at.rest().get(..3).filter(|it| it.bytes().all(|it| it.is_ascii_alphabetic()))?;
    let code = written.to_ascii_uppercase();
    let is_known = if written == code { is_code(&code) } else { contains_code(LOWER_CASE_CODES, &code) };
    let end = at.skip(3);
    (is_known && !end.next_char().is_some_and(char::is_alphabetic)).then_some((code, end))
}

/// Returns the code of a symbol in a locale.
fn code_of_symbol(sign: &str, locale: &str) -> Option<String> {
    let region = region(locale);
    let own = REGIONAL_SYMBOLS.iter().find(|it| it.0 == sign && it.1 == region).map(|it| it.2);
    let code = own.unwrap_or(match (sign, language(locale)) {
        ("$", _) => "USD",
        ("¥", "zh") => "CNY",
        ("¥", _) => "JPY",
        ("kr", "sv") => "SEK",
        ("kr", "da") => "DKK",
        ("kr", "nb" | "nn" | "no") => "NOK",
        ("kr", _) => return None,
        (code, _) => code,
    });
    Some(code.to_owned())
}

/// Reads cents, or two final digits after a currency symbol or name.
fn read_cents<'t>(at: SpanScanner<'t>, locale: &str, is_spoken: bool) -> Parsed<'t, String> {
    let at = at.skip_spaces();
    let and = at.read_row(words_of_locale(locale).and).map(|it| it.1.skip_spaces());
    let at = and.unwrap_or(at);
    let (digits, end) = at
        .read_digits()
        .map(|it| (it.0.to_owned(), it.1))
        .or_else(|| number::read_unsigned(at, locale).filter(|it| !it.0.contains('.')))?;
    let named = end.skip_spaces().read_row(CENT_NAMES).map(|it| it.1);
    let is_cents = digits.len() == 2 || digits.len() == 1 && named.is_some();
    // "5 dollars 20 people" has no cents.
    let is_last = is_spoken && and.is_none() && end.is_word_end() && !end.is_number_continued() && end.skip_spaces().read_word().is_none();
    let end = named.or(is_last.then_some(end))?;
    is_cents.then(|| (if digits.len() == 1 { "0".to_owned() + &digits } else { digits }, end))
}

fn is_code(code: &str) -> bool {
    contains_code(LOWER_CASE_CODES, code) || contains_code(OTHER_CODES, code)
}

fn contains_code(codes: &str, code: &str) -> bool {
    code.len() == 3 && codes.as_bytes().chunks_exact(3).any(|it| it == code.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn amounts_are_found() {
        for (text, locale, amount, code) in [
            ("$5", "en-US", "5", "USD"),
            ("$1,234.50", "en-US", "1234.50", "USD"),
            ("it costs 20 dollars.", "en-US", "20", "USD"),
            ("20 bucks", "en-CA", "20", "CAD"),
            ("$5", "en-CA", "5", "CAD"),
            ("$5", "en-AU", "5", "AUD"),
            ("US$5", "en-AU", "5", "USD"),
            ("$5 CAD", "en-US", "5", "CAD"),
            ("-$5", "en-US", "-5", "USD"),
            ("$-5", "en-US", "-5", "USD"),
            ("5 €", "de-DE", "5", "EUR"),
            ("1.234,50 €", "de-DE", "1234.50", "EUR"),
            ("€5", "en-IE", "5", "EUR"),
            ("EUR 5", "en-US", "5", "EUR"),
            ("5 eur", "en-US", "5", "EUR"),
            ("100usd", "en-US", "100", "USD"),
            ("100 ALL", "en-US", "100", "ALL"),
            ("1 234,50 EUR", "fr-FR", "1234.50", "EUR"),
            ("£10", "en-GB", "10", "GBP"),
            ("10 pounds", "en-GB", "10", "GBP"),
            ("¥500", "ja-JP", "500", "JPY"),
            ("¥500", "zh-CN", "500", "CNY"),
            ("¥500", "zh", "500", "CNY"),
            ("₹1,00,000", "en-IN", "100000", "INR"),
            ("R$ 10,00", "pt-BR", "10.00", "BRL"),
            ("10 reais", "pt-BR", "10", "BRL"),
            ("100 kr", "sv-SE", "100", "SEK"),
            ("100 zł", "pl-PL", "100", "PLN"),
            ("$0.50", "en", "0.50", "USD"),
            ("$.5", "en", "0.5", "USD"),
            ("five dollars", "en", "5", "USD"),
            ("$5 and 20 cents", "en", "5.20", "USD"),
            ("$5 20", "en", "5", "USD"),
            ("$2 million", "en", "2000000", "USD"),
            ("5 euro 50", "nl", "5.50", "EUR"),
            ("5 dollars and 5 cents", "en", "5.05", "USD"),
            ("12 €50", "fr", "12.50", "EUR"),
            ("5 dollars 20 people", "en", "5", "USD"),
            ("5 dollars 20 cents each", "en", "5.20", "USD"),
            ("5 dólares", "es", "5", "USD"),
            ("10 CHF", "de-CH", "10", "CHF"),
            ("20 US dollars", "en-GB", "20", "USD"),
            ("twenty US dollars and fifty cents", "en-CA", "20.50", "USD"),
            ("1 Canadian dollar", "en-US", "1", "CAD"),
            ("five dollars fifty", "en-US", "5.50", "USD"),
            ("five dollars twenty five", "en", "5.25", "USD"),
            ("five dollars five", "en", "5", "USD"),
            ("five dollars fifty people", "en", "5", "USD"),
            ("five dollars and five cents", "en", "5.05", "USD"),
            ("100 aud 50", "en-US", "100", "AUD"),
            ("100 AUD 50 cents", "en-US", "100.50", "AUD"),
            ("5 eur 50", "de", "5", "EUR"),
        ] {
            assert_eq!(find(text, locale).map(|it| it.0), Some(json!({"amount": amount, "currency": code})), "{text} {locale}");
        }
    }

    #[test]
    fn other_texts_are_not_amounts() {
        for text in
            ["", "5", "dollars", "$", "5 all", "5 apples", "5 QQQ", "USD", "$5k", "$1.2.3", "100 kr", "5 eurobonds", "€", "AB$5x", "5 usdx"]
        {
            assert_eq!(find(text, "en-US"), None, "{text}");
        }
    }

    #[test]
    fn objects_are_accepted() {
        let accepted = |value: Value| accept(&value);
        assert_eq!(accepted(json!({"currency": "usd", "amount": "1234.50"})), Some(json!({"amount": "1234.50", "currency": "USD"})));
        assert_eq!(accepted(json!({"amount": -5, "currency": "EUR"})), Some(json!({"amount": "-5", "currency": "EUR"})));
        for value in [
            json!({"amount": "1,5", "currency": "EUR"}),
            json!({"amount": "", "currency": "EUR"}),
            json!({"amount": "5.", "currency": "EUR"}),
            json!({"amount": "5", "currency": "XYZ"}),
            json!({"amount": "5"}),
            json!({"amount": true, "currency": "EUR"}),
            json!([]),
        ] {
            assert_eq!(accepted(value.clone()), None, "{value}");
        }
    }

    #[test]
    fn codes_are_whole() {
        assert_eq!((LOWER_CASE_CODES.len() % 3, OTHER_CODES.len() % 3), (0, 0));
        let codes: Vec<&[u8]> = LOWER_CASE_CODES.as_bytes().chunks(3).chain(OTHER_CODES.as_bytes().chunks(3)).collect();
        let mut once = codes.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), codes.len());
        assert!(SYMBOLS.iter().all(|it| it.1.len() < 3 || is_code(it.1)));
    }
}
