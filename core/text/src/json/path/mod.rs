//! JSON paths: of table rows, of services and of flow documents. (docs/reference/json-paths.md)
//!
//! A library parses the syntax of RFC 9535; what else existing rules rely on is translated to the same tree, and one evaluator runs it.
//! The filters of rows test an object itself, coerce numeric texts and treat a missing member as null. A bare comparison `$.a == 1` is
//! short for `$[?(@.a == 1)]`.

mod evaluate;
mod members;
mod operator;
#[cfg(test)]
mod query_tests;
mod read_values;
mod row_literal;
mod row_syntax;
mod satisfiability;
mod select;
mod standard;
#[cfg(test)]
mod standard_tests;
#[cfg(test)]
mod tests;
mod tree;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::scanner::CharScanner;
use crate::value::{Dialect, QUERY, ROW_PATH};
use evaluate::Evaluation;
use standard::PathUse;

pub use row_syntax::operator_names;
pub use satisfiability::{KnownType, Satisfiability};
pub use tree::CompiledPath;

/// A compiled JSON path or bare comparison.
///
/// ```
/// use convengine_text::json::path::JsonPath;
/// use serde_json::json;
///
/// let facts = json!({"inputParams": {"amount": 250}, "items": [{"sku": "a"}, {"sku": "b"}]});
/// assert!(JsonPath::compile("$.inputParams.amount > 100")?.matches(&facts));
/// assert_eq!(JsonPath::compile("$.items[*].sku")?.value(&facts), Some(json!(["a", "b"])));
/// assert_eq!(JsonPath::compile_query("$.items[1].sku")?.value(&facts), Some(json!("b")));
/// assert!(JsonPath::compile("$.items[").is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone)]
pub struct JsonPath {
    path: CompiledPath,
    used: PathUse,
    members: Option<members::ReadMembers>,
}

impl JsonPath {
    /// Compiles a path of a table row.
    ///
    /// # Errors
    /// The unexpected text and its character.
    pub fn compile(source: &str) -> Result<JsonPath, String> {
        let trimmed = source.trim();
        let rooted = match trimmed.chars().next() {
            Some('$') => Cow::Borrowed(trimmed),
            // At the beginning, both roots are the document.
            Some('@') => Cow::Owned(trimmed.replacen('@', "$", 1)),
            _ => Cow::Owned(["$.", trimmed].concat()),
        };
        let path = standard::compile(&rooted, PathUse::Row).or_else(|_| row_syntax::compile(source))?;
        Ok(JsonPath { members: members::collect_members(&path), path, used: PathUse::Row })
    }

    /// Compiles a query of a flow document, in the syntax of RFC 9535.
    ///
    /// # Errors
    /// The unexpected text and its character.
    pub fn compile_query(source: &str) -> Result<JsonPath, String> {
        let path = standard::compile(source.trim(), PathUse::Query)?;
        Ok(JsonPath { members: None, path, used: PathUse::Query })
    }

    /// Returns the members of the document that decide whether the path matches; `None` when any of them may.
    pub fn members(&self) -> Option<&[String]> {
        self.members.as_ref().map(|it| it.names.as_slice())
    }

    /// Returns the members of the document that decide what the path finds; `None` when any of them may.
    pub fn members_of_values(&self) -> Option<&[String]> {
        self.members.as_ref().filter(|it| !it.finds_document).map(|it| it.names.as_slice())
    }

    /// Returns whether the path matches a document: it finds something other than a single `false`.
    pub fn matches(&self, document: &Value) -> bool {
        let found = self.find(document);
        match found.as_slice() {
            [] => false,
            [only] => only.as_bool().unwrap_or(true),
            _ => true,
        }
    }

    /// Returns the first value that the path finds.
    pub fn first(&self, document: &Value) -> Option<Value> {
        self.find(document).into_iter().next().map(Cow::into_owned)
    }

    /// Returns the value of a path of names and single indexes. Of any other path returns the list of what it finds; a query that finds
    /// nothing has no value.
    pub fn value(&self, document: &Value) -> Option<Value> {
        let is_one = self.path.is_definite() || self.used == PathUse::Row && self.path.is_object();
        if is_one {
            return self.first(document);
        }
        let found: Vec<Value> = self.find(document).into_iter().map(Cow::into_owned).collect();
        (self.used == PathUse::Row || !found.is_empty()).then_some(Value::Array(found))
    }

    /// Returns whether the path finds a value other than null.
    pub fn has_value(&self, document: &Value) -> bool {
        self.find(document).iter().any(|it| !it.is_null())
    }

    /// Returns all values that the path finds; several members at the end of a path of a row are one object.
    pub fn find<'v>(&self, document: &'v Value) -> Vec<Cow<'v, Value>> {
        let cx = Evaluation { document, dialect: self.dialect() };
        match self.used {
            PathUse::Row => self.path.find_values(cx, document),
            PathUse::Query => self.path.find(cx, document).into_iter().map(Cow::Borrowed).collect(),
        }
    }

    /// Returns the values that decide whether the path matches, by their location in the document; null for a missing value. A list
    /// that is searched is returned as a whole.
    pub fn read_values(&self, document: &Value) -> Map<String, Value> {
        read_values::read_values(&self.path, document)
    }

    /// Returns whether the path can match, given what is known about the members that it names.
    pub fn satisfiability(&self, known: impl FnMut(&[&str]) -> KnownType) -> Satisfiability {
        satisfiability::check_satisfiability(&self.path, known)
    }

    fn dialect(&self) -> &'static Dialect {
        match self.used {
            PathUse::Row => &ROW_PATH,
            PathUse::Query => &QUERY,
        }
    }
}

/// Returns the error for the text where reading stopped.
fn unexpected_error(at: CharScanner<'_>) -> String {
    let found = at.quote_next().unwrap_or_else(|| "the end".to_owned());
    format!("{found} at character {} was not expected", at.position())
}
