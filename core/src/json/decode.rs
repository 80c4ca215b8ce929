//! Reads typed values from JSON, by one deserializer: it takes objects alone for structs and names the place of an error. The browser's
//! engine then contains the code of each type once.

use std::fmt::{self, Display};

use serde::de::{self, DeserializeOwned, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;
use serde_json::map::Iter;

/// Reads a value of a type from a JSON value.
///
/// # Errors
/// The first part that does not fit, with its path.
pub fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, DecodeError> {
    T::deserialize(Decoder(value))
}

/// Reads a value of a type from JSON text.
///
/// # Errors
/// The syntax error with its line and column, or the first part that does not fit, with its path.
pub fn decode_text<T: DeserializeOwned>(text: &str) -> Result<T, DecodeError> {
    decode(&serde_json::from_str(text).map_err(de::Error::custom)?)
}

/// A JSON value that is not of the expected type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DecodeError {
    /// The path of the part that does not fit, such as `turns[3].request`; empty for the whole.
    pub path: String,
    /// What does not fit.
    pub reason: String,
}

impl DecodeError {
    /// Returns the error of a part as that of the member that contains it.
    #[cold]
    pub(super) fn in_member(mut self, name: &str) -> DecodeError {
        let separator = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = [name, separator, &self.path].concat();
        self
    }

    /// Returns the error of a part as that of the list that contains it.
    #[cold]
    fn in_element(mut self, index: usize) -> DecodeError {
        let separator = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("[{index}]{separator}{}", self.path);
        self
    }
}

impl Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.reason) } else { write!(f, "{}: {}", self.path, self.reason) }
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: Display>(reason: T) -> DecodeError {
        DecodeError { path: String::new(), reason: reason.to_string() }
    }
}

/// Reads one value.
#[derive(Clone, Copy)]
struct Decoder<'v>(&'v Value);

impl Decoder<'_> {
    fn mismatch(self, expected: &dyn de::Expected) -> DecodeError {
        let unexpected = match self.0 {
            Value::Null => Unexpected::Other("null"),
            Value::Bool(it) => Unexpected::Bool(*it),
            Value::Number(it) => match (it.as_u64(), it.as_i64()) {
                (Some(it), _) => Unexpected::Unsigned(it),
                (None, Some(it)) => Unexpected::Signed(it),
                (None, None) => Unexpected::Float(it.as_f64().unwrap_or_default()),
            },
            Value::String(it) => Unexpected::Str(it),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        };
        de::Error::invalid_type(unexpected, expected)
    }

    fn visit_number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let Value::Number(number) = self.0 else { return Err(self.mismatch(&visitor)) };
        match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(it), _, _) => visitor.visit_u64(it),
            (None, Some(it), _) => visitor.visit_i64(it),
            (None, None, it) => visitor.visit_f64(it.unwrap_or_default()),
        }
    }
}

macro_rules! number {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            self.visit_number(visitor)
        })*
    };
}

impl<'de> de::Deserializer<'de> for Decoder<'_> {
    type Error = DecodeError;

    number! { deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64 }

    forward_to_deserialize_any! { i128 u128 char bytes byte_buf tuple_struct }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(it) => visitor.visit_bool(*it),
            Value::Number(_) => self.visit_number(visitor),
            Value::String(it) => visitor.visit_str(it),
            Value::Array(it) => visitor.visit_seq(Elements { list: it, next: 0 }),
            Value::Object(it) => visitor.visit_map(Members { rest: it.iter(), last: None }),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let Value::Bool(it) = self.0 else { return Err(self.mismatch(&visitor)) };
        visitor.visit_bool(*it)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let Value::String(it) = self.0 else { return Err(self.mismatch(&visitor)) };
        visitor.visit_str(it)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.0.is_null() { visitor.visit_unit() } else { Err(self.mismatch(&visitor)) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let Value::Array(it) = self.0 else { return Err(self.mismatch(&visitor)) };
        visitor.visit_seq(Elements { list: it, next: 0 })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let Value::Object(it) = self.0 else { return Err(self.mismatch(&visitor)) };
        visitor.visit_map(Members { rest: it.iter(), last: None })
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, DecodeError> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(Variant { name, value: &Value::Null }),
            Value::Object(members) if members.len() == 1 => match members.iter().next() {
                Some((name, value)) => visitor.visit_enum(Variant { name, value }),
                None => Err(self.mismatch(&visitor)),
            },
            Value::Object(_) => Err(de::Error::custom("expected a name, or an object with one member")),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }
}

