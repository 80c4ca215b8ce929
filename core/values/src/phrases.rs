//! Lists of phrases, found by their words: a message is compared with a whole list at each of its tokens, and most tokens begin no phrase.

use std::collections::BTreeMap;

use crate::token::{Token, token_before};

/// Phrases of one or several words.
#[derive(Debug)]
pub(crate) struct Phrases {
    by_first: BTreeMap<&'static str, Vec<&'static str>>,
    by_last: BTreeMap<&'static str, Vec<&'static str>>,
}

impl Phrases {
    /// Creates a list of phrases that are separated by `|`.
    pub fn new(list: &'static str) -> Phrases {
        let mut phrases = Phrases { by_first: BTreeMap::new(), by_last: BTreeMap::new() };
        for phrase in list.split('|').filter(|it| !it.is_empty()) {
            let first = phrase.split_once(' ').map_or(phrase, |it| it.0);
            let last = phrase.rsplit_once(' ').map_or(phrase, |it| it.1);
            phrases.by_first.entry(first).or_default().push(phrase);
            phrases.by_last.entry(last).or_default().push(phrase);
        }
        phrases
    }

    /// The token behind the longest phrase that begins at a token.
    pub fn read(&self, tokens: &[Token], at: usize) -> Option<usize> {
        let phrases = self.by_first.get(tokens.get(at)?.text.as_str())?;
        phrases.iter().filter_map(|phrase| end_of(phrase, tokens, at)).max()
    }

    /// Whether a phrase ends before a token.
    pub fn end_before(&self, tokens: &[Token], at: usize) -> bool {
        let last = token_before(tokens, at);
        let phrases = last.and_then(|token| self.by_last.get(token.text.as_str()));
        phrases.into_iter().flatten().any(|phrase| {
            let begin = at.checked_sub(phrase.split(' ').count());
            begin.is_some_and(|begin| end_of(phrase, tokens, begin).is_some())
        })
    }

    /// Whether a word is a phrase alone.
    pub fn has_word(&self, word: &str) -> bool {
        self.by_first.get(word).is_some_and(|it| it.contains(&word))
    }
}

/// The token behind a phrase that begins at a token.
fn end_of(phrase: &str, tokens: &[Token], at: usize) -> Option<usize> {
    let mut end = at;
    for word in phrase.split(' ') {
        tokens.get(end).filter(|it| it.text == word)?;
        end += 1;
    }
    Some(end)
}

/// The token behind the longest of a few phrases; of lists of many, [`Phrases`] finds it.
pub(crate) fn read_phrase(tokens: &[Token], phrases: &str, at: usize) -> Option<usize> {
    let first = tokens.get(at)?;
    let length = |phrase: &str| {
        let fits = phrase.split(' ').enumerate().all(|(index, word)| tokens.get(at + index).is_some_and(|it| it.text == word));
        fits.then(|| phrase.split(' ').count())
    };
    // Most phrases begin otherwise, and are not split.
    let longest = phrases.split('|').filter(|phrase| !phrase.is_empty() && phrase.starts_with(&first.text)).filter_map(length).max()?;
    Some(at + longest)
}

/// Whether one of several phrases ends before a token.
pub(crate) fn ends_phrase(tokens: &[Token], phrases: &str, at: usize) -> bool {
    phrases.split('|').filter(|it| !it.is_empty()).any(|phrase| {
        let count = phrase.split(' ').count();
        at.checked_sub(count).is_some_and(|from| {
            phrase.split(' ').enumerate().all(|(index, word)| tokens.get(from + index).is_some_and(|it| it.text == word))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::split_tokens;

    #[test]
    fn the_longest_phrase_is_read() {
        let phrases = Phrases::new("no|no wait|wait for|");
        let read = |text: &str, at: usize| phrases.read(&split_tokens(text), at);
        assert_eq!((read("no wait for me", 0), read("no wait for me", 1), read("no wait for me", 2)), (Some(2), Some(3), None));
        assert_eq!((read("no, wait", 0), read("now", 0), read("wait", 0), read("", 0)), (Some(1), None, None, None));
    }

    #[test]
    fn phrases_are_found_by_their_end() {
        let phrases = Phrases::new("no|no wait");
        let ends = |text: &str, at: usize| phrases.end_before(&split_tokens(text), at);
        assert_eq!((ends("oh no wait", 3), ends("oh no wait", 2), ends("oh no wait", 1), ends("no", 0)), (true, true, false, false));
        assert!(!ends("wait", 1) && !ends("no", 2) && phrases.has_word("no") && !phrases.has_word("wait"));
    }
}
