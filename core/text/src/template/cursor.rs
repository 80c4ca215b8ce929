//! A forward-only cursor over template source.

use serde_json::{Number, Value};

/// The text that is not consumed yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'s> {
    pub rest: &'s str,
}

impl<'s> Cursor<'s> {
    /// Returns the next character.
    pub fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Returns whether the rest starts with `text`.
    pub fn starts_with(&self, text: &str) -> bool {
        self.rest.starts_with(text)
    }

    /// Consumes `text` if the rest starts with it.
    pub fn eat(&mut self, text: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(text) else { return false };
        self.rest = rest;
        true
    }

    /// Skips white space.
    pub fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Consumes characters while `belongs` is true.
    pub fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'s str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Consumes the text up to and including `close`; returns it without `close`.
    pub fn take_until(&mut self, close: &str) -> Option<&'s str> {
        let (taken, rest) = self.rest.split_once(close)?;
        self.rest = rest;
        Some(taken)
    }

    /// Consumes a name, which may start with a digit.
    pub fn take_name(&mut self) -> &'s str {
        self.take_while(is_name_character)
    }

    /// Consumes a whole word, ignoring case.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let mut ahead = *self;
        let found = ahead.take_name().eq_ignore_ascii_case(word);
        if found {
            *self = ahead;
        }
        found
    }

    /// Consumes a quoted string, in which a doubled quote stands for one.
    pub fn take_quoted(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.rest.strip_prefix(quote)?.chars();
        loop {
            match characters.next()? {
                c if c != quote => text.push(c),
                _ if characters.as_str().starts_with(quote) => {
                    characters.next();
                    text.push(quote);
                }
                _ => break,
            }
        }
        self.rest = characters.as_str();
        Some(text)
    }

    /// Consumes a number: an integer, or a double when it has a fraction or an exponent.
    pub fn take_number(&mut self) -> Result<Value, String> {
        let start = self.rest;
        let digit = |c: char| c.is_ascii_digit();
        self.take_while(digit);
        let mut double = false;
        if self.rest.strip_prefix('.').is_some_and(|it| it.starts_with(digit)) {
            self.eat(".");
            self.take_while(digit);
            double = true;
        }
        if let Some(tail) = self.rest.strip_prefix(['e', 'E']) {
            let tail = tail.strip_prefix(['+', '-']).unwrap_or(tail);
            if tail.starts_with(digit) {
                self.rest = tail;
                self.take_while(digit);
                double = true;
            }
        }
        let (text, _) = start.split_at(start.len() - self.rest.len());
        let number = if double { text.parse().ok().and_then(Number::from_f64) } else { text.parse::<i64>().ok().map(Number::from) };
        number.map(Value::Number).ok_or_else(|| "has a number that is too large".to_owned())
    }
}

pub(super) fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}
