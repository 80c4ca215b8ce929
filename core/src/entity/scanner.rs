//! A scanner over text, used by the parsers of entities.

use std::ops::Range;

use crate::text::phrase::fold_text;

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

/// Returns the leftmost value of a text, and whether it is the whole text.
pub(super) fn find_first<'t, T>(text: &'t str, parse: impl Fn(SpanScanner<'t>) -> Parsed<'t, T>) -> Option<(T, bool)> {
    start_positions(text).find_map(|start| {
        let (value, end) = parse(start)?;
        Some((value, start.at == 0 && end.rest().is_empty()))
    })
}

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
    all.filter(|it| {
        it.next_char().is_some_and(|next| !next.is_whitespace()) && (it.is_word_end() || !it.previous_char().is_some_and(is_word_char))
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

    /// The previous word, folded.
    pub fn previous_word(self) -> String {
        let past = self.preceding().trim_end().trim_end_matches('-');
        let start = past.char_indices().rev().take_while(|it| it.1.is_alphabetic() || is_accent(it.1)).last();
        fold_text(start.and_then(|it| past.get(it.0..)).unwrap_or_default())
    }

    /// Whether a word may end here: no letter or digit follows.
    pub fn is_word_end(self) -> bool {
        !self.next_char().is_some_and(is_word_char)
    }

    /// Whether the position is after a digit, or after a digit and a separator of numbers or dates.
    pub fn is_within_number(self) -> bool {
        let before = self.preceding();
        let joined = before.strip_suffix(['.', ',', '/', ':', '-']).unwrap_or(before);
        joined.ends_with(|it: char| it.is_ascii_digit())
    }

    /// Whether a number continues: a separator and a digit follow.
    pub fn is_number_continued(self) -> bool {
        let joined = self.rest().strip_prefix(['.', ',', '/', ':', '-']);
        joined.is_some_and(|it| it.starts_with(|it: char| it.is_ascii_digit()))
    }

    /// Skips bytes.
    pub fn skip(self, bytes: usize) -> SpanScanner<'t> {
        SpanScanner { at: self.at + bytes, ..self }
    }

    /// Skips one of these characters; `None` when another one follows.
    pub fn eat(self, characters: &str) -> Option<SpanScanner<'t>> {
        let next = self.next_char().filter(|it| characters.contains(*it))?;
        Some(self.skip(next.len_utf8()))
    }

    /// Skips a text, ignoring ASCII case; `None` when another one follows.
    pub fn eat_text(self, text: &str) -> Option<SpanScanner<'t>> {
        self.rest().get(..text.len()).filter(|it| it.eq_ignore_ascii_case(text)).map(|it| self.skip(it.len()))
    }

    /// Skips one of these characters, if it follows.
    pub fn skip_optional(self, characters: &str) -> SpanScanner<'t> {
        self.eat(characters).unwrap_or(self)
    }

    /// Skips white space.
    pub fn skip_spaces(self) -> SpanScanner<'t> {
        self.skip(self.rest().len() - self.rest().trim_start().len())
    }

    /// Reads one or more digits.
    pub fn read_digits(self) -> Parsed<'t, &'t str> {
        let length = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.rest().get(..length).filter(|it| !it.is_empty()).map(|it| (it, self.skip(length)))
    }

    /// Reads a number of at most `most` digits.
    pub fn read_number(self, most: usize) -> Parsed<'t, i64> {
        let (digits, end) = self.read_digits()?;
        Some((digits.parse().ok().filter(|_| digits.len() <= most)?, end))
    }

    /// Reads a word, folded.
    pub fn read_word(self) -> Parsed<'t, String> {
        self.next_char().filter(|it| it.is_alphabetic())?;
        let letters = |it: &char| it.is_alphabetic() || is_accent(*it);
        let length = self.rest().chars().take_while(letters).map(char::len_utf8).sum();
        self.rest().get(..length).filter(|it| !it.is_empty()).map(|it| (fold_text(it), self.skip(length)))
    }

    /// Skips words separated by spaces, a hyphen or an apostrophe; `None` when others follow.
    pub fn skip_words(self, words: &str) -> Option<SpanScanner<'t>> {
        let mut at = self;
        for (index, expected) in words.split(' ').enumerate() {
            if index > 0 {
                at = at.skip_spaces().skip_optional("-'’").skip_spaces();
            }
            let (word, end) = at.read_word()?;
            if word != expected {
                return None;
            }
            at = end;
        }
        Some(at)
    }

    /// Reads a row of a table and returns its index. Rows are separated by `|`, alternatives by `,`.
    pub fn read_row(self, table: &str) -> Parsed<'t, usize> {
        self.matching_rows(table).next()
    }

    /// Reads the row of a table that matches the longest text.
    pub fn read_longest_row(self, table: &str) -> Parsed<'t, usize> {
        self.matching_rows(table).max_by_key(|it| it.1.at)
    }

    /// The rows of a table that match here.
    fn matching_rows(self, table: &str) -> impl Iterator<Item = (usize, SpanScanner<'t>)> {
        let word = self.read_word().map(|it| it.0);
        let begins = move |it: &&str| {
            word.as_ref().and_then(|word| it.strip_prefix(word.as_str())).is_some_and(|it| it.is_empty() || it.starts_with(' '))
        };
        table.split('|').enumerate().filter_map(move |(index, row)| {
            let end = row.split(',').filter(&begins).find_map(|it| self.skip_words(it))?;
            Some((index, end))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_begin_at_words_numbers_and_signs() {
        let begin = |text| start_positions(text).map(|it| it.rest().chars().next().unwrap()).collect::<String>();
        assert_eq!(begin("ab 12 c3 4d $5 e\u{301}f -g"), "a1c4$5e-g");
        assert_eq!(begin("\u{301}\u{301} ü"), "\u{301}ü");
    }

    #[test]
    fn words_are_read_from_a_table() {
        let row = |text, table| SpanScanner { text, at: 0 }.read_row(table).map(|it| (it.0, it.1.rest()));
        assert_eq!(row("Aujourd’hui!", "demain|aujourd hui"), Some((1, "!")));
        assert_eq!(row("day after  tomorrow", "day,days|day after tomorrow"), Some((0, " after  tomorrow")));
        assert_eq!(row("après-demain", "jours|apres demain,hier"), Some((1, "")));
        assert_eq!(row("hierher", "hier"), None);
        assert_eq!((row("", "a|"), row("1", "a"), row("x", "")), (None, None, None));
    }

    #[test]
    fn the_preceding_text_is_considered() {
        let at = |text: &'static str, at| SpanScanner { text, at };
        assert_eq!((at("avant-hier", 6).previous_word(), at("1 hier", 2).previous_word()), ("avant".to_owned(), String::new()));
        assert!(at("1.5", 2).is_within_number() && at("15", 1).is_within_number() && !at("a.5", 2).is_within_number());
        assert!(at("1-5", 1).is_number_continued() && !at("1-a", 1).is_number_continued());
    }
}
