//! Collects result rows as JSON, within limits.

use convengine_core::turn::{EffectError, Map, SqlReply};
use convengine_settings::secrets::Secrets;
use serde_json::Value;

use super::invalid;

/// Maximum size of a result in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// The column names and values of a row; names may repeat.
pub type Cells = Vec<(String, Value)>;

/// The rows of a query, up to the limits.
pub struct RowCollector<'s> {
    max_rows: usize,
    secrets: &'s Secrets,
    bytes: usize,
    reply: SqlReply,
}

impl<'s> RowCollector<'s> {
    /// Creates an empty collection of up to `max_rows` rows.
    pub fn new(max_rows: u32, secrets: &'s Secrets) -> RowCollector<'s> {
        let max_rows = usize::try_from(max_rows).unwrap_or(usize::MAX);
        RowCollector { max_rows, secrets, bytes: 0, reply: SqlReply { rows: Vec::new(), truncated: false } }
    }

    /// Adds a row; returns whether there is room for more.
    ///
    /// # Errors
    /// `Invalid` if the first row alone exceeds [`MAX_BYTES`].
    pub fn push(&mut self, row: Cells) -> Result<bool, EffectError> {
        if self.reply.rows.len() >= self.max_rows {
            self.reply.truncated = true;
            return Ok(false);
        }
        let map = self.to_object(row);
        self.bytes += serde_json::to_vec(&map).map_or(0, |it| it.len());
        if self.bytes > MAX_BYTES {
            return self.skip_oversized();
        }
        self.reply.rows.push(map);
        Ok(true)
    }

    /// Skips a row that exceeds [`MAX_BYTES`] and ends the result.
    ///
    /// # Errors
    /// `Invalid` if it is the first row.
    pub fn skip_oversized(&mut self) -> Result<bool, EffectError> {
        if self.reply.rows.is_empty() {
            let message = format!("the first row alone has more than {MAX_BYTES} bytes: select fewer columns, or parts of them");
            return Err(invalid(message));
        }
        self.reply.truncated = true;
        Ok(false)
    }

    /// Returns the collected rows.
    pub fn into_reply(self) -> SqlReply {
        self.reply
    }

    fn to_object(&self, row: Cells) -> Map {
        let mut map = Map::new();
        for (name, value) in row {
            let name = self.secrets.scrub(&name);
            // A repeated column name must not overwrite the first value.
            let (mut unique, mut count) = (name.to_string(), 1);
            while map.contains_key(&unique) {
                count += 1;
                unique = format!("{name}_{count}");
            }
            map.insert(unique, self.scrub_value(value));
        }
        map
    }

    fn scrub_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.secrets.scrub(&text).into(),
            Value::Array(items) => items.into_iter().map(|it| self.scrub_value(it)).collect(),
            Value::Object(map) => {
                map.into_iter().map(|(key, value)| (self.secrets.scrub(&key).into_owned(), self.scrub_value(value))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }
}
