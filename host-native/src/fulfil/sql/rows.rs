//! Rows as JSON, within limits.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convengine_core::turn::{EffectError, EffectErrorKind, Map, SqlReply};
use serde_json::{Number, Value};
use sqlx::sqlite::SqliteRow;
use sqlx::{Column, Row, TypeInfo, ValueRef};

use crate::secrets::Secrets;

/// Bytes of a result.
const BYTES: usize = 1 << 20;

/// The rows of a query, up to the limits.
pub struct Rows<'s> {
    most: usize,
    secrets: &'s Secrets,
    bytes: usize,
    reply: SqlReply,
}

impl<'s> Rows<'s> {
    /// No rows yet.
    pub fn new(most: u32, secrets: &'s Secrets) -> Rows<'s> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Rows { most, secrets, bytes: 0, reply: SqlReply { rows: Vec::new(), truncated: false } }
    }

    /// Takes a row; answers whether there is room for more.
    ///
    /// # Errors
    /// A row that is too long even alone, or that cannot be read.
    pub fn take(&mut self, row: &SqliteRow) -> Result<bool, EffectError> {
        if self.reply.rows.len() >= self.most {
            self.reply.truncated = true;
            return Ok(false);
        }
        let invalid = |message: String| EffectError::new(EffectErrorKind::Invalid, message);
        let map = object(row, self.secrets).map_err(|it| invalid(format!("a row cannot be read: {it}")))?;
        self.bytes += serde_json::to_vec(&map).map_or(0, |it| it.len());
        if self.bytes > BYTES && self.reply.rows.is_empty() {
            return Err(invalid(format!("the first row alone has more than {BYTES} bytes: select fewer columns, or parts of them")));
        }
        if self.bytes > BYTES {
            self.reply.truncated = true;
            return Ok(false);
        }
        self.reply.rows.push(map);
        Ok(true)
    }

    /// What there is.
    pub fn reply(self) -> SqlReply {
        self.reply
    }
}

fn object(row: &SqliteRow, secrets: &Secrets) -> sqlx::Result<Map> {
    let mut map = Map::new();
    for column in row.columns() {
        let name = secrets.scrub(column.name());
        // A second column of one name would push out the first.
        let same = |it: &u32| if *it == 1 { name.to_string() } else { format!("{name}_{it}") };
        let name = (1..).map(|it| same(&it)).find(|it| !map.contains_key(it)).unwrap_or_default();
        map.insert(name, value(row, column.ordinal(), secrets)?);
    }
    Ok(map)
}

/// SQLite keeps the type with the value and not with the column, so the value decides.
fn value(row: &SqliteRow, index: usize, secrets: &Secrets) -> sqlx::Result<Value> {
    let raw = row.try_get_raw(index)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let kind = raw.type_info().name().to_owned();
    Ok(match kind.as_str() {
        "INTEGER" => row.try_get_unchecked::<i64, _>(index)?.into(),
        "REAL" => {
            let number: f64 = row.try_get_unchecked(index)?;
            Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number)
        }
        "BLOB" => STANDARD.encode(row.try_get_unchecked::<Vec<u8>, _>(index)?).into(),
        _ => {
            let bytes: Vec<u8> = row.try_get_unchecked(index)?;
            secrets.scrub(&String::from_utf8_lossy(&bytes)).into()
        }
    })
}
