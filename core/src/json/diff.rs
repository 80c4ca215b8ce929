//! Differences between two JSON values, leaf by leaf.

use std::fmt;

use serde_json::Value;

/// One leaf that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Where, as `a.b[2].c`; empty for the root.
    pub field: String,
    /// The value on the left; absent when only the right has it.
    pub left: Option<Value>,
    /// The value on the right; absent when only the left has it.
    pub right: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |it: &Option<Value>| it.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string);
        write!(f, "{}: {} became {}", self.field, side(&self.left), side(&self.right))
    }
}

/// All leaves in which two values differ, in the order of the left one.
pub fn leaves(left: &Value, right: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(String::new(), Some(left), Some(right), &mut found);
    found
}

fn walk(field: String, left: Option<&Value>, right: Option<&Value>, found: &mut Vec<Difference>) {
    match (left, right) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let dot = if field.is_empty() { "" } else { "." };
            for (key, value) in a {
                walk(format!("{field}{dot}{key}"), Some(value), b.get(key), found);
            }
            for (key, value) in b.iter().filter(|it| !a.contains_key(it.0)) {
                walk(format!("{field}{dot}{key}"), None, Some(value), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for index in 0..a.len().max(b.len()) {
                walk(format!("{field}[{index}]"), a.get(index), b.get(index), found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(Difference { field, left: a.cloned(), right: b.cloned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn leaves_are_named_by_their_path() {
        let found = leaves(&json!({"a": [1, {"b": 2}], "c": 3}), &json!({"a": [1, {"b": 4}, 5]}));
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["a[1].b: 2 became 4", "a[2]: nothing became 5", "c: 3 became nothing"]);
    }
}
