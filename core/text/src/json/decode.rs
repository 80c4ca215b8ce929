//! Reads typed values from JSON, with the path of what does not fit.

use std::iter;

use serde::Deserialize;
use serde::de::value::{EnumAccessDeserializer, MapAccessDeserializer, MapDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::{Map, Value};
use serde_path_to_error::Track;

/// A JSON value that is not of the expected type, such as `turns[3].request: missing field 'path'`.
pub type DecodeError = serde_path_to_error::Error<serde_json::Error>;

/// Reads a value of a type from a JSON value.
///
/// # Errors
/// The first part that does not fit, with its path.
pub fn decode<'v, T: Deserialize<'v>>(value: &'v Value) -> Result<T, DecodeError> {
    serde_path_to_error::deserialize(value)
}

/// Reads a value of a type from JSON text.
///
/// # Errors
/// The syntax error with its line and column, or the first part that does not fit, with its path.
pub fn decode_text<T: DeserializeOwned>(text: &str) -> Result<T, DecodeError> {
    let value: Value = serde_json::from_str(text).map_err(|error| DecodeError::new(Track::new().path(), error))?;
    decode(&value)
}

/// Reads an enum whose variant a member of the object names. The type itself is tagged externally: for one with `tag`, serde copies the value,
/// and an error has no path within it.
pub fn decode_tagged<'v, T: Deserialize<'v>>(value: &'v Value, tag: &str) -> Result<T, DecodeError> {
    let missing = || serde_json::Error::custom(format_args!("missing field `{tag}`"));
    let name = value.get(tag).and_then(Value::as_str).ok_or_else(|| DecodeError::new(Track::new().path(), missing()))?;
    let variant = MapDeserializer::<_, serde_json::Error>::new(iter::once((name, value)));
    serde_path_to_error::deserialize(EnumAccessDeserializer::new(MapAccessDeserializer::new(variant)))
}

/// Reads an object as two types that share its members. For a member with `flatten`, serde copies the object, and an error has no path within
/// it.
pub fn decode_both<'de, D: Deserializer<'de>, A: DeserializeOwned, B: DeserializeOwned>(deserializer: D) -> Result<(A, B), D::Error> {
    let value = Value::Object(Map::deserialize(deserializer)?);
    let first = decode(&value).map_err(D::Error::custom)?;
    Ok((first, decode(&value).map_err(D::Error::custom)?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Order {
        id: u32,
        #[serde(default)]
        lines: Vec<Line>,
        #[serde(default)]
        counts: BTreeMap<u32, f64>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Line {
        Gift {},
        Item {
            code: String,
            #[serde(default)]
            note: Option<String>,
        },
    }

    #[derive(Debug, Deserialize)]
    struct Addressed {
        street: String,
    }

    #[test]
    fn an_error_names_the_place() {
        let error = |value: Value| decode::<Order>(&value).unwrap_err().to_string();
        assert_eq!(error(json!({})), "missing field `id`");
        assert!(error(json!({"id": -1})).starts_with("id: invalid value: integer `-1`"));
        assert!(error(json!({"id": 1, "lines": [{"gift": {}}, {"item": {"code": 3}}]})).starts_with("lines[1].item.code: invalid type"));
        assert!(error(json!({"id": 1, "lines": [{"no": {}}]})).starts_with("lines[0]: unknown variant `no`, expected `gift` or `item`"));
        assert!(error(json!({"id": 1, "counts": {"x": 1}})).starts_with("counts"));
        assert_eq!(decode_text::<Order>("{\n\"id\":,}").unwrap_err().to_string(), "expected value at line 2 column 6");
        assert_eq!(decode_text::<Order>(r#"{"id": 1, "counts": {"7": 2}}"#).unwrap().counts, [(7, 2.0)].into());
    }

    #[test]
    fn a_variant_is_read_by_its_tag() {
        let read = |value: Value| decode_tagged::<Line>(&value, "kind").map_err(|it| it.to_string());
        assert_eq!(read(json!({"kind": "item", "code": "a", "other": 1})), Ok(Line::Item { code: "a".to_owned(), note: None }));
        assert_eq!(read(json!({"kind": "gift"})), Ok(Line::Gift {}));
        assert_eq!(read(json!({"kind": "item", "code": 1})).unwrap_err(), "item.code: invalid type: integer `1`, expected a string");
        assert_eq!(read(json!({"kind": "item"})).unwrap_err(), "item: missing field `code`");
        assert!(read(json!({"kind": "no"})).unwrap_err().starts_with("unknown variant `no`"));
        for value in [json!({}), json!({"kind": 1}), json!(3)] {
            assert_eq!(read(value).unwrap_err(), "missing field `kind`");
        }
    }

    #[test]
    fn an_object_is_read_as_two_types() {
        let read = |value: Value| {
            decode_both::<_, Order, Addressed>(value).map(|(order, address)| (order.id, address.street)).map_err(|it| it.to_string())
        };
        assert_eq!(read(json!({"id": 1, "street": "a"})), Ok((1, "a".to_owned())));
        assert_eq!(read(json!({"id": 1, "street": 2})).unwrap_err(), "street: invalid type: integer `2`, expected a string");
        assert_eq!(read(json!({"id": 1})).unwrap_err(), "missing field `street`");
        assert!(read(json!([1, "a"])).is_err());
    }
}
