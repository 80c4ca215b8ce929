//! Texts with JSON escapes decoded.

use std::ops::Range;

/// An unescaped text that maps each byte to its position in the original.
pub struct UnescapedText {
    /// The text.
    pub text: String,
    origins: Vec<usize>,
}

impl UnescapedText {
    /// Creates a view of the original text.
    pub fn new(text: &str) -> UnescapedText {
        UnescapedText { text: text.to_owned(), origins: (0..=text.len()).collect() }
    }

    /// Decodes one level of JSON escapes; `None` if there are none.
    pub fn unescape(&self) -> Option<UnescapedText> {
        let mut rest = self.text.as_str();
        let mut view = UnescapedText { text: String::with_capacity(rest.len()), origins: Vec::with_capacity(self.origins.len()) };
        if !rest.contains('\\') {
            return None;
        }
        while let Some(first) = rest.chars().next() {
            let (decoded, length) = decode_escape(rest).unwrap_or((first, first.len_utf8()));
            let origin = self.origins.get(self.text.len() - rest.len()).copied().unwrap_or_default();
            view.origins.extend(std::iter::repeat_n(origin, decoded.len_utf8()));
            view.text.push(decoded);
            rest = rest.get(length..).unwrap_or_default();
        }
        view.origins.push(self.origins.last().copied().unwrap_or_default());
        Some(view)
    }

    /// Maps a byte range of this text to the original.
    pub fn original_range(&self, range: Range<usize>) -> Range<usize> {
        let at = |position: usize| self.origins.get(position).copied().unwrap_or_default();
        at(range.start)..at(range.end)
    }
}

/// Decodes an escape at the beginning of a text; returns the character and the length of the escape.
fn decode_escape(text: &str) -> Option<(char, usize)> {
    let escaped = text.strip_prefix('\\')?;
    let plain = match escaped.chars().next()? {
        'u' => {
            let code = u32::from_str_radix(escaped.get(1..5)?, 16).ok()?;
            return char::from_u32(code).map(|it| (it, 6));
        }
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        it @ ('"' | '\\' | '/' | '\'') => it,
        _ => return None,
    };
    Some((plain, 2))
}
