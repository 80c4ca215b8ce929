//! Renders templates.

use std::borrow::Cow;

use serde_json::Value;

use super::filter::Filter;
use super::{Interpolated, OutputContext, Piece, Placeholder, TextWithSecrets};
use crate::text::decimal;
use crate::text::names::NameResolver;
use crate::text::plain_text;

impl Placeholder {
    /// Returns the filtered value; a path that is not defined is added to `undefined`.
    pub(super) fn resolve(&self, names: &dyn NameResolver, undefined: &mut Vec<String>) -> Option<Value> {
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
    fn is_verbatim(&self) -> bool {
        self.filters.contains(&Filter::Raw) || self.filters.last() == Some(&Filter::UrlEncode)
    }
}

/// Renders pieces to a text, encoded for its place.
pub(super) fn render_with_secrets(pieces: &[Piece], names: &dyn NameResolver, place: OutputContext) -> Interpolated<TextWithSecrets> {
    let mut rendered = Interpolated::<TextWithSecrets>::default();
    for (at, piece) in pieces.iter().enumerate() {
        let output = &mut rendered.output;
        match piece {
            Piece::Text(text) if place == OutputContext::Form => output.text.push_str(&encode_form(text)),
            Piece::Text(text) if place == OutputContext::Query => output.text.push_str(&percent_encode(text)),
            Piece::Text(text) => output.text.push_str(text),
            Piece::Secret(name) => {
                output.secrets.push((output.text.len(), name.clone()));
                output.text.push_str(&secret_marker(name));
            }
            Piece::Placeholder(hole) => {
                let text = hole.resolve(names, &mut rendered.undefined).map(|it| print_value(&it)).unwrap_or_default();
                match place {
                    OutputContext::Link if at > 0 && !hole.is_verbatim() => output.text.push_str(&percent_encode(&text)),
                    OutputContext::Url | OutputContext::Query if !hole.is_verbatim() => output.text.push_str(&percent_encode(&text)),
                    OutputContext::Form => output.text.push_str(&encode_form(&text)),
                    OutputContext::Url | OutputContext::Query | OutputContext::Link | OutputContext::Text => output.text.push_str(&text),
                    OutputContext::Header => output.text.push_str(&text.replace(['\r', '\n', '\0'], " ")),
                }
            }
        }
    }
    rendered
}

/// Returns the marker that stands for a secret.
pub(super) fn secret_marker(name: &str) -> String {
    let mut marker = String::from("[secret:");
    marker.push_str(name);
    marker.push(']');
    marker
}

/// Returns the text of a value, with numbers in their shortest form.
pub(crate) fn print_value(value: &Value) -> String {
    match value {
        Value::Number(number) => decimal::format_number(number),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => plain_text(value),
    }
}

/// Percent-encodes a text for a form body, with a plus for a space.
pub(super) fn encode_form(text: &str) -> String {
    percent_encode(text).replace("%20", "+")
}

/// Percent-encodes everything but the unreserved characters of RFC 3986.
pub(crate) fn percent_encode(text: &str) -> String {
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
