//! `@duration`: durations in words and in ISO 8601.

use std::ops::Range;

use super::locale::{LocaleWords, words_of_locale};
use super::number;
use super::scanner::{Parsed, SpanScanner, find_each, find_first};

/// ISO 8601 designators of years, months, weeks, days, hours, minutes and seconds.
const DESIGNATORS: [&str; 7] = ["Y", "M", "W", "D", "H", "M", "S"];

/// Index of hours; time designators start here.
const HOURS_INDEX: usize = 4;
/// Index of minutes.
const MINUTES_INDEX: usize = 5;

/// Fractions that are not supported.
const QUARTERS: &str = "quarter,quart,cuarto,quarto,kwartier,kwart,viertel";

/// Words that may follow an unrelated number and are not units: "5 or 6 days".
const LINK_WORDS: &str = "for,in,of,or,to,and,at,on,is,with,after,until,plus,fur,oder,bis,und,mit,nach,por,para,en,de,o,y,pour,ou,dans,et,pendant,\
                     per,da,e,em,voor,tot,met,के लिए,में,या,और,से";

/// The count of each unit, as decimal text.
type Parts = [Option<String>; 7];

/// Returns the first duration of a text in ISO 8601, and whether it is the whole text.
pub(super) fn find(text: &str, locale: &str) -> Option<(String, bool)> {
    let (parts, whole) = find_first(text, |start| read_iso(start).or_else(|| read_words(start, locale)))?;
    Some((format_iso(&parts)?, whole))
}

/// Returns the durations of a text with their places.
pub(super) fn find_all(text: &str, locale: &str) -> Vec<(String, Range<usize>)> {
    let found = find_each(text, |start| read_iso(start).or_else(|| read_words(start, locale)));
    // Nothing is read behind a rejected text.
    found.into_iter().map_while(|(parts, range)| Some((format_iso(&parts)?, range))).collect()
}

/// Formats the parts as ISO 8601; `None` when there are none, or when any but the last has decimals.
fn format_iso(parts: &Parts) -> Option<String> {
    let mut text = String::from("P");
    for (index, (part, letter)) in parts.iter().zip(DESIGNATORS).enumerate() {
        let Some(part) = part else { continue };
        if text.contains('.') {
            return None;
        }
        if index >= HOURS_INDEX && !text.contains('T') {
            text.push('T');
        }
        text.push_str(part);
        text.push_str(letter);
    }
    // Rejected texts have no parts.
    (text.len() > 1).then_some(text)
}

fn read_iso(start: SpanScanner<'_>) -> Parsed<'_, Parts> {
    let mut parts = Parts::default();
    let mut at = start.eat("pP")?;
    let mut next_unit = 0;
    loop {
        if let Some(time) = at.eat("tT").filter(|_| next_unit <= HOURS_INDEX) {
            (at, next_unit) = (time, HOURS_INDEX);
            // `T` requires a part.
            time.read_digits()?;
        }
        let Some((whole, mut end)) = at.read_digits() else { break };
        let mut part = trim_leading_zeros(whole);
        if let Some((decimals, next)) = end.eat(".,").and_then(SpanScanner::read_digits) {
            part.push('.');
            part.push_str(decimals);
            end = next;
        }
        let last = if next_unit < HOURS_INDEX { HOURS_INDEX } else { DESIGNATORS.len() };
        let units = DESIGNATORS.iter().enumerate().take(last).skip(next_unit);
        let (unit, next) = units.into_iter().find_map(|(unit, letter)| Some((unit, end.eat_text(letter)?)))?;
        *parts.get_mut(unit)? = Some(part);
        (at, next_unit) = (next, unit + 1);
    }
    (parts.iter().any(Option::is_some) && at.is_word_end()).then_some((parts, at))
}

/// Removes leading zeros.
fn trim_leading_zeros(digits: &str) -> String {
    let short = digits.trim_start_matches('0');
    if short.is_empty() { "0" } else { short }.to_owned()
}

fn read_words<'t>(start: SpanScanner<'t>, locale: &str) -> Parsed<'t, Parts> {
    // Durations are not negative.
    let before = start.preceding().strip_suffix(['-', '−']);
    // "three quarters of an hour"
    if before.is_some_and(|it| !it.ends_with(char::is_alphanumeric)) || start.previous_word() == "of" {
        return None;
    }
    let words = words_of_locale(locale);
    let mut parts = Parts::default();
    let mut end = None;
    let mut at = start;
    while let Some((unit, mut count, mut next)) = read_part(at, words, locale) {
        let Some(place) = parts.get_mut(unit).filter(|it| it.is_none()) else { break };
        // "an hour and a half", where no other unit follows.
        let half = skip_and_a_half(next, words).filter(|it| read_part(skip_and(next, words), words, locale).is_none() && it.is_word_end());
        if let Some(half) = half.filter(|_| !count.contains('.')) {
            count.push_str(".5");
            next = half;
        }
        *place = Some(count);
        // "1h30"
        if unit == HOURS_INDEX
            && let Some((minutes, behind)) = read_bare_minutes(next)
        {
            *parts.get_mut(MINUTES_INDEX)? = Some(minutes);
            next = behind;
        }
        end = Some(next);
        at = skip_and(next.skip_optional(".,"), words);
        let article = at.read_row(words.article).map_or(at, |it| it.1.skip_spaces());
        if article.read_row(QUARTERS).is_some() {
            return None;
        }
    }
    if end.is_none() && has_unknown_unit(start, words, locale) {
        // Prevents a partial match further right.
        return Some((parts, start));
    }
    end.map(|end| (parts, end))
}

