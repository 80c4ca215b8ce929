//! Consent and refusal: the whole message or nearly so, and no question.

use crate::compiled_language::language_of;
use crate::language::codes;
use crate::phrases::Phrases;
use crate::token::{Token, TokenKind, split_tokens};

const YES_SIGNS: [char; 4] = ['👍', '✅', '✔', '👌'];
const NO_SIGNS: [char; 2] = ['👎', '❌'];

/// What somebody answers to a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// They agree.
    Yes,
    /// They refuse.
    No,
    /// They agree, with a condition or a change: `yes, but to savings`.
    YesBut,
    /// They refuse, and say what they want instead: `no, to savings`.
    NoBut,
}

/// Whether a text asks something: it has a question mark, or begins as questions do.
pub fn is_question(text: &str, locale: &str) -> bool {
    let tokens = split_tokens(text);
    let is_asked = tokens.iter().any(|token| matches!(token.sign(), Some('?' | '¿' | '？')));
    is_asked || language_of(locale).consent.questions.read(&tokens, 0).is_some()
}

/// Whether a text asks for a fact about a value, and does not propose it: "is delivery free?", but not "is Friday possible?".
pub fn is_inquiry(text: &str, locale: &str) -> bool {
    let words = &language_of(locale).consent;
    let spoken: Vec<_> = split_tokens(text).into_iter().filter(|it| it.kind != TokenKind::Sign).collect();
    let has = |phrases: &Phrases| (0..spoken.len()).any(|at| phrases.read(&spoken, at).is_some());
    // "Rome is nice?" asks, too.
    let asks = if text.contains('?') { has(&words.inquiries) } else { words.inquiries.read(&spoken, 0).is_some() };
    is_question(text, locale) && asks && !has(&words.proposals)
}

/// Reads consent or refusal where nobody has said in which language: what all languages that know the words agree on.
pub fn read_consent_in_any_language(text: &str) -> Option<Consent> {
    let tokens = split_tokens(text);
    if codes().any(|code| language_of(code).consent.questions.read(&tokens, 0).is_some()) {
        return None;
    }
    let spoken = spoken_answer(tokens)?;
    let (whole, others): (Vec<Consent>, Vec<Consent>) =
        codes().filter_map(|it| consent_of(text, &spoken, it)).partition(|consent| matches!(consent, Consent::Yes | Consent::No));
    // A language that knows all the words counts more than one that takes the rest for a wish: "no, gracias".
    let read = if whole.is_empty() { others } else { whole };
    let first = *read.first()?;
    read.iter().all(|it| *it == first).then_some(first)
}

/// Reads consent or refusal; `None` for questions, doubt, and what says neither or both.
pub fn read_consent(text: &str, locale: &str) -> Option<Consent> {
    consent_of(text, &spoken_answer(split_tokens(text))?, locale)
}

/// The words of an answer and its signs of consent and refusal; `None` for a question.
fn spoken_answer(mut tokens: Vec<Token>) -> Option<Vec<Token>> {
    if tokens.iter().any(|token| matches!(token.sign(), Some('?' | '¿'))) {
        return None;
    }
    tokens.retain(|token| token.sign().is_none_or(|sign| YES_SIGNS.contains(&sign) || NO_SIGNS.contains(&sign)));
    Some(tokens)
}

fn consent_of(text: &str, spoken: &[Token], locale: &str) -> Option<Consent> {
    let words = &language_of(locale).consent;
    if words.questions.read(spoken, 0).is_some() {
        return None;
    }
    if spoken.len() == 1 {
        let is = |word: &str| spoken.first().is_some_and(|it| it.text == word);
        let is_one_of = |list: &Phrases| spoken.first().is_some_and(|it| list.has_word(&it.text));
        if is_one_of(&words.yes_alone) || is("true") {
            return Some(Consent::Yes);
        }
        if is_one_of(&words.no_alone) || is("false") {
            return Some(Consent::No);
        }
    }
    let (mut yes, mut no, mut has_others, mut at) = (false, false, false, 0);
    // Whether a comma parts a refusal from what follows: "no, to savings".
    let mut is_corrected = false;
    while at < spoken.len() {
        let sign = spoken.get(at).and_then(|it| it.sign());
        if sign.is_some() {
            yes |= sign.is_some_and(|it| YES_SIGNS.contains(&it));
            no |= sign.is_some_and(|it| NO_SIGNS.contains(&it));
            at += 1;
            continue;
        }
        let lists = [&words.unsure, &words.changes, &words.no, &words.yes, &words.fillers];
        let found = lists.map(|list| list.read(spoken, at).unwrap_or(at));
        let end = found.into_iter().max().unwrap_or(at);
        match found.iter().position(|it| *it == end).filter(|_| end > at) {
            Some(0) => return None,
            Some(1) if has_others => return None,
            Some(1) => {
                return if yes && !no {
                    Some(Consent::YesBut)
                } else if no && !yes {
                    Some(Consent::NoBut)
                } else {
                    None
                };
            }
            Some(2) => {
                let gap = spoken.get(end - 1).zip(spoken.get(end)).and_then(|(one, next)| text.get(one.range.end..next.range.start));
                is_corrected |= at == 0 && gap.is_some_and(|it| it.contains([',', ';', '.', ':', '-', '–']));
                no = true;
            }
            Some(3) => yes = true,
            Some(_) => {}
            // Only a refusal with a comma behind it may have others after it.
            None if !is_corrected => return None,
            None => has_others = true,
        }
        at = end.max(at + 1);
    }
    match (yes, no) {
        (true, false) => Some(Consent::Yes),
        (false, true) if has_others => Some(Consent::NoBut),
        (false, true) => Some(Consent::No),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::is_inquiry;

    #[test]
    fn an_inquiry_asks_for_facts_and_proposes_nothing() {
        for (locale, text, expected) in [
            ("en", "is delivery free?", true),
            ("en", "what's in my savings?", true),
            ("en", "how much is delivery?", true),
            ("en", "is Friday possible?", false),
            ("en", "what about Friday?", false),
            ("en", "could we do Friday?", false),
            ("en", "Friday?", false),
            ("de", "ist Rom schön?", true),
            ("de", "ist Freitag möglich?", false),
            ("es", "¿cuánto cuesta Roma?", true),
            ("es", "¿qué tal el viernes?", false),
            ("fr", "est-ce que Rome est loin ?", true),
            ("fr", "vendredi, ça va ?", false),
            ("hi", "क्या रोम सुंदर है?", true),
            ("hi", "क्या शुक्रवार ठीक है?", false),
            ("es", "¿Roma es bonita?", true),
            ("fr", "vendredi c'est ouvert ?", true),
            ("en", "could it be Friday?", false),
            ("en", "would 8pm be ok?", false),
            ("es", "¿puede ser el viernes?", false),
            ("it", "quanto costa Roma?", true),
            ("pt", "quanto custa Roma?", true),
            ("nl", "is Rome mooi?", true),
        ] {
            assert_eq!(is_inquiry(text, locale), expected, "{text}");
        }
    }
}
