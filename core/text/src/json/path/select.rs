//! The selectors of RFC 9535.

use serde_json::Value;

use super::evaluate::Evaluation;
use super::tree::PathFilter;

/// The most values that a segment finds: selectors may select the same value repeatedly.
pub(super) const MAX_FOUND: usize = 100_000;

/// The selectors of one pair of brackets.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Whether the selectors apply to all descendants, too (`..`).
    pub deep: bool,
    /// The selectors, in order.
    pub selectors: Vec<Selector>,
}

/// A selector of children.
#[derive(Debug, Clone)]
pub enum Selector {
    /// A member of an object.
    Name(String),
    /// An element of a list; a negative one counts from its end.
    Index(i64),
    /// Some elements of a list.
    Slice {
        /// The first index.
        start: Option<i64>,
        /// The index after the last.
        end: Option<i64>,
        /// The distance between indexes; a negative step goes backwards, and zero selects nothing.
        step: i64,
    },
    /// All members or elements.
    Wildcard,
    /// Those members or elements that pass a filter.
    Filter(Box<PathFilter>),
}

impl Selection {
    /// Returns whether the selection contains at most one value.
    pub fn is_definite(&self) -> bool {
        !self.deep && matches!(self.selectors.as_slice(), [Selector::Index(_)])
    }

    /// Adds what is selected from a value to `found`: a parent before its descendants, and of each what one selector after the other
    /// selects.
    pub(super) fn select<'v>(&self, cx: Evaluation<'v, '_>, node: &'v Value, found: &mut Vec<&'v Value>) {
        for node in if self.deep { with_descendants(node) } else { vec![node] } {
            for selector in &self.selectors {
                if found.len() >= MAX_FOUND {
                    return found.truncate(MAX_FOUND);
                }
                selector.select(cx, node, found);
            }
        }
    }
}

impl Selector {
    fn select<'v>(&self, cx: Evaluation<'v, '_>, node: &'v Value, found: &mut Vec<&'v Value>) {
        match (self, node) {
            (Selector::Name(name), _) => found.extend(node.get(name)),
            (Selector::Wildcard, _) => found.extend(children(node)),
            (Selector::Filter(filter), _) => found.extend(children(node).into_iter().filter(|it| filter.matches(cx, it))),
            (Selector::Index(index), Value::Array(items)) => found.extend(get_element(items, index_from_start(*index, items.len()))),
            (Selector::Slice { start, end, step }, Value::Array(items)) => found.extend(select_slice(items, *start, *end, *step)),
            (Selector::Index(_) | Selector::Slice { .. }, _) => {}
        }
    }
}

/// Returns a value and all its descendants in document order, without recursion.
fn with_descendants(node: &Value) -> Vec<&Value> {
    let (mut found, mut open) = (Vec::new(), vec![node]);
    while let Some(next) = open.pop() {
        found.push(next);
        open.extend(children(next).into_iter().rev());
    }
    found
}

/// Returns the children of a list or an object.
fn children(node: &Value) -> Vec<&Value> {
    match node {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => members.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn get_element(items: &[Value], index: i64) -> Option<&Value> {
    items.get(usize::try_from(index).ok()?)
}

fn index_from_start(index: i64, length: usize) -> i64 {
    if index < 0 { index.saturating_add_unsigned(length as u64) } else { index }
}

fn select_slice(items: &[Value], start: Option<i64>, end: Option<i64>, step: i64) -> Vec<&Value> {
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let bounded = |index: i64, lowest: i64, highest: i64| index_from_start(index, items.len()).clamp(lowest, highest);
    let (mut at, end) = if step < 0 {
        (start.map_or(length - 1, |index| bounded(index, -1, length - 1)), end.map_or(-1, |index| bounded(index, -1, length - 1)))
    } else {
        (start.map_or(0, |index| bounded(index, 0, length)), end.map_or(length, |index| bounded(index, 0, length)))
    };
    let mut found = Vec::new();
    while step != 0 && (if step < 0 { at > end } else { at < end }) {
        found.extend(get_element(items, at));
        at = at.saturating_add(step);
    }
    found
}
