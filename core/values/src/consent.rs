//! Consent and refusal: the whole message or nearly so, and no question.

use crate::compiled_language::{CompiledLanguage, language_of};
use crate::language::codes;
use crate::phrases::Phrases;
use crate::token::{Token, TokenKind, split_tokens};

const YES_SIGNS: [char; 4] = ['👍', '✅', '✔', '👌'];
const NO_SIGNS: [char; 2] = ['👎', '❌'];

/// The shortest stem of a word, and the longest ending behind one.
const MIN_STEM: usize = 4;
const MAX_ENDING: usize = 3;

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

/// Reads consent or refusal to a proposal where nobody has said in which language: what all languages that know the words agree on. `proposal`
/// is as for [`read_consent_to`].
pub fn read_consent_to_in_any_language(text: &str, proposal: &[&str]) -> Option<Consent> {
    let tokens = split_tokens(text);
    if codes().any(|code| language_of(code).consent.questions.read(&tokens, 0).is_some()) {
        return None;
    }
    let spoken = spoken_answer(tokens)?;
    let (whole, others): (Vec<Consent>, Vec<Consent>) =
        codes().filter_map(|it| consent_of(text, &spoken, it, proposal)).partition(|consent| matches!(consent, Consent::Yes | Consent::No));
    // A language that knows all the words counts more than one that takes the rest for a wish: "no, gracias".
    let read = if whole.is_empty() { others } else { whole };
    let first = *read.first()?;
    read.iter().all(|it| *it == first).then_some(first)
}

/// Reads consent or refusal; `None` for questions, doubt, and what says neither or both.
pub fn read_consent(text: &str, locale: &str) -> Option<Consent> {
    read_consent_to(text, locale, &[])
}

/// Reads consent or refusal to a proposal, whose words the answer may repeat: "yes, order it", "don't order it". `proposal` has short names of
/// what is proposed, such as `ORDER_REFILL` and "Order the refill".
///
/// A word alone agrees to nothing, and one that the names do not have makes the answer more than a yes or no: "yes, order two". A name that
/// joins several things repeats none of them, because an answer may mean one alone.
pub fn read_consent_to(text: &str, locale: &str, proposal: &[&str]) -> Option<Consent> {
    consent_of(text, &spoken_answer(split_tokens(text))?, locale, proposal)
}

/// A name of what is proposed.
struct ProposalName {
    words: Vec<String>,
    /// Whether an answer must have the words in this order: of more than two, another order may mean something else.
    is_ordered: bool,
    /// The word behind the last one that the answer has repeated.
    next: usize,
}

impl ProposalName {
    /// Reads a name; `None` if it joins several things or denies one.
    fn read(name: &str, language: &CompiledLanguage) -> Option<ProposalName> {
        let (consent, commands) = (&language.consent, &language.commands);
        let english = language_of("en");
        let joins = |token: &Token| {
            [language, english].iter().any(|it| token.is_one_of(it.language.numbers.and) || it.commands.or.has_word(&token.text))
        };
        let denies = |token: &Token| consent.no.has_word(&token.text) || commands.first_refusals.has_word(&token.text);
        let tokens = split_tokens(name);
        if tokens.iter().any(|token| joins(token) || denies(token)) {
            return None;
        }
        let is_number = |word: &str| {
            let mut numbers = language.language.numbers.cardinals.iter().chain(english.language.numbers.cardinals);
            numbers.any(|(names, _)| names.split('|').any(|name| name == word))
        };
        let is_named = |token: &Token| token.kind == TokenKind::Word && !is_number(&token.text) && !consent.questions.has_word(&token.text);
        let words: Vec<String> = tokens.into_iter().filter(is_named).map(|token| token.text).collect();
        let is_minor = |word: &str| consent.fillers.has_word(word) || commands.links.has_word(word);
        let is_ordered = words.iter().filter(|word| !is_minor(word)).count() > 2;
        Some(ProposalName { words, is_ordered, next: 0 })
    }

    /// Whether it has a word of the answer, in whatever form.
    fn repeats(&mut self, word: &str) -> bool {
        let from = if self.is_ordered { self.next } else { 0 };
        let found = self.words.iter().skip(from).position(|it| is_form_of(it, word));
        if let Some(at) = found {
            self.next = from + at + 1;
        }
        found.is_some()
    }
}

/// Whether a word is that of a name, or its stem, with which most languages give orders: "bestell" of "bestellen". Longer forms may say that
/// something is done already.
fn is_form_of(named: &str, word: &str) -> bool {
    let ending = named.strip_prefix(word).map(|ending| ending.chars().count());
    ending.is_some_and(|ending| ending == 0 || ending <= MAX_ENDING && word.chars().count() >= MIN_STEM)
}

/// The words of an answer and its signs of consent and refusal; `None` for a question.
fn spoken_answer(mut tokens: Vec<Token>) -> Option<Vec<Token>> {
    if tokens.iter().any(|token| matches!(token.sign(), Some('?' | '¿'))) {
        return None;
    }
    tokens.retain(|token| token.sign().is_none_or(|sign| YES_SIGNS.contains(&sign) || NO_SIGNS.contains(&sign)));
    Some(tokens)
}

