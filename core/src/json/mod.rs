//! JSON beyond the library: canonical form and hashes, differences, paths, schemas.

pub mod canon;
pub mod diff;
pub mod jcs;
pub mod path;
pub mod query;
pub mod schema;

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};

/// The members of an object; none of any other value.
pub fn members(value: Value) -> Map<String, Value> {
    if let Value::Object(members) = value { members } else { Map::new() }
}

/// An object of members that are moved. The library's macro grows its objects member by member and writes values anew that are there already.
pub fn object<const N: usize>(mut members: [(&str, Value); N]) -> Value {
    of_members(&mut members)
}

/// The same for any number: once in the engine of the browser, whose size counts.
fn of_members(members: &mut [(&str, Value)]) -> Value {
    let mut object = Map::with_capacity(members.len());
    for (name, value) in members {
        object.insert((*name).to_owned(), value.take());
    }
    Value::Object(object)
}

/// Changes the object at a key; it is made when there is none.
pub fn change(of: &mut Map<String, Value>, key: &str, edit: impl FnOnce(&mut Map<String, Value>)) {
    let mut node = members(of.get_mut(key).map(Value::take).unwrap_or_default());
    edit(&mut node);
    of.insert(key.to_owned(), Value::Object(node));
}

/// Bytes of a value when it is written as JSON; nothing of one that cannot be.
pub fn length<T: Serialize>(value: &T) -> Option<usize> {
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

/// Whether a value says something: null, blank texts, empty lists and empty objects do not.
pub fn has_content(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// The text of a value without white space around it; nothing when it is blank, and of a value that is no text.
pub fn trimmed(value: Option<&Value>) -> Option<String> {
    value?.as_str().map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned)
}
