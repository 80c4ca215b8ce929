//! Times that do not say in which half of the day they are: "at three", "half past two".

use std::ops::Range;

use crate::compiled_language::language_of;
use crate::language::answer_words::answer_words;
use crate::language::hour_words::hour_words;
use crate::language::region_of;
use crate::number_marks::Marks;
use crate::number_words::read_numbers;
use crate::phrases::read_phrase;
use crate::token::{Token, TokenKind, split_joined, split_tokens};

/// Whether a message does not say in which half of the day a time of it is: "at 3", "3:30", "halb drei", but not "3 pm", "03:00" and, with
/// "tonight" in front, "at 3".
///
/// `place` is that of the time, in bytes, and `days` are those of days, which may be within it: "Thursday at 3".
pub fn is_bare_hour(text: &str, place: &Range<usize>, days: &[Range<usize>], locale: &str) -> bool {
    let language = language_of(locale);
    let code = language.language.code;
    let words = hour_words(code);
    let fillers = answer_words(code).fillers;
    let mut tokens = split_tokens(text);
    split_joined(&mut tokens, language.language.joined_words);
    if (0..tokens.len()).any(|at| read_phrase(&tokens, words.halves, at).is_some()) {
        return false;
    }
    let marks = Marks::from_language(code, &region_of(locale));
    let is_in = |token: &Token, part: &Range<usize>| part.start <= token.range.start && token.range.end <= part.end;
    let mut has_digits = false;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if !is_in(token, place) || days.iter().any(|day| is_in(token, day)) || token.kind == TokenKind::Sign {
            at += 1;
            continue;
        }
        if token.kind == TokenKind::Digits {
            // "03:00" and "24 Uhr" count the hours of the whole day.
            if !has_digits && (token.text.starts_with('0') || token.text == "24") {
                return false;
            }
            has_digits = true;
            at += 1;
        } else if token.is_one_of(words.neutral) {
            at += 1;
        } else if let Some(end) = read_phrase(&tokens, fillers, at) {
            at = end.max(at + 1);
        } else {
            let numbers = read_numbers(&tokens, at, language, marks);
            let Some(number) = numbers.first().filter(|it| !matches!(it.value.to_integer(), Some(0 | 24))) else { return false };
            at = number.end.max(at + 1);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_hour_may_be_in_either_half_of_the_day() {
        for (locale, text, expected) in [
            ("en", "at 3", true),
            ("en", "3:30", true),
            ("en", "3:05", true),
            ("en", "half past two", true),
            ("en", "three o'clock", true),
            ("en", "quarter to one", true),
            ("de", "um 3 Uhr", true),
            ("de", "halb drei", true),
            ("de", "viertel nach drei", true),
            ("de", "ein Uhr", true),
            ("de", "vier bitte", true),
            ("nl", "vier graag", true),
            ("es", "a las 3", true),
            ("es", "las tres y media", true),
            ("fr", "à trois heures", true),
            ("fr", "trois heures moins le quart", true),
            ("it", "alle tre", true),
            ("it", "le quattro e mezza", true),
            ("pt", "às três e meia", true),
            ("nl", "half drie", true),
            ("nl", "kwart over drie", true),
            ("hi", "साढ़े तीन बजे", true),
            ("hi", "ढाई बजे", true),
            ("en", "3 pm", false),
            ("en", "3 in the morning", false),
            ("en", "03:00", false),
            ("en", "midnight", false),
            ("de", "3 Uhr morgens", false),
            ("de", "03:30 Uhr", false),
            ("de", "0:30", false),
            ("de", "null Uhr dreißig", false),
            ("de", "24 Uhr", false),
            ("es", "las 3 de la mañana", false),
            ("fr", "3 heures du matin", false),
            ("it", "le tre di notte", false),
            ("pt", "três da manhã", false),
            ("nl", "drie uur 's nachts", false),
            ("hi", "रात 3 बजे", false),
        ] {
            assert_eq!(is_bare_hour(text, &(0..text.len()), &[], locale), expected, "{locale}: {text}");
        }
    }

    #[test]
    fn other_words_of_the_message_say_the_half_too() {
        let is_bare = |locale: &str, text: &str, time: &str, day: &str| {
            let place = |part: &str| text.find(part).map(|start| start..start + part.len()).unwrap();
            is_bare_hour(text, &place(time), &[place(day)], locale)
        };
        assert!(is_bare("de", "morgen um drei", "um drei", "morgen"));
        assert!(is_bare("de", "Donnerstag um 3", "Donnerstag um 3", "Donnerstag"));
        assert!(is_bare("en", "tomorrow at 3, please", "at 3", "tomorrow"));
        assert!(is_bare("es", "mañana a las tres", "a las tres", "mañana"));
        assert!(!is_bare("de", "heute früh um drei", "um drei", "heute früh"));
        assert!(!is_bare("de", "heute Morgen um drei", "um drei", "heute Morgen"));
        assert!(!is_bare("de", "Freitagabend um drei", "um drei", "Freitagabend"));
        assert!(!is_bare("en", "tomorrow morning at 3", "at 3", "tomorrow"));
        assert!(!is_bare("es", "mañana por la mañana a las tres", "a las tres", "mañana"));
    }
}
