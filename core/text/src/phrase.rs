//! Normalises user messages to tokens and compares them with training phrases and small-talk patterns. (docs/spec/flows.md#5.3)

use std::ops::Range;

use super::normal_form::{decompose, decompose_character, is_combining_mark};

/// Languages in which an accented letter is a letter of its own; in all other languages accents are removed.
const ACCENTED_LANGUAGES: [&str; 25] = [
    "az", "be", "bg", "cs", "da", "de", "et", "fi", "hr", "hu", "is", "lt", "lv", "nb", "nn", "no", "pl", "ro", "ru", "sk", "sl", "sr",
    "sv", "tr", "uk",
];

/// Alternating start points of symbol and non-symbol ranges; letters and digits within a symbol range are not symbols.
const SYMBOLS: &str = "$%+,<?^_`a|}~\u{7f}\u{a2}\u{a7}\u{a9}\u{aa}\u{ac}\u{ad}\u{ae}\u{b2}\u{d7}\u{300}\u{370}\u{483}\u{58d}\u{590}\u{606}\u{609}\
     \u{60b}\u{60c}\u{60e}\u{610}\u{6de}\u{6ff}\u{7f6}\u{7f7}\u{7fe}\u{800}\u{888}\u{889}\u{9f2}\u{9fc}\u{af1}\u{bfb}\
     \u{c7f}\u{c80}\u{d4f}\u{d7a}\u{e3f}\u{e40}\u{f01}\u{f04}\u{f13}\u{f14}\u{f15}\u{f39}\u{fbe}\u{fd0}\u{fd5}\u{fd9}\
     \u{109e}\u{10a0}\u{1390}\u{139a}\u{166d}\u{166e}\u{17db}\u{17dc}\u{1940}\u{1941}\u{19de}\u{1a00}\u{1b61}\u{1b7d}\
     \u{2044}\u{2045}\u{2052}\u{2053}\u{20a0}\u{20d0}\u{2100}\u{2308}\u{230c}\u{2768}\u{2794}\u{27c5}\u{27c7}\u{27e6}\
     \u{27f0}\u{2983}\u{2999}\u{29d8}\u{29dc}\u{29fc}\u{29fe}\u{2ceb}\u{2e50}\u{2e52}\u{2e80}\u{3000}\u{3004}\u{3005}\
     \u{3012}\u{3014}\u{3020}\u{3021}\u{3037}\u{3038}\u{303e}\u{3040}\u{3190}\u{a4c7}\u{a700}\u{a83a}\u{aa77}\u{aa7a}\
     \u{ab5b}\u{ab6c}\u{fbb2}\u{fbc3}\u{fd40}\u{fe00}\u{fffc}\u{fffe}\u{10137}\u{101fd}\u{10877}\u{10879}\u{10ac8}\u{10ac9}\
     \u{10d8e}\u{10d90}\u{1173f}\u{11740}\u{11fd5}\u{11ff2}\u{16b3c}\u{16b40}\u{16b45}\u{16b46}\u{1bc9c}\u{1bc9d}\
     \u{1cc00}\u{1d16d}\u{1d183}\u{1da87}\u{1e14f}\u{1e300}\u{1ecac}\u{1fffe}";

/// How many tokens an utterance may have beyond those of a small-talk pattern.
const MAX_EXTRA_TOKENS: usize = 3;

/// The normalised tokens of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase(Vec<String>);

/// The normalised tokens of a text with their places in it.
#[derive(Debug, Clone)]
pub struct PlacedPhrase {
    tokens: Vec<String>,
    /// In bytes, one for each token.
    places: Vec<Range<usize>>,
}

impl Phrase {
    /// Normalises a text for the language of a locale.
    pub fn new(text: &str, locale: &str) -> Phrase {
        Phrase::normalize(text, keeps_accents(locale))
    }

    /// Normalises a text and removes accents, whatever its language.
    pub fn without_accents(text: &str) -> Phrase {
        Phrase::normalize(text, false)
    }

    fn normalize(text: &str, keeps_accents: bool) -> Phrase {
        Phrase(split_tokens(decompose(text).map(|c| (0..0, c)), keeps_accents).0)
    }

    /// Returns the tokens.
    pub fn tokens(&self) -> &[String] {
        &self.0
    }

    /// Returns the similarity of an utterance and a small-talk pattern, from 0 to 1; 0 when the utterance is too long.
    pub fn similarity(&self, pattern: &Phrase) -> f64 {
        let (length, pattern_length) = (self.0.len(), pattern.0.len());
        if length == 0 || pattern_length == 0 || length > pattern_length + MAX_EXTRA_TOKENS {
            return 0.0;
        }
        2.0 * longest_common_subsequence(&self.0, &pattern.0) as f64 / (length + pattern_length) as f64
    }

