//! `@duration`: durations in words and in ISO 8601.

use super::locale::{Words, words};
use super::number;
use super::span::{Read, Scan, first};

/// ISO 8601 designators of years, months, weeks, days, hours, minutes and seconds.
const LETTERS: [&str; 7] = ["Y", "M", "W", "D", "H", "M", "S"];

/// Index of hours; time designators start here.
const HOURS: usize = 4;
/// Index of minutes.
const MINUTES: usize = 5;

/// Fractions that are not supported.
const QUARTERS: &str = "quarter,quart,cuarto,quarto,kwartier,kwart,viertel";

/// Words that may follow an unrelated number and are not units: "5 or 6 days".
const LINKS: &str = "for,in,of,or,to,and,at,on,is,with,after,until,plus,fur,oder,bis,und,mit,nach,por,para,en,de,o,y,pour,ou,dans,et,pendant,\
                     per,da,e,em,voor,tot,met";

/// The count of each unit, as decimal text.
type Parts = [Option<String>; 7];

/// Returns the first duration of a text in ISO 8601, and whether it is the whole text.
pub(super) fn find(text: &str, locale: &str) -> Option<(String, bool)> {
    let (parts, whole) = first(text, |start| iso(start).or_else(|| spoken(start, locale)))?;
    Some((written(&parts)?, whole))
}

/// Formats the parts as ISO 8601; `None` when there are none, or when any but the last has decimals.
fn written(parts: &Parts) -> Option<String> {
    let mut text = String::from("P");
    for (index, (part, letter)) in parts.iter().zip(LETTERS).enumerate() {
        let Some(part) = part else { continue };
        if text.contains('.') {
            return None;
        }
        if index >= HOURS && !text.contains('T') {
            text.push('T');
        }
        text.push_str(part);
        text.push_str(letter);
    }
    // Rejected texts have no parts.
    (text.len() > 1).then_some(text)
}

fn iso(start: Scan<'_>) -> Read<'_, Parts> {
    let mut parts = Parts::default();
    let mut at = start.eat("pP")?;
    let mut next_unit = 0;
    loop {
        if let Some(time) = at.eat("tT").filter(|_| next_unit <= HOURS) {
            (at, next_unit) = (time, HOURS);
            // `T` requires a part.
            time.digits()?;
        }
        let Some((whole, mut end)) = at.digits() else { break };
        let mut part = plain(whole);
        if let Some((decimals, next)) = end.eat(".,").and_then(Scan::digits) {
            part.push('.');
            part.push_str(decimals);
            end = next;
        }
        let last = if next_unit < HOURS { HOURS } else { LETTERS.len() };
        let units = LETTERS.iter().enumerate().take(last).skip(next_unit);
        let (unit, next) = units.into_iter().find_map(|(unit, letter)| Some((unit, end.eat_text(letter)?)))?;
        *parts.get_mut(unit)? = Some(part);
        (at, next_unit) = (next, unit + 1);
    }
    (parts.iter().any(Option::is_some) && at.ends()).then_some((parts, at))
}

/// Removes leading zeros.
fn plain(digits: &str) -> String {
    let short = digits.trim_start_matches('0');
    if short.is_empty() { "0" } else { short }.to_owned()
}

fn spoken<'t>(start: Scan<'t>, locale: &str) -> Read<'t, Parts> {
    // Durations are not negative.
    let before = start.past().strip_suffix(['-', '−']);
    // "three quarters of an hour"
    if before.is_some_and(|it| !it.ends_with(char::is_alphanumeric)) || start.word_before() == "of" {
        return None;
    }
    let words = words(locale);
    let mut parts = Parts::default();
    let mut end = None;
    let mut at = start;
    while let Some((unit, mut count, mut next)) = part(at, words, locale) {
        let Some(place) = parts.get_mut(unit).filter(|it| it.is_none()) else { break };
        // "an hour and a half", where no other unit follows.
        let half = half(next, words).filter(|it| part(after_and(next, words), words, locale).is_none() && it.ends());
        if let Some(half) = half.filter(|_| !count.contains('.')) {
            count.push_str(".5");
            next = half;
        }
        *place = Some(count);
        // "1h30"
        if unit == HOURS
            && let Some((minutes, behind)) = bare_minutes(next)
        {
            *parts.get_mut(MINUTES)? = Some(minutes);
            next = behind;
        }
        end = Some(next);
        at = after_and(next.past_any(".,"), words);
        let article = at.row(words.article).map_or(at, |it| it.1.spaces());
        if article.row(QUARTERS).is_some() {
            return None;
        }
    }
    if end.is_none() && is_unread(start, words, locale) {
        // Prevents a partial match further right.
        return Some((parts, start));
    }
    end.map(|end| (parts, end))
}

