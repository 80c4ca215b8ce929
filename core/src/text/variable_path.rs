//! Variable paths of flow documents: names and list indexes, such as `account.kind` or `items[0].title`.

use std::fmt;

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};

/// A variable path with at least one part; the first part is always a name.
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
        let invalid = || format!("'{source}' is not a valid path; use names separated by dots, such as 'account.kind' or 'items[0].title'");
        let mut parts = Vec::new();
        for segment in source.split('.') {
            let (name, indexes) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
            let is_name = name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
            if name.is_empty() || !is_name {
                return Err(invalid());
            }
            parts.push(PathPart::Name(name.to_owned()));
            for index in indexes.split_inclusive(']') {
                let index = index.strip_prefix('[').and_then(|it| it.strip_suffix(']')).ok_or_else(invalid)?;
                parts.push(PathPart::Index(index.trim().parse().map_err(|_| invalid())?));
            }
        }
        Ok(VariablePath(parts))
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
                PathPart::Index(at) => element_mut(node, *at).map(|it| *it = value),
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
                let index = resolve_index(*at, items.len()).filter(|it| *it < items.len());
                drop(index.map(|it| items.remove(it)));
            }
            _ => {}
        }
        if let Value::Object(members) = whole {
            *object = members;
        }
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
            node.get_mut(name).ok_or_else(|| format!("there is no '{name}'"))
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
    let missing = || format!("there is no element {at}");
    let items = node.as_array_mut().ok_or_else(missing)?;
    let index = resolve_index(at, items.len()).ok_or_else(missing)?;
    items.get_mut(index).ok_or_else(missing)
}

/// Converts an index to a position from the start of a list; negative indexes count from its end.
fn resolve_index(at: i64, length: usize) -> Option<usize> {
    let back = usize::try_from(at.unsigned_abs()).ok()?;
    if at < 0 { length.checked_sub(back) } else { Some(back) }
}

impl fmt::Display for VariablePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            match part {
                PathPart::Name(name) if at == 0 => f.write_str(name)?,
                PathPart::Name(name) => write!(f, ".{name}")?,
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
        for source in ["a", "a.b", "a[0]", "a[-1].b[2][3]", "_x1.Y"] {
            assert_eq!(VariablePath::parse(source).unwrap().to_string(), source);
        }
        for source in ["", ".", "a.", "a..b", "a[x]", "a[1", "[0]", "a b", "a-b"] {
            assert!(VariablePath::parse(source).is_err(), "{source}");
        }
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
}