    /// Matches an utterance with a training phrase; returns the number of matching tokens and the score.
    pub fn match_phrase(&self, phrase: &Phrase) -> Option<(usize, f64)> {
        let (length, phrase_length) = (self.0.len(), phrase.0.len());
        let matched = if contains_run(&self.0, &phrase.0) {
            phrase_length
        } else if length >= 2 && length * 10 >= phrase_length * 6 && contains_run(&phrase.0, &self.0) {
            length
        } else {
            return None;
        };
        Some((matched, matched as f64 / length.max(phrase_length) as f64))
    }
}

impl PlacedPhrase {
    /// Normalises a text for the language of a locale.
    pub fn new(text: &str, locale: &str) -> PlacedPhrase {
        PlacedPhrase::normalize(text, keeps_accents(locale))
    }

    /// Normalises a text and removes accents, whatever its language.
    pub fn without_accents(text: &str) -> PlacedPhrase {
        PlacedPhrase::normalize(text, false)
    }

    fn normalize(text: &str, keeps_accents: bool) -> PlacedPhrase {
        let placed = text.char_indices().flat_map(|(at, c)| decompose_character(c).map(move |part| (at..at + c.len_utf8(), part)));
        let (tokens, places) = split_tokens(placed, keeps_accents);
        PlacedPhrase { tokens, places }
    }

    /// Returns the tokens.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Returns the places of the tokens in the text, in bytes.
    pub fn places(&self) -> &[Range<usize>] {
        &self.places
    }
}

/// A text without case, accents and repeated white space that knows where its characters come from.
pub struct FoldedText {
    folded: String,
    /// The place in the source of each byte.
    places: Vec<Range<usize>>,
}

impl FoldedText {
    /// Folds a text as [`fold_text`] does.
    pub fn new(text: &str) -> FoldedText {
        let mut out = FoldedText { folded: String::with_capacity(text.len()), places: Vec::with_capacity(text.len()) };
        for (at, character) in text.char_indices() {
            for part in decompose_character(character) {
                push_folded_or_space(part, &mut out.folded);
                out.places.resize(out.folded.len(), at..at + character.len_utf8());
            }
        }
        let length = out.folded.trim_end().len();
        out.folded.truncate(length);
        out.places.truncate(length);
        out
    }

    /// Returns the folded text.
    pub fn as_str(&self) -> &str {
        &self.folded
    }

    /// Returns the place in the source of a range that is not empty.
    pub fn source_range(&self, range: Range<usize>) -> Range<usize> {
        let places = self.places.get(range).unwrap_or_default();
        places.first().map_or(0, |it| it.start)..places.last().map_or(0, |it| it.end)
    }
}

fn keeps_accents(locale: &str) -> bool {
    let language = locale.split(['-', '_']).next().unwrap_or_default();
    ACCENTED_LANGUAGES.iter().any(|it| it.eq_ignore_ascii_case(language))
}

/// Splits decomposed characters, each with its place, into tokens and their places.
fn split_tokens(characters: impl Iterator<Item = (Range<usize>, char)>, keeps_accents: bool) -> (Vec<String>, Vec<Range<usize>>) {
    let mut tokens: Vec<String> = Vec::new();
    let mut places: Vec<Range<usize>> = Vec::new();
    // Whether the last token may grow.
    let mut is_open = false;
    for (place, character) in characters {
        // Unicode classifies this apostrophe as a letter.
        let character = if character == 'ʼ' { '’' } else { character };
        if !keeps_accents && is_accent(character) {
            continue;
        }
        let alone = is_unspaced(character) || is_symbol(character);
        if is_combining_mark(character) {
            if let Some((token, last)) = tokens.last_mut().zip(places.last_mut()) {
                token.push(character);
                last.end = place.end;
            }
        } else if alone {
            tokens.push(character.into());
            places.push(place);
            is_open = false;
        } else if character.is_alphanumeric() {
            if !is_open {
                tokens.push(String::new());
                places.push(place.clone());
            }
            if let Some((token, last)) = tokens.last_mut().zip(places.last_mut()) {
                push_folded(character, token);
                last.end = place.end;
            }
            is_open = true;
        } else {
            is_open = false;
        }
    }
    (tokens, places)
}

/// Returns whether `whole` contains `part` as consecutive tokens.
fn contains_run(whole: &[String], part: &[String]) -> bool {
    !part.is_empty() && whole.windows(part.len()).any(|it| it == part)
}

/// Returns the length of the longest common subsequence.
fn longest_common_subsequence(left: &[String], right: &[String]) -> usize {
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

/// Folds case, removes accents and collapses white space, for comparing the values of lists.
pub fn fold_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in decompose(text) {
        push_folded_or_space(character, &mut out);
    }
    out.truncate(out.trim_end().len());
    out
}

fn push_folded_or_space(character: char, out: &mut String) {
    if character.is_whitespace() {
        if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
    } else if !is_accent(character) {
        push_folded(character, out);
    }
}

/// Returns whether two adjacent characters belong to the same word.
pub fn is_one_word(left: char, right: char) -> bool {
    let joins = |c: char| c.is_alphanumeric() && !is_unspaced(c);
    joins(left) && joins(right) || is_combining_mark(right)
}

