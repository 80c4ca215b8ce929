//! Numbers in words, by the table of the language.

use serde_json::Value;

use super::scanner::{Parsed, SpanScanner, find_first};
use crate::locale::{CompoundWords, LocaleWords, NumberWords};

/// Maximum words of an answer in which an article counts as a number.
const MAX_ANSWER_WORDS: usize = 4;

/// A word of a number.
struct NumberWord {
    /// What is added, or multiplied with.
    value: u64,
    is_scale: bool,
    /// A number that follows without a scale must be less.
    room: u64,
}

/// Reads a number in words, as decimal text. An article alone is no number.
pub(super) fn read<'t>(start: SpanScanner<'t>, words: &LocaleWords) -> Parsed<'t, String> {
    let numbers = words.numbers.as_ref()?;
    let (whole, mut end) = read_integer(start, numbers, true)?;
    let mut plain = whole.to_string();
    // "five point two"
    let mut next = end.skip_spaces().read_row(numbers.point).map(|it| it.1);
    while let Some((digits, behind)) = next.and_then(|it| read_integer(it.skip_spaces(), numbers, false)) {
        if !plain.contains('.') {
            plain.push('.');
        }
        plain.push_str(&digits.to_string());
        (next, end) = (Some(behind), behind);
    }
    let is_article = start.read_row(words.article).is_some_and(|it| it.1.rest().len() == end.rest().len());
    (!is_article).then_some((plain, end))
}

/// Reads a word that multiplies, as its number of zeros.
pub(super) fn read_scale<'t>(at: SpanScanner<'t>, numbers: &NumberWords) -> Parsed<'t, u32> {
    numbers.scales.iter().find_map(|(words, zeros)| Some((*zeros, at.read_row(words)?.1)))
}

/// Reads one from an article at the beginning of a short answer, where the language has one word for both: "une, merci".
pub(super) fn find_article(text: &str, words: &LocaleWords) -> Option<(Option<Value>, bool)> {
    let numbers = words.numbers.as_ref().filter(|_| text.split_whitespace().count() <= MAX_ANSWER_WORDS)?;
    find_first(text, |start| {
        let (_, end) = start.read_row(words.article)?;
        let is_one = start.preceding().is_empty() && numbers.ones.split('|').nth(1).is_some_and(|it| start.read_row(it).is_some());
        (is_one && end.is_word_end()).then_some((Some(1.into()), end))
    })
}

/// Reads an integer in words; without scales it is less than a hundred.
fn read_integer<'t>(start: SpanScanner<'t>, numbers: &NumberWords, has_scales: bool) -> Parsed<'t, u64> {
    let (mut total, mut part, mut room, mut ceiling) = (0_u64, 0_u64, u64::MAX, u64::MAX);
    let (mut at, mut end) = (start, None);
    // A conjunction that may follow the last word.
    let mut and = "";
    loop {
        let after_and = at.read_row(and).and_then(|it| read_word(it.1.skip_optional("-").skip_spaces(), numbers));
        let Some((word, next)) = after_and.or_else(|| read_word(at, numbers)) else { break };
        let is_first = end.is_none();
        if !word.is_scale && word.value < room && (word.value > 0 || is_first) && (has_scales || word.value < 100) {
            part += word.value;
        } else if word.is_scale && has_scales && (part > 0 || is_first || numbers.is_one_implied) && part < ceiling {
            if word.value == 100 && part < 100 {
                part = part.max(1) * 100;
            } else if word.value > 100 && word.value < ceiling {
                total += part.max(1) * word.value;
                (part, ceiling) = (0, word.value);
            } else {
                break;
            }
        } else {
            break;
        }
        room = word.room;
        and = match room {
            0 => "",
            1..100 => numbers.and_after_ten,
            _ => numbers.and_after_scale,
        };
        end = Some(next);
        at = next.skip_optional("-").skip_spaces();
    }
    Some((total + part, end.filter(|it| it.is_word_end())?))
}

fn read_word<'t>(at: SpanScanner<'t>, numbers: &NumberWords) -> Parsed<'t, NumberWord> {
    let word = |value: u64, room: u64| NumberWord { value, is_scale: false, room };
    if let Some((zeros, end)) = read_scale(at, numbers) {
        let value = 10_u64.pow(zeros);
        return Some((NumberWord { value, is_scale: true, room: value }, end));
    }
    if let Some((row, end)) = at.read_row(numbers.hundreds) {
        return Some((word(100 * (row as u64 + 1), 100), end));
    }
    if let Some((row, end)) = at.read_longest_row(numbers.tens) {
        let room = if at.read_row(numbers.tens_before_teens).is_some() { 20 } else { 10 };
        return Some((word(20 + 10 * row as u64, room), end));
    }
    if let Some((row, end)) = at.read_longest_row(numbers.ones) {
        return Some((word(row as u64, 0), end));
    }
    let (text, end) = at.read_word()?;
    let value = parse_compound(&text, numbers.compound.as_ref()?, numbers)?;
    let room = [1000, 100].into_iter().find(|it| value % it == 0).unwrap_or(0);
    Some((word(value, room), end))
}

