//! Reads enums whose variants are named by a member of their object, and objects with the members of a part among their own. Serde would
//! copy them to a form of its own, for which the browser's engine would contain all their code again.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{DecodeError, decode};

/// Implements `Deserialize`, and `read`, which copies nothing, for an enum by the member that names the variant. A variant has the members of the struct that it holds
/// (`of`, or `only` if that denies others), none, or its own, each `required` or with a `default`.
macro_rules! decode_by_tag {
    ($type:ident by $tag:literal { $($(#[$meta:meta])* $name:literal => $variant:ident $data:tt),* $(,)? }) => {
        impl $type {
            /// Reads a JSON value in place.
            #[allow(dead_code, reason = "most values are parts of others, which are deserialized")]
            pub(crate) fn read(value: &serde_json::Value) -> Result<$type, $crate::json::DecodeError> {
                match $crate::json::tagged::tag(value, $tag)? {
                    $($(#[$meta])* $name => $crate::json::tagged::decode_by_tag!(@variant $type $variant $data value $tag),)*
                    other => Err($crate::json::tagged::unknown_variant(other)),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                $crate::json::tagged::deserialize(deserializer, $type::read)
            }
        }
    };
    (@variant $type:ident $variant:ident () $value:ident $tag:literal) => { Ok($type::$variant) };
    (@variant $type:ident $variant:ident (of) $value:ident $tag:literal) => { $crate::json::decode($value).map($type::$variant) };
    (@variant $type:ident $variant:ident (only) $value:ident $tag:literal) => {
        $crate::json::decode(&$crate::json::tagged::without($value, &[$tag])).map($type::$variant)
    };
    (@variant $type:ident $variant:ident { $($field:ident: $how:ident),* $(,)? } $value:ident $tag:literal) => {
        Ok($type::$variant { $($field: $crate::json::tagged::$how($value, stringify!($field))?),* })
    };
}
pub(crate) use decode_by_tag;

/// Deserializes a value by a function that reads it.
pub(crate) fn deserialize<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    read: impl FnOnce(&Value) -> Result<T, DecodeError>,
) -> Result<T, D::Error> {
    read(&Value::deserialize(deserializer)?).map_err(Error::custom)
}

/// Returns the name of the variant.
pub(crate) fn tag<'v>(value: &'v Value, name: &str) -> Result<&'v str, DecodeError> {
    let members = value.as_object().ok_or_else(|| DecodeError::custom("expected an object"))?;
    members.get(name).and_then(Value::as_str).ok_or_else(|| DecodeError::custom(format_args!("missing field `{name}`")))
}

/// Returns the error of a name that no variant has.
pub(crate) fn unknown_variant(name: &str) -> DecodeError {
    DecodeError::custom(format_args!("unknown variant `{name}`"))
}

/// Reads a member that an object must have.
pub(crate) fn required<T: DeserializeOwned>(of: &Value, name: &str) -> Result<T, DecodeError> {
    match of.get(name) {
        Some(member) => decode(member).map_err(|it: DecodeError| it.in_member(name)),
        None => Err(DecodeError::custom(format_args!("missing field `{name}`"))),
    }
}

/// Reads a member of an object, if there is one.
pub(crate) fn default<T: DeserializeOwned + Default>(of: &Value, name: &str) -> Result<T, DecodeError> {
    of.get(name).map_or_else(|| Ok(T::default()), |it| decode(it).map_err(|it: DecodeError| it.in_member(name)))
}

/// Returns an object without some of its members.
pub(crate) fn without(value: &Value, names: &[&str]) -> Value {
    filter_members(value, |it| !names.contains(&it))
}

/// Returns the members of an object that name a variant; the others belong to the struct that has the enum as a part, or are ignored.
pub(crate) fn only(value: &Value, names: &[&str]) -> Value {
    filter_members(value, |it| names.contains(&it))
}

fn filter_members(value: &Value, is_kept: impl Fn(&str) -> bool) -> Value {
    let members = value.as_object().into_iter().flatten().filter(|it| is_kept(it.0));
    Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq)]
    enum Event {
        Start { locale: Option<String>, params: Map<String, Value> },
        Text { text: String },
        Whole(Text),
        End,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Text {
        text: String,
    }

    decode_by_tag!(Event by "type" {
        "start" => Start { locale: default, params: default },
        "text" => Text { text: required },
        "whole" => Whole(of),
        "end" => End(),
    });

    #[test]
    fn variants_are_read_by_their_tag() {
        let read = |value: Value| decode::<Event>(&value);
        let start = Event::Start { locale: Some("de".to_owned()), params: Map::new() };
        assert_eq!(read(json!({"type": "start", "locale": "de", "unknown": 1})), Ok(start));
        assert_eq!(read(json!({"type": "start", "locale": null})), Ok(Event::Start { locale: None, params: Map::new() }));
        assert_eq!(read(json!({"type": "text", "text": "a"})), Ok(Event::Text { text: "a".to_owned() }));
        assert_eq!(read(json!({"type": "whole", "text": "a"})), Ok(Event::Whole(Text { text: "a".to_owned() })));
        assert_eq!(read(json!({"type": "end"})), Ok(Event::End));
        assert_eq!(serde_json::from_str::<Event>(r#"{"type": "end"}"#).unwrap(), Event::End);
        let error = |value: Value| read(value).unwrap_err().to_string();
        assert_eq!(error(json!({"type": "text", "text": 1})), "text: invalid type: integer `1`, expected a string");
        assert_eq!(error(json!({"type": "text"})), "missing field `text`");
        assert_eq!(error(json!({"type": "no"})), "unknown variant `no`");
        assert_eq!(error(json!({})), "missing field `type`");
        assert_eq!(error(json!(3)), "expected an object");
    }

    #[test]
    fn the_members_of_a_part_are_told_from_those_of_its_struct() {
        assert_eq!(without(&json!({"a": 1, "b": 2, "c": 3}), &["a", "c"]), json!({"b": 2}));
        assert_eq!(only(&json!({"a": 1, "b": 2, "c": 3}), &["a", "d"]), json!({"a": 1}));
    }
}