/// Whether a number with an unknown unit precedes a duration: "2 fortnights 3 days".
fn has_unknown_unit(start: SpanScanner<'_>, words: &LocaleWords, locale: &str) -> bool {
    let Some((_, end)) = read_number(start, locale) else { return false };
    let end = end.skip_spaces().skip_optional("-");
    let Some((_, next)) = end.read_word().filter(|_| end.read_row(LINK_WORDS).is_none()) else { return false };
    read_part(skip_and(next.skip_optional(".,"), words), words, locale).is_some()
}

/// Reads a number and its unit.
fn read_part<'t>(at: SpanScanner<'t>, words: &LocaleWords, locale: &str) -> Option<(usize, String, SpanScanner<'t>)> {
    let (count, end) = read_count(at, words, locale)?;
    let (unit, end) = end.skip_spaces().skip_optional("-").read_row(words.units)?;
    // The digits of the next part may follow without a space.
    let is_end = !end.next_char().is_some_and(char::is_alphabetic);
    is_end.then_some((unit, count, end))
}

fn read_count<'t>(at: SpanScanner<'t>, words: &LocaleWords, locale: &str) -> Parsed<'t, String> {
    let article = |at: SpanScanner<'t>| at.read_row(words.article).map_or(at, |it| it.1.skip_optional("'’").skip_spaces());
    // "half an hour", "eine halbe Stunde"
    if let Some((_, end)) = article(at).read_row(words.half) {
        return Some(("0.5".to_owned(), article(end.skip_optional("'’").skip_spaces())));
    }
    if let Some((count, end)) = read_number(at, locale) {
        // "two and a half hours"
        let Some(half) = skip_and_a_half(end, words).filter(|it| !count.contains('.') && it.skip_spaces().read_row(words.units).is_some())
        else {
            return Some((count, end));
        };
        return Some((count + ".5", half));
    }
    at.read_row(words.article).map(|(_, end)| ("1".to_owned(), end.skip_optional("'’")))
}

fn read_number<'t>(at: SpanScanner<'t>, locale: &str) -> Parsed<'t, String> {
    // Parts may follow each other without spaces: "1h30m".
    if at.previous_char().is_some_and(char::is_alphabetic) && at.read_digits().is_some() {
        return at.read_digits().map(|it| (trim_leading_zeros(it.0), it.1));
    }
    number::read_unsigned(at, locale)
}

/// Skips "and a half".
fn skip_and_a_half<'t>(at: SpanScanner<'t>, words: &LocaleWords) -> Option<SpanScanner<'t>> {
    let (_, and) = at.skip_spaces().read_row(words.and)?;
    let and = and.skip_spaces();
    let article = and.read_row(words.article).map_or(and, |it| it.1.skip_spaces());
    article.read_row(words.half).map(|it| it.1)
}

fn skip_and<'t>(at: SpanScanner<'t>, words: &LocaleWords) -> SpanScanner<'t> {
    let at = at.skip_spaces();
    at.read_row(words.and).map_or(at, |it| it.1.skip_spaces())
}

