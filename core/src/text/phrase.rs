//! What users say, normalised to be compared with phrases and patterns. (`convoship.md` 5.3)

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

/// Languages in which a letter with an accent is a letter of its own, so that it keeps it; in all others accents are left out.
const ACCENTS_KEPT: [&str; 25] = [
    "az", "be", "bg", "cs", "da", "de", "et", "fi", "hr", "hu", "is", "lt", "lv", "nb", "nn", "no", "pl", "ro", "ru", "sk", "sl", "sr",
    "sv", "tr", "uk",
];

/// Tokens by which an utterance may be longer than a small-talk pattern.
const SPARE_TOKENS: usize = 3;

/// The tokens of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase(Vec<String>);

impl Phrase {
    /// Normalises a text as its locale says.
    pub fn of(text: &str, locale: &str) -> Phrase {
        let language = locale.split(['-', '_']).next().unwrap_or_default();
        Phrase::with_accents(text, ACCENTS_KEPT.iter().any(|it| it.eq_ignore_ascii_case(language)))
    }

    /// Normalises a text without accents, whatever its language.
    pub fn plain(text: &str) -> Phrase {
        Phrase::with_accents(text, false)
    }

    fn with_accents(text: &str, kept: bool) -> Phrase {
        let mut tokens: Vec<String> = Vec::new();
        let mut token = String::new();
        for character in text.nfkd() {
            // What follows an apostrophe belongs to the word before it.
            if !kept && is_accent(character) || is_apostrophe(character) && !token.is_empty() {
                continue;
            }
            if is_mark(character) {
                if let Some(last) = if token.is_empty() { tokens.last_mut() } else { Some(&mut token) } {
                    last.push(character);
                }
                continue;
            }
            let alone = is_unspaced(character);
            if (alone || !character.is_alphanumeric()) && !token.is_empty() {
                tokens.push(std::mem::take(&mut token));
            }
            if alone {
                tokens.push(character.into());
            } else if character.is_alphanumeric() {
                fold(character, &mut token);
            }
        }
        if !token.is_empty() {
            tokens.push(token);
        }
        Phrase(tokens)
    }

    /// Its tokens.
    pub fn tokens(&self) -> &[String] {
        &self.0
    }

    /// How much an utterance is like a small-talk pattern, from 0 to 1; 0 when it is too long for it.
    pub fn likeness(&self, pattern: &Phrase) -> f64 {
        let (said, wanted) = (self.0.len(), pattern.0.len());
        if said == 0 || wanted == 0 || said > wanted + SPARE_TOKENS {
            return 0.0;
        }
        2.0 * in_common(&self.0, &pattern.0) as f64 / (said + wanted) as f64
    }

    /// Whether an utterance hits a training phrase: the number of tokens that match, and the score.
    pub fn hit(&self, phrase: &Phrase) -> Option<(usize, f64)> {
        let (said, wanted) = (self.0.len(), phrase.0.len());
        let matched = if holds(&self.0, &phrase.0) {
            wanted
        } else if said >= 2 && said * 10 >= wanted * 6 && holds(&phrase.0, &self.0) {
            said
        } else {
            return None;
        };
        Some((matched, matched as f64 / said.max(wanted) as f64))
    }
}

/// Whether one run of tokens is part of another.
fn holds(whole: &[String], part: &[String]) -> bool {
    !part.is_empty() && whole.windows(part.len()).any(|it| it == part)
}

/// The length of the longest common subsequence.
fn in_common(left: &[String], right: &[String]) -> usize {
    let mut row = vec![0; right.len()];
    for one in left {
        let (mut before, mut diagonal) = (0, 0);
        for (other, cell) in right.iter().zip(&mut row) {
            let above = *cell;
            *cell = if one == other { diagonal + 1 } else { above.max(before) };
            (before, diagonal) = (*cell, above);
        }
    }
    row.last().copied().unwrap_or_default()
}