/// Parses a number less than a million that is one word, such as "zweihundertfünfundzwanzig".
fn parse_compound(text: &str, parts: &CompoundWords, numbers: &NumberWords) -> Option<u64> {
    let row = |table: &str, text: &str| table.split('|').position(|it| it.split(',').any(|it| it == text)).map(|it| it as u64);
    let ten = |text: &str| row(numbers.tens, text).map(|it| 20 + 10 * it);
    let one = |text: &str| row(numbers.ones, text).filter(|it| *it > 0);
    let below_hundred = |text: &str| {
        let with_one = || {
            let tens = numbers.tens.split(['|', ',']).filter_map(|it| Some((text.strip_suffix(it)?, ten(it)?)));
            tens.filter_map(|(rest, ten)| Some(ten + one(rest.strip_suffix(parts.and)?).filter(|it| *it < 10)?)).next()
        };
        one(text).or_else(|| ten(text)).or_else(with_one)
    };
    // What multiplies may be left out, and so may what follows.
    let split = |text: &str, scale: (&str, u64), head: &dyn Fn(&str) -> Option<u64>, tail: &dyn Fn(&str) -> Option<u64>| {
        let Some((before, after)) = text.split_once(scale.0) else { return tail(text) };
        let count = if before.is_empty() { 1 } else { head(before)? };
        let rest = if after.is_empty() { 0 } else { tail(after.strip_prefix(parts.and).unwrap_or(after))? };
        Some(count * scale.1 + rest)
    };
    let below_thousand = |text: &str| split(text, (parts.hundred, 100), &below_hundred, &below_hundred);
    split(text, (parts.thousand, 1000), &below_thousand, &below_thousand)
}

#[cfg(test)]
mod tests {
    use super::super::number::{find, find_all};
    use serde_json::{Value, json};

    fn assert_numbers(locale: &str, rows: &[(&str, Value)]) {
        for (text, expected) in rows {
            assert_eq!(find(text, locale).map(|it| it.0).as_ref().unwrap_or(&Value::Null), expected, "{text} {locale}");
        }
    }

    /// Numbers up to 99 that are composed of tens and ones.
    fn assert_composed(locale: &str, compose: impl Fn(u64) -> String) {
        for number in 0..100 {
            let text = compose(number);
            assert_eq!(find(&text, locale), Some((json!(number), true)), "{text} {locale}");
        }
    }

    fn row(table: &str, index: u64) -> &str {
        table.split('|').nth(usize::try_from(index).unwrap()).unwrap().split(',').next().unwrap()
    }

    #[test]
    fn numbers_below_a_hundred_are_read_in_every_language() {
        let numbers = |locale| crate::locale::words_of_locale(locale).numbers.as_ref().unwrap();
        let (en, de, es, fr, hi) = (numbers("en"), numbers("de"), numbers("es"), numbers("fr"), numbers("hi"));
        let plain = |table: &crate::locale::NumberWords, least: u64, and: &str, number: u64| match (number / 10, number % 10) {
            _ if number < least => row(table.ones, number).to_owned(),
            (ten, 0) => row(table.tens, ten - 2).to_owned(),
            (ten, one) => format!("{}{and}{}", row(table.tens, ten - 2), row(table.ones, one)),
        };
        assert_composed("en", |it| plain(en, 20, "-", it));
        assert_composed("es", |it| plain(es, 30, " y ", it));
        assert_composed("fr-BE", |it| plain(fr, 20, "-", it));
        assert_composed("hi-IN", |it| row(hi.ones, it).to_owned());
        assert_composed("de-DE", |it| match (it / 10, it % 10) {
            (2.., 1) => format!("einund{}", row(de.tens, it / 10 - 2)),
            (2.., one @ 1..) => format!("{}und{}", row(de.ones, one), row(de.tens, it / 10 - 2)),
            _ => plain(de, 20, "", it),
        });
        assert_composed("fr-FR", |it| match it {
            71 => "soixante et onze".to_owned(),
            70..80 => format!("soixante-{}", row(fr.ones, it - 60)),
            80 => "quatre-vingts".to_owned(),
            81..100 => format!("quatre-vingt-{}", row(fr.ones, it - 80)),
            _ if it > 20 && it % 10 == 1 => format!("{} et un", row(fr.tens, it / 10 - 2)),
            _ => plain(fr, 20, "-", it),
        });
    }