/// The elements of an array.
struct Elements<'v> {
    list: &'v [Value],
    next: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, DecodeError> {
        let Some(element) = self.list.get(self.next) else { return Ok(None) };
        self.next += 1;
        seed.deserialize(Decoder(element)).map(Some).map_err(|it| it.in_element(self.next - 1))
    }

    fn size_hint(&self) -> Option<usize> {
        self.list.len().checked_sub(self.next)
    }
}

/// The members of an object.
struct Members<'v> {
    rest: Iter<'v>,
    last: Option<(&'v str, &'v Value)>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        self.last = Some((name, value));
        seed.deserialize(Name(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, DecodeError> {
        let (name, value) = self.last.unwrap_or(("", &Value::Null));
        seed.deserialize(Decoder(value)).map_err(|it| it.in_member(name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The name of a member, or its number.
struct Name<'v>(&'v str);

macro_rules! numeric_name {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            match self.0.parse() {
                Ok(number) => visitor.visit_i64(number),
                Err(_) => Err(de::Error::invalid_type(Unexpected::Str(self.0), &visitor)),
            }
        })*
    };
}

impl<'de> de::Deserializer<'de> for Name<'_> {
    type Error = DecodeError;

    numeric_name! { deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 }

    forward_to_deserialize_any! {
        i128 u128 bool f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_enum(Variant { name: self.0, value: &Value::Null })
    }
}

/// A variant of an enum, by its name and its data.
struct Variant<'v> {
    name: &'v str,
    value: &'v Value,
}

impl<'de, 'v> EnumAccess<'de> for Variant<'v> {
    type Error = DecodeError;
    type Variant = Decoder<'v>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Decoder<'v>), DecodeError> {
        Ok((seed.deserialize(Name(self.name))?, Decoder(self.value)))
    }
}

impl<'de> VariantAccess<'de> for Decoder<'_> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        if self.0.is_null() { Ok(()) } else { Err(de::Error::custom("expected no data")) }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, DecodeError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, DecodeError> {
        de::Deserializer::deserialize_seq(self, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, DecodeError> {
        de::Deserializer::deserialize_map(self, visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Order {
        id: u32,
        #[serde(default)]
        lines: Vec<Line>,
        #[serde(default)]
        note: Option<String>,
        #[serde(default)]
        rest: Value,
        #[serde(default)]
        counts: BTreeMap<u32, f64>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Line {
        Gift,
        Text(String),
        Item { code: String },
        Pair(i8, bool),
    }

    #[test]
    fn values_of_every_kind_are_read_as_serde_json_reads_them() {
        let value = json!({"id": 4, "lines": ["gift", {"text": "a"}, {"item": {"code": "b"}}, {"pair": [-1, true]}], "note": null,
            "rest": {"deep": [1, 2.5, "x", null, false, -3]}, "counts": {"7": 1}, "unknown": [1]});
        let order: Order = decode(&value).unwrap();
        assert_eq!(order, serde_json::from_value(value.clone()).unwrap());
        assert_eq!((order.lines.len(), &order.rest), (4, &value["rest"]));
        assert_eq!(decode_text::<Order>(&value.to_string()).unwrap(), order);
    }

    #[test]
    fn an_error_names_the_place() {
        let error = |value: Value| decode::<Order>(&value).unwrap_err().to_string();
        assert_eq!(error(json!({})), "missing field `id`");
        assert_eq!(error(json!({"id": -1})), "id: invalid value: integer `-1`, expected u32");
        assert_eq!(
            error(json!({"id": 1, "lines": ["gift", {"item": {"code": 3}}]})),
            "lines[1].code: invalid type: integer `3`, expected a string"
        );
        assert_eq!(
            error(json!({"id": 1, "lines": ["no"]})),
            "lines[0]: unknown variant `no`, expected one of `gift`, `text`, `item`, `pair`"
        );
        assert_eq!(error(json!({"id": 1, "lines": [{}]})), "lines[0]: expected a name, or an object with one member");
        assert_eq!(error(json!({"id": 1, "counts": {"x": 1}})), "counts: invalid type: string \"x\", expected u32");
        assert_eq!(error(json!([1])), "invalid type: sequence, expected struct Order");
        assert_eq!(decode_text::<Order>("{\n\"id\":,}").unwrap_err().to_string(), "expected value at line 2 column 6");
    }
}