fn push_folded(character: char, out: &mut String) {
    match character {
        'ß' | 'ẞ' => out.push_str("ss"),
        'ς' => out.push('σ'),
        _ => out.extend(character.to_lowercase()),
    }
}

/// The accents of Latin, Greek and Cyrillic letters, and Hebrew and Arabic points. Other combining marks form distinct letters.
fn is_accent(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{64b}'..='\u{652}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Emoji, currency and mathematical signs (Unicode category S*) carry meaning, so each counts as a word; punctuation does not.
fn is_symbol(character: char) -> bool {
    !character.is_alphanumeric() && SYMBOLS.chars().take_while(|it| *it <= character).count() % 2 == 1
}

/// Characters of scripts without spaces between words: each counts as a word.
pub fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{e00}'..='\u{eff}' | '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
        && character.is_alphabetic()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str, locale: &str) -> String {
        Phrase::new(text, locale).tokens().join(" ")
    }

    #[test]
    fn texts_are_normalised() {
        for (text, locale, expected) in [
            ("What's   my BALANCE?!", "en-US", "what s my balance"),
            ("whats my balance", "en", "whats my balance"),
            ("what’s 'up' dogsʼ", "en", "what s up dogs"),
            ("Où est l'été", "fr-FR", "ou est l ete"),
            ("Où est l'été", "xx", "ou est l ete"),
            ("aujourd'hui", "fr", "aujourd hui"),
            ("C++ #1 + 2*3 = 5€ 100%", "en", "c + + 1 + 2 3 = 5 € 100"),
            ("ok👌🏽 ❤\u{fe0f}", "en", "ok 👌 🏽 ❤"),
            ("1\u{fe0f}\u{20e3}", "ru", "1"),
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
        assert_eq!(Phrase::new("が", "ja").tokens().len(), 1);
    }

    #[test]
    fn symbols_match_unicode_categories() {
        let of = |class: &str| fancy_regex::Regex::new(class).unwrap();
        let (symbol, other) = (of(r"\p{S}"), of(r"[\p{L}\p{N}\p{P}\p{Cc}\p{Cf}\p{Z}]"));
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            if !decompose(&text).eq([character]) || character.is_alphanumeric() {
                continue;
            }
            if symbol.is_match(&text).unwrap() {
                assert!(is_symbol(character), "{}", character.escape_unicode());
            } else if other.is_match(&text).unwrap() {
                assert!(!is_symbol(character), "{}", character.escape_unicode());
            }
        }
    }

    #[test]
    fn small_talk_is_scored_by_common_tokens() {
        let like = |text: &str, pattern: &str| Phrase::new(text, "en").similarity(&Phrase::new(pattern, "en"));
        assert_eq!(like("How are you?", "how are you"), 1.0);
        assert_eq!(like("how are you today", "how are you"), 6.0 / 7.0);
        assert_eq!(like("you are how", "how are you"), 1.0 / 3.0);
        assert_eq!(like("hi, what is my balance", "hi"), 0.0);
        assert_eq!(like("hi what is my", "hi"), 2.0 / 5.0);
        assert_eq!((like("", ""), like("hi", ""), like("", "hi"), like("bye", "hi")), (0.0, 0.0, 0.0, 0.0));
        assert_eq!(like("a b c d", "a x c d"), 6.0 / 8.0);
        assert_eq!((like("👍", "👍"), like("👍!", "👎"), like("ok 👌", "ok")), (1.0, 0.0, 2.0 / 3.0));
    }

    #[test]
    fn phrases_match_whole_words() {
        let hit = |text: &str, phrase: &str| Phrase::new(text, "en").match_phrase(&Phrase::new(phrase, "en"));
        assert_eq!(hit("please check my balance now", "check my balance"), Some((3, 0.6)));
        assert_eq!(hit("Check my balance", "check my balance"), Some((3, 1.0)));
        assert_eq!(hit("check my balances", "check my balance"), None);
        assert_eq!(hit("check the balance", "check my balance"), None);
        assert_eq!(hit("my balance", "check my balance"), Some((2, 2.0 / 3.0)));
        assert_eq!(hit("my balance", "check my balance now"), None);
        assert_eq!(hit("check my balance", "please check my balance now"), Some((3, 0.6)));
        assert_eq!(hit("balance", "balance please"), None);
        assert_eq!(hit("balance", "balance"), Some((1, 1.0)));
        assert_eq!((hit("ok 👌", "ok"), hit("c help", "c++ help")), (Some((1, 0.5)), None));
        assert_eq!(hit("où est l'addition ?", "addition"), Some((1, 0.25)));
        assert_eq!((hit("", "x"), hit("x", ""), hit("", "")), (None, None, None));
    }

    #[test]
    fn values_of_lists_are_folded() {
        for (text, expected) in [("  Café \t CRÈME ", "cafe creme"), ("C++", "c++"), ("Größe", "grosse"), ("ﬃ", "ffi"), (" ", "")] {
            assert_eq!(fold_text(text), expected);
        }
    }
}
