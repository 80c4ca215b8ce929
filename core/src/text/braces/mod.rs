//! Templates of flow documents: `{{ session.var | filter }}`. (`convoship.md` 2.4)

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

/// What templates are made of.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Hole(Hole),
    Secret(String),
}

/// A path and what is done with its value.
#[derive(Debug, Clone, PartialEq)]
struct Hole {
    path: Path,
    filters: Vec<Filter>,
}

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// `T001`, `T002` or `T006`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
}

/// A rendered template.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rendered<T> {
    /// What it says.
    pub said: T,
    /// The paths that are not defined.
    pub undefined: Vec<String>,
}

/// Where a text goes that may name secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The path or the query within the address of a request: values are percent-encoded.
    Url,
    /// An address that is shown: as in requests, but for a hole with which it begins, which has the address in it.
    Link,
    /// A value in the query of an address: all but markers is percent-encoded.
    Query,
    /// The body of a form: all but markers is percent-encoded, with a plus for a space.
    Form,
    /// A header: values may not hold line breaks.
    Header,
    /// Text that goes as it is.
    Text,
}

/// A text that names secrets in the places where the host puts them in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sealed {
    /// The text, with `[secret:NAME]` where a secret goes.
    pub text: String,
    /// Where such a marker begins, in bytes, and the name of its secret.
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

    /// As it is written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What it always says, when it has no hole and names no secret.
    pub fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The paths that it names, secrets left out.
    pub fn reads(&self) -> Vec<Path> {
        let mut paths: Vec<Path> = self.holes().map(|it| it.path.clone()).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The secrets that it names.
    pub fn secrets(&self) -> Vec<&str> {
        self.pieces.iter().filter_map(|it| if let Piece::Secret(name) = it { Some(name.as_str()) } else { None }).collect()
    }

    /// Whether it is one hole and nothing else.
    pub fn is_hole(&self) -> bool {
        matches!(self.pieces.as_slice(), [Piece::Hole(_)])
    }

    /// Whether a hole has the filter `raw`.
    pub fn uses_raw(&self) -> bool {
        self.holes().any(|it| it.filters.contains(&Filter::Raw))
    }

    /// Whether a hole does not end with the filter `json`.
    pub fn leaves_unquoted(&self) -> bool {
        self.holes().any(|it| it.filters.last() != Some(&Filter::Json))
    }

    /// As text.
    pub fn text(&self, names: &dyn Names) -> Rendered<String> {
        let Rendered { said, undefined } = self.sealed(names, Place::Text);
        Rendered { said: said.text, undefined }
    }

    /// As a JSON value: what is one hole alone keeps its type, and is null when it is not defined.
    pub fn value(&self, names: &dyn Names) -> Rendered<Value> {
        if let [Piece::Hole(hole)] = self.pieces.as_slice() {
            let mut undefined = Vec::new();
            let said = hole.value(names, &mut undefined).unwrap_or_default();
            return Rendered { said, undefined };
        }
        let Rendered { said, undefined } = self.text(names);
        Rendered { said: Value::String(said), undefined }
    }

    /// As a part of a request.
    pub fn sealed(&self, names: &dyn Names, place: Place) -> Rendered<Sealed> {
        render::sealed(&self.pieces, names, place)
    }

    fn holes(&self) -> impl Iterator<Item = &Hole> {
        self.pieces.iter().filter_map(|it| if let Piece::Hole(hole) = it { Some(hole) } else { None })
    }
}
