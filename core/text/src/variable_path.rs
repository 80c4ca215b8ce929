//! Variable paths of flow documents: names and list indexes, such as `account.kind` or `items[0].title`. A name of other characters than
//! letters, digits and `_` is quoted in brackets, such as `steps['charge-card']`.

use std::fmt;

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};

use super::scanner::{CharScanner, is_name_character};

/// A variable path with at least one part; the first part is always a name.
///
/// ```
/// use convengine_text::variable_path::VariablePath;
/// use serde_json::{Map, Value, json};
///
/// let mut variables = Map::new();
/// VariablePath::parse("account.kind")?.set(&mut variables, json!("savings"))?;
/// assert_eq!(Value::Object(variables.clone()), json!({"account": {"kind": "savings"}}));
/// assert_eq!(VariablePath::parse("account.owner")?.find(&variables), None);
/// assert!(VariablePath::parse("account..kind").is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariablePath(Vec<PathPart>);

/// One part of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathPart {
    /// A member of an object.
    Name(String),
    /// An element of a list; negative indexes count from the end.
    Index(i64),
}

impl VariablePath {
    /// Parses a path.
    ///
    /// # Errors
    /// A message that quotes the source when it is not a valid path.
    pub fn parse(source: &str) -> Result<VariablePath, String> {
        let invalid = || {
            format!(
                "'{source}' is not a valid path; use names separated by dots, such as 'account.kind', 'items[0].title' or steps['my-step']"
            )
        };
        let mut scan = CharScanner::new(source);
        let mut parts = Vec::new();
        loop {
            let name = scan.take_name();
            if name.is_empty() {
                return Err(invalid());
            }
            parts.push(PathPart::Name(name.to_owned()));
            while scan.eat("[") {
                parts.push(parse_bracket(&mut scan).ok_or_else(invalid)?);
            }
            if !scan.eat(".") {
                break;
            }
        }
        if scan.rest.is_empty() { Ok(VariablePath(parts)) } else { Err(invalid()) }
    }

    /// Creates a path of one name.
    pub fn from_name(name: impl Into<String>) -> VariablePath {
        VariablePath(vec![PathPart::Name(name.into())])
    }

    /// Returns the parts of the path.
    pub fn parts(&self) -> &[PathPart] {
        &self.0
    }

    /// Returns the first name of the path.
    pub fn first_name(&self) -> &str {
        if let Some(PathPart::Name(name)) = self.0.first() { name } else { "" }
    }

    /// Returns the path after the first name, or `None` when nothing follows or an index follows.
    pub fn rest(&self) -> Option<VariablePath> {
        match self.0.get(1..) {
            Some(rest @ [PathPart::Name(_), ..]) => Some(VariablePath(rest.to_vec())),
            _ => None,
        }
    }

    /// Returns whether the path starts with all parts of `other`.
    pub fn starts_with(&self, other: &VariablePath) -> bool {
        self.0.starts_with(&other.0)
    }

    /// Returns the value at the path in an object.
    pub fn find<'v>(&self, object: &'v Map<String, Value>) -> Option<&'v Value> {
        let (first, rest) = self.0.split_first()?;
        let PathPart::Name(name) = first else { return None };
        get_at(object.get(name)?, rest)
    }

    /// Sets the value at the path, creating missing objects and replacing values that are not objects along the way.
    ///
    /// # Errors
    /// Names the list element that does not exist.
    pub fn set(&self, object: &mut Map<String, Value>, value: Value) -> Result<(), String> {
        let Some((last, parents)) = self.0.split_last() else { return Ok(()) };
        let mut whole = Value::Object(std::mem::take(object));
        let result = get_or_create(&mut whole, parents).and_then(|node| {
            match last {
                PathPart::Name(name) => {
                    set_member(node, name, value);
                    Ok(())
                }
                PathPart::Index(at) => element_mut(node, *at).map(|element| *element = value),
            }
            .map_err(|reason| format!("'{self}' cannot be written: {reason}"))
        });
        if let Value::Object(members) = whole {
            *object = members;
        }
        result
    }

    /// Removes the value at the path; removing a list element shifts the following ones.
    pub fn remove(&self, object: &mut Map<String, Value>) {
        let Some((last, parents)) = self.0.split_last() else { return };
        let mut whole = Value::Object(std::mem::take(object));
        let found = parents.iter().try_fold(&mut whole, |node, part| match part {
            PathPart::Name(name) => node.get_mut(name),
            PathPart::Index(at) => element_mut(node, *at).ok(),
        });
        match (found, last) {
            (Some(Value::Object(members)), PathPart::Name(name)) => drop(members.shift_remove(name)),
            (Some(Value::Array(items)), PathPart::Index(at)) => {
                let index = resolve_index(*at, items.len()).filter(|index| *index < items.len());
                drop(index.map(|it| items.remove(it)));
            }
            _ => {}
        }
        if let Value::Object(members) = whole {
            *object = members;
        }
    }
}

