//! Fills templates.

use std::borrow::Cow;

use serde_json::Value;

use super::filter::Filter;
use super::{Hole, Piece, Place, Rendered, Sealed};
use crate::text::decimal;
use crate::text::names::Names;
use crate::text::plain_text;

impl Hole {
    /// Its value behind the filters; a path that is not defined is noted.
    pub(super) fn value(&self, names: &dyn Names, undefined: &mut Vec<String>) -> Option<Value> {
        let found = names.value(&self.path).map(Cow::into_owned);
        let made = self.filters.iter().fold(found, |value, filter| filter.apply(value, names));
        if made.is_none() {
            let path = self.path.to_string();
            if !undefined.contains(&path) {
                undefined.push(path);
            }
        }
        made
    }

    /// Whether it goes into an address as it is.
    fn is_plain(&self) -> bool {
        self.filters.contains(&Filter::Raw) || self.filters.last() == Some(&Filter::UrlEncode)
    }
}

/// Joins pieces to a text for a place.
pub(super) fn sealed(pieces: &[Piece], names: &dyn Names, place: Place) -> Rendered<Sealed> {
    let mut made = Rendered::<Sealed>::default();
    for (at, piece) in pieces.iter().enumerate() {
        let said = &mut made.said;
        match piece {
            Piece::Text(text) if place == Place::Form => said.text.push_str(&form_encoded(text)),
            Piece::Text(text) if place == Place::Query => said.text.push_str(&encoded(text)),
            Piece::Text(text) => said.text.push_str(text),
            Piece::Secret(name) => {
                said.secrets.push((said.text.len(), name.clone()));
                said.text.push_str(&marker(name));
            }
            Piece::Hole(hole) => {
                let text = hole.value(names, &mut made.undefined).map(|it| printed(&it)).unwrap_or_default();
                match place {
                    Place::Link if at > 0 && !hole.is_plain() => said.text.push_str(&encoded(&text)),
                    Place::Url | Place::Query if !hole.is_plain() => said.text.push_str(&encoded(&text)),
                    Place::Form => said.text.push_str(&form_encoded(&text)),
                    Place::Url | Place::Query | Place::Link | Place::Text => said.text.push_str(&text),
                    Place::Header => said.text.push_str(&text.replace(['\r', '\n', '\0'], " ")),
                }
            }
        }
    }
    made
}

/// What stands in the place of a secret.
pub(super) fn marker(name: &str) -> String {
    let mut marker = String::from("[secret:");
    marker.push_str(name);
    marker.push(']');
    marker
}

/// The text of a value, with numbers as short as they can be.
pub(crate) fn printed(value: &Value) -> String {
    match value {
        Value::Number(number) => decimal::printed(number),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => plain_text(value),
    }
}

/// As forms write it: a space is a plus.
pub(super) fn form_encoded(text: &str) -> String {
    encoded(text).replace("%20", "+")
}

/// With everything percent-encoded but the characters that RFC 3986 leaves without a meaning.
pub(crate) fn encoded(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            let halves = [byte >> 4, byte & 15];
            out.extend(halves.iter().filter_map(|it| DIGITS.get(usize::from(*it))).copied().map(char::from));
        }
    }
    out
}