/// Reads two digits of minutes after hours.
fn read_bare_minutes(at: SpanScanner<'_>) -> Parsed<'_, String> {
    let (minutes, end) = at.skip_spaces().read_digits()?;
    // "2 hours 15 people" has no minutes.
    let is_last = at.read_digits().is_some() || end.skip_spaces().read_word().is_none();
    let is_bare = is_last && end.is_word_end() && !end.is_number_continued() && minutes.len() == 2 && minutes < "60";
    is_bare.then(|| (trim_leading_zeros(minutes), end))
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn durations_are_found() {
        for (text, locale, expected) in [
            ("90 minutes", "en", "PT90M"),
            ("2 days", "en", "P2D"),
            ("two weeks", "en", "P2W"),
            ("1h30", "en", "PT1H30M"),
            ("1h30m", "en", "PT1H30M"),
            ("1h 30m", "en", "PT1H30M"),
            ("1h05", "fr", "PT1H5M"),
            ("1h 30", "en", "PT1H30M"),
            ("2 hours 15 people", "en", "PT2H"),
            ("1 Std. 30 Min.", "de", "PT1H30M"),
            ("1 h 30 min", "fr", "PT1H30M"),
            ("2h", "en", "PT2H"),
            ("45s", "en", "PT45S"),
            ("1 hour and 15 minutes", "en", "PT1H15M"),
            ("30 minutes, 1 hour", "en", "PT1H30M"),
            ("about 3 days, 4 hours, please", "en", "P3DT4H"),
            ("1 year 2 months", "en", "P1Y2M"),
            ("an hour", "en", "PT1H"),
            ("half an hour", "en", "PT0.5H"),
            ("an hour and a half", "en", "PT1.5H"),
            ("two and a half hours", "en", "PT2.5H"),
            ("1.5 hours", "en", "PT1.5H"),
            ("1,5 Stunden", "de", "PT1.5H"),
            ("an hour and a minute", "en", "PT1H1M"),
            ("a 10-minute walk", "en", "PT10M"),
            ("1,000 days", "en", "P1000D"),
            ("0 minutes", "en", "PT0M"),
            ("3 Tage und 2 Stunden", "de", "P3DT2H"),
            ("eine halbe Stunde", "de", "PT0.5H"),
            ("eine Woche", "de", "P1W"),
            ("2 horas y media", "es", "PT2.5H"),
            ("media hora", "es", "PT0.5H"),
            ("tres", "es", ""),
            ("3 días", "es", "P3D"),
            ("une heure et demie", "fr", "PT1.5H"),
            ("une demi-heure", "fr", "PT0.5H"),
            ("un'ora", "it", "PT1H"),
            ("mezz'ora", "it", "PT0.5H"),
            ("2 ore e 10 minuti", "it", "PT2H10M"),
            ("meia hora", "pt", "PT0.5H"),
            ("2 semanas", "pt", "P2W"),
            ("een half uur", "nl", "PT0.5H"),
            ("3 weken", "nl", "P3W"),
            ("zweieinhalb Stunden", "de", ""),
            ("einundzwanzig Tage", "de", "P21D"),
            ("treinta y un días", "es", "P31D"),
            ("une heure", "fr", "PT1H"),
            ("quatre-vingt-dix minutes", "fr", "PT90M"),
            ("दो घंटे और 30 मिनट", "hi", "PT2H30M"),
            ("आधा घंटा", "hi", "PT0.5H"),
            ("कमरा 5 में 3 दिन", "hi", "P3D"),
            ("P1DT2H", "en", "P1DT2H"),
            ("pt90m", "en", "PT90M"),
            ("P2W", "de", "P2W"),
            ("P1Y2M3DT4H5M6S", "en", "P1Y2M3DT4H5M6S"),
            ("P1M", "en", "P1M"),
            ("PT1.5H", "en", "PT1.5H"),
            ("PT1,5H", "en", "PT1.5H"),
            ("P01D", "en", "P1D"),
            ("1w", "en", "P1W"),
            ("3w 2d", "en-US", "P3W2D"),
            ("1w2d", "en", "P1W2D"),
            ("2W 1T", "de", "P2W"),
            ("5 or 6 days", "en", "P6D"),
            ("room 5 for 3 days", "en", "P3D"),
            ("Zimmer 5 für 3 Tage", "de", "P3D"),
            ("5 people", "en", ""),
        ] {
            assert_eq!(find(text, locale).map(|it| it.0).unwrap_or_default(), expected, "{text} {locale}");
        }
    }

    #[test]
    fn other_texts_are_not_durations() {
        for text in [
            "",
            "soon",
            "5",
            "minutes",
            "-5 minutes",
            "5 apples",
            "P",
            "PT",
            "P1",
            "P1DT",
            "1.5 hours 30 minutes",
            "PT1.5H30M",
            "A1h",
            "1:30",
            "5 minutest",
            "P1H",
            "PT1D",
            "an apple",
            "3/4 hours",
            "three quarters of an hour",
            "an hour and a quarter",
            "P1D2D",
            "3x 2d",
            "3 fortnights 2 days",
            "one fortnight and 2 days",
            "1 sol, 4 hours 5 minutes",
        ] {
            assert_eq!(find(text, "en"), None, "{text}");
        }
    }

    #[test]
    fn a_whole_text_is_distinguished_from_a_part() {
        for (text, whole) in [("90 minutes", true), ("PT90M", true), ("in 90 minutes", false), ("90 minutes!", false), ("1h30", true)] {
            assert_eq!(find(text, "en").map(|it| it.1), Some(whole), "{text}");
        }
    }
}
