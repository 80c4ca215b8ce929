//! Times that do not say in which half of the day they are: "at three", "half past two".

use std::ops::Range;

use crate::compiled_language::language_of;
use crate::language::answer_words::answer_words;
use crate::language::hour_words::hour_words;
use crate::language::region_of;
use crate::number_marks::Marks;
use crate::number_words::read_numbers;
use crate::phrases::read_phrase;
use crate::token::{Token, TokenKind, split_joined, split_tokens, token_before};

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

/// Whether a message says of a day that the afternoon or the evening is meant ("Thursday afternoon"), or nothing but that ("in the afternoon,
/// please").
///
/// `days` are the places of its days, in bytes. A greeting ("good evening") says it of no day.
pub fn says_afternoon(text: &str, days: &[Range<usize>], locale: &str) -> bool {
    let language = language_of(locale);
    let code = language.language.code;
    let words = hour_words(code);
    let mut tokens = split_tokens(text);
    split_joined(&mut tokens, language.language.joined_words);
    let read = |list: &str, at: usize| read_phrase(&tokens, list, at);
    let is_greeting = |at: usize| token_before(&tokens, at).is_some_and(|it| it.is_one_of(GREETINGS));
    let places: Vec<Range<usize>> = (0..tokens.len()).filter_map(|at| Some(at..read(words.afternoons, at)?)).collect();
    let is_in_place = |at: usize| places.iter().any(|place| place.contains(&at));
    // "Morning or afternoon"
    let has_others = (0..tokens.len()).any(|at| read(words.halves, at).is_some() && !is_in_place(at) && !is_greeting(at));
    if has_others {
        return false;
    }
    let is_in_day = |token: &Token| days.iter().any(|day| day.start <= token.range.start && token.range.end <= day.end);
    let is_link = |token: &Token| {
        let is_preposition = token.is_one_of(PREPOSITIONS) || token.is_one_of(words.neutral) || token.is_one_of(language.language.lead_ins);
        !is_in_day(token) && (is_preposition || token.sign() == Some('\'') || language.commands.links.has_word(&token.text))
    };
    if days.is_empty() {
        let fillers = answer_words(code).fillers;
        let is_filler = |at: usize| (0..=at).any(|from| read(fillers, from).is_some_and(|end| end > at));
        let is_part = |at: usize, token: &Token| is_in_place(at) || is_link(token) || token.kind == TokenKind::Sign || is_filler(at);
        return !places.is_empty() && tokens.iter().enumerate().all(|(at, token)| is_part(at, token));
    }
    places.iter().filter(|place| !is_greeting(place.start)).any(|place| {
        // "Thursday, in the afternoon", but "good evening, on Thursday"
        let before = tokens.iter().take(place.start).rev().find(|it| !is_link(it) && !it.is_sign_of(","));
        let behind = tokens.iter().skip(place.end).find(|it| !is_link(it));
        [before, behind, tokens.get(place.start)].into_iter().flatten().any(is_in_day)
    })
}

/// Words that make a greeting of a half of the day, in all languages.
const GREETINGS: &str =
    "good|nice|lovely|great|guten|schonen|buenas|buena|buen|feliz|bon|bonne|belle|buon|buona|bella|goede|goeden|fijne|boa|otima|शुभ";

/// Words between a day and a half of it besides those that are between a day and a time, in all languages.
const PREPOSITIONS: &str = "por|pela|nel|nella|dans|s|की|के";

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

    #[test]
    fn a_message_says_the_afternoon_of_its_day() {
        for (locale, text, day, expected) in [
            ("de", "Donnerstag nachmittag", "Donnerstag", true),
            ("de", "am Donnerstag am Nachmittag", "Donnerstag", true),
            ("de", "Donnerstagnachmittag", "Donnerstagnachmittag", true),
            ("de", "heute Abend", "heute Abend", true),
            ("de", "nachmittags bitte", "", true),
            ("de", "am Nachmittag", "", true),
            ("de", "guten Abend, am Donnerstag", "Donnerstag", false),
            ("de", "Donnerstag, aber nicht nachmittags", "Donnerstag", false),
            ("de", "Donnerstag vormittag", "Donnerstag", false),
            ("de", "Donnerstag vormittag oder nachmittag", "Donnerstag", false),
            ("de", "nachmittags kann ich nicht", "", false),
            ("de", "guten Abend", "", false),
            ("de", "guten Abend am Donnerstag bitte", "Donnerstag", false),
            ("de", "guten Abend, am Donnerstag nachmittag", "Donnerstag", true),
            ("de", "um acht", "", false),
            ("en", "on Thursday afternoon", "Thursday", true),
            ("en", "Thursday in the evening, please", "Thursday", true),
            ("en", "in the afternoon, please", "", true),
            ("en", "Good afternoon, I'd like to come on Thursday", "Thursday", false),
            ("en", "Thursday night", "Thursday", false),
            ("es", "el jueves por la tarde", "jueves", true),
            ("es", "buenas tardes, el jueves", "jueves", false),
            ("fr", "jeudi après-midi", "jeudi", true),
            ("fr", "jeudi soir", "jeudi", true),
            ("hi", "गुरुवार शाम को", "गुरुवार", true),
            ("it", "giovedì pomeriggio", "giovedì", true),
            ("nl", "donderdagmiddag", "donderdagmiddag", true),
            ("nl", "donderdag in de avond", "donderdag", true),
            ("pt", "quinta à tarde", "quinta", true),
        ] {
            let days: Vec<Range<usize>> = text.find(day).filter(|_| !day.is_empty()).map(|at| at..at + day.len()).into_iter().collect();
            assert_eq!(says_afternoon(text, &days, locale), expected, "{locale}: {text}");
        }
    }
}
