//! The rows of one table that are to be written, as cells in one buffer, and the statements that write them.

use std::borrow::Cow;

use aho_corasick::AhoCorasick;
use serde::Serialize;

use super::nul::replace_nul;
use super::statement::SqlValue;

/// Rows of one table.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// The texts and bytes of all cells.
    buffer: Vec<u8>,
    cells: Vec<Cell>,
    count: usize,
}

/// A cell; texts and bytes are ranges of the buffer.
#[derive(Debug, Clone, Copy)]
enum Cell {
    Null,
    Integer(i64),
    Text { from: usize, to: usize },
    Bytes { from: usize, to: usize },
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// A text.
    Text,
    /// JSON text.
    Json,
    /// An integer.
    Integer,
    /// Bytes.
    Bytes,
}

/// A statement that is executed for rows.
#[derive(Debug)]
pub struct RowStatement {
    /// Is executed for each row; `$1` is its first column.
    pub sqlite: &'static str,
    /// Is executed once; `$1` is the array of the first column.
    pub postgres: &'static str,
    /// The types of the columns that it needs, from the first one on.
    pub columns: &'static [Column],
}

/// A statement with the rows it is executed for.
#[derive(Debug)]
pub(super) struct Step<'r> {
    pub statement: &'static RowStatement,
    pub rows: &'r Rows,
    /// The values of a last column, which are known only now.
    pub last: Option<Vec<Option<i64>>>,
    /// Whether each row must be written.
    pub must_write_all: bool,
}

impl Rows {
    /// Adds a text to the current row.
    pub fn text(&mut self, text: &str) {
        let from = self.buffer.len();
        self.buffer.extend_from_slice(text.as_bytes());
        self.cells.push(Cell::Text { from, to: self.buffer.len() });
    }

    /// Adds a text, or null.
    pub fn optional_text(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.cells.push(Cell::Null),
        }
    }

    /// Adds a value as JSON text.
    pub fn json<T: Serialize + ?Sized>(&mut self, value: &T) {
        let from = self.buffer.len();
        // Serializing strings, numbers and JSON values into memory cannot fail.
        let _ = serde_json::to_writer(&mut self.buffer, value);
        self.cells.push(Cell::Text { from, to: self.buffer.len() });
    }

    /// Adds the JSON text that `write` appends.
    pub fn json_text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let from = self.buffer.len();
        write(&mut self.buffer);
        self.cells.push(Cell::Text { from, to: self.buffer.len() });
    }

    /// Adds a number.
    pub fn integer(&mut self, number: i64) {
        self.cells.push(Cell::Integer(number));
    }

    /// Adds a number, or null.
    pub fn optional_integer(&mut self, number: Option<i64>) {
        self.cells.push(number.map_or(Cell::Null, Cell::Integer));
    }

    /// Adds bytes, or null.
    pub fn optional_bytes(&mut self, bytes: Option<&[u8]>) {
        let Some(bytes) = bytes else { return self.cells.push(Cell::Null) };
        let from = self.buffer.len();
        self.buffer.extend_from_slice(bytes);
        self.cells.push(Cell::Bytes { from, to: self.buffer.len() });
    }

    /// Ends the current row. All rows have the same columns.
    pub fn end_row(&mut self) {
        self.count += 1;
    }

    /// Adds rows of the same columns.
    pub fn extend(&mut self, other: &Rows) {
        let offset = self.buffer.len();
        self.buffer.extend_from_slice(&other.buffer);
        self.cells.extend(other.cells.iter().map(|cell| match *cell {
            Cell::Text { from, to } => Cell::Text { from: from + offset, to: to + offset },
            Cell::Bytes { from, to } => Cell::Bytes { from: from + offset, to: to + offset },
            other => other,
        }));
        self.count += other.count;
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The bytes of the texts and bytes of all rows.
    pub fn byte_count(&self) -> usize {
        self.buffer.len()
    }

    /// Replaces a text by one of the same length wherever it occurs.
    pub fn replace(&mut self, text: &str, by: &str) {
        if text.len() != by.len() || text.is_empty() {
            return;
        }
        let Ok(searcher) = AhoCorasick::new([text]) else { return };
        let places: Vec<usize> = searcher.find_iter(&self.buffer).map(|it| it.start()).collect();
        for at in places {
            self.buffer[at..at + by.len()].copy_from_slice(by.as_bytes());
        }
    }

    /// The values of each row.
    pub(super) fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = SqlValue<'_>>> {
        self.cells.chunks(self.width()).map(|row| row.iter().map(|cell| self.value(*cell)))
    }

    /// The texts of a column as PostgreSQL accepts them: without NUL, in JSON also where it is escaped.
    pub(super) fn postgres_texts(&self, column: usize, is_json: bool) -> Vec<Option<Cow<'_, str>>> {
        let text = |cell| match self.value(cell) {
            SqlValue::Text(text) if is_json => Some(replace_nul(text)),
            SqlValue::Text(text) if text.contains('\0') => Some(Cow::Owned(text.replace('\0', "\u{fffd}"))),
            SqlValue::Text(text) => Some(Cow::Borrowed(text)),
            _ => None,
        };
        self.column(column).map(text).collect()
    }

    /// The numbers of a column.
    pub(super) fn integers(&self, column: usize) -> Vec<Option<i64>> {
        self.column(column).map(|cell| if let Cell::Integer(number) = cell { Some(number) } else { None }).collect()
    }

    /// The bytes of a column.
    pub(super) fn bytes(&self, column: usize) -> Vec<Option<&[u8]>> {
        let bytes = |cell| if let SqlValue::Bytes(bytes) = self.value(cell) { Some(bytes) } else { None };
        self.column(column).map(bytes).collect()
    }

    fn column(&self, column: usize) -> impl Iterator<Item = Cell> {
        self.cells.iter().skip(column).step_by(self.width()).copied()
    }

    /// The number of columns.
    fn width(&self) -> usize {
        self.cells.len().checked_div(self.count).unwrap_or(1).max(1)
    }

    fn value(&self, cell: Cell) -> SqlValue<'_> {
        match cell {
            Cell::Null => SqlValue::OptionalText(None),
            Cell::Integer(number) => SqlValue::Integer(number),
            // Whole texts alone are added. Were one not UTF-8, it would be stored as it is rather than as an empty text.
            Cell::Text { from, to } => {
                std::str::from_utf8(&self.buffer[from..to]).map_or(SqlValue::Bytes(&self.buffer[from..to]), SqlValue::Text)
            }
            Cell::Bytes { from, to } => SqlValue::Bytes(&self.buffer[from..to]),
        }
    }
}