impl CharScanner<'_> {
    /// Consumes a variable path.
    pub fn take_path(&mut self) -> Result<VariablePath, String> {
        let start = *self;
        VariablePath::parse(self.take_path_text()).map_err(|reason| start.error_at(&reason))
    }
}

/// Returns the value that the parts lead to, starting at `value`.
pub fn get_at<'v>(value: &'v Value, parts: &[PathPart]) -> Option<&'v Value> {
    parts.iter().try_fold(value, |node, part| match part {
        PathPart::Name(name) => node.as_object()?.get(name),
        PathPart::Index(at) => {
            let items = node.as_array()?;
            items.get(resolve_index(*at, items.len())?)
        }
    })
}

fn get_or_create<'v>(value: &'v mut Value, parts: &[PathPart]) -> Result<&'v mut Value, String> {
    parts.iter().try_fold(value, |node, part| match part {
        PathPart::Name(name) => {
            if node.get(name).is_none() {
                set_member(node, name, Value::Null);
            }
            node.get_mut(name).ok_or_else(|| format!("missing member '{name}'"))
        }
        PathPart::Index(at) => element_mut(node, *at),
    })
}

fn set_member(node: &mut Value, name: &str, value: Value) {
    match node {
        Value::Object(members) => _ = members.insert(name.to_owned(), value),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            *other = Value::Object(Map::from_iter([(name.to_owned(), value)]));
        }
    }
}

fn element_mut(node: &mut Value, at: i64) -> Result<&mut Value, String> {
    let missing = || format!("missing element {at}");
    let items = node.as_array_mut().ok_or_else(missing)?;
    let index = resolve_index(at, items.len()).ok_or_else(missing)?;
    items.get_mut(index).ok_or_else(missing)
}

/// Converts an index to a position from the start of a list; negative indexes count from its end.
fn resolve_index(at: i64, length: usize) -> Option<usize> {
    let back = usize::try_from(at.unsigned_abs()).ok()?;
    if at < 0 { length.checked_sub(back) } else { Some(back) }
}

/// Parses an index or a quoted name, and the bracket that closes it.
fn parse_bracket(scan: &mut CharScanner<'_>) -> Option<PathPart> {
    scan.skip_space();
    let part = if scan.rest.starts_with(['\'', '"']) {
        match scan.take_literal().ok()?? {
            Value::String(name) => PathPart::Name(name),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => return None,
        }
    } else {
        let index = scan.take_while(|c| c.is_ascii_digit() || c == '-' || c == '+');
        PathPart::Index(index.parse().ok()?)
    };
    scan.skip_space();
    scan.eat("]").then_some(part)
}

/// Returns how a path with `-` in its names is written: `steps.charge-card.output` as `steps['charge-card'].output`. `None` for a text
/// without such names.
pub fn with_brackets(written: &str) -> Option<String> {
    let mut names = written.split('.');
    let mut path = names.next().filter(|name| !name.is_empty() && name.chars().all(is_name_character))?.to_owned();
    for name in names {
        if name.contains('-') { path.push_str(&format!("['{name}']")) } else { path.push_str(&format!(".{name}")) }
    }
    (written.contains('-') && VariablePath::parse(&path).is_ok()).then_some(path)
}

