//! `@number`: digits in the format of the locale, percentages, and number words.

use std::ops::Range;

use serde_json::Value;

use super::locale::{language, region, words_of_locale};
use super::number_words;
use super::scanner::{Parsed, SpanScanner, find_each, find_first};

/// Languages with a decimal comma.
const COMMA_LANGUAGES: &str = "bg cs da de el es fi fr hu id it nb nl nn no pl pt ro ru sk sv tr uk vi";

/// Those of them that group digits with spaces.
const SPACE_GROUPING_LANGUAGES: &str = "bg cs fi fr hu nb nn no pl ru sk sv uk";

/// Locales with a decimal point although their language has a comma.
const POINT_LOCALES: &str = "es-MX es-US es-GT es-HN es-NI es-PA es-PE es-PR es-DO es-SV de-CH it-CH de-LI";

/// The number format of a locale.
struct NumberSeparators {
    decimal: &'static str,
    group: &'static str,
    /// Whether groups of two digits precede the last group of three.
    is_indian: bool,
}

fn number_format(locale: &str) -> NumberSeparators {
    let (language, region) = (language(locale), region(locale));
    let lists = |list: &str| list.split(' ').any(|it| it.eq_ignore_ascii_case(language));
    let is_swiss = region == "CH" || region == "LI";
    let is_point =
        POINT_LOCALES.split(' ').filter_map(|it| it.split_once('-')).any(|it| it.0.eq_ignore_ascii_case(language) && it.1 == region);
    let (decimal, group) = match (lists(COMMA_LANGUAGES) && !is_point, lists(SPACE_GROUPING_LANGUAGES)) {
        (false, _) if is_swiss => (".", "'’"),
        (false, _) => (".", ","),
        (true, true) => (",", " \u{a0}\u{202f}"),
        (true, false) => (",", "."),
    };
    NumberSeparators { decimal, group, is_indian: region == "IN" || language == "hi" }
}

/// Whether a locale has a decimal point.
pub(super) fn has_decimal_point(locale: &str) -> bool {
    number_format(locale).decimal == "."
}

/// Returns the first number of a text, and whether it is the whole text.
pub(super) fn find(text: &str, locale: &str) -> Option<(Value, bool)> {
    let (value, whole) =
        find_first(text, |start| read_number(start, locale)).or_else(|| number_words::find_article(text, words_of_locale(locale)))?;
    // A number that cannot be represented is not skipped in favor of another.
    Some((value?, whole))
}

/// Returns the numbers of a text with their places.
pub(super) fn find_all(text: &str, locale: &str) -> Vec<(Value, Range<usize>)> {
    let found = find_each(text, |start| read_number(start, locale));
    found.into_iter().map_while(|(value, range)| Some((value?, range))).collect()
}

/// Reads a number or a percentage; the value is `None` when it cannot be represented.
fn read_number<'t>(start: SpanScanner<'t>, locale: &str) -> Parsed<'t, Option<Value>> {
    let (plain, end) = read_signed(start, locale)?;
    let percent = end.skip_spaces().eat("%").or_else(|| read_percent_words(end.skip_spaces(), locale));
    let end = percent.unwrap_or(end);
    (end.is_word_end() && !end.is_number_continued()).then(|| (to_json_number(&plain, percent.is_some()), end))
}

fn read_percent_words<'t>(at: SpanScanner<'t>, locale: &str) -> Option<SpanScanner<'t>> {
    let own = words_of_locale(locale).numbers.as_ref().map_or("", |it| it.percent);
    at.read_row("percent").or_else(|| at.read_row(own)).map(|it| it.1).filter(|it| it.is_word_end())
}

/// Converts a decimal text to a JSON number, an integer if possible; `None` when digits would be lost.
fn to_json_number(plain: &str, is_percent: bool) -> Option<Value> {
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
    let integer = if is_percent { whole.strip_suffix("00") } else { Some(whole) };
    if let Some(integer) = integer.filter(|_| fraction.bytes().all(|it| it == b'0')) {
        return integer.parse::<i64>().map(Value::from).or_else(|_| integer.parse::<u64>().map(Value::from)).ok();
    }
    let number: f64 = (plain.to_owned() + if is_percent { "e-2" } else { "" }).parse().ok()?;
    to_exact_number(number)
}

/// Converts a float to its stored form; `None` for integers too large to be exact and for infinite values.
pub(super) fn to_exact_number(number: f64) -> Option<Value> {
    match number.fract() == 0.0 {
        true => (number.abs() < 9e15).then(|| (number as i64).into()),
        false => number.is_finite().then(|| number.into()),
    }
}