/// Returns the values of a row and that of the last column, which the rows lack.
pub(super) fn with_last<'v>(
    row: impl Iterator<Item = SqlValue<'v>>,
    last: Option<&[Option<i64>]>,
    index: usize,
) -> impl Iterator<Item = SqlValue<'v>> {
    row.chain(last.map(|numbers| SqlValue::OptionalInteger(numbers.get(index).copied().flatten())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(number: i64) -> Rows {
        let mut rows = Rows::default();
        rows.text("a\u{e4}");
        rows.optional_text(None);
        rows.integer(number);
        rows.optional_bytes(Some(b"\x00\xff"));
        rows.json(&serde_json::json!({"k": "\0"}));
        rows.end_row();
        rows
    }

    #[test]
    fn rows_keep_their_values_when_they_are_joined() {
        let mut rows = sample(1);
        rows.extend(&sample(2));
        rows.extend(&Rows::default());
        assert_eq!(rows.count(), 2);
        let numbers: Vec<i64> = rows.integers(2).into_iter().flatten().collect();
        assert_eq!(numbers, [1, 2]);
        for row in rows.iter() {
            let row: Vec<SqlValue<'_>> = row.collect();
            assert!(matches!(row[0], SqlValue::Text("a\u{e4}")));
            assert!(matches!(row[1], SqlValue::OptionalText(None)));
            assert!(matches!(row[3], SqlValue::Bytes(b"\x00\xff")));
            assert!(matches!(row[4], SqlValue::Text(r#"{"k":"\u0000"}"#)));
        }
        assert_eq!(rows.postgres_texts(4, true), [Some(r#"{"k":"\ufffd"}"#.into()), Some(r#"{"k":"\ufffd"}"#.into())]);
        assert_eq!(rows.postgres_texts(1, false), [None, None]);
    }

    #[test]
    fn a_text_is_replaced_wherever_it_occurs() {
        let mut rows = sample(1);
        rows.text("id-1 and id-1");
        rows.replace("id-1", "id-2");
        rows.replace("id-2", "longer");
        assert_eq!(rows.postgres_texts(5, false), [Some("id-2 and id-2".into())]);
    }
}
