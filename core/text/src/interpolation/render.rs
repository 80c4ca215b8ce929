//! Renders templates.

use super::output::{Interpolated, OutputContext, TextWithSecrets};
use super::piece::Piece;
use crate::names::NameResolver;
use crate::url::{encode_form, percent_encode};
use crate::value::EXPRESSION;

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
            Piece::Placeholder(placeholder) => {
                let text = placeholder
                    .resolve(names, &mut rendered.undefined)
                    .map(|value| EXPRESSION.print(&value).into_owned())
                    .unwrap_or_default();
                match place {
                    OutputContext::Link if at > 0 && !placeholder.is_verbatim() => output.text.push_str(&percent_encode(&text)),
                    OutputContext::Url | OutputContext::Query if !placeholder.is_verbatim() => output.text.push_str(&percent_encode(&text)),
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