fn consent_of(text: &str, spoken: &[Token], locale: &str, proposal: &[&str]) -> Option<Consent> {
    let language = language_of(locale);
    let words = &language.consent;
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
    let mut names: Vec<ProposalName> = proposal.iter().filter_map(|name| ProposalName::read(name, language)).collect();
    let (mut yes, mut no, mut has_others, mut at) = (false, false, false, 0);
    // Whether a comma parts a refusal from what follows: "no, to savings". What is refused again is not wanted: "no, don't order it".
    let (mut is_corrected, mut is_denied) = (false, false);
    let (mut has_repeated, mut needs_repeated, mut has_inquiry) = (false, false, false);
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
        let refusals = [&language.commands.refusals, &language.commands.first_refusals];
        // A longer refusal may begin within a phrase: "I don't" and "don't want to".
        let begins = if names.is_empty() { at..at } else { at..end.max(at + 1) };
        let refused = begins.filter_map(|begin| refusals.iter().filter_map(|list| list.read(spoken, begin)).max()).max();
        if let Some(refused) = refused.filter(|it| *it > end) {
            no = true;
            needs_repeated = true;
            is_denied |= at > 0;
            at = refused;
            continue;
        }
        let is_repeated = end == at && spoken.get(at).is_some_and(|token| names.iter_mut().any(|name| name.repeats(&token.text)));
        let has_wish = has_others || is_corrected && has_repeated && !is_denied;
        match found.iter().position(|it| *it == end).filter(|_| end > at) {
            Some(0) => return None,
            Some(1) if has_wish => return None,
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
                is_denied |= at > 0;
                no = true;
            }
            Some(3) => yes = true,
            Some(_) => has_inquiry |= words.inquiries.read(spoken, at).is_some(),
            None if is_repeated => has_repeated = true,
            // Only a refusal with a comma behind it may have others after it.
            None if !is_corrected => return None,
            None => has_others = true,
        }
        at = end.max(at + 1);
    }
    // With words of the proposal, what else is a filler may ask: "yes, is the refill done".
    if needs_repeated && !has_repeated || has_inquiry && has_repeated {
        return None;
    }
    match (yes, no) {
        (true, false) => Some(Consent::Yes),
        (false, true) if has_others || is_corrected && has_repeated && !is_denied => Some(Consent::NoBut),
        (false, true) => Some(Consent::No),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Consent, is_inquiry, read_consent, read_consent_to, read_consent_to_in_any_language};

    #[test]
    fn an_answer_may_repeat_what_is_proposed() {
        let order = ["ORDER_REFILL", "Order the refill"];
        let read = |text: &str| read_consent_to(text, "en", &order);
        for text in
            ["yes, order it", "yes order the refill please", "order it, yes", "ok, refill it", "Yes! Order!", "sure, go ahead and order"]
        {
            assert_eq!(read(text), Some(Consent::Yes), "{text}");
        }
        for text in [
            "don't order it",
            "no, don't order it",
            "no order",
            "please don't order the refill",
            "I don't want to order it",
            "do not refill",
        ] {
            assert_eq!(read(text), Some(Consent::No), "{text}");
        }
        for (text, expected) in [
            ("yes, but order two", Some(Consent::YesBut)),
            ("yes, order it, but later", Some(Consent::YesBut)),
            ("no, order it", Some(Consent::NoBut)),
            ("no, order two", Some(Consent::NoBut)),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        for text in [
            "order it tomorrow instead",
            "don't order it yet",
            "yes, and what does it cost?",
            "yes, and what does it cost",
            "yes, order two",
            "yes, order it tomorrow",
            "yes, order it for my mother",
            "yes, cancel it",
            "yes, don't order it",
            "yes, I ordered it",
            "yes, is the refill done",
            "order it",
            "order the refill",
            "don't forget to order it",
            "should I order it",
            "not",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read_consent("yes, order it", "en"), None, "nothing is proposed");
    }

    #[test]
    fn what_is_proposed_is_repeated_in_every_language() {
        for (locale, name, yes, no) in [
            ("de", "Rezept bestellen", "ja, bestell das Rezept", "bestell es nicht"),
            ("fr", "Commander le médicament", "oui, commande le médicament", "ne le commande pas"),
            ("es", "Pedir la receta", "sí, pedir la receta", "no pedir la receta"),
            ("it", "Ordinare la ricetta", "sì, ordina la ricetta", "non ordinare la ricetta"),
            ("pt", "Encomendar a receita", "sim, encomenda a receita", "não encomenda a receita"),
            ("nl", "Recept bestellen", "ja, bestel het recept", "bestel het recept niet"),
            ("hi", "दवा मँगाना", "हाँ, दवा मँगाना", "दवा मत मँगाना"),
        ] {
            let read = |text: &str| [read_consent_to(text, locale, &[name]), read_consent_to_in_any_language(text, &[name])];
            assert_eq!(read(yes), [Some(Consent::Yes); 2], "{yes}");
            assert_eq!(read(no), [Some(Consent::No); 2], "{no}");
        }
        let again = ["ja, bestell zwei", "oui, commande deux", "sí, pedir dos recetas", "sì, ordina domani", "ja, bestel morgen"];
        let names = ["Rezept bestellen", "Commander le médicament", "Pedir la receta", "Ordinare la ricetta", "Recept bestellen"];
        for (text, name) in again.into_iter().zip(names) {
            assert_ne!(read_consent_to_in_any_language(text, &[name]), Some(Consent::Yes), "{text}");
        }
    }

    #[test]
    fn a_name_of_several_things_is_not_repeated() {
        let read = |text: &str, name: &str| read_consent_to(text, "en", &[name]);
        assert_eq!(read("yes, block it", "Block the card and order a new one"), None, "one of two things");
        assert_eq!(read("yes, block it", "Block or replace the card"), None);
        assert_eq!(read("yes, transfer savings to checking", "Transfer checking to savings"), None, "the other way round");
        assert_eq!(read("yes, transfer checking to savings", "Transfer checking to savings"), Some(Consent::Yes));
        assert_eq!(read("yes, order one", "Order one box"), None, "a number may be another one");
        assert_eq!(read("don't cancel it", "Cancel the order"), Some(Consent::No));
        assert_eq!(read("yes, cancel the order", "Cancel the order"), Some(Consent::Yes));
    }

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
