//! Templates of flow documents: text with `{{ session.var | filter }}` placeholders. (docs/spec/flows.md#2.4)

mod filter;
mod number;
mod parse;
mod render;
#[cfg(test)]
mod tests;
mod tree;

use serde_json::Value;

use super::names::Names;
use super::path::Path;
use filter::Filter;
pub use tree::Tree;

pub(crate) use filter::length;
pub(crate) use render::{encoded, printed};

/// A compiled template.
#[derive(Debug, Clone, PartialEq)]
pub struct Braces {
    source: String,
    pieces: Vec<Piece>,
}

/// One piece of a template.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Hole(Hole),
    Secret(String),
}

/// A path and the filters applied to its value.
#[derive(Debug, Clone, PartialEq)]
struct Hole {
    path: Path,
    filters: Vec<Filter>,
}

/// An error in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// `T001`, `T002` or `T006`.
    pub code: &'static str,
    /// What is wrong and at which character.
    pub message: String,
}

/// A rendered template.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rendered<T> {
    /// The output.
    pub said: T,
    /// The paths that are not defined.
    pub undefined: Vec<String>,
}

/// Where the output is inserted, which decides how values are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
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
pub struct Sealed {
    /// The text, with `[secret:NAME]` in place of each secret.
    pub text: String,
    /// The byte offset of each marker and the name of its secret.
    pub secrets: Vec<(usize, String)>,
}

impl Braces {
    /// Compiles a template.
    ///
    /// # Errors
    /// What is wrong, and at which character.
    pub fn parse(source: &str) -> Result<Braces, Wrong> {
        parse::pieces(source).map(|pieces| Braces { source: source.to_owned(), pieces })
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
    pub fn reads(&self) -> Vec<Path> {
        let mut paths: Vec<Path> = self.holes().map(|it| it.path.clone()).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Returns the names of the secrets in the template.
    pub fn secrets(&self) -> Vec<&str> {
        self.pieces.iter().filter_map(|it| if let Piece::Secret(name) = it { Some(name.as_str()) } else { None }).collect()
    }

    /// Returns whether the template is a single placeholder.
    pub fn is_hole(&self) -> bool {
        matches!(self.pieces.as_slice(), [Piece::Hole(_)])
    }

    /// Returns whether a placeholder has the filter `raw`.
    pub fn uses_raw(&self) -> bool {
        self.holes().any(|it| it.filters.contains(&Filter::Raw))
    }

    /// Returns whether a placeholder does not end with the filter `json`.
    pub fn leaves_unquoted(&self) -> bool {
        self.holes().any(|it| it.filters.last() != Some(&Filter::Json))
    }

    /// Renders the template as text.
    pub fn text(&self, names: &dyn Names) -> Rendered<String> {
        let Rendered { said: value, undefined } = self.sealed(names, Place::Text);
        Rendered { said: value.text, undefined }
    }

    /// Renders the template as a JSON value: a single placeholder keeps the type of its value and is null when it is not defined.
    pub fn value(&self, names: &dyn Names) -> Rendered<Value> {
        if let [Piece::Hole(hole)] = self.pieces.as_slice() {
            let mut undefined = Vec::new();
            let value = hole.value(names, &mut undefined).unwrap_or_default();
            return Rendered { said: value, undefined };
        }
        let Rendered { said: value, undefined } = self.text(names);
        Rendered { said: Value::String(value), undefined }
    }

    /// Renders the template for a place in a request, with markers for secrets.
    pub fn sealed(&self, names: &dyn Names, place: Place) -> Rendered<Sealed> {
        render::sealed(&self.pieces, names, place)
    }

    fn holes(&self) -> impl Iterator<Item = &Hole> {
        self.pieces.iter().filter_map(|it| if let Piece::Hole(hole) = it { Some(hole) } else { None })
    }
}
