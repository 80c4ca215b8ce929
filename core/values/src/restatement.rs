//! Corrections of a number alone: "7 pm, no, 8" says 8 pm.

use std::ops::Range;

use crate::commands::read_correction;
use crate::compiled_language::{CompiledLanguage, language_of};
use crate::language::region_of;
use crate::number_marks::Marks;
use crate::number_words::read_numbers;
use crate::phrases::read_phrase;
use crate::token::{Token, TokenKind, is_continued, split_tokens, token_before};

/// Letters behind the digits of an ordinal.
const ORDINAL_ENDINGS: [&str; 11] = ["st", "nd", "rd", "th", "er", "re", "e", "eme", "o", "a", "te"];

/// Signs that may stand between the digits of one number or time.
const INNER_SIGNS: &str = ":.,";

/// Signs behind which a part of a sentence ends.
const ENDING_SIGNS: [char; 7] = ['.', ',', ';', '!', '?', ')', '।'];

/// Rewrites a message that corrects nothing but a number: "at 7 pm, no, 8" becomes "at 8 pm". Returns `None` for all others: those without a
/// correction, and those whose correction says more than a number.
pub fn restate_number(text: &str, locale: &str) -> Option<String> {
    // Two numbers and the words between them.
    text.split_whitespace().nth(2)?;
    let correction = read_correction(text, locale)?;
    let replaced = correction.replaced?;
    let language = language_of(locale);
    let reader = Reader { tokens: split_tokens(text), language, marks: Marks::from_language(language.language.code, &region_of(locale)) };
    let (old, new) = (reader.last_number(replaced.end)?, reader.only_number(correction.replacement.start)?);
    let tail = text.get(new.whole.end..)?;
    // "The 1st, no, the 2nd" changes the ending, too; "the 5th, no, 6" does not.
    let (old_part, new_part) = if new.has_ending() { (&old.whole, &new.whole) } else { (&old.number, &new.number) };
    let begin = text.get(..old_part.start)?;
    let middle = text.get(old_part.end..replaced.end)?;
    Some(format!("{begin}{}{middle}{tail}", text.get(new_part.clone())?))
}

/// Words beside an hour that say nothing else about it.
const HOUR_WORDS: [&str; 21] = [
    "at",
    "um",
    "uhr",
    "a",
    "las",
    "la",
    "h",
    "heures",
    "heure",
    "horas",
    "hora",
    "alle",
    "ore",
    "as",
    "om",
    "uur",
    "बजे",
    "o",
    "clock",
    "oclock",
    "gegen",
];

/// Articles that may stand before a number.
const ARTICLES: &str = "the|der|die|den|dem|am|el|los|le|les|il|lo|o|os|de|het|on";

/// A number in a text.
struct Place {
    number: Range<usize>,
    /// With the ending of an ordinal.
    whole: Range<usize>,
}

impl Place {
    fn has_ending(&self) -> bool {
        self.whole.end > self.number.end
    }
}

struct Reader {
    tokens: Vec<Token>,
    language: &'static CompiledLanguage,
    marks: Marks,
}

impl Reader {
    /// The number at a token, and the token behind it.
    fn number_at(&self, at: usize) -> Option<(Place, usize)> {
        let first = self.tokens.get(at)?;
        let mut end = match first.kind {
            TokenKind::Digits => at + 1,
            TokenKind::Word => read_numbers(&self.tokens, at, self.language, self.marks).first()?.end,
            TokenKind::Sign => return None,
        };
        if first.kind == TokenKind::Digits {
            while is_continued(&self.tokens, end, INNER_SIGNS) {
                end += 2;
            }
        }
        let number = first.range.start..self.tokens.get(end - 1)?.range.end;
        let ending = self.tokens.get(end).filter(|token| !token.is_spaced && ORDINAL_ENDINGS.contains(&token.text.as_str()));
        let whole = number.start..ending.map_or(number.end, |it| it.range.end);
        Some((Place { number, whole }, if ending.is_some() { end + 1 } else { end }))
    }

