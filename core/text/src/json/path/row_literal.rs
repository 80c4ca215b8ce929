//! Reads the literals of filters in the way that rows write them: lists, numbers, texts and patterns.

use serde_json::Value;

use super::row_syntax::PathParser;
use super::tree::PathOperand;
use crate::regex::Regex;
use crate::scanner::CharScanner;

impl PathParser<'_> {
    /// Parses a list of literals after its opening bracket.
    pub fn parse_list(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        while !self.eat("]") {
            if !items.is_empty() {
                self.expect(",")?;
            }
            match self.with_depth(|it| it.parse_operand())? {
                PathOperand::Literal(value) => items.push(value),
                PathOperand::Path(_) | PathOperand::Length(_) | PathOperand::Count(_) | PathOperand::Only(_) => {
                    return Err(self.unexpected_error());
                }
            }
        }
        Ok(Value::Array(items))
    }

    /// Parses a number.
    pub fn parse_number(&mut self) -> Result<Value, String> {
        let end = self.rest.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let number = serde_json::from_str(digits).map_err(|_| self.unexpected_error())?;
        self.rest = rest;
        Ok(number)
    }

    /// Parses a text in quotes, with the escapes of JSON; another character after a backslash stands for itself.
    pub fn parse_quoted(&mut self) -> Result<String, String> {
        let mut scan = CharScanner::new(self.rest);
        let Some(quote) = scan.take_character().filter(|it| matches!(it, '\'' | '"')) else { return Err(self.unexpected_error()) };
        let mut text = String::new();
        loop {
            match scan.take_character() {
                None => return Err(self.unexpected_error()),
                Some(character) if character == quote => break,
                Some('\\') => {
                    let after = scan;
                    // What is no escape of JSON stands for itself.
                    text.push(
                        scan.take_escape()
                            .or_else(|| {
                                scan = after;
                                scan.take_character()
                            })
                            .ok_or_else(|| self.unexpected_error())?,
                    );
                }
                Some(character) => text.push(character),
            }
        }
        self.rest = scan.rest;
        Ok(text)
    }

    /// Parses `/pattern/` or `/pattern/i`; the pattern must match the whole string.
    pub fn parse_regex(&mut self) -> Result<Regex, String> {
        self.expect("/")?;
        let Some((pattern, rest)) = split_pattern(self.rest) else { return Err(self.unexpected_error()) };
        let (flags, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len()));
        let case = if flags.contains('i') { "" } else { "(?-i)" };
        let regex = Regex::new_full_match(&format!("{case}{pattern}")).map_err(|error| format!("{error}: {}", self.unexpected_error()))?;
        self.rest = rest;
        Ok(regex)
    }
}

/// Splits after the slash that ends a pattern; an escaped slash belongs to the pattern.
fn split_pattern(text: &str) -> Option<(String, &str)> {
    let mut pattern = String::new();
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '/' if !escaped => return Some((pattern, text.get(at + 1..).unwrap_or_default())),
            '/' => {
                pattern.pop();
                pattern.push('/');
            }
            _ => pattern.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    None
}
