//! Compiled paths and their evaluation on a document.

use std::borrow::Cow;

use serde_json::Value;

use super::filter::PathFilter;
use super::select::Selection;

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

impl CompiledPath {
    /// Returns all values that the path finds.
    pub fn find<'v>(&self, document: &'v Value, current: &'v Value) -> Vec<Cow<'v, Value>> {
        let root = if self.from_document { document } else { current };
        let Some((last, front)) = self.segments.split_last() else {
            return vec![Cow::Borrowed(root)];
        };
        let mut nodes = vec![root];
        for segment in front {
            nodes = nodes.into_iter().flat_map(|it| segment.select(document, it)).collect();
        }
        match last {
            PathSegment::Names(names) => nodes.into_iter().filter_map(|it| pick_members(it, names)).map(Cow::Owned).collect(),
            PathSegment::Name(_) | PathSegment::Select(_) | PathSegment::Filter(_) | PathSegment::Length => {
                nodes.into_iter().flat_map(|it| last.select(document, it)).map(Cow::Borrowed).collect()
            }
        }
    }

    /// Returns the value of a path that selects at most one value, or the list of values of any other path.
    pub fn value(&self, document: &Value) -> Option<Value> {
        let found = self.find(document, document).into_iter().map(Cow::into_owned);
        if self.segments.iter().all(PathSegment::is_definite) { { found }.next() } else { Some(found.collect()) }
    }

    /// Returns the value of the path as an operand of a comparison.
    pub fn operand_value<'v>(&self, document: &'v Value, current: &'v Value) -> Option<Cow<'v, Value>> {
        if let Some((PathSegment::Length, front)) = self.segments.split_last() {
            let front = CompiledPath { from_document: self.from_document, segments: front.to_vec() };
            return front.operand_value(document, current).and_then(|it| length(&it)).map(|it| Cow::Owned(Value::from(it)));
        }
        let mut found = self.find(document, current);
        if self.segments.iter().all(PathSegment::is_definite) {
            return found.into_iter().next();
        }
        match found.len() {
            0 => None,
            1 => found.pop(),
            _ => Some(Cow::Owned(Value::Array(found.into_iter().map(Cow::into_owned).collect()))),
        }
    }
}

impl PathSegment {
    fn is_definite(&self) -> bool {
        match self {
            PathSegment::Name(_) | PathSegment::Names(_) | PathSegment::Length => true,
            PathSegment::Select(selection) => selection.is_definite(),
            PathSegment::Filter(_) => false,
        }
    }

    fn select<'v>(&self, document: &'v Value, node: &'v Value) -> Vec<&'v Value> {
        match self {
            PathSegment::Name(name) => node.get(name).into_iter().collect(),
            PathSegment::Select(selection) => selection.select(node),
            PathSegment::Filter(filter) => {
                let elements = node.as_array().map_or_else(|| std::slice::from_ref(node), Vec::as_slice);
                elements.iter().filter(|it| filter.matches(document, it)).collect()
            }
            // A length is a new value and several members are a new object: the caller handles both, at the end of a path.
            PathSegment::Names(_) | PathSegment::Length => Vec::new(),
        }
    }
}

fn pick_members(node: &Value, names: &[String]) -> Option<Value> {
    let found: serde_json::Map<String, Value> = names.iter().filter_map(|name| Some((name.clone(), node.get(name)?.clone()))).collect();
    (!found.is_empty()).then_some(Value::Object(found))
}

pub(in crate::json) fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Array(items) => Some(items.len()),
        Value::Object(members) => Some(members.len()),
        Value::String(text) => Some(text.chars().count()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
