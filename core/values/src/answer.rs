//! Answers that say little because the question says the rest: "four" for a time, "Thu" for a day.

use serde_json::Value;

use crate::compiled_language::language_of;
use crate::context::Context;
use crate::kind::Kind;
use crate::language::answer_words::{AnswerWords, answer_words};
use crate::parse::{read, read_whole};
use crate::phrases::read_phrase;
use crate::token::{Token, TokenKind, split_tokens, token_before};

/// How many tokens an answer has that says nothing else.
const MAX_TOKENS: usize = 8;

/// Up to which number an ordinal in words may count what was offered: "the third".
const MAX_OFFERED: i64 = 5;

/// Reads a text that is the whole answer to a question for a day or a time, where fewer words say one than elsewhere: "four", "16", "Thu",
/// "den zwölften". It is for texts in which [`read`] finds nothing; other kinds have no such answers.
pub fn read_answer(kind: Kind, text: &str, context: &Context<'_>) -> Option<Value> {
    let words = answer_words(language_of(context.locale).language.code);
    let tokens = split_tokens(text);
    if tokens.len() > MAX_TOKENS {
        return None;
    }
    let tokens = without_fillers(&tokens, words);
    let answer = text.get(tokens.first()?.range.start..tokens.last()?.range.end)?;
    match kind {
        Kind::Time if read_phrase(tokens, words.noon, 0) == Some(tokens.len()) => Some("12:00".into()),
        Kind::Time => read_hour(tokens, answer, words, context),
        Kind::Date => read_weekday(tokens, words, context).or_else(|| read_day(tokens, text, answer, words, context)),
        _ => None,
    }
}

/// The tokens of an answer without fillers and the signs at its end. A point behind digits makes an ordinal of them, and stays.
fn without_fillers<'t>(tokens: &'t [Token], words: &AnswerWords) -> &'t [Token] {
    let mut rest = tokens;
    while let Some(next) = read_phrase(rest, words.fillers, 0) {
        rest = rest.get(next..).unwrap_or_default();
    }
    loop {
        let end = rest.len();
        let is_after_digits = token_before(rest, end.saturating_sub(1)).is_some_and(|it| it.kind == TokenKind::Digits);
        let last = rest.last();
        if last.is_some_and(|it| it.is_sign_of("!?,;।") || it.is_sign_of(".") && !is_after_digits) {
            rest = rest.get(..end.saturating_sub(1)).unwrap_or_default();
            continue;
        }
        // The longest filler that ends here.
        let begin = (0..end).find(|from| read_phrase(rest, words.fillers, *from) == Some(end));
        match begin {
            Some(begin) => rest = rest.get(..begin).unwrap_or_default(),
            None => return rest,
        }
    }
}

/// Reads what is an hour, perhaps with minutes, behind the word for "at".
fn read_hour(tokens: &[Token], answer: &str, words: &AnswerWords, context: &Context<'_>) -> Option<Value> {
    if let [only] = tokens
        && only.kind == TokenKind::Digits
        && !only.text.parse::<u8>().is_ok_and(|hour| (1..24).contains(&hour))
    {
        return None;
    }
    let (before, behind) = words.hour;
    read_framed(Kind::Time, before, answer, behind, context)
}

/// Reads the short name of a weekday.
fn read_weekday(tokens: &[Token], words: &AnswerWords, context: &Context<'_>) -> Option<Value> {
    let (first, rest) = tokens.split_first()?;
    let is_alone = rest.iter().all(|it| it.glued_sign() == Some('.'));
    let is_name = |short: &str| {
        let needs_capital = short.starts_with(char::is_uppercase);
        short.to_lowercase() == first.text && (first.is_upper || !needs_capital)
    };
    let weekday = words.weekdays.iter().find(|(short, _)| short.split('|').any(is_name)).filter(|_| is_alone)?;
    read_whole(Kind::Date, weekday.1, context)
}

/// Reads an ordinal that is the day of a month: "den zwölften", "the 12th", in German "12.".
fn read_day(tokens: &[Token], text: &str, answer: &str, words: &AnswerWords, context: &Context<'_>) -> Option<Value> {
    if words.day.is_empty() {
        return None;
    }
    let begin = read_phrase(tokens, words.articles, 0).unwrap_or_default();
    let first = tokens.get(begin)?;
    let day = text.get(first.range.start..tokens.last()?.range.end)?;
    if first.kind == TokenKind::Digits {
        let ordinal = read_whole(Kind::Ordinal, day, context).or_else(|| {
            // In German the point makes an ordinal, behind an article.
            let (article, _) = words.articles.split_once('|')?;
            read_whole(Kind::Ordinal, &format!("{article} {day}"), context)
        });
        ordinal?;
    } else {
        // "Twelfth" alone may be a place in a row, and so is "the third" of what was offered.
        let ordinal = read_whole(Kind::Ordinal, day, context).filter(|_| answer.len() > day.len());
        ordinal.and_then(|it| it.as_i64()).filter(|it| *it > MAX_OFFERED)?;
    }
    read_framed(Kind::Date, words.day, day, "", context)
}

