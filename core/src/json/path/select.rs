//! The selectors of RFC 9535 that need no filter: names, indexes, slices, wildcards and descendants.

use serde_json::Value;

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
}

impl Selection {
    /// Returns whether the selection contains at most one value.
    pub fn is_definite(&self) -> bool {
        !self.deep && matches!(self.selectors.as_slice(), [Selector::Index(_)])
    }

    /// Selects from a value: selector by selector, a parent before its descendants.
    pub fn select<'v>(&self, node: &'v Value) -> Vec<&'v Value> {
        let nodes = if self.deep { with_descendants(node) } else { vec![node] };
        self.selectors.iter().flat_map(|selector| nodes.iter().flat_map(|it| selector.select(it))).collect()
    }
}

impl Selector {
    /// Selects from a value.
    pub fn select<'v>(&self, node: &'v Value) -> Vec<&'v Value> {
        match (self, node) {
            (Selector::Name(name), _) => node.get(name).into_iter().collect(),
            (Selector::Wildcard, _) => children(node),
            (Selector::Index(index), Value::Array(items)) => {
                get_element(items, index_from_start(*index, items.len())).into_iter().collect()
            }
            (Selector::Slice { start, end, step }, Value::Array(items)) => select_slice(items, *start, *end, *step),
            (Selector::Index(_) | Selector::Slice { .. }, _) => Vec::new(),
        }
    }
}

/// Returns a value and all its descendants in document order, without recursion.
pub(in crate::json) fn with_descendants(node: &Value) -> Vec<&Value> {
    let (mut found, mut open) = (Vec::new(), vec![node]);
    while let Some(next) = open.pop() {
        found.push(next);
        open.extend(children(next).into_iter().rev());
    }
    found
}

/// Returns the children of a list or an object.
pub(in crate::json) fn children(node: &Value) -> Vec<&Value> {
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
        (start.map_or(length - 1, |it| bounded(it, -1, length - 1)), end.map_or(-1, |it| bounded(it, -1, length - 1)))
    } else {
        (start.map_or(0, |it| bounded(it, 0, length)), end.map_or(length, |it| bounded(it, 0, length)))
    };
    let mut found = Vec::new();
    while step != 0 && (if step < 0 { at > end } else { at < end }) {
        found.extend(get_element(items, at));
        at = at.saturating_add(step);
    }
    found
}

#[cfg(test)]
mod tests {
    use jsonpath_rust::JsonPath as _;
    use serde_json::{Value, json};

    use crate::json::path::JsonPath;

    /// Compares with a library that implements RFC 9535.
    fn assert_same(path: &str, document: &Value) {
        let expected: Vec<Value> = document.query(path).unwrap().into_iter().cloned().collect();
        let path = JsonPath::compile(path).unwrap();
        let found: Vec<Value> = path.path.find(document, document).into_iter().map(std::borrow::Cow::into_owned).collect();
        assert_eq!(found, expected, "{path:?} of {document}");
    }

    #[test]
    fn selectors_match_the_standard() {
        let document = json!({
            "a": [0, [1, {"a": 2, "b": [3, 4, 5]}], "x", null, [], {}],
            "b": {"a": {"b": {"a": [6, 7]}}, "c": [[8, 9], [10]]}
        });
        for path in ["$.*", "$..*", "$..a", "$..b", "$..[0]", "$..[-1]", "$..[1:]", "$..['a']", "$..[*]", "$.a[*]", "$.b.*", "$..a..b"] {
            assert_same(path, &document);
        }
        for path in
            ["$..[0, 1]", "$..[1, 'a', *, 0:1]", "$.a[0,'b']", "$.a[5,0 , -1,17]", "$.b[0]", "$.b[:]", "$.a[1]..a", "$..[ 'a' , \"b\" ]"]
        {
            assert_same(path, &document);
        }
    }

    #[test]
    fn slices_match_the_standard() {
        let bounds = ["", "0", "1", "3", "4", "9", "-1", "-2", "-4", "-9"];
        for length in 0..5 {
            let document = Value::from((0..length).collect::<Vec<i64>>());
            for (start, end) in bounds.iter().flat_map(|start| bounds.iter().map(move |end| (start, end))) {
                for step in ["", ":", ":1", ":2", ":3", ":0", ":-1", ":-2", ":-9", ":9007199254740991", ":-9007199254740991"] {
                    assert_same(&format!("$[{start}:{end}{step}]"), &document);
                }
                if !start.is_empty() {
                    assert_same(&format!("$[{start}]"), &document);
                }
            }
        }
    }

    #[test]
    fn invalid_selectors_are_rejected() {
        for path in [
            "$[01]",
            "$[-0]",
            "$[--1]",
            "$[1-2]",
            "$[9007199254740992]",
            "$[]",
            "$[0",
            "$[0,]",
            "$[1:2:3:4]",
            "$[a]",
            "$..[?(@.a)]",
            "$..",
            "$[+1]",
        ] {
            assert!(JsonPath::compile(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_deep_document_does_not_exhaust_the_stack() {
        let deep = (0..5_000).fold(json!({"q": 1}), |inner, _| Value::Array(vec![inner]));
        assert_eq!(JsonPath::compile("$..q").unwrap().value(&deep), Some(json!([1])));
        // Dropped iteratively, for the same reason.
        let mut rest = deep;
        while let Some(inner) = rest.get_mut(0).map(Value::take) {
            rest = inner;
        }
    }
}
