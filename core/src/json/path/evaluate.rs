//! Evaluates compiled paths and their filters on a document.

use std::borrow::Cow;

use serde_json::Value;

use super::operator::length;
use super::tree::{CompiledPath, PathFilter, PathOperand, PathSegment};

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

impl PathFilter {
    /// Returns whether a value passes the filter.
    pub fn matches(&self, document: &Value, current: &Value) -> bool {
        match self {
            PathFilter::Any(filters) => filters.iter().any(|it| it.matches(document, current)),
            PathFilter::All(filters) => filters.iter().all(|it| it.matches(document, current)),
            PathFilter::Not(inner) => !inner.matches(document, current),
            PathFilter::Exists(path) => !path.find(document, current).is_empty(),
            PathFilter::Compare(a, operator, b) => {
                let (a, b) = (a.resolve(document, current), b.resolve(document, current));
                operator.is_satisfied(a.as_deref(), b.as_deref())
            }
            PathFilter::Matches(operand, regex) => {
                let value = operand.resolve(document, current);
                value.as_deref().and_then(Value::as_str).is_some_and(|text| regex.is_match(text) == Ok(true))
            }
        }
    }
}

impl PathOperand {
    fn resolve<'v>(&'v self, document: &'v Value, current: &'v Value) -> Option<Cow<'v, Value>> {
        match self {
            PathOperand::Path(path) => path.operand_value(document, current),
            PathOperand::Literal(value) => Some(Cow::Borrowed(value)),
        }
    }
}

fn pick_members(node: &Value, names: &[String]) -> Option<Value> {
    let found: serde_json::Map<String, Value> = names.iter().filter_map(|name| Some((name.clone(), node.get(name)?.clone()))).collect();
    (!found.is_empty()).then_some(Value::Object(found))
}
