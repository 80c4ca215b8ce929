//! Evaluates compiled paths and their filters on a document.

use std::borrow::Cow;

use serde_json::Value;

use super::operator::PathOperator;
use super::select::MAX_FOUND;
use super::standard::compile_pattern;
use super::tree::{CompiledPath, PathFilter, PathOperand, PathPattern, PathSegment};
use crate::regex::Regex;
use crate::value::{Dialect, length};

/// What an evaluation reads beside the tested value.
#[derive(Clone, Copy)]
pub(super) struct Evaluation<'v, 'd> {
    pub document: &'v Value,
    pub dialect: &'d Dialect,
}

impl CompiledPath {
    /// Whether the path finds at most one value: it consists of names and single indexes.
    pub fn is_definite(&self) -> bool {
        self.segments.iter().all(PathSegment::is_definite)
    }

    /// Whether the path finds at most one object of several members.
    pub fn is_object(&self) -> bool {
        matches!(self.segments.split_last(), Some((PathSegment::Names(_), front)) if front.iter().all(PathSegment::is_definite))
    }

    /// Returns all values that the path finds.
    pub(super) fn find<'v>(&self, cx: Evaluation<'v, '_>, current: &'v Value) -> Vec<&'v Value> {
        let mut nodes = vec![if self.from_document { cx.document } else { current }];
        for segment in &self.segments {
            let mut found = Vec::new();
            for node in nodes {
                segment.select(cx, node, &mut found);
            }
            found.truncate(MAX_FOUND);
            nodes = found;
        }
        nodes
    }

    /// Returns all values that the path finds; several members at its end are one object.
    pub(super) fn find_values<'v>(&self, cx: Evaluation<'v, '_>, current: &'v Value) -> Vec<Cow<'v, Value>> {
        let Some((PathSegment::Names(names), front)) = self.segments.split_last() else {
            return self.find(cx, current).into_iter().map(Cow::Borrowed).collect();
        };
        let front = CompiledPath { from_document: self.from_document, segments: front.to_vec() };
        front.find(cx, current).into_iter().filter_map(|it| pick_members(it, names)).map(Cow::Owned).collect()
    }

    /// Returns the value of a path as an operand of a comparison: the list of what it finds when that is more than one value.
    fn operand_value<'v>(&self, cx: Evaluation<'v, '_>, current: &'v Value) -> Option<Cow<'v, Value>> {
        let mut found = self.find_values(cx, current);
        match found.len() {
            0 | 1 => found.pop(),
            _ => Some(Cow::Owned(Value::Array(found.into_iter().map(Cow::into_owned).collect()))),
        }
    }
}

impl PathSegment {
    fn is_definite(&self) -> bool {
        match self {
            PathSegment::Name(_) => true,
            PathSegment::Select(selection) => selection.is_definite(),
            PathSegment::Names(_) | PathSegment::Filter(_) => false,
        }
    }

    fn select<'v>(&self, cx: Evaluation<'v, '_>, node: &'v Value, found: &mut Vec<&'v Value>) {
        match self {
            PathSegment::Name(name) => found.extend(node.get(name)),
            PathSegment::Names(names) => found.extend(names.iter().filter_map(|it| node.get(it))),
            PathSegment::Select(selection) => selection.select(cx, node, found),
            PathSegment::Filter(filter) => {
                let elements = node.as_array().map_or_else(|| std::slice::from_ref(node), Vec::as_slice);
                found.extend(elements.iter().filter(|it| filter.matches(cx, it)));
            }
        }
    }
}

impl PathFilter {
    /// Returns whether a value passes the filter.
    pub(super) fn matches<'v>(&self, cx: Evaluation<'v, '_>, current: &'v Value) -> bool {
        match self {
            PathFilter::Any(filters) => filters.iter().any(|it| it.matches(cx, current)),
            PathFilter::All(filters) => filters.iter().all(|it| it.matches(cx, current)),
            PathFilter::Not(inner) => !inner.matches(cx, current),
            PathFilter::Exists(path) => !path.find(cx, current).is_empty(),
            PathFilter::Compare(left, operator, right) => {
                let (left, right) = (left.resolve(cx, current), right.resolve(cx, current));
                operator.is_satisfied(cx.dialect, left.as_deref(), right.as_deref())
            }
            PathFilter::Matches(operand, pattern) => {
                let value = operand.resolve(cx, current);
                value.as_deref().and_then(Value::as_str).is_some_and(|text| pattern.matches(cx, current, text))
            }
        }
    }
}

impl PathPattern {
    fn matches<'v>(&self, cx: Evaluation<'v, '_>, current: &'v Value, text: &str) -> bool {
        let occurs = |pattern: &Regex| pattern.is_match(text) == Ok(true);
        match self {
            PathPattern::Literal(pattern) => pattern.as_ref().is_some_and(occurs),
            PathPattern::Dynamic(operand, is_whole) => {
                let pattern = operand.resolve(cx, current);
                pattern.as_deref().and_then(Value::as_str).and_then(|it| compile_pattern(it, *is_whole)).is_some_and(|it| occurs(&it))
            }
        }
    }
}

impl PathOperand {
    fn resolve<'v>(&'v self, cx: Evaluation<'v, '_>, current: &'v Value) -> Option<Cow<'v, Value>> {
        match self {
            PathOperand::Path(path) => path.operand_value(cx, current),
            PathOperand::Literal(value) => Some(Cow::Borrowed(value)),
            PathOperand::Length(of) => of.resolve(cx, current).and_then(|it| length(&it)).map(|count| Cow::Owned(Value::from(count))),
            PathOperand::Count(path) => Some(Cow::Owned(Value::from(path.find(cx, current).len()))),
            PathOperand::Only(path) => match path.find(cx, current).as_slice() {
                [only] => Some(Cow::Borrowed(*only)),
                _ => None,
            },
        }
    }
}

impl PathOperator {
    /// Compares two values; `None` stands for a missing value.
    pub(super) fn is_satisfied(self, dialect: &Dialect, left: Option<&Value>, right: Option<&Value>) -> bool {
        let right_or_null = right.unwrap_or(&Value::Null);
        let list = right_or_null.as_array().map(Vec::as_slice).unwrap_or_default();
        let within = |value: &Value| list.iter().any(|it| dialect.are_equal(value, it));
        let elements = left.and_then(Value::as_array);
        let left_or_null = left.unwrap_or(&Value::Null);
        match self {
            PathOperator::Comparison(comparison) => dialect.satisfies(comparison, left, right) == Some(true),
            PathOperator::In => within(left_or_null),
            PathOperator::NotIn => !within(left_or_null),
            PathOperator::SubsetOf => elements.is_some_and(|items| items.iter().all(within)),
            PathOperator::AnyOf => elements.is_some_and(|items| items.iter().any(within)),
            PathOperator::NoneOf => elements.is_some_and(|items| !items.iter().any(within)),
            PathOperator::Size => left.and_then(length).is_some_and(|length| right_or_null.as_u64() == u64::try_from(length).ok()),
            PathOperator::Empty => left.and_then(length).is_some_and(|length| right_or_null.as_bool() == Some(length == 0)),
            PathOperator::Contains => match (left_or_null, right_or_null) {
                (Value::Array(items), _) => items.iter().any(|it| dialect.are_equal(it, right_or_null)),
                (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
                (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_), _) => false,
            },
        }
    }
}

fn pick_members(node: &Value, names: &[String]) -> Option<Value> {
    let found: serde_json::Map<String, Value> = names.iter().filter_map(|name| Some((name.clone(), node.get(name)?.clone()))).collect();
    (!found.is_empty()).then_some(Value::Object(found))
}
