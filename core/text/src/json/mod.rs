//! Owns JSON processing on top of `serde_json`: canonical forms and hashes, differences, paths and schemas.

pub mod canonical;
mod collected;
mod decode;
pub mod diff;
pub mod jcs;
pub mod path;
mod reply;
pub mod schema;
pub mod text;
mod tree;

pub use collected::{argument_of, insert_collected, says_same};
pub use decode::{DecodeError, decode, decode_text};
pub use decode::{decode_both, decode_tagged};
pub use reply::{find_json, read_object};
pub use tree::JsonTree;

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};

/// Returns the members of an object; empty for any other value.
pub fn into_members(value: Value) -> Map<String, Value> {
    if let Value::Object(members) = value { members } else { Map::new() }
}

/// Creates an object from members by moving them, where `json!` would grow the object step by step and serialise existing values
/// again.
pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let mut object = Map::with_capacity(N);
    for (name, value) in members {
        object.insert(name.to_owned(), value);
    }
    Value::Object(object)
}

/// Edits the object at a key, creating it if there is none.
pub fn update_object(of: &mut Map<String, Value>, key: &str, edit: impl FnOnce(&mut Map<String, Value>)) {
    let mut node = into_members(of.get_mut(key).map(Value::take).unwrap_or_default());
    edit(&mut node);
    of.insert(key.to_owned(), Value::Object(node));
}

/// Returns the size of a value as JSON, in bytes; `None` when it cannot be serialised.
pub fn serialized_length<T: Serialize>(value: &T) -> Option<usize> {
    struct Counter(usize);

    impl Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, value).ok().map(|()| counter.0)
}

/// Returns whether a text is known to contain nothing that JSON escapes. Reads all of it, which is faster than to stop at the first such
/// byte.
fn is_plain(text: &str) -> bool {
    text.bytes().fold(true, |plain, byte| plain & (byte >= b' ') & (byte != b'"') & (byte != b'\\'))
}

/// Returns whether a value has content; null, blank strings, empty lists and empty objects have none.
pub fn has_content(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// Returns the trimmed text of a string; `None` when it is blank or the value is not a string.
pub fn trim_text(value: Option<&Value>) -> Option<String> {
    value?.as_str().map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned)
}
