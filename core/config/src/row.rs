//! A row of a control table, as stored in the database or a pack.

use convengine_turn::Map;
use serde_json::Value;

use super::code::{ANY, to_upper_code};
use super::issue::Issue;

/// A row with its table, key column and position, for issue paths.
#[derive(Debug, Clone, Copy)]
pub struct TableRow<'r> {
    table: &'static str,
    key: &'static str,
    /// Position in the table, from 1; identifies a row without an id.
    position: usize,
    map: &'r Map,
}

/// Sorts rows by priority, then by id; rows without a priority come last.
pub fn by_priority(mut rows: Vec<TableRow<'_>>) -> Vec<TableRow<'_>> {
    rows.sort_by_key(|it| (it.integer("priority").unwrap_or(i64::MAX), it.id()));
    rows
}

impl<'r> TableRow<'r> {
    /// Wraps a row with what its issue paths need.
    pub fn new(table: &'static str, key: &'static str, position: usize, map: &'r Map) -> Self {
        TableRow { table, key, position, map }
    }

    /// The position in the table, from 1.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The numeric id; a row without one is numbered by position, as the database would.
    pub fn id(&self) -> i64 {
        self.integer(self.key).or_else(|| i64::try_from(self.position).ok()).unwrap_or_default()
    }

    /// A text column; `None` for null.
    pub fn text(&self, column: &str) -> Option<String> {
        match self.map.get(column)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => Some(other.to_string()),
        }
    }

    /// A trimmed text column; `None` for null and blank.
    pub fn code(&self, column: &str) -> Option<String> {
        self.text(column).map(|it| it.trim().to_owned()).filter(|it| !it.is_empty())
    }

    /// A trimmed text column in upper case; `ANY` for null and blank.
    pub fn code_or_any(&self, column: &str) -> String {
        self.code(column).map_or_else(|| ANY.to_owned(), |it| to_upper_code(&it))
    }

    /// An integer column; `None` for null and for text that is not an integer.
    pub fn integer(&self, column: &str) -> Option<i64> {
        let value = self.map.get(column)?;
        let whole = |it: f64| (it.fract() == 0.0 && it.abs() < 9e15).then(|| format!("{it:.0}").parse().ok()).flatten();
        value.as_i64().or_else(|| whole(value.as_f64()?)).or_else(|| value.as_str()?.trim().parse().ok())
    }

    /// Whether the row is enabled; null counts as enabled.
    pub fn is_enabled(&self) -> bool {
        self.flag("enabled")
    }

    /// A boolean column; null is true.
    pub fn flag(&self, column: &str) -> bool {
        match self.map.get(column) {
            None | Some(Value::Null) => true,
            Some(Value::Bool(on)) => *on,
            Some(Value::Number(number)) => number.as_i64() == Some(1),
            Some(Value::String(text)) => matches!(text.trim().to_ascii_lowercase().as_str(), "1" | "true"),
            Some(Value::Array(_) | Value::Object(_)) => false,
        }
    }

    /// The issue path of a column.
    pub fn path(&self, column: &str) -> String {
        let id = self.text(self.key).unwrap_or_else(|| self.position.to_string());
        format!("{}[{id}].{column}", self.table)
    }

    /// Creates an error at a column; `hint` completes "the row is skipped until ...".
    pub fn error(&self, column: &str, reason: impl Into<String>, hint: &str) -> Issue {
        Issue::error(self.path(column), reason, format!("the row is skipped until {hint}"))
    }

    /// The name of the table.
    pub fn table(&self) -> &'static str {
        self.table
    }
}
