//! Canonical JSON (sorted keys, no white space) and hashes over it, for the engine's own hashes.

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::text;

/// Appends a value in canonical form.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    text::write_value::<true>(value, out);
}

/// Appends an object in canonical form.
pub fn write_map(map: &Map<String, Value>, out: &mut Vec<u8>) {
    write_members(map.iter().map(|(name, value)| (name.as_str(), value)), out);
}

/// Appends the object of these members in canonical form.
pub fn write_members<'v>(members: impl Iterator<Item = (&'v str, &'v Value)>, out: &mut Vec<u8>) {
    text::write_members::<true>(members, out);
}

/// Returns the canonical form of an object and the end of its line, as a [`Hasher`] hashes it.
pub fn map_line(map: &Map<String, Value>) -> Vec<u8> {
    let mut out = Vec::new();
    write_map(map, &mut out);
    out.push(b'\n');
    out
}

/// Returns the canonical form of a serialisable value.
pub fn to_text<T: Serialize>(value: &T) -> String {
    let mut out = Vec::new();
    write(&serde_json::to_value(value).unwrap_or(Value::Null), &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// A SHA-256 hasher over a sequence of canonical texts, one per line.
#[derive(Default)]
pub struct Hasher {
    sha: Sha256,
    buffer: Vec<u8>,
}

impl Hasher {
    /// Adds a serialisable value.
    pub fn add_value<T: Serialize>(&mut self, value: &T) {
        self.add_json(&serde_json::to_value(value).unwrap_or(Value::Null));
    }

    /// Adds a value without objects: its JSON text is its canonical form.
    pub fn add_scalars<T: Serialize>(&mut self, value: &T) {
        text::write_scalar(value, &mut self.buffer);
        self.flush_line();
    }

    /// Adds a JSON value without copying it.
    pub fn add_json(&mut self, value: &Value) {
        write(value, &mut self.buffer);
        self.flush_line();
    }

    /// Adds the members of a JSON object without copying them.
    pub fn add_members(&mut self, members: &[(&str, Value)]) {
        write_members(members.iter().map(|(name, value)| (*name, value)), &mut self.buffer);
        self.flush_line();
    }

    /// Adds a piece of a canonical text.
    pub fn add_text(&mut self, text: &[u8]) {
        self.sha.update(text);
    }

    fn flush_line(&mut self) {
        self.buffer.push(b'\n');
        self.sha.update(&self.buffer);
        self.buffer.clear();
    }

    /// Returns the hash in hexadecimal.
    pub fn finish(self) -> String {
        use std::fmt::Write;
        self.sha.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        assert_eq!(to_text(&json!({"b": [{"z": 1, "a": 1.0}], "a": "é\n"})), r#"{"a":"é\n","b":[{"a":1.0,"z":1}]}"#);
    }
}
