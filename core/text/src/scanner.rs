//! A forward-only scanner over source text, for all languages of the configuration. Names, literals and paths are those of flow documents;
//! what templates and paths of table rows write differently, they read with the parts of it.

use serde_json::Value;

/// A source text and the part that is not consumed yet.
#[derive(Debug, Clone, Copy)]
pub struct CharScanner<'s> {
    source: &'s str,
    /// The text that is not consumed yet.
    pub rest: &'s str,
}

impl<'s> CharScanner<'s> {
    /// Creates a scanner at the start of a text.
    pub fn new(source: &'s str) -> CharScanner<'s> {
        CharScanner { source, rest: source }
    }

    /// Creates a scanner at a byte of a text.
    pub fn at(source: &'s str, offset: usize) -> CharScanner<'s> {
        CharScanner { source, rest: source.get(offset..).unwrap_or_default() }
    }

    /// Returns the position of the next character; the first is 1.
    pub fn position(&self) -> usize {
        self.source.chars().count() - self.rest.chars().count() + 1
    }

    /// Returns the next few characters in quotes, for error messages; `None` at the end.
    pub fn quote_next(&self) -> Option<String> {
        let next: String = self.rest.chars().take(12).collect();
        (!next.is_empty()).then(|| format!("'{next}'"))
    }

    /// Builds an error message with the position of the next character.
    pub fn error_at(&self, message: &str) -> String {
        format!("{message} at character {}", self.position())
    }

    /// Builds an error message for unexpected input at the next character.
    pub fn unexpected_error(&self, what: &str) -> String {
        let found = self.quote_next().unwrap_or_else(|| "end".to_owned());
        format!("unexpected {found} at character {}; expected {what}", self.position())
    }

    /// Skips white space.
    pub fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Consumes `text` if the rest starts with it.
    pub fn eat(&mut self, text: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(text) else { return false };
        self.rest = rest;
        true
    }

    /// Returns the text that was consumed since an earlier state of the scanner.
    pub fn taken_since(&self, start: CharScanner<'s>) -> &'s str {
        start.rest.get(..start.rest.len() - self.rest.len()).unwrap_or_default()
    }

    /// Consumes characters while `belongs` is true.
    pub fn take_while(&mut self, belongs: fn(char) -> bool) -> &'s str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Consumes the text up to and including `close`; returns it without `close`. Consumes nothing when there is no `close`.
    pub fn take_until(&mut self, close: &str) -> Option<&'s str> {
        let (taken, rest) = self.rest.split_once(close)?;
        self.rest = rest;
        Some(taken)
    }

    /// Returns the next character.
    pub fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Consumes a name, which may be empty.
    pub fn take_name(&mut self) -> &'s str {
        self.take_while(is_name_character)
    }

    /// Consumes the text of a variable path, which need not be valid.
    pub(super) fn take_path_text(&mut self) -> &'s str {
        let start = *self;
        loop {
            self.take_name();
            while self.rest.starts_with('[') {
                self.skip_quoted_name();
                let end = self.rest.find(']').map_or(self.rest.len(), |it| it + 1);
                self.rest = self.rest.get(end..).unwrap_or_default();
            }
            if !self.eat(".") {
                break;
            }
        }
        self.taken_since(start)
    }

    /// Consumes a bracket and the quoted name behind it, which may have a bracket in it.
    fn skip_quoted_name(&mut self) {
        let mut ahead = *self;
        ahead.eat("[");
        ahead.skip_space();
        if let Some(quote @ ('\'' | '"')) = ahead.peek()
            && ahead.take_quoted(quote, CharScanner::take_escape).is_ok()
        {
            *self = ahead;
        }
    }

    /// Consumes a quoted string, a number, `true`, `false` or `null`; returns `None` when no literal starts here.
    pub fn take_literal(&mut self) -> Result<Option<Value>, String> {
        match self.peek() {
            Some(quote @ ('\'' | '"')) => {
                let start = *self;
                let text = self.take_quoted(quote, CharScanner::take_escape).map_err(|at| match at.peek() {
                    Some(_) => at.unexpected_error("'\\\\' for a backslash, or a JSON escape"),
                    None => start.error_at("unterminated string"),
                });
                text.map(|text| Some(Value::String(text)))
            }
            Some(c) if c.is_ascii_digit() || c == '-' => self.take_number().map(Some),
            Some(_) | None => {
                let mut ahead = *self;
                let word = match ahead.take_name() {
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    "null" => Value::Null,
                    _ => return Ok(None),
                };
                if ahead.rest.starts_with(['.', '[', '(']) {
                    return Ok(None);
                }
                *self = ahead;
                Ok(Some(word))
            }
        }
    }

