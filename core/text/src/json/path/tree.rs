//! The syntax tree of compiled paths and their filters.

use serde_json::Value;

use super::operator::PathOperator;
use super::select::Selection;
use crate::regex::Regex;

/// A root and the segments that follow it.
#[derive(Debug, Clone)]
pub struct CompiledPath {
    /// Whether the path starts at the document (`$`) or at the tested value (`@`).
    pub from_document: bool,
    /// The segments, in order.
    pub segments: Vec<PathSegment>,
}

/// One part of a path.
#[derive(Debug, Clone)]
pub enum PathSegment {
    /// A member of an object.
    Name(String),
    /// Several members; at the end of a path of a table row they are returned together, as one object.
    Names(Vec<String>),
    /// Wildcards, indexes, slices, descendants and filters of children.
    Select(Selection),
    /// Tests an object itself, or the elements of a list: the filter of table rows.
    Filter(Box<PathFilter>),
}

/// A filter expression.
#[derive(Debug, Clone)]
pub enum PathFilter {
    /// At least one filter is true.
    Any(Vec<PathFilter>),
    /// All filters are true.
    All(Vec<PathFilter>),
    /// The inner filter is false.
    Not(Box<PathFilter>),
    /// The path finds something, even null.
    Exists(CompiledPath),
    /// A comparison.
    Compare(PathOperand, PathOperator, PathOperand),
    /// The text matches the pattern.
    Matches(PathOperand, PathPattern),
}

/// One side of a comparison.
#[derive(Debug, Clone)]
pub enum PathOperand {
    /// A value from the document.
    Path(CompiledPath),
    /// A literal.
    Literal(Value),
    /// The length of a text, list or object.
    Length(Box<PathOperand>),
    /// The number of values that a path finds.
    Count(CompiledPath),
    /// The value of a path that finds exactly one.
    Only(CompiledPath),
}

/// A pattern.
#[derive(Debug, Clone)]
pub enum PathPattern {
    /// A literal; `None` when it is not a valid pattern, which matches nothing.
    Literal(Option<Regex>),
    /// A pattern from the document, and whether it must match the whole text.
    Dynamic(PathOperand, bool),
}
