//! A scanner over text, used by the parsers of entities.

use std::ops::Range;

/// Maximum values that are looked for in one text.
pub(super) const MAX_VALUES: usize = 32;

/// A position in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpanScanner<'t> {
    text: &'t str,
    at: usize,
}

/// A parsed value and the position after it.
pub(super) type Parsed<'t, T> = Option<(T, SpanScanner<'t>)>;

/// Returns the values of a text that do not overlap, from left to right, each with its place.
pub(super) fn find_each<'t, T>(text: &'t str, parse: impl Fn(SpanScanner<'t>) -> Parsed<'t, T>) -> Vec<(T, Range<usize>)> {
    let mut found: Vec<(T, Range<usize>)> = Vec::new();
    for start in start_positions(text) {
        if found.last().is_some_and(|it| start.at < it.1.end) {
            continue;
        }
        if let Some((value, end)) = parse(start) {
            found.push((value, start.at..end.at));
        }
        if found.len() == MAX_VALUES {
            break;
        }
    }
    found
}

/// The positions at which a value may start: not within a word or a number.
fn start_positions(text: &str) -> impl Iterator<Item = SpanScanner<'_>> {
    let all = text.char_indices().map(move |(at, _)| SpanScanner { text, at });
    all.filter(|scanner| {
        scanner.next_char().is_some_and(|next| !next.is_whitespace())
            && (scanner.is_word_end() || !scanner.previous_char().is_some_and(is_word_char))
    })
}

/// Whether a character is part of a word or a number.
fn is_word_char(character: char) -> bool {
    character.is_alphanumeric() || is_accent(character)
}

/// Whether a character is a combining accent, or a sign of Devanagari that no letter is: the nukta and the virama.
pub(super) fn is_accent(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{93c}' | '\u{94d}')
}

impl<'t> SpanScanner<'t> {
    /// The text after the position.
    pub fn rest(self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The text before the position.
    pub fn preceding(self) -> &'t str {
        self.text.get(..self.at).unwrap_or_default()
    }

    /// The next character.
    pub fn next_char(self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The previous character.
    pub fn previous_char(self) -> Option<char> {
        self.preceding().chars().next_back()
    }

    /// Whether a word may end here: no letter or digit follows.
    pub fn is_word_end(self) -> bool {
        !self.next_char().is_some_and(is_word_char)
    }

    /// Skips bytes.
    pub fn skip(self, bytes: usize) -> SpanScanner<'t> {
        SpanScanner { at: self.at + bytes, ..self }
    }

    /// Skips a text, ignoring ASCII case; `None` when another one follows.
    pub fn eat_text(self, text: &str) -> Option<SpanScanner<'t>> {
        self.rest().get(..text.len()).filter(|it| it.eq_ignore_ascii_case(text)).map(|word| self.skip(word.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_begin_at_words_numbers_and_signs() {
        let begin = |text| start_positions(text).map(|scanner| scanner.rest().chars().next().unwrap()).collect::<String>();
        assert_eq!(begin("ab 12 c3 4d $5 e\u{301}f -g"), "a1c4$5e-g");
        assert_eq!(begin("\u{301}\u{301} ü"), "\u{301}ü");
    }
}
