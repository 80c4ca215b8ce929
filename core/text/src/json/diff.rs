//! Compares two JSON values leaf by leaf.

use std::fmt;

use serde_json::Value;

/// One leaf that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The path of the leaf, such as `a.b[2].c`; empty for the root.
    pub field: String,
    /// The value on the left; absent when only the right has it.
    pub left: Option<Value>,
    /// The value on the right; absent when only the left has it.
    pub right: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string);
        let (left, right) = (side(&self.left), side(&self.right));
        let same = left.chars().zip(right.chars()).take_while(|it| it.0 == it.1).count();
        write!(f, "{}: {} became {}", self.field, excerpt(&left, same), excerpt(&right, same))
    }
}

/// Shortens a long text to an excerpt around the position `at`; returns a short one unchanged.
fn excerpt(text: &str, at: usize) -> String {
    const AROUND: usize = 60;
    let length = text.chars().count();
    if length <= 4 * AROUND {
        return text.to_owned();
    }
    let from = at.saturating_sub(AROUND);
    let part: String = text.chars().skip(from).take(3 * AROUND).collect();
    let (before, after) = (if from > 0 { "…" } else { "" }, if from + 3 * AROUND < length { "…" } else { "" });
    format!("{before}{part}{after}")
}

/// Returns all leaves in which two values differ, in the order of the left value. The order of members does not count, that of items does.
///
/// ```
/// use convengine_text::json::diff::diff_leaves;
/// use serde_json::json;
///
/// let found = diff_leaves(&json!({"state": "A", "list": [1, 2]}), &json!({"list": [1], "state": "B"}));
/// let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
/// assert_eq!(lines, [r#"state: "A" became "B""#, "list[1]: 2 became nothing"]);
/// ```
pub fn diff_leaves(left: &Value, right: &Value) -> Vec<Difference> {
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
    fn leaves_are_identified_by_their_path() {
        let found = diff_leaves(&json!({"a": [1, {"b": 2}], "c": 3}), &json!({"a": [1, {"b": 4}, 5]}));
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        let long = Difference { field: "p".to_owned(), left: Some(json!("x".repeat(500))), right: Some(json!("x".repeat(499) + "y")) };
        assert!(long.to_string().ends_with("xy\"") && long.to_string().len() < 250, "{long}");
        assert_eq!(lines, ["a[1].b: 2 became 4", "a[2]: nothing became 5", "c: 3 became nothing"]);
    }
}