impl fmt::Display for VariablePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            match part {
                PathPart::Name(name) if at == 0 => f.write_str(name)?,
                PathPart::Name(name) if !name.is_empty() && name.chars().all(is_name_character) => write!(f, ".{name}")?,
                PathPart::Name(name) => write!(f, "['{}']", name.replace('\\', "\\\\").replace('\'', "\\'"))?,
                PathPart::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for VariablePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<VariablePath, D::Error> {
        VariablePath::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        if let Value::Object(members) = value { members } else { Map::new() }
    }

    #[test]
    fn paths_are_parsed_and_printed() {
        for source in ["a", "a.b", "a[0]", "a[-1].b[2][3]", "_x1.Y", "steps['charge-card'].output", "a['b.c'][0]['d\\'e']", "a['']"] {
            assert_eq!(VariablePath::parse(source).unwrap().to_string(), source);
        }
        assert_eq!(VariablePath::parse(r#"a[ "b" ][ 1 ]["c-d"]"#).unwrap().to_string(), "a.b[1]['c-d']");
        for source in ["", ".", "a.", "a..b", "a[x]", "a[1", "[0]", "a b", "a-b", "a['b'", "a['b]", "['a']", "a[]", "a['b']c", "a.['b']"] {
            assert!(VariablePath::parse(source).is_err(), "{source}");
        }
    }

    #[test]
    fn names_with_a_hyphen_are_put_in_brackets() {
        for (written, expected) in [
            ("steps.charge-card.output", Some("steps['charge-card'].output")),
            ("trigger.body.order-id", Some("trigger.body['order-id']")),
            ("a.b", None),
            ("a-b", None),
            ("a.", None),
            ("", None),
        ] {
            assert_eq!(with_brackets(written).as_deref(), expected, "{written}");
        }
        let object = object(json!({"steps": {"charge-card": {"ok": true}}}));
        assert_eq!(VariablePath::parse("steps['charge-card'].ok").unwrap().find(&object), Some(&json!(true)));
    }

    #[test]
    fn values_are_found_set_and_removed() {
        let mut vars = object(json!({"a": {"b": 1}, "items": [1, {"t": 2}], "text": "x"}));
        let find = |vars: &Map<String, Value>, path: &str| VariablePath::parse(path).unwrap().find(vars).cloned();
        assert_eq!(find(&vars, "items[-1].t"), Some(json!(2)));
        assert_eq!(find(&vars, "items[-3]"), None);
        VariablePath::parse("a.c.d").unwrap().set(&mut vars, json!(3)).unwrap();
        VariablePath::parse("text.in").unwrap().set(&mut vars, json!(4)).unwrap();
        VariablePath::parse("items[0]").unwrap().set(&mut vars, json!(5)).unwrap();
        assert!(VariablePath::parse("items[7]").unwrap().set(&mut vars, json!(6)).is_err());
        VariablePath::parse("a.b").unwrap().remove(&mut vars);
        for missing in ["nope.b", "a.b", "items[2]", "items[-3]", "items.t", "text[0]", "items[0].t"] {
            VariablePath::parse(missing).unwrap().remove(&mut vars);
        }
        assert_eq!(Value::Object(vars.clone()), json!({"a": {"c": {"d": 3}}, "items": [5, {"t": 2}], "text": {"in": 4}}));
        for present in ["items[1].t", "items[-2]", "text"] {
            VariablePath::parse(present).unwrap().remove(&mut vars);
        }
        assert_eq!(Value::Object(vars), json!({"a": {"c": {"d": 3}}, "items": [{}]}));
    }

    #[test]
    fn paths_end_before_other_text() {
        for (source, path, rest) in
            [("a.b[-1].c | x", "a.b[-1].c", " | x"), ("a[0][1])", "a[0][1]", ")"), ("a-b", "a", "-b"), ("a['b]-c'].d|", "a['b]-c'].d", "|")]
        {
            let mut scan = CharScanner::new(source);
            assert_eq!(scan.take_path().unwrap().to_string(), path);
            assert_eq!(scan.rest, rest);
        }
        for source in ["", ".a", "a.", "a[", "a[x]", "é"] {
            assert!(CharScanner::new(source).take_path().unwrap_err().ends_with("at character 1"), "{source}");
        }
    }
}
