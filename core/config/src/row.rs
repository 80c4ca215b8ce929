//! A row of a control table, as stored in the database or a pack.

use convengine_text::template::Template;
use convengine_turn::Map;
use serde_json::Value;

use super::code::{ANY, to_upper_code};
use super::column::{ENABLED, TableShape, list_words};
use super::issue::Issue;

/// A row with its table, key column and position, for issue paths. It reads a column whatever type the database has for it.
///
/// ```
/// use convengine_config::{TableRow, table_shape};
/// use serde_json::json;
///
/// let map = json!({"rule_id": 7, "priority": "20", "intent_code": " order ", "enabled": 1}).as_object().cloned().unwrap_or_default();
/// let row = TableRow::new(table_shape("ce_rule").ok_or("no such table")?, 1, &map);
/// assert_eq!((row.id(), row.integer("priority"), row.is_enabled()), (7, Some(20), true));
/// assert_eq!((row.code_or_any("intent_code"), row.code_or_any("state_code")), ("ORDER".to_owned(), "ANY".to_owned()));
/// assert_eq!(row.path("match_pattern"), "ce_rule[7].match_pattern");
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TableRow<'r> {
    table: &'static TableShape,
    /// Position in the table, from 1; identifies a row without an id.
    position: usize,
    map: &'r Map,
}

/// Sorts rows by priority, then by id; rows without a priority come last.
pub fn by_priority(mut rows: Vec<TableRow<'_>>) -> Vec<TableRow<'_>> {
    rows.sort_by_key(|row| (row.integer("priority").unwrap_or(i64::MAX), row.id()));
    rows
}

impl<'r> TableRow<'r> {
    /// Wraps a row with what its issue paths need.
    pub fn new(table: &'static TableShape, position: usize, map: &'r Map) -> Self {
        TableRow { table, position, map }
    }

    /// The position in the table, from 1.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The numeric id; a row without one is numbered by position, as the database would.
    pub fn id(&self) -> i64 {
        self.integer(self.table.key()).or_else(|| i64::try_from(self.position).ok()).unwrap_or_default()
    }

    /// A text column; `None` for null. Any other value is its JSON, because authors write numbers and objects where text is stored.
    pub fn text(&self, column: &str) -> Option<String> {
        match self.value(column)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => Some(other.to_string()),
        }
    }

    /// A trimmed text column; `None` for null and blank.
    pub fn code(&self, column: &str) -> Option<String> {
        self.text(column).map(|text| text.trim().to_owned()).filter(|it| !it.is_empty())
    }

    /// A trimmed text column in upper case; `ANY` for null and blank.
    pub fn code_or_any(&self, column: &str) -> String {
        self.code(column).map_or_else(|| ANY.to_owned(), |it| to_upper_code(&it))
    }

    /// An integer column; `None` for null and for text that is not an integer.
    pub fn integer(&self, column: &str) -> Option<i64> {
        let value = self.value(column)?;
        let whole = |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then(|| format!("{number:.0}").parse().ok()).flatten();
        value.as_i64().or_else(|| whole(value.as_f64()?)).or_else(|| value.as_str()?.trim().parse().ok())
    }

    /// Whether the row is enabled; null counts as enabled.
    pub fn is_enabled(&self) -> bool {
        self.flag("enabled")
    }

    /// A boolean column; null is true, and anything but `1`, `true` and their texts is false.
    pub fn flag(&self, column: &str) -> bool {
        match self.value(column) {
            None | Some(Value::Null) => true,
            Some(Value::Bool(on)) => *on,
            Some(Value::Number(number)) => number.as_i64() == Some(1),
            Some(Value::String(text)) => matches!(text.trim().to_ascii_lowercase().as_str(), "1" | "true"),
            Some(Value::Array(_) | Value::Object(_)) => false,
        }
    }

    /// The issue path of a column.
    pub fn path(&self, column: &str) -> String {
        format!("{}.{column}", self.location())
    }

    /// The issue path of the row.
    pub fn location(&self) -> String {
        let id = self.text(self.table.key()).unwrap_or_else(|| self.position.to_string());
        format!("{}[{id}]", self.table.name)
    }

    /// Creates an error at a column; `hint` completes "the row is skipped until ...".
    pub fn error(&self, column: &str, reason: impl Into<String>, hint: &str) -> Issue {
        Issue::error(self.path(column), reason, format!("the row is skipped until {hint}"))
    }

    /// Returns a column that must not be blank; `hint` is that of [`TableRow::error`].
    pub(super) fn required(&self, column: &str, hint: &str) -> Result<String, Issue> {
        self.code(column).ok_or_else(|| self.error(column, "is blank", hint))
    }

    /// Returns a template; null is an empty one.
    pub(super) fn template(&self, column: &str) -> Result<Template, Issue> {
        let invalid = |reason| self.error(column, reason, "the template is corrected");
        Template::compile(&self.text(column).unwrap_or_default()).map_err(invalid)
    }

    /// Says that a column holds none of its words.
    pub(super) fn unknown_word(&self, column: &str) -> String {
        format!("'{}' is not {}", self.code(column).unwrap_or_default(), list_words(self.table.words(column)))
    }

    /// The declaration of its table.
    pub fn table(&self) -> &'static TableShape {
        self.table
    }

    /// The value of a column. Tests find a name that the table does not declare.
    fn value(&self, column: &str) -> Option<&'r Value> {
        debug_assert!(column == ENABLED.name || self.table.column(column).is_some(), "{}.{column} is not declared", self.table.name);
        self.map.get(column)
    }
}
