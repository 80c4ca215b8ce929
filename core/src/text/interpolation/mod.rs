//! Templates of flow documents: text with `{{ session.var | filter }}` placeholders. (docs/spec/flows.md#2.4)

mod filter;
mod json_template;
mod number_format;
mod parse;
mod render;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::names::NameResolver;
use super::variable_path::VariablePath;
use filter::Filter;
pub use json_template::JsonTemplate;

pub(crate) use filter::length;
pub(crate) use render::{percent_encode, print_value};

/// A compiled template.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpolation {
    source: String,
    pieces: Vec<Piece>,
}

/// One piece of a template.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Placeholder(Placeholder),
    Secret(String),
}

/// A path and the filters applied to its value.
#[derive(Debug, Clone, PartialEq)]
struct Placeholder {
    path: VariablePath,
    filters: Vec<Filter>,
}

/// An error in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterpolationError {
    /// `T001`, `T002` or `T006`.
    pub code: &'static str,
    /// What is wrong and at which character.
    pub message: String,
}

/// A rendered template.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Interpolated<T> {
    /// The output.
    pub output: T,
    /// The paths that are not defined.
    pub undefined: Vec<String>,
}

/// Where the output is inserted, which decides how values are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputContext {
    /// The path or query of a request URL: values are percent-encoded.
    Url,
    /// A URL that is displayed: as in requests, except for a placeholder at its start, which contains the URL itself.
    Link,
    /// A value in the query of a URL: everything but secret markers is percent-encoded.
    Query,
    /// The body of a form: everything but secret markers is percent-encoded, with a plus for a space.
    Form,
    /// A header: line breaks in values become spaces.
    Header,
    /// Plain text: nothing is encoded.
    Text,
}

/// A text with markers where the host inserts secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextWithSecrets {
    /// The text, with `[secret:NAME]` in place of each secret.
    pub text: String,
    /// The byte offset of each marker and the name of its secret.
    pub secrets: Vec<(usize, String)>,
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
        self.pieces.iter().filter_map(|it| if let Piece::Secret(name) = it { Some(name.as_str()) } else { None }).collect()
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
        self.placeholders().any(|it| it.filters.last() != Some(&Filter::Json))
    }

    /// Renders the template as text.
    pub fn render_text(&self, names: &dyn NameResolver) -> Interpolated<String> {
        let Interpolated { output: value, undefined } = self.render_with_secrets(names, OutputContext::Text);
        Interpolated { output: value.text, undefined }
    }

    /// Renders the template as a JSON value: a single placeholder keeps the type of its value and is null when it is not defined.
    pub fn render_value(&self, names: &dyn NameResolver) -> Interpolated<Value> {
        if let [Piece::Placeholder(hole)] = self.pieces.as_slice() {
            let mut undefined = Vec::new();
            let value = hole.resolve(names, &mut undefined).unwrap_or_default();
            return Interpolated { output: value, undefined };
        }
        let Interpolated { output: value, undefined } = self.render_text(names);
        Interpolated { output: Value::String(value), undefined }
    }

    /// Renders the template for a place in a request, with markers for secrets.
    pub fn render_with_secrets(&self, names: &dyn NameResolver, place: OutputContext) -> Interpolated<TextWithSecrets> {
        render::render_with_secrets(&self.pieces, names, place)
    }

    fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.pieces.iter().filter_map(|it| if let Piece::Placeholder(hole) = it { Some(hole) } else { None })
    }
}