/// A text without case, accents and spare white space, as values of lists are compared.
pub fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.nfkd() {
        if character.is_whitespace() {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        } else if !is_accent(character) {
            fold(character, &mut out);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Whether two neighbours belong to one word.
pub fn is_one_word(left: char, right: char) -> bool {
    let joins = |it: char| it.is_alphanumeric() && !is_unspaced(it);
    joins(left) && joins(right) || is_mark(right)
}

fn fold(character: char, out: &mut String) {
    match character {
        'ß' | 'ẞ' => out.push_str("ss"),
        'ς' => out.push('σ'),
        _ => out.extend(character.to_lowercase()),
    }
}

/// The accents of Latin, Greek and Cyrillic letters, and the points of Hebrew and Arabic; other marks make other letters.
fn is_accent(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{64b}'..='\u{652}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

fn is_mark(character: char) -> bool {
    canonical_combining_class(character) != 0
}

fn is_apostrophe(character: char) -> bool {
    matches!(character, '\'' | '’' | 'ʼ' | '‘' | '`')
}

/// Characters of scripts without spaces between words: each counts as a word.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{e00}'..='\u{eff}' | '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
        && character.is_alphabetic()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str, locale: &str) -> String {
        Phrase::of(text, locale).tokens().join(" ")
    }

    #[test]
    fn texts_are_normalised() {
        for (text, locale, expected) in [
            ("What's   my BALANCE?!", "en-US", "whats my balance"),
            ("whats my balance", "en", "whats my balance"),
            ("what’s 'up' dogs'", "en", "whats up dogs"),
            ("Où est l'été", "fr-FR", "ou est lete"),
            ("Où est l'été", "xx", "ou est lete"),
            ("¿Qué tal?", "es", "que tal"),
            ("Ｆｕｌｌ ﬁne ①", "en", "full fine 1"),
            ("Straße", "de", "strasse"),
            ("ΟΔΟΣ οδός", "el", "οδοσ οδοσ"),
            ("e-mail/post_it", "en", "e mail post it"),
            ("", "en", ""),
            ("?! …", "en", ""),
            ("大杯咖啡", "zh-CN", "大 杯 咖 啡"),
            ("'", "en", ""),
            ("I\u{307}stanbul", "en", "istanbul"),
        ] {
            assert_eq!(tokens(text, locale), expected, "{text}");
        }
        assert_eq!(tokens("Schön", "de-AT"), tokens("Scho\u{308}n", "de"));
        assert_ne!(tokens("schön", "de"), tokens("schon", "de"));
        assert_eq!(tokens("schön", "en"), tokens("schon", "en"));
        assert_ne!(tokens("på", "sv_SE"), tokens("pa", "sv_SE"));
        assert_eq!(Phrase::of("が", "ja").tokens().len(), 1);
    }

    #[test]
    fn small_talk_is_scored_by_common_tokens() {
        let like = |said: &str, pattern: &str| Phrase::of(said, "en").likeness(&Phrase::of(pattern, "en"));
        assert_eq!(like("How are you?", "how are you"), 1.0);
        assert_eq!(like("how are you today", "how are you"), 6.0 / 7.0);
        assert_eq!(like("you are how", "how are you"), 1.0 / 3.0);
        assert_eq!(like("hi, what is my balance", "hi"), 0.0);
        assert_eq!(like("hi what is my", "hi"), 2.0 / 5.0);
        assert_eq!((like("", ""), like("hi", ""), like("", "hi"), like("bye", "hi")), (0.0, 0.0, 0.0, 0.0));
        assert_eq!(like("a b c d", "a x c d"), 6.0 / 8.0);
    }

    #[test]
    fn phrases_are_hit_as_whole_words() {
        let hit = |said: &str, phrase: &str| Phrase::of(said, "en").hit(&Phrase::of(phrase, "en"));
        assert_eq!(hit("please check my balance now", "check my balance"), Some((3, 0.6)));
        assert_eq!(hit("Check my balance", "check my balance"), Some((3, 1.0)));
        assert_eq!(hit("check my balances", "check my balance"), None);
        assert_eq!(hit("check the balance", "check my balance"), None);
        assert_eq!(hit("my balance", "check my balance"), Some((2, 2.0 / 3.0)));
        assert_eq!(hit("my balance", "check my balance now"), None);
        assert_eq!(hit("check my balance", "please check my balance now"), Some((3, 0.6)));
        assert_eq!(hit("balance", "balance please"), None);
        assert_eq!(hit("balance", "balance"), Some((1, 1.0)));
        assert_eq!((hit("", "x"), hit("x", ""), hit("", "")), (None, None, None));
    }

    #[test]
    fn values_of_lists_are_folded() {
        for (text, expected) in [("  Café \t CRÈME ", "cafe creme"), ("C++", "c++"), ("Größe", "grosse"), ("ﬃ", "ffi"), (" ", "")] {
            assert_eq!(folded(text), expected);
        }
    }
}