/// Reads a number with an optional sign, as decimal text.
pub(super) fn read_signed<'t>(start: SpanScanner<'t>, locale: &str) -> Parsed<'t, String> {
    let words = words_of_locale(locale);
    let own = || words.numbers.as_ref().filter(|_| start.preceding().trim().is_empty()).and_then(|it| start.read_row(it.minus));
    if let Some((_, unsigned)) = start.read_row("minus,negative").or_else(own) {
        return read_unsigned(unsigned.skip_spaces(), locale).map(|it| ("-".to_owned() + &it.0, it.1));
    }
    let unsigned = start.skip_optional("+-−");
    if unsigned.rest().len() == start.rest().len() {
        return read_unsigned(start, locale);
    }
    if start.previous_char().is_some_and(char::is_alphanumeric) {
        return None;
    }
    // Before a word, it is a hyphen.
    unsigned.next_char().filter(|it| !it.is_alphabetic())?;
    let (plain, end) = read_digits(unsigned, locale)?;
    let (plain, end) = apply_scales(plain, end, locale);
    Some((if start.next_char() == Some('+') { plain } else { "-".to_owned() + &plain }, end))
}

/// Reads a number without a sign, as decimal text.
pub(super) fn read_unsigned<'t>(start: SpanScanner<'t>, locale: &str) -> Parsed<'t, String> {
    if start.next_char().is_some_and(char::is_alphabetic) {
        return number_words::read(start, words_of_locale(locale));
    }
    if start.is_within_number() {
        return None;
    }
    let (plain, end) = read_digits(start, locale)?;
    Some(apply_scales(plain, end, locale))
}

/// Reads digits with the group and decimal separators of the locale.
fn read_digits<'t>(start: SpanScanner<'t>, locale: &str) -> Parsed<'t, String> {
    let marks = number_format(locale);
    let (mut plain, mut end) = start.read_digits().map_or((String::new(), start), |it| (it.0.to_owned(), it.1));
    let can_group = (1..=3).contains(&plain.len());
    while let Some((group, next)) = end.eat(marks.group).and_then(SpanScanner::read_digits).filter(|_| can_group) {
        let is_pair = marks.is_indian && group.len() == 2 && next.eat(marks.group).is_some();
        if group.len() != 3 && !is_pair {
            break;
        }
        plain.push_str(group);
        end = next;
    }
    let zeros = plain.len() - plain.trim_start_matches('0').len();
    plain.drain(..zeros.min(plain.len().saturating_sub(1)));
    if let Some((decimals, next)) = end.eat(marks.decimal).and_then(SpanScanner::read_digits) {
        if plain.is_empty() {
            plain.push('0');
        }
        plain.push('.');
        plain.push_str(decimals);
        end = next;
    }
    (!plain.is_empty() && !end.is_number_continued()).then_some((plain, end))
}

/// Applies the scale words after digits, such as `2 thousand`.
fn apply_scales<'t>(mut plain: String, mut end: SpanScanner<'t>, locale: &str) -> (String, SpanScanner<'t>) {
    while let Some((zeros, next)) = read_scale(end, locale) {
        let (whole, decimals) = plain.split_once('.').unwrap_or((&plain, ""));
        let mut moved = whole.to_owned();
        let mut decimals = decimals.chars();
        moved.extend((0..zeros).map(|_| decimals.next().unwrap_or('0')));
        let zeros = moved.len() - moved.trim_start_matches('0').len();
        moved.drain(..zeros.min(moved.len() - 1));
        if !decimals.as_str().is_empty() {
            moved.push('.');
            moved.push_str(decimals.as_str());
        }
        (plain, end) = (moved, next);
    }
    (plain, end)
}

fn read_scale<'t>(end: SpanScanner<'t>, locale: &str) -> Parsed<'t, u32> {
    let numbers = words_of_locale(locale).numbers.as_ref()?;
    // "50 cents" is money in French.
    number_words::read_scale(end.skip_spaces(), numbers).filter(|it| it.0 > 2 || language(locale) != "fr")
}

#[cfg(test)]
mod tests {
    use super::find;
    use serde_json::{Value, json};

