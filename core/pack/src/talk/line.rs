//! Lines and words of a talk with their positions, for error messages.

use super::super::PackError;

/// A part of a line, trimmed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t> {
    /// The line number, from 1.
    pub number: u32,
    /// The column of its first character, from 1.
    pub column: usize,
    /// The text.
    pub text: &'t str,
}

impl<'t> Line<'t> {
    pub(super) fn new(number: u32, text: &'t str) -> Line<'t> {
        Line { number, column: 1, text: text.trim_end() }.trim_start()
    }

    /// Whether it is preceded by white space.
    pub(super) fn is_indented(&self) -> bool {
        self.column > 1
    }

    /// Returns the rest after a mark; `None` if it does not begin with the mark.
    pub(super) fn strip_mark(&self, mark: &str) -> Option<Line<'t>> {
        let rest = self.text.strip_prefix(mark)?;
        Some(Line { number: self.number, column: self.column + mark.chars().count(), text: rest }.trim_start())
    }

    /// Splits it into the first word and the rest.
    pub(super) fn split_word(&self) -> (Line<'t>, Line<'t>) {
        let end = self.text.find(char::is_whitespace).unwrap_or(self.text.len());
        let (first, rest) = self.text.split_at_checked(end).unwrap_or((self.text, ""));
        let column = self.column + first.chars().count();
        (Line { text: first, ..*self }, Line { number: self.number, column, text: rest }.trim_start())
    }

    /// Splits it at the first separator.
    pub(super) fn split_once(&self, separator: &str) -> Option<(Line<'t>, Line<'t>)> {
        let (left, right) = self.text.split_once(separator)?;
        let column = self.column + left.chars().count() + separator.chars().count();
        let left = Line { text: left.trim_end(), ..*self };
        Some((left, Line { number: self.number, column, text: right }.trim_start()))
    }

    /// Splits it at commas.
    pub(super) fn split_list(&self) -> Vec<Line<'t>> {
        let mut rest = *self;
        let mut parts = Vec::new();
        while let Some((part, after)) = rest.split_once(",") {
            parts.push(part);
            rest = after;
        }
        parts.push(rest);
        parts
    }

    fn trim_start(self) -> Line<'t> {
        let text = self.text.trim_start();
        let blanks = self.text.chars().take_while(|it| it.is_whitespace()).count();
        Line { number: self.number, column: self.column + blanks, text }
    }

    /// Creates an error with this position.
    pub(super) fn error(&self, reason: impl std::fmt::Display) -> PackError {
        PackError { form: "talk", reason: format!("line {}, column {}: {reason}", self.number, self.column) }
    }

    /// Returns the text, or an error if it is empty.
    pub(super) fn required(&self, what: &str) -> Result<&'t str, PackError> {
        if self.text.is_empty() { Err(self.error(format!("{what} is missing"))) } else { Ok(self.text) }
    }
}

/// Parses JSON. Errors have the position of the offending character.
pub(super) fn parse_json(line: &Line<'_>, hint: &str) -> Result<serde_json::Value, PackError> {
    serde_json::from_str(line.text).map_err(|error| {
        let within = line.text.char_indices().take_while(|(at, _)| at + 1 < error.column()).count();
        let position = Line { column: line.column + within, ..*line };
        let reason = error.to_string();
        position.error(format!("invalid JSON ({}); {hint}", reason.split(" at line ").next().unwrap_or_default()))
    })
}
