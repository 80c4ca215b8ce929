//! `@date`: days in digits and in words, by the conventions of the locale.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::locale::{LocaleWords, language, region, words_of_locale};
use super::scanner::{Parsed, SpanScanner, find_each, find_first};
use super::{ExtractionContext, number};
use crate::text::date::Date;

const DAY_MS: i64 = 86_400_000;

/// Ordinal suffixes of days.
const ORDINALS: &str = "st,nd,rd,th,er,e,o,a,º,ª";

/// The day and locale that dates are relative to.
struct DateContext<'s> {
    /// Days since 1970.
    today: i64,
    locale: &'s str,
    time_zone: &'s str,
    words: &'static LocaleWords,
}

/// Returns the first day of a text in ISO 8601, and whether it is the whole text.
pub(super) fn find(text: &str, context: ExtractionContext<'_>) -> Option<(String, bool)> {
    let dates = DateContext::new(context);
    find_first(text, |start| dates.read_day(start))
}

/// Returns the days of a text with their places.
pub(super) fn find_all(text: &str, context: ExtractionContext<'_>) -> Vec<(String, Range<usize>)> {
    let dates = DateContext::new(context);
    find_each(text, |start| dates.read_day(start))
}

impl<'s> DateContext<'s> {
    fn new(context: ExtractionContext<'s>) -> DateContext<'s> {
        let today = Date::in_zone(context.now, context.time_zone).days_since_epoch();
        let ExtractionContext { locale, time_zone, .. } = context;
        DateContext { today, locale, time_zone, words: words_of_locale(locale) }
    }

    /// Reads a day in ISO 8601.
    fn read_day<'t>(&self, start: SpanScanner<'t>) -> Parsed<'t, String> {
        let found = if start.read_digits().is_some() { self.read_from_digits(start) } else { self.read_from_words(start) };
        let (day, end) = found.filter(|it| it.1.is_word_end())?;
        let date = Date::from_millis(day.checked_mul(DAY_MS)?);
        (1..=9999).contains(&date.year).then(|| (date.to_day_string(), end))
    }

    fn read_from_digits<'t>(&self, start: SpanScanner<'t>) -> Parsed<'t, i64> {
        let start = Some(start).filter(|it| !it.is_within_number())?;
        self.read_calendar(start).or_else(|| self.read_from_now(start))
    }

    fn read_from_words<'t>(&self, start: SpanScanner<'t>) -> Parsed<'t, i64> {
        start.next_char().filter(|it| it.is_alphabetic())?;
        self.read_relative(start)
            .or_else(|| self.read_calendar(start))
            .or_else(|| self.read_in_offset(start))
            .or_else(|| self.read_from_now(start))
    }

    /// Reads a calendar date.
    fn read_calendar<'t>(&self, start: SpanScanner<'t>) -> Parsed<'t, i64> {
        if start.read_digits().is_none() {
            return self.read_month_and_day(start);
        }
        self.read_iso(start).or_else(|| self.read_numeric(start)).or_else(|| self.read_day_and_month(start))
    }

    /// Reads `2026-03-05`, with or without a time. A time in UTC is on the day that it has in the time zone.
    fn read_iso<'t>(&self, start: SpanScanner<'t>) -> Parsed<'t, i64> {
        let (year, digits, next) = read_year(start)?;
        let sign = ["-", "/", "."].into_iter().find(|it| digits == 4 && next.eat(it).is_some())?;
        let (month, next) = next.eat(sign)?.read_number(2)?;
        let (day, end) = next.eat(sign)?.read_number(2)?;
        let is_whole = !end.is_number_continued();
        let time = end.eat("T").filter(|it| it.read_digits().is_some());
        let time = time.map(|it| it.skip(it.rest().bytes().take_while(|it| it.is_ascii_digit() || b":.,Z+-".contains(it)).count()));
        let end = time.unwrap_or(end);
        let text = start.rest().get(..start.rest().len() - end.rest().len())?;
        let in_zone = Date::parse_in_zone(text, self.time_zone).filter(|_| text.ends_with('Z'));
        let day = in_zone.map_or_else(|| days_since_epoch(year, month, day), |it| Some(it.days_since_epoch()))?;
        is_whole.then_some((day, end))
    }

    /// Reads `3/4`, `3.4.2026` or `3-4-26`.
    fn read_numeric<'t>(&self, start: SpanScanner<'t>) -> Parsed<'t, i64> {
        let (one, next) = start.read_number(2)?;
        let sign = next.next_char().filter(|it| "/.-".contains(*it))?;
        let sign = sign.encode_utf8(&mut [0; 4]).to_owned();
        let (two, end) = next.eat(&sign)?.read_number(2)?;
        let (month, day) = if self.is_month_first() { (one, two) } else { (two, one) };
        if let Some((year, digits, end)) = end.eat(&sign).and_then(read_year) {
            return (digits != 3 && !end.is_number_continued()).then_some((days_since_epoch(year, month, day)?, end));
        }
        // Without a year, points could be a number and hyphens a range.
        let end = match sign.as_str() {
            "/" => end,
            "." if !number::has_decimal_point(self.locale) => end.skip_optional("."),
            _ => return None,
        };
        (!end.is_number_continued()).then_some((self.next_occurrence(month, day)?, end))
    }

    fn is_month_first(&self) -> bool {
        language(self.locale) == "en" && matches!(region(self.locale).as_str(), "" | "US" | "PH")
    }

    /// Reads `5 March`, `5th of March 2027` or `5. März`.
    fn read_day_and_month<'t>(&self, start: SpanScanner<'t>) -> Parsed<'t, i64> {
        let (day, end) = read_day(start)?;
        let end = skip_gap(end.skip_optional("."));
        let end = if self.words.before_month.is_empty() {
            end
        } else {
            end.skip_words(self.words.before_month).map_or(end, SpanScanner::skip_spaces)
        };
        let (month, end) = self.read_month(end)?;
        self.read_optional_year(month, day, end)
    }

    /// Reads `March 5` or `Mar. 5th, 2027`.
    fn read_month_and_day<'t>(&self, start: SpanScanner<'t>) -> Parsed<'t, i64> {
        let (month, end) = self.read_month(start)?;
        let (day, end) = read_day(skip_gap(end.skip_optional(".")))?;
        (!end.is_number_continued()).then_some(())?;
        self.read_optional_year(month, day, end)
    }

    fn read_month<'t>(&self, at: SpanScanner<'t>) -> Parsed<'t, i64> {
        if let Some((index, end)) = at.read_row(self.words.months) {
            return Some((index as i64 + 1, end));
        }
        let (word, end) = at.read_word()?;
        let mut matching = self.words.months.split('|').enumerate().filter(|it| word.chars().count() >= 3 && it.1.starts_with(&word));
        let month = matching.next()?.0 as i64 + 1;
        matching.next().is_none().then_some((month, end))
    }

    /// Reads an optional year after day and month.
    fn read_optional_year<'t>(&self, month: i64, day: i64, end: SpanScanner<'t>) -> Parsed<'t, i64> {
        let behind = skip_gap(end.skip_optional(".").skip_optional(","));
        let behind = ["de", "del"].iter().find_map(|it| behind.skip_words(it)).map_or(behind, SpanScanner::skip_spaces);
        match read_year(behind).filter(|it| it.1 == 4 && it.2.is_word_end() && !it.2.is_number_continued()) {
            Some((year, _, end)) => Some((days_since_epoch(year, month, day)?, end)),
            None => Some((self.next_occurrence(month, day)?, end)),
        }
    }

    /// Returns the next occurrence of a day, including today.
    fn next_occurrence(&self, month: i64, day: i64) -> Option<i64> {
        let year = Date::from_millis(self.today.checked_mul(DAY_MS)?).year;
        // February 29 may be eight years away.
        (year..=year + 8).filter_map(|it| days_since_epoch(it, month, day)).find(|it| *it >= self.today)
    }

    /// Reads `tomorrow` or `Friday`.
    fn read_relative<'t>(&self, start: SpanScanner<'t>) -> Parsed<'t, i64> {
        let before = start.previous_word();
        if !before.is_empty() && self.words.before_other_day.split(',').any(|it| it == before) {
            return None;
        }
        // Relative days first, because they may be longer phrases.
        if let Some((index, end)) = start.read_row(self.words.days) {
            return Some((self.today + [0, 1, -1, 2].get(index)?, end));
        }
        let (weekday, end) = start.read_row(self.words.weekdays)?;
        // 1970-01-01 was a Thursday.
        let ahead = (weekday as i64 - (self.today + 3)).rem_euclid(7);
        // "Wednesday, March 5": the date is more exact than the weekday.
        let behind = end.skip_optional(".,").skip_spaces();
        let behind = behind.read_row("the,den,dem,el,le,il,o").map_or(behind, |it| it.1.skip_spaces());
        if let Some(found) = self.read_calendar(behind) {
            return Some(found);
        }
        let is_gone = end.skip_spaces().read_row(self.words.after_past_day).is_some();
        (!is_gone).then_some((self.today + if ahead == 0 { 7 } else { ahead }, end))
    }

    /// Reads `in 3 weeks`.
    fn read_in_offset<'t>(&self, start: SpanScanner<'t>) -> Parsed<'t, i64> {
        let (_, end) = start.read_row(self.words.before_offset)?;
        self.read_offset(end.skip_spaces())
    }

    /// Reads `3 weeks from now`.
    fn read_from_now<'t>(&self, start: SpanScanner<'t>) -> Parsed<'t, i64> {
        let (day, end) = self.read_offset(start)?;
        Some((day, end.skip_spaces().read_row(self.words.after_offset)?.1))
    }

    /// Reads an offset from today in days, weeks, months or years.
    fn read_offset<'t>(&self, at: SpanScanner<'t>) -> Parsed<'t, i64> {
        let counted = number::read_unsigned(at, self.locale).and_then(|(count, end)| Some((count.parse::<i64>().ok()?, end)));
        let (count, end) = counted.or_else(|| at.read_row(self.words.article).map(|it| (1, it.1)))?;
        let (unit, end) = end.skip_spaces().read_row(self.words.units)?;
        let count = Some(count).filter(|it| *it <= 4_000_000)?;
        let day = match unit {
            0 => self.add_months(count * 12)?,
            1 => self.add_months(count)?,
            2 => self.today + count * 7,
            3 => self.today + count,
            _ => return None,
        };
        Some((day, end))
    }

    /// Returns the same day of a later month, or the last day of that month.
    fn add_months(&self, count: i64) -> Option<i64> {
        let today = Date::from_millis(self.today.checked_mul(DAY_MS)?);
        let months = today.year * 12 + today.month - 1 + count;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        (28..=today.day).rev().chain([today.day]).find_map(|day| days_since_epoch(year, month, day))
    }
}

