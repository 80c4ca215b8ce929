//! Choices: which of several options somebody names.

use std::collections::BTreeSet;

use jiff::civil::DateTime;

use crate::compiled_language::language_of;
use crate::consent::is_question;
use crate::context::{Context, Direction};
use crate::kind::Kind;
use crate::language::choice_words::{ChoiceWords, choice_words};
use crate::parse::Parse;
use crate::phrases::read_phrase;
use crate::token::{Token, TokenKind, split_tokens};

/// How an option was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChosenBy {
    /// By one of its names.
    Name,
    /// By its number or its place.
    Number,
    /// By words that its names have, one of them theirs alone.
    Word,
}

/// Reads which option a text names: by one of its names, its number, its place, or some of its words.
///
/// `options` lists the names of each option. A question and a negation choose nothing, and neither does a text that fits several.
pub fn read_choice(text: &str, options: &[Vec<&str>], locale: &str) -> Option<(usize, ChosenBy)> {
    if options.is_empty() {
        return None;
    }
    let tokens = split_tokens(text);
    let spoken = words_of(&tokens);
    if spoken.is_empty() {
        return None;
    }
    let is_same = |name: &str| words_of(&split_tokens(name)) == spoken;
    let mut named = options.iter().enumerate().filter(|(_, names)| names.iter().any(|it| is_same(it)));
    if let Some((number, _)) = named.next() {
        return named.next().is_none().then_some((number, ChosenBy::Name));
    }
    let words = choice_words(language_of(locale).language.code);
    if is_question(text, locale) {
        return None;
    }
    // "No, 1" is not "no. 1".
    let is_refusal = |tokens: &[Token]| {
        let [first, sign, ..] = tokens else { return false };
        first.is_one_of(words.negations) && matches!(sign.sign(), Some(',' | '!' | ';'))
    };
    if is_refusal(&tokens) {
        return None;
    }
    if let Some(number) = read_place(text, &tokens, words, options.len(), locale) {
        return Some((number, ChosenBy::Number));
    }
    let has_negation = spoken.iter().any(|spoken| words.negations.split('|').any(|word| word == spoken));
    if has_negation {
        return None;
    }
    choose_by_words(&spoken, options, words).map(|range| (range, ChosenBy::Word))
}

fn words_of(tokens: &[Token]) -> Vec<String> {
    tokens.iter().filter(|it| it.kind != TokenKind::Sign).map(|it| it.text.clone()).collect()
}

/// Reads the number or the place of an option from a text that has nothing else.
fn read_place(text: &str, tokens: &[Token], words: &ChoiceWords, count: usize, locale: &str) -> Option<usize> {
    // A sign between digits is no choice: "1-2", "5.3".
    let context = Context { locale, now: DateTime::ZERO, direction: Direction::Future };
    let mut parse = Parse::new(text, &context);
    let mut place = |kind: Kind| {
        let mut found = parse.read(kind).into_iter();
        let reading = found.next().filter(|_| found.next().is_none())?;
        Some((reading.value.as_u64()?, reading.range))
    };
    let rest_is_empty = |range: &std::ops::Range<usize>| {
        let outside: Vec<Token> = tokens
            .iter()
            .filter(|token| token.kind != TokenKind::Sign && !(range.start <= token.range.start && token.range.end <= range.end))
            .cloned()
            .collect();
        is_filler(&outside, words)
    };
    if let Some((number, _)) = place(Kind::Ordinal).or_else(|| place(Kind::Number)).filter(|it| rest_is_empty(&it.1)) {
        let number = usize::try_from(number).ok()?.checked_sub(1)?;
        return (number < count).then_some(number);
    }
    let spoken: Vec<Token> = tokens.iter().filter(|it| it.kind != TokenKind::Sign).cloned().collect();
    let last = (0..spoken.len()).find_map(|at| Some((at, read_phrase(&spoken, words.last, at)?)))?;
    let outside: Vec<Token> = spoken.iter().enumerate().filter(|(at, _)| !(last.0..last.1).contains(at)).map(|it| it.1.clone()).collect();
    is_filler(&outside, words).then(|| count.checked_sub(1)).flatten()
}

/// Whether words mean nothing of their own.
fn is_filler(tokens: &[Token], words: &ChoiceWords) -> bool {
    let mut at = 0;
    while at < tokens.len() {
        let Some(next) = read_phrase(tokens, words.fillers, at) else { return false };
        at = next;
    }
    true
}

/// The only option that has a word of its own in the text, when it has all other words as well.
fn choose_by_words(spoken: &[String], options: &[Vec<&str>], words: &ChoiceWords) -> Option<usize> {
    let is_filler = |name: &&String| words.fillers.split('|').any(|word| word == **name);
    let sets: Vec<BTreeSet<String>> =
        options.iter().map(|names| names.iter().flat_map(|text| words_of(&split_tokens(text))).collect()).collect();
    let naming: Vec<&String> = spoken.iter().filter(|it| !is_filler(it)).collect();
    let is_own = |word: &String, at: usize| sets.iter().enumerate().all(|(other, set)| set.contains(word) == (other == at));
    let fits = |at: &usize| {
        let has_all = sets.get(*at).is_some_and(|set| naming.iter().all(|it| set.contains(*it)));
        has_all && naming.iter().any(|it| is_own(it, *at))
    };
    let mut hits = (0..options.len()).filter(fits);
    let hit = hits.next()?;
    hits.next().is_none().then_some(hit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(text: &str, locale: &str) -> Option<usize> {
        let options = [vec!["Issue a replacement card"], vec!["Block the card"], vec!["Call me back!"]];
        read_choice(text, &options, locale).map(|it| it.0 + 1)
    }

    #[test]
    fn an_option_is_named() {
        for (text, expected) in [
            ("block the card.", 2),
            ("call me back", 3),
            ("2", 2),
            ("2.", 2),
            ("two", 2),
            ("the second one, please", 2),
            ("I'll take number 1", 1),
            ("the 3rd", 3),
            ("the last one", 3),
            ("replacement", 1),
            ("I would like the replacement card", 1),
        ] {
            assert_eq!(choose(text, "en-US"), Some(expected), "{text}");
        }
    }

    #[test]
    fn nothing_is_chosen() {
        for text in [
            "",
            "card",
            "4",
            "0",
            "I need 2 cards",
            "What happens if I block the card?",
            "what happens if I block the card",
            "don't block it",
            "not the replacement",
            "block it and call me back",
            "1 or 2",
            "5.3",
        ] {
            assert_eq!(choose(text, "en-US"), None, "{text}");
        }
    }
}
