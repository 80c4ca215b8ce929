//! Templates of flow documents: `{{ session.var | filter }}`. (`convoship.md` 2.4)

use serde_json::Value;

use super::names::Names;
use super::path::Path;

/// A compiled template.
#[derive(Debug, Clone, PartialEq)]
pub struct Braces {
    source: String,
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
        Ok(Braces { source: source.to_owned() })
    }

    /// As it is written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The paths that it names, secrets left out.
    pub fn reads(&self) -> Vec<Path> {
        Vec::new()
    }

    /// The secrets that it names.
    pub fn secrets(&self) -> Vec<&str> {
        Vec::new()
    }

    /// As text.
    pub fn text(&self, _names: &dyn Names) -> Rendered<String> {
        Rendered { said: self.source.clone(), undefined: Vec::new() }
    }

    /// As a JSON value: what is one hole alone keeps its type, and is null when it is not defined.
    pub fn value(&self, names: &dyn Names) -> Rendered<Value> {
        let Rendered { said, undefined } = self.text(names);
        Rendered { said: Value::String(said), undefined }
    }

    /// As a part of a request.
    pub fn sealed(&self, names: &dyn Names, _place: Place) -> Rendered<Sealed> {
        let Rendered { said, undefined } = self.text(names);
        Rendered { said: Sealed { text: said, secrets: Vec::new() }, undefined }
    }
}

/// A JSON value whose texts are templates.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree(Value);

impl Tree {
    /// Compiles the texts of a value.
    ///
    /// # Errors
    /// What is wrong with the first that is, with the JSON pointer to it.
    pub fn parse(source: &Value) -> Result<Tree, (String, Wrong)> {
        Ok(Tree(source.clone()))
    }

    /// The value, filled.
    pub fn value(&self, _names: &dyn Names) -> Rendered<Value> {
        Rendered { said: self.0.clone(), undefined: Vec::new() }
    }

    /// The JSON text of the filled value, in which secrets are named.
    pub fn sealed(&self, names: &dyn Names) -> Rendered<Sealed> {
        let Rendered { said, undefined } = self.value(names);
        Rendered { said: Sealed { text: said.to_string(), secrets: Vec::new() }, undefined }
    }

    /// The templates in it.
    pub fn templates(&self) -> Vec<&Braces> {
        Vec::new()
    }
}
