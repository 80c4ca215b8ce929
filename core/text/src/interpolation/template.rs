//! Text templates: compiles and renders a text with placeholders and secrets.

use serde_json::Value;

use super::error::InterpolationError;
use super::filter::Filter;
use super::output::{Interpolated, OutputContext, TextWithSecrets};
use super::parse;
use super::piece::{Piece, Placeholder};
use super::render;
use crate::names::NameResolver;
use crate::variable_path::VariablePath;

/// A compiled template.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpolation {
    source: String,
    pieces: Vec<Piece>,
}

impl Interpolation {
    /// Compiles a template.
    ///
    /// # Errors
    /// What is wrong, and at which character.
    pub fn parse(source: &str) -> Result<Interpolation, InterpolationError> {
        parse::parse_pieces(source).map(|pieces| Interpolation { source: source.to_owned(), pieces })
    }

    /// Returns the source text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the text of a template without placeholders and secrets.
    pub fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the paths that the template reads, sorted, without secrets.
    pub fn paths(&self) -> Vec<VariablePath> {
        let mut paths: Vec<VariablePath> = self.placeholders().map(|it| it.path.clone()).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Returns the names of the secrets in the template.
    pub fn secret_names(&self) -> Vec<&str> {
        self.pieces.iter().filter_map(|piece| if let Piece::Secret(name) = piece { Some(name.as_str()) } else { None }).collect()
    }

    /// Returns whether the template is a single placeholder.
    pub fn is_single_placeholder(&self) -> bool {
        matches!(self.pieces.as_slice(), [Piece::Placeholder(_)])
    }

    /// Returns whether a placeholder has the filter `raw`.
    pub fn has_raw_filter(&self) -> bool {
        self.placeholders().any(|it| it.filters.contains(&Filter::Raw))
    }

    /// Returns whether a placeholder does not end with the filter `json`.
    pub fn has_unquoted_placeholder(&self) -> bool {
        self.placeholders().any(|placeholder| placeholder.filters.last() != Some(&Filter::Json))
    }

    /// Renders the template as text.
    pub fn render_text(&self, names: &dyn NameResolver) -> Interpolated<String> {
        let Interpolated { output: value, undefined } = self.render_with_secrets(names, OutputContext::Text);
        Interpolated { output: value.text, undefined }
    }

    /// Renders the template as a JSON value: a single placeholder keeps the type of its value and is null when it is not defined.
    pub fn render_value(&self, names: &dyn NameResolver) -> Interpolated<Value> {
        if let [Piece::Placeholder(placeholder)] = self.pieces.as_slice() {
            let mut undefined = Vec::new();
            let value = placeholder.resolve(names, &mut undefined).unwrap_or_default();
            return Interpolated { output: value, undefined };
        }
        let Interpolated { output: value, undefined } = self.render_text(names);
        Interpolated { output: Value::String(value), undefined }
    }

    /// Renders the template for a place in a request, with markers for secrets.
    pub fn render_with_secrets(&self, names: &dyn NameResolver, place: OutputContext) -> Interpolated<TextWithSecrets> {
        render::render_with_secrets(&self.pieces, names, place)
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.pieces.iter().filter_map(|piece| if let Piece::Placeholder(placeholder) = piece { Some(placeholder) } else { None })
    }
}