    /// The last number before a place. One of several groups, such as a date in digits, is none.
    fn last_number(&self, end: usize) -> Option<Place> {
        let (mut last, mut at) = (None, 0);
        while at < self.tokens.len() {
            let number = self.number_at(at).filter(|it| it.0.whole.end <= end);
            // The later words of a number are no numbers of their own.
            at = number.as_ref().map_or(at + 1, |it| it.1);
            last = number.or(last);
        }
        let (last, behind) = last?;
        let groups = self.tokens.iter().filter(|token| token.kind == TokenKind::Digits && token.range.end <= last.number.end);
        let count = groups.filter(|it| it.range.start >= last.number.start).count();
        let is_joined = |token: Option<&Token>| token.and_then(Token::glued_sign).is_some_and(|sign| matches!(sign, '-' | '/'));
        let before = self.tokens.iter().position(|it| it.range.start >= last.number.start)?.checked_sub(1);
        let is_part = is_joined(self.tokens.get(behind)) || is_joined(before.and_then(|it| self.tokens.get(it)));
        (count <= 2 && !is_part).then_some(last)
    }

    /// The number at a place, if nothing belongs to it: behind it stands the end, a sign that ends something, or a short word such as "to".
    fn only_number(&self, start: usize) -> Option<Place> {
        let words = &self.language.commands;
        let mut at = self.tokens.iter().position(|it| it.range.start >= start)?;
        // "At 8" may correct a time, and "for 8" says something else.
        let leads = |token: &Token| {
            let is_article = read_phrase(std::slice::from_ref(token), ARTICLES, 0).is_some();
            token.kind == TokenKind::Word && (is_article || HOUR_WORDS.contains(&token.text.as_str()))
        };
        while self.tokens.get(at).is_some_and(leads) {
            at += 1;
        }
        // A sign of money belongs to it.
        let sign = token_before(&self.tokens, at).and_then(Token::sign);
        if sign.is_some_and(|sign| !ENDING_SIGNS.contains(&sign) && sign != '-') {
            return None;
        }
        let (place, behind) = self.number_at(at)?;
        let is_end = self.tokens.get(behind).is_none_or(|token| match token.sign() {
            Some(sign) => ENDING_SIGNS.contains(&sign),
            // "4 of us" counts something else.
            None => token.is_spaced && token.text != "of" && words.links.read(&self.tokens, behind).is_some(),
        });
        is_end.then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::restate_number;

    #[test]
    fn a_corrected_number_keeps_what_belongs_to_it() {
        for (locale, text, expected) in [
            ("en", "7pm, no, 8", Some("8pm")),
            ("en", "at 7:30 pm, no, 8", Some("at 8 pm")),
            ("en", "book a table tomorrow at 7pm, no, 8", Some("book a table tomorrow at 8pm")),
            ("en", "june 5, no, 6", Some("june 6")),
            ("en", "on the 1st, no, the 2nd", Some("on the 2nd")),
            ("en", "the 5th, no, 6", Some("the 6th")),
            ("en", "50 dollars, no, 60", Some("60 dollars")),
            ("en", "fifty bucks, no, sixty", Some("sixty bucks")),
            ("en", "at 10, no 11", Some("at 11")),
            ("en", "4 people, I mean 5", Some("5 people")),
            ("de", "19 Uhr, nein, 20", Some("20 Uhr")),
            ("de", "am 5. Juni, nein, 6.", Some("am 6. Juni.")),
            ("de", "überweise 50 Euro, nein, 60 vom Girokonto", Some("überweise 60 Euro vom Girokonto")),
            ("de", "eine Stunde, nein zwei", Some("zwei Stunde")),
            ("es", "a las 19, no, 20", Some("a las 20")),
            ("fr", "19h, non, 20", Some("20h")),
            ("hi", "शाम 7 बजे, नहीं, 8", Some("शाम 8 बजे")),
            ("en", "7pm, no, 8pm", None),
            ("en", "june 5, no, 6 people", None),
            ("en", "7pm, sorry, 4 of us", None),
            ("en", "50 euros, no, $60", None),
            ("en", "Boston, no, 3", None),
            ("en", "2026-01-05, no, 6", None),
            ("en", "7pm", None),
            ("en", "no, 8", None),
        ] {
            assert_eq!(restate_number(text, locale).as_deref(), expected, "{locale}: {text}");
        }
    }
}
