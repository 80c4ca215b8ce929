//! Days in digits, such as `5.3.2027`. What words say of days is in `language` (patterns) and `meaning` (the day).

use jiff::civil::Date;

use crate::calendar::{self, full_year};
use crate::input::Input;
use crate::meaning::Meaning;
use crate::token::{Token, TokenKind, is_continued};

/// Regions of English in which the month stands before the day.
const MONTH_FIRST_REGIONS: [&str; 3] = ["", "US", "PH"];

/// Languages that write days with points and no slashes.
const POINT_LANGUAGES: [&str; 1] = ["de"];
/// Languages in which a point between two numbers is that of a time: Dutch `19.30`.
const POINT_TIME_LANGUAGES: [&str; 1] = ["nl"];

/// Days in digits that begin at a token: `2026-03-05`, `3/4`, `3.4.2026`, `3-4-26`.
pub(crate) fn read_digits(input: &Input, at: usize) -> Option<(usize, Meaning)> {
    let (end, day) = read_whole(input, at).or_else(|| read_day_and_month(input, at))?;
    // What goes on is something else: a version, an id.
    (!is_continued(&input.tokens, end, "./-")).then_some((end, Meaning::Date(day)))
}

fn digits(input: &Input, at: usize, is_glued: bool) -> Option<&str> {
    let token = input.tokens.get(at).filter(|token| token.kind == TokenKind::Digits && !(is_glued && token.is_spaced))?;
    Some(&token.text)
}

fn sign(input: &Input, at: usize, signs: &str) -> Option<char> {
    input.tokens.get(at).and_then(Token::glued_sign).filter(|it| signs.contains(*it))
}

fn read_whole(input: &Input, at: usize) -> Option<(usize, Date)> {
    let one = digits(input, at, false)?;
    let mark = sign(input, at + 1, "/.-")?;
    let two = digits(input, at + 2, mark != '.')?;
    sign(input, at + 3, "/.-").filter(|it| *it == mark)?;
    // "6.2. 18 Uhr" has no year.
    let three = digits(input, at + 4, mark != '.')?;
    if three.len() < 4 && input.tokens.get(at + 4).is_some_and(|it| it.is_spaced) {
        return None;
    }
    let number = |digits: &str| digits.parse::<i64>().ok();
    let (first, second, third) = (number(one)?, number(two)?, number(three)?);
    let day = match (one.len(), two.len(), three.len()) {
        (4, 1..=2, 1..=2) => calendar::day(first, second, third),
        (1..=2, 1..=2, 4) => ordered(input, first, second, |day, month| calendar::day(third, month, day)),
        (1..=2, 1..=2, 2) => ordered(input, first, second, |day, month| calendar::day(full_year(third), month, day)),
        _ => None,
    };
    Some((at + 5, day?))
}

fn read_day_and_month(input: &Input, at: usize) -> Option<(usize, Date)> {
    let one = digits(input, at, false).filter(|text| text.len() <= 2)?;
    let mark = sign(input, at + 1, "/.")?;
    let two = digits(input, at + 2, true).filter(|text| text.len() <= 2)?;
    let (first, second): (i64, i64) = (one.parse().ok()?, two.parse().ok()?);
    let point = sign(input, at + 3, ".")
        .is_some_and(|_| input.tokens.get(at + 4).is_none_or(|token| token.is_spaced || token.kind != TokenKind::Digits));
    // A point may be a decimal mark.
    // "10.30" is a time, and "09/27" the month and the year of a card.
    if second > 12 && (mark == '.' || one.len() == 2 && &*input.meanings.language != "en" && first <= 12) {
        return None;
    }
    let end = match mark {
        // "3/4" is a fraction where days are written with points.
        '/' if POINT_LANGUAGES.contains(&&*input.meanings.language) => return None,
        '/' => at + 3,
        _ if input.meanings.marks.decimal == '.' => return None,
        _ if POINT_TIME_LANGUAGES.contains(&&*input.meanings.language) => return None,
        _ => at + 3 + usize::from(point),
    };
    Some((end, ordered(input, first, second, |day, month| input.meanings.yearly_day(month, day))?))
}

/// Reads day and month in the order of the locale, or in the other one where only it is a day.
fn ordered(input: &Input, first: i64, second: i64, day: impl Fn(i64, i64) -> Option<Date>) -> Option<Date> {
    let is_month_first = &*input.meanings.language == "en" && MONTH_FIRST_REGIONS.contains(&&*input.meanings.region);
    let (usual, other) = if is_month_first { ((second, first), (first, second)) } else { ((first, second), (second, first)) };
    day(usual.0, usual.1).or_else(|| (other.1 <= 12 && usual.1 > 12).then(|| day(other.0, other.1)).flatten())
}

/// A moment in ISO 8601 without a zone that begins at a token: `2026-03-05T10:00`.
pub(crate) fn read_iso_moment(input: &Input, at: usize) -> Option<(usize, jiff::civil::DateTime)> {
    let number = |at: usize, length: usize| digits(input, at, false).filter(|text| text.len() == length)?.parse::<i64>().ok();
    let (year, month, day) = (number(at, 4)?, number(at + 2, 2)?, number(at + 4, 2)?);
    sign(input, at + 1, "-").and(sign(input, at + 3, "-"))?;
    input.tokens.get(at + 5).filter(|token| token.text == "t" && !token.is_spaced)?;
    let (hour, minute) = (number(at + 6, 2)?, number(at + 8, 2)?);
    sign(input, at + 7, ":")?;
    let second = sign(input, at + 9, ":").and_then(|_| number(at + 10, 2));
    let end = if second.is_some() { at + 11 } else { at + 9 };
    let time = calendar::time(hour, minute, second.unwrap_or(0))?;
    Some((end, calendar::day(year, month, day)?.to_datetime(time)))
}
