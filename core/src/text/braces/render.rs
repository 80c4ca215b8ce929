//! Renders templates.

use std::borrow::Cow;

use serde_json::Value;

use super::filter::Filter;
use super::{Hole, Piece, Place, Rendered, Sealed};
use crate::text::decimal;
use crate::text::names::Names;
use crate::text::plain_text;

impl Hole {
    /// Returns the filtered value; a path that is not defined is added to `undefined`.
    pub(super) fn value(&self, names: &dyn Names, undefined: &mut Vec<String>) -> Option<Value> {
        let found = names.value(&self.path).map(Cow::into_owned);
        let value = self.filters.iter().fold(found, |value, filter| filter.apply(value, names));
        if value.is_none() {
            let path = self.path.to_string();
            if !undefined.contains(&path) {
                undefined.push(path);
            }
        }
        value
    }

    /// Returns whether the value is inserted into a URL without encoding.
    fn is_plain(&self) -> bool {
        self.filters.contains(&Filter::Raw) || self.filters.last() == Some(&Filter::UrlEncode)
    }
}

/// Renders pieces to a text, encoded for its place.
pub(super) fn sealed(pieces: &[Piece], names: &dyn Names, place: Place) -> Rendered<Sealed> {
    let mut rendered = Rendered::<Sealed>::default();
    for (at, piece) in pieces.iter().enumerate() {
        let output = &mut rendered.said;
        match piece {
            Piece::Text(text) if place == Place::Form => output.text.push_str(&form_encoded(text)),
            Piece::Text(text) if place == Place::Query => output.text.push_str(&encoded(text)),
            Piece::Text(text) => output.text.push_str(text),
            Piece::Secret(name) => {
                output.secrets.push((output.text.len(), name.clone()));
                output.text.push_str(&marker(name));
            }
            Piece::Hole(hole) => {
                let text = hole.value(names, &mut rendered.undefined).map(|it| printed(&it)).unwrap_or_default();
                match place {
                    Place::Link if at > 0 && !hole.is_plain() => output.text.push_str(&encoded(&text)),
                    Place::Url | Place::Query if !hole.is_plain() => output.text.push_str(&encoded(&text)),
                    Place::Form => output.text.push_str(&form_encoded(&text)),
                    Place::Url | Place::Query | Place::Link | Place::Text => output.text.push_str(&text),
                    Place::Header => output.text.push_str(&text.replace(['\r', '\n', '\0'], " ")),
                }
            }
        }
    }
    rendered
}

/// Returns the marker that stands for a secret.
pub(super) fn marker(name: &str) -> String {
    let mut marker = String::from("[secret:");
    marker.push_str(name);
    marker.push(']');
    marker
}

/// Returns the text of a value, with numbers in their shortest form.
pub(crate) fn printed(value: &Value) -> String {
    match value {
        Value::Number(number) => decimal::printed(number),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => plain_text(value),
    }
}

/// Percent-encodes a text for a form body, with a plus for a space.
pub(super) fn form_encoded(text: &str) -> String {
    encoded(text).replace("%20", "+")
}

/// Percent-encodes everything but the unreserved characters of RFC 3986.
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