/// Whether a number with an unknown unit precedes a duration: "2 fortnights 3 days".
fn is_unread(start: Scan<'_>, words: &Words, locale: &str) -> bool {
    let Some((_, end)) = digits(start, locale) else { return false };
    let end = end.spaces().past_any("-");
    let Some((_, next)) = end.word().filter(|_| end.row(LINKS).is_none()) else { return false };
    part(after_and(next.past_any(".,"), words), words, locale).is_some()
}

/// Reads a number and its unit.
fn part<'t>(at: Scan<'t>, words: &Words, locale: &str) -> Option<(usize, String, Scan<'t>)> {
    let (count, end) = count(at, words, locale)?;
    let (unit, end) = end.spaces().past_any("-").row(words.units)?;
    // The digits of the next part may follow without a space.
    let is_end = !end.next().is_some_and(char::is_alphabetic);
    is_end.then_some((unit, count, end))
}

fn count<'t>(at: Scan<'t>, words: &Words, locale: &str) -> Read<'t, String> {
    let article = |at: Scan<'t>| at.row(words.article).map_or(at, |it| it.1.past_any("'’").spaces());
    // "half an hour", "eine halbe Stunde"
    if let Some((_, end)) = article(at).row(words.half) {
        return Some(("0.5".to_owned(), article(end.past_any("'’").spaces())));
    }
    if let Some((count, end)) = digits(at, locale) {
        // "two and a half hours"
        let Some(half) = half(end, words).filter(|it| !count.contains('.') && it.spaces().row(words.units).is_some()) else {
            return Some((count, end));
        };
        return Some((count + ".5", half));
    }
    at.row(words.article).map(|(_, end)| ("1".to_owned(), end.past_any("'’")))
}

fn digits<'t>(at: Scan<'t>, locale: &str) -> Read<'t, String> {
    // Parts may follow each other without spaces: "1h30m".
    if at.before().is_some_and(char::is_alphabetic) && at.digits().is_some() {
        return at.digits().map(|it| (plain(it.0), it.1));
    }
    number::amount(at, locale)
}

/// Skips "and a half".
fn half<'t>(at: Scan<'t>, words: &Words) -> Option<Scan<'t>> {
    let (_, and) = at.spaces().row(words.and)?;
    let and = and.spaces();
    let article = and.row(words.article).map_or(and, |it| it.1.spaces());
    article.row(words.half).map(|it| it.1)
}

fn after_and<'t>(at: Scan<'t>, words: &Words) -> Scan<'t> {
    let at = at.spaces();
    at.row(words.and).map_or(at, |it| it.1.spaces())
}

/// Reads two digits of minutes after hours.
fn bare_minutes(at: Scan<'_>) -> Read<'_, String> {
    let (minutes, end) = at.spaces().digits()?;
    // "2 hours 15 people" has no minutes.
    let is_last = at.digits().is_some() || end.spaces().word().is_none();
    let is_bare = is_last && end.ends() && !end.goes_on() && minutes.len() == 2 && minutes < "60";
    is_bare.then(|| (plain(minutes), end))
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn spans_are_found() {
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
    fn what_is_no_span_is_not_one() {
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
    fn a_whole_text_is_told_from_a_part() {
        for (text, whole) in [("90 minutes", true), ("PT90M", true), ("in 90 minutes", false), ("90 minutes!", false), ("1h30", true)] {
            assert_eq!(find(text, "en").map(|it| it.1), Some(whole), "{text}");
        }
    }
}