/// Reads an answer with the words that stand around such a value in a sentence.
fn read_framed(kind: Kind, before: &str, answer: &str, behind: &str, context: &Context<'_>) -> Option<Value> {
    let text = format!("{before}{answer}{behind}");
    let first = read(kind, &text, context).into_iter().next()?;
    (first.range.start <= before.len() && first.range.end == text.len()).then_some(first.value)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::context::Direction;

    fn answer(kind: Kind, locale: &str, text: &str) -> Option<String> {
        // A Wednesday.
        let now = date(2026, 1, 28).at(12, 0, 0, 0);
        let value = read_answer(kind, text, &Context { locale, now, direction: Direction::Future })?;
        value.as_str().map(str::to_owned)
    }

    #[test]
    fn an_hour_alone_answers_a_question_for_a_time() {
        for (locale, text, expected) in [
            ("en", "four", Some("04:00")),
            ("en", "16", Some("16:00")),
            ("en", "Four, please.", Some("04:00")),
            ("de", "vier", Some("04:00")),
            ("de", "16", Some("16:00")),
            ("de", "vier bitte", Some("04:00")),
            ("de", "16.30", Some("16:30")),
            ("de", "mittags", Some("12:00")),
            ("de", "am Mittag", Some("12:00")),
            ("es", "cuatro", Some("04:00")),
            ("es", "las 4", Some("04:00")),
            ("es", "16, por favor", Some("16:00")),
            ("fr", "quatre", Some("04:00")),
            ("fr", "seize", Some("16:00")),
            ("it", "quattro", Some("04:00")),
            ("it", "16", Some("16:00")),
            ("pt", "quatro", Some("04:00")),
            ("nl", "vier", Some("04:00")),
            ("nl", "16 graag", Some("16:00")),
            ("hi", "चार", Some("04:00")),
            ("hi", "साढ़े तीन", Some("03:30")),
            ("en", "4 people", None),
            ("en", "25", None),
            ("en", "0", None),
            ("en", "4 or 5", None),
            ("en", "not four", None),
            ("en", "#4", None),
            ("en", "please", None),
            ("en", "", None),
            ("de", "vier Personen", None),
            ("de", "zwei Wochen", None),
            ("de", "4-5", None),
            ("de", "4.", None),
            ("de", "morgens", None),
            ("de", "vor Mittag", None),
            ("fr", "quatre personnes", None),
            ("hi", "चार लोग", None),
        ] {
            assert_eq!(answer(Kind::Time, locale, text).as_deref(), expected, "{locale}: {text}");
        }
    }

    #[test]
    fn a_short_name_or_an_ordinal_answers_a_question_for_a_day() {
        for (locale, text, expected) in [
            ("en", "Sat", Some("2026-01-31")),
            ("en", "mon please", Some("2026-02-02")),
            ("en", "the twelfth", Some("2026-02-12")),
            ("en", "12th", Some("2026-02-12")),
            ("de", "Do", Some("2026-01-29")),
            ("de", "do.", Some("2026-01-29")),
            ("de", "Sa bitte", Some("2026-01-31")),
            ("de", "So", Some("2026-02-01")),
            ("de", "den zwölften", Some("2026-02-12")),
            ("de", "der 12.", Some("2026-02-12")),
            ("de", "12.", Some("2026-02-12")),
            ("es", "jue", Some("2026-01-29")),
            ("es", "mié.", Some("2026-02-04")),
            ("fr", "jeu.", Some("2026-01-29")),
            ("it", "gio", Some("2026-01-29")),
            ("pt", "ter", Some("2026-02-03")),
            ("nl", "do", Some("2026-01-29")),
            ("hi", "शुक्र", Some("2026-01-30")),
            ("en", "sat down", None),
            ("en", "the sun", None),
            ("en", "the third", None),
            ("en", "twelfth", None),
            ("en", "12", None),
            ("de", "so", None),
            ("de", "do it", None),
            ("de", "Mo und Di", None),
            ("de", "12", None),
            ("de", "zwölf", None),
            ("de", "den dritten", None),
            ("de", "zwölfter", None),
            ("es", "mar abierto", None),
            ("fr", "la mer", None),
        ] {
            assert_eq!(answer(Kind::Date, locale, text).as_deref(), expected, "{locale}: {text}");
        }
    }
}