    #[test]
    fn german_numbers_are_read() {
        assert_numbers(
            "de-AT",
            &[
                ("einundzwanzig", json!(21)),
                ("Fünfundzwanzig, bitte", json!(25)),
                ("fuenf", json!(5)),
                ("dreißig", json!(30)),
                ("hundert", json!(100)),
                ("hunderteins", json!(101)),
                ("hundertundeins", json!(101)),
                ("hundert und eins", json!(101)),
                ("zweihundertfünfunddreißig", json!(235)),
                ("zwei hundert", json!(200)),
                ("tausend", json!(1000)),
                ("eintausendzweihundert", json!(1200)),
                ("zwölftausenddreihundertfünfundvierzig", json!(12_345)),
                ("zweitausend dreihundert", json!(2300)),
                ("hunderttausend", json!(100_000)),
                ("eine Million zweihunderttausend", json!(1_200_000)),
                ("2 Millionen", json!(2_000_000)),
                ("2,5 Tausend", json!(2500)),
                ("zwei Komma fünf", json!(2.5)),
                ("zwanzig Prozent", json!(0.2)),
                ("minus fünf", json!(-5)),
                ("ein Tisch für vier", json!(4)),
                ("eine Person", json!(1)),
                ("Einen bitte", json!(1)),
                ("eine", json!(1)),
                ("ich hätte gern einen Tisch", Value::Null),
                ("tausendmal", Value::Null),
                ("achtundzwanzigste", Value::Null),
                ("hundertund", Value::Null),
                ("fünf oder sechs", json!(5)),
            ],
        );
    }

    #[test]
    fn spanish_numbers_are_read() {
        assert_numbers(
            "es-ES",
            &[
                ("treinta y uno", json!(31)),
                ("veintidós", json!(22)),
                ("dieciséis", json!(16)),
                ("cien", json!(100)),
                ("ciento uno", json!(101)),
                ("doscientas cincuenta", json!(250)),
                ("quinientos treinta y un", json!(531)),
                ("mil", json!(1000)),
                ("dos mil trescientos cuarenta y cinco", json!(2345)),
                ("cien mil", json!(100_000)),
                ("un millón mil", json!(1_001_000)),
                ("dos millones", json!(2_000_000)),
                ("3 mil", json!(3000)),
                ("dos coma cinco", json!(2.5)),
                ("veinte por ciento", json!(0.2)),
                ("menos cinco", json!(-5)),
                ("al menos cinco", json!(5)),
                ("una mesa para cuatro", json!(4)),
                ("una", json!(1)),
                ("uno", json!(1)),
                ("cinco y seis", json!(5)),
                ("quiero una mesa grande", Value::Null),
            ],
        );
    }

    #[test]
    fn french_numbers_are_read() {
        assert_numbers(
            "fr-FR",
            &[
                ("quatre-vingt-onze", json!(91)),
                ("quatre vingt dix-neuf", json!(99)),
                ("septante", json!(70)),
                ("nonante-neuf", json!(99)),
                ("vingt et un", json!(21)),
                ("cent", json!(100)),
                ("deux cents", json!(200)),
                ("deux cent cinquante", json!(250)),
                ("mille cent", json!(1100)),
                ("mille neuf cent quatre-vingt-dix", json!(1990)),
                ("deux millions trois cent mille", json!(2_300_000)),
                ("2 mille", json!(2000)),
                ("50 cents", json!(50)),
                ("deux virgule vingt-cinq", json!(2.25)),
                ("deux virgule zéro cinq", json!(2.05)),
                ("vingt pour cent", json!(0.2)),
                ("moins cinq", json!(-5)),
                ("au moins cinq", json!(5)),
                ("une table pour quatre", json!(4)),
                ("une personne", json!(1)),
                ("un, s'il vous plaît", json!(1)),
                ("dix", json!(10)),
                ("dix-sept", json!(17)),
                ("je voudrais une table ici", Value::Null),
            ],
        );
    }

    #[test]
    fn hindi_numbers_are_read() {
        assert_numbers(
            "hi-IN",
            &[
                ("पांच", json!(5)),
                ("एक", json!(1)),
                ("उनतीस", json!(29)),
                ("निन्यानवे", json!(99)),
                ("सौ", json!(100)),
                ("एक सौ एक", json!(101)),
                ("दो सौ पचास", json!(250)),
                ("तीन हज़ार चार सौ", json!(3400)),
                ("तीन हजार", json!(3000)),
                ("दो लाख पचास हज़ार", json!(250_000)),
                ("एक करोड़", json!(10_000_000)),
                ("5 लाख", json!(500_000)),
                ("2,50,000", json!(250_000)),
                ("दो दशमलव पाँच", json!(2.5)),
                ("बीस प्रतिशत", json!(0.2)),
                ("मुझे चार चाहिए", json!(4)),
                ("पता नहीं", Value::Null),
            ],
        );
    }

    #[test]
    fn articles_are_no_numbers_in_a_longer_text() {
        let all = |text, locale| find_all(text, locale).into_iter().map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(all("ein Tisch für vier Personen und zwei Kinder", "de"), [json!(4), json!(2)]);
        assert_eq!(all("une", "fr"), Vec::<Value>::new());
        assert_eq!(all("vingt et un et trente", "fr"), [json!(21), json!(30)]);
        assert_eq!((find("five", "pt"), find("cinco", "pt"), find("five", "sv")), (None, None, Some((json!(5), true))));
    }
}
