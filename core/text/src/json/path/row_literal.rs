//! Reads the literals of filters in the way that rows write them: lists, numbers, texts and patterns.

use serde_json::Value;

use super::row_syntax::PathParser;
use super::tree::PathOperand;
use super::unexpected_error;
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
        let start = self.scan;
        let digits = self.scan.take_while(|c| c.is_ascii_digit() || "+-.eE".contains(c));
        serde_json::from_str(digits).map_err(|_| unexpected_error(start))
    }

    /// Parses a text in quotes, with the escapes of JSON; another character after a backslash stands for itself.
    pub fn parse_quoted(&mut self) -> Result<String, String> {
        let start = self.scan;
        let quote = self.scan.peek().filter(|c| matches!(c, '\'' | '"')).ok_or_else(|| unexpected_error(start))?;
        self.scan.take_quoted(quote, take_escape).map_err(|_| unexpected_error(start))
    }

    /// Parses `/pattern/` or `/pattern/i`; the pattern must match the whole string.
    pub fn parse_regex(&mut self) -> Result<Regex, String> {
        self.expect("/")?;
        let Some((pattern, rest)) = split_pattern(self.scan.rest) else { return Err(self.unexpected_error()) };
        let (flags, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len()));
        let case = if flags.contains('i') { "" } else { "(?-i)" };
        let regex = Regex::new_full_match(&format!("{case}{pattern}")).map_err(|error| format!("{error}: {}", self.unexpected_error()))?;
        self.scan.rest = rest;
        Ok(regex)
    }
}

/// Consumes what follows a backslash: an escape of JSON, or a character that stands for itself.
fn take_escape(scan: &mut CharScanner<'_>) -> Option<char> {
    let start = *scan;
    scan.take_escape().or_else(|| {
        *scan = start;
        scan.take_character()
    })
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