    #[test]
    fn numbers_are_found() {
        let rows: &[(&str, &str, Value)] = &[
            ("42", "en-US", json!(42)),
            ("I want 3 of them.", "en-US", json!(3)),
            ("-7", "en-US", json!(-7)),
            ("−7", "en-US", json!(-7)),
            ("+7", "en-US", json!(7)),
            ("1,234.50", "en-US", json!(1234.5)),
            ("1,234,567", "en-US", json!(1_234_567)),
            ("1.234,5", "de-DE", json!(1234.5)),
            ("1.234", "de-DE", json!(1234)),
            ("1.234", "en-GB", json!(1.234)),
            ("1,5", "de", json!(1.5)),
            ("1 234,5", "fr-FR", json!(1234.5)),
            ("1\u{202f}234 567", "fr-FR", json!(1_234_567)),
            ("12.345,00", "es-ES", json!(12345)),
            ("12,345.5", "es-MX", json!(12345.5)),
            ("1’234.5", "de-CH", json!(1234.5)),
            ("1,00,000", "en-IN", json!(100_000)),
            ("1,00,000", "hi", json!(100_000)),
            ("5.0", "en", json!(5)),
            (".5", "en", json!(0.5)),
            ("007", "en", json!(7)),
            ("0", "en", json!(0)),
            ("-0", "en", json!(0)),
            ("50%", "en", json!(0.5)),
            ("12.5 %", "en", json!(0.125)),
            ("100%", "en", json!(1)),
            ("twenty percent", "en", json!(0.2)),
            ("0,1%", "nl", json!(0.001)),
            ("9007199254740993", "en", json!(9_007_199_254_740_993_i64)),
            ("12345678901234567890", "en", json!(12_345_678_901_234_567_890_u64)),
            ("18,446,744,073,709,551,615", "en", json!(u64::MAX)),
            ("-9223372036854775808", "en", json!(i64::MIN)),
            ("9007199254740993.0", "en", json!(9_007_199_254_740_993_i64)),
            ("900719925474099300%", "en", json!(9_007_199_254_740_993_i64)),
            ("0%", "en", json!(0)),
            ("zero", "en", json!(0)),
            ("minus five", "en", json!(-5)),
            ("minus 5", "de", json!(-5)),
            ("five point two five", "en", json!(5.25)),
            ("five point", "en", json!(5)),
            ("Five please", "en", json!(5)),
            ("twenty-one", "en", json!(21)),
            ("ninety nine", "en", json!(99)),
            ("two hundred and five", "en", json!(205)),
            ("hundred", "en", json!(100)),
            ("three thousand four hundred and twelve", "en", json!(3412)),
            ("twelve hundred", "en", json!(1200)),
            ("two-hundred-and-one", "en", json!(201)),
            ("one-way", "en", json!(1)),
            ("two hundred thousand", "en", json!(200_000)),
            ("one million two thousand", "en", json!(1_002_000)),
            ("five and six", "en", json!(5)),
            ("two hundred and", "en", json!(200)),
            ("twenty thirty", "en", json!(20)),
            ("2 thousand", "en", json!(2000)),
            ("1.5 million", "en", json!(1_500_000)),
            ("0.25 hundred", "en", json!(25)),
            ("1.2345 thousand", "en", json!(1234.5)),
            ("0.0001 hundred", "en", json!(0.01)),
            ("room-5", "en", json!(5)),
            ("$5", "en", json!(5)),
            ("1234 567", "fr", json!(1234)),
            ("no. 4, please", "en", json!(4)),
        ];
        for (text, locale, expected) in rows {
            assert_eq!(find(text, locale).map(|it| it.0).as_ref(), Some(expected), "{text} {locale}");
        }
    }

    #[test]
    fn other_texts_are_not_numbers() {
        for (text, locale) in [
            ("", "en"),
            ("none", "en"),
            ("A123", "en"),
            ("5th", "en"),
            ("5km", "en"),
            ("1.2.3", "en"),
            ("3/4", "en"),
            ("12:30", "en"),
            ("5-6", "en"),
            ("2026-03-05", "en"),
            ("1,23", "en"),
            ("1234,567", "en"),
            ("1,234,56", "en"),
            ("3.5", "de"),
            ("five", "de"),
            ("cinque", "it"),
            ("oneself", "en"),
            ("1e5", "en"),
            ("-", "en"),
            (".", "en"),
            ("%", "en"),
            ("thousandth", "en"),
        ] {
            assert_eq!(find(text, locale), None, "{text} {locale}");
        }
        let long = "9".repeat(400);
        for text in [&long, "123456789012345678901", "-12345678901234567890", "9007199254740993.5", "900719925474099301%"] {
            assert_eq!(find(text, "en"), None, "{text} would lose digits");
        }
    }

    #[test]
    fn a_whole_text_is_distinguished_from_a_part() {
        for (text, whole) in [("12", true), ("12 %", true), ("12 pieces", false), ("$12", false), ("twenty-one", true), ("12.", false)] {
            assert_eq!(find(text, "en").map(|it| it.1), Some(whole), "{text}");
        }
    }
}
