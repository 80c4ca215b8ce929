//! The syntax tree of compiled paths and their filters.

use serde_json::Value;

use super::operator::PathOperator;
use super::select::Selection;
use crate::text::regex::Regex;

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
    /// Several members, returned together as one object.
    Names(Vec<String>),
    /// Wildcards, indexes, slices and descendants.
    Select(Selection),
    /// Tests an object itself, or the elements of an array.
    Filter(Box<PathFilter>),
    /// The length of a string, array or object; only filters may use it.
    Length,
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
    /// The whole string matches the pattern.
    Matches(PathOperand, Regex),
}

/// One side of a comparison.
#[derive(Debug, Clone)]
pub enum PathOperand {
    /// A value from the document.
    Path(CompiledPath),
    /// A literal.
    Literal(Value),
}
