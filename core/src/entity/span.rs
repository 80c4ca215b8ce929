//! Reading a text from a position on.

use crate::text::phrase::folded;

/// A position in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan<'t> {
    text: &'t str,
    at: usize,
}

/// What was read, and where reading goes on.
pub(super) type Read<'t, T> = Option<(T, Scan<'t>)>;

/// The leftmost value in a text, and whether it is all of the text.
pub(super) fn first<'t, T>(text: &'t str, parse: impl Fn(Scan<'t>) -> Read<'t, T>) -> Option<(T, bool)> {
    starts(text).find_map(|start| {
        let (value, end) = parse(start)?;
        Some((value, start.at == 0 && end.rest().is_empty()))
    })
}

/// The positions at which a value may begin: not within a word or a number.
fn starts(text: &str) -> impl Iterator<Item = Scan<'_>> {
    let all = text.char_indices().map(move |(at, _)| Scan { text, at });
    all.filter(|it| it.next().is_some_and(|next| !next.is_whitespace()) && (it.ends() || !it.before().is_some_and(is_inner)))
}

/// Whether a character is part of a word or a number.
fn is_inner(character: char) -> bool {
    character.is_alphanumeric() || is_accent(character)
}

/// Whether a character is an accent upon the letter before it.
pub(super) fn is_accent(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

impl<'t> Scan<'t> {
    /// What follows.
    pub fn rest(self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// What was before.
    pub fn past(self) -> &'t str {
        self.text.get(..self.at).unwrap_or_default()
    }

    /// The next character.
    pub fn next(self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The character before.
    pub fn before(self) -> Option<char> {
        self.past().chars().next_back()
    }

    /// The word before, folded.
    pub fn word_before(self) -> String {
        let past = self.past().trim_end().trim_end_matches('-');
        let start = past.char_indices().rev().take_while(|it| it.1.is_alphabetic()).last();
        folded(start.and_then(|it| past.get(it.0..)).unwrap_or_default())
    }

    /// Whether no letter and no digit follows.
    pub fn ends(self) -> bool {
        !self.next().is_some_and(is_inner)
    }

    /// Whether a digit is before, or one and a sign that may join two parts of a number or a date.
    pub fn is_within_number(self) -> bool {
        let before = self.past();
        let joined = before.strip_suffix(['.', ',', '/', ':', '-']).unwrap_or(before);
        joined.ends_with(|it: char| it.is_ascii_digit())
    }

    /// Whether a number goes on behind a sign that may join two parts of it.
    pub fn goes_on(self) -> bool {
        let joined = self.rest().strip_prefix(['.', ',', '/', ':', '-']);
        joined.is_some_and(|it| it.starts_with(|it: char| it.is_ascii_digit()))
    }

    /// Behind so many bytes.
    pub fn skip(self, bytes: usize) -> Scan<'t> {
        Scan { at: self.at + bytes, ..self }
    }

    /// Behind one of these characters.
    pub fn eat(self, characters: &str) -> Option<Scan<'t>> {
        let next = self.next().filter(|it| characters.contains(*it))?;
        Some(self.skip(next.len_utf8()))
    }

    /// Behind a text that follows, whatever the case of its letters.
    pub fn eat_text(self, text: &str) -> Option<Scan<'t>> {
        self.rest().get(..text.len()).filter(|it| it.eq_ignore_ascii_case(text)).map(|it| self.skip(it.len()))
    }

    /// Behind a sign that may be left out.
    pub fn past_any(self, characters: &str) -> Scan<'t> {
        self.eat(characters).unwrap_or(self)
    }

    /// Behind white space.
    pub fn spaces(self) -> Scan<'t> {
        self.skip(self.rest().len() - self.rest().trim_start().len())
    }

    /// Digits, and what follows them; one at least.
    pub fn digits(self) -> Read<'t, &'t str> {
        let length = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.rest().get(..length).filter(|it| !it.is_empty()).map(|it| (it, self.skip(length)))
    }

    /// A number of so many digits at most, and what follows it.
    pub fn small(self, most: usize) -> Read<'t, i64> {
        let (digits, end) = self.digits()?;
        Some((digits.parse().ok().filter(|_| digits.len() <= most)?, end))
    }

    /// A word, folded, and what follows it.
    pub fn word(self) -> Read<'t, String> {
        self.next().filter(|it| it.is_alphabetic())?;
        let letters = |it: &char| it.is_alphabetic() || is_accent(*it);
        let length = self.rest().chars().take_while(letters).map(char::len_utf8).sum();
        self.rest().get(..length).filter(|it| !it.is_empty()).map(|it| (folded(it), self.skip(length)))
    }

    /// Behind words with spaces, a hyphen or an apostrophe between them.
    pub fn words(self, words: &str) -> Option<Scan<'t>> {
        let mut at = self;
        for (index, wanted) in words.split(' ').enumerate() {
            if index > 0 {
                at = at.spaces().past_any("-'’").spaces();
            }
            let (word, end) = at.word()?;
            if word != wanted {
                return None;
            }
            at = end;
        }
        Some(at)
    }

    /// Which row of a table follows; rows are parted by `|`, the words for one row by `,`.
    pub fn row(self, table: &str) -> Read<'t, usize> {
        let (word, _) = self.word()?;
        let begins = |it: &&str| it.strip_prefix(word.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        let named = |row: &str| row.split(',').filter(begins).find_map(|it| self.words(it));
        table.split('|').enumerate().find_map(|(index, row)| named(row).map(|end| (index, end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_begin_at_words_numbers_and_signs() {
        let begin = |text| starts(text).map(|it| it.rest().chars().next().unwrap()).collect::<String>();
        assert_eq!(begin("ab 12 c3 4d $5 e\u{301}f -g"), "a1c4$5e-g");
        assert_eq!(begin("\u{301}\u{301} ü"), "\u{301}ü");
    }

    #[test]
    fn words_are_read_from_a_table() {
        let row = |text, table| Scan { text, at: 0 }.row(table).map(|it| (it.0, it.1.rest()));
        assert_eq!(row("Aujourd’hui!", "demain|aujourd hui"), Some((1, "!")));
        assert_eq!(row("day after  tomorrow", "day,days|day after tomorrow"), Some((0, " after  tomorrow")));
        assert_eq!(row("après-demain", "jours|apres demain,hier"), Some((1, "")));
        assert_eq!(row("hierher", "hier"), None);
        assert_eq!((row("", "a|"), row("1", "a"), row("x", "")), (None, None, None));
    }

    #[test]
    fn what_is_before_is_known() {
        let at = |text: &'static str, at| Scan { text, at };
        assert_eq!((at("avant-hier", 6).word_before(), at("1 hier", 2).word_before()), ("avant".to_owned(), String::new()));
        assert!(at("1.5", 2).is_within_number() && at("15", 1).is_within_number() && !at("a.5", 2).is_within_number());
        assert!(at("1-5", 1).goes_on() && !at("1-a", 1).goes_on());
    }
}