/// Reads a year. Returns it, the number of its digits, and the position after it.
fn read_year(at: SpanScanner<'_>) -> Option<(i64, usize, SpanScanner<'_>)> {
    let (year, end) = at.read_number(4)?;
    let digits = at.rest().len() - end.rest().len();
    let century = if digits > 2 {
        0
    } else if year < 70 {
        2000
    } else {
        1900
    };
    (digits >= 2).then_some((year + century, digits, end))
}

/// Reads the number of a day, such as `5` or `5th`.
fn read_day(at: SpanScanner<'_>) -> Parsed<'_, i64> {
    let (day, end) = at.read_number(2)?;
    let ordinal = end.eat("ºª").or_else(|| end.read_row(ORDINALS).map(|it| it.1));
    let end = ordinal.unwrap_or(end);
    end.is_word_end().then_some((day, end))
}

/// Skips white space or a hyphen.
fn skip_gap(at: SpanScanner<'_>) -> SpanScanner<'_> {
    let spaces = at.skip_spaces();
    if spaces.rest().len() == at.rest().len() { at.skip_optional("-") } else { spaces }
}

/// Days since 1970-01-01; `None` when the day does not exist.
fn days_since_epoch(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days).contains(&day) || !(1..=9999).contains(&year) {
        return None;
    }
    // Years start in March, so that the leap day is the last day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    Some(365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468)
}
