//! JSON beyond the library: canonical form and hashes, differences, paths, schemas.

pub mod canon;
pub mod diff;
pub mod path;
pub mod schema;

use serde_json::{Map, Value};

/// The members of an object; none of any other value.
pub fn members(value: Value) -> Map<String, Value> {
    if let Value::Object(members) = value { members } else { Map::new() }
}