    fn take_number(&mut self) -> Result<Value, String> {
        let start = *self;
        self.eat("-");
        self.take_number_text();
        match serde_json::from_str(self.taken_since(start)) {
            Ok(number) if !self.rest.starts_with(is_name_character) => Ok(number),
            Ok(_) | Err(_) => Err(start.unexpected_error("a number such as 12 or 0.5, or a quoted string")),
        }
    }

    /// Consumes the digits of a number, its fraction and its exponent, if they follow.
    pub fn take_number_text(&mut self) -> &'s str {
        let start = *self;
        self.take_while(is_digit);
        if self.rest.strip_prefix('.').is_some_and(|fraction| fraction.starts_with(is_digit)) {
            self.eat(".");
            self.take_while(is_digit);
        }
        if let Some(tail) = self.rest.strip_prefix(['e', 'E']) {
            let tail = tail.strip_prefix(['+', '-']).unwrap_or(tail);
            if tail.starts_with(is_digit) {
                self.rest = tail;
                self.take_while(is_digit);
            }
        }
        self.taken_since(start)
    }

    /// Consumes a character.
    pub fn take_character(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = self.rest.get(next.len_utf8()..).unwrap_or_default();
        Some(next)
    }

    /// Consumes a string after its opening quote, which comes next; `escape` consumes what follows a backslash and returns its character.
    ///
    /// # Errors
    /// Where the string is invalid: at a backslash, or at the end of the text.
    pub fn take_quoted(&mut self, quote: char, escape: fn(&mut CharScanner<'s>) -> Option<char>) -> Result<String, CharScanner<'s>> {
        let mut text = String::new();
        self.take_character();
        loop {
            let here = *self;
            match self.take_character().ok_or(here)? {
                c if c == quote => return Ok(text),
                '\\' => text.push(escape(self).ok_or(here)?),
                c => text.push(c),
            }
        }
    }

    /// Consumes a JSON escape after its backslash and returns its character; both quotes can be escaped.
    pub fn take_escape(&mut self) -> Option<char> {
        let c = self.take_character()?;
        Some(match c {
            '"' | '\'' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let unit = self.take_hex_unit()?;
                if !(0xD800..0xDC00).contains(&unit) {
                    return char::from_u32(unit);
                }
                let low = if self.eat("\\u") { self.take_hex_unit()? } else { return None };
                let low = low.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                return char::from_u32(0x10000 + ((unit - 0xD800) << 10) + low);
            }
            _ => return None,
        })
    }

    fn take_hex_unit(&mut self) -> Option<u32> {
        let digits = self.rest.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        self.rest = self.rest.get(4..)?;
        u32::from_str_radix(digits, 16).ok()
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Whether a name may have the character after its first one.
pub fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn literals_are_parsed() {
        for (source, expected) in [
            ("'it''", json!("it")),
            ("\"a\\\"b\\\\\"", json!("a\"b\\")),
            (r"'\n\t\/\'\u00e9\ud83d\ude00'", json!("\n\t/'é😀")),
            ("12", json!(12)),
            ("-0.5,", json!(-0.5)),
            ("1e3", json!(1000.0)),
            ("1.", json!(1)),
            ("true)", json!(true)),
            ("null", json!(null)),
        ] {
            assert_eq!(CharScanner::new(source).take_literal(), Ok(Some(expected)), "{source}");
        }
        for source in ["'open", "'\\x'", "'\\ud83d'", "'\\u12'", "-", "1a", "007"] {
            assert!(CharScanner::new(source).take_literal().is_err(), "{source}");
        }
        for source in ["truely", "true.x", "name", ""] {
            assert_eq!(CharScanner::new(source).take_literal(), Ok(None), "{source}");
        }
    }
}
