//! Variable paths of flow documents: names and list indexes, such as `account.kind` or `items[0].title`.

use std::fmt;

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};

/// A variable path with at least one part; the first part is always a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<Part>);

/// One part of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// A member of an object.
    Name(String),
    /// An element of a list; negative indexes count from the end.
    Index(i64),
}

impl Path {
    /// Parses a path.
    ///
    /// # Errors
    /// A message that quotes the source when it is not a valid path.
    pub fn parse(source: &str) -> Result<Path, String> {
        let invalid = || format!("'{source}' is not a valid path; use names separated by dots, such as 'account.kind' or 'items[0].title'");
        let mut parts = Vec::new();
        for segment in source.split('.') {
            let (name, indexes) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
            let is_name = name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
            if name.is_empty() || !is_name {
                return Err(invalid());
            }
            parts.push(Part::Name(name.to_owned()));
            for index in indexes.split_inclusive(']') {
                let index = index.strip_prefix('[').and_then(|it| it.strip_suffix(']')).ok_or_else(invalid)?;
                parts.push(Part::Index(index.trim().parse().map_err(|_| invalid())?));
            }
        }
        Ok(Path(parts))
    }

    /// Creates a path of one name.
    pub fn name(name: impl Into<String>) -> Path {
        Path(vec![Part::Name(name.into())])
    }

    /// Returns the parts of the path.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// Returns the first name of the path.
    pub fn first(&self) -> &str {
        if let Some(Part::Name(name)) = self.0.first() { name } else { "" }
    }

    /// Returns the path after the first name, or `None` when nothing follows or an index follows.
    pub fn rest(&self) -> Option<Path> {
        match self.0.get(1..) {
            Some(rest @ [Part::Name(_), ..]) => Some(Path(rest.to_vec())),
            _ => None,
        }
    }

    /// Returns whether the path starts with all parts of `other`.
    pub fn within(&self, other: &Path) -> bool {
        self.0.starts_with(&other.0)
    }

    /// Returns the value at the path in an object.
    pub fn find<'v>(&self, object: &'v Map<String, Value>) -> Option<&'v Value> {
        let (first, rest) = self.0.split_first()?;
        let Part::Name(name) = first else { return None };
        follow(object.get(name)?, rest)
    }

    /// Sets the value at the path, creating missing objects and replacing values that are not objects along the way.
    ///
    /// # Errors
    /// Names the list element that does not exist.
    pub fn put(&self, object: &mut Map<String, Value>, value: Value) -> Result<(), String> {
        let Some((last, parents)) = self.0.split_last() else { return Ok(()) };
        let mut whole = Value::Object(std::mem::take(object));
        let result = place(&mut whole, parents).and_then(|node| {
            match last {
                Part::Name(name) => {
                    write_name(node, name, value);
                    Ok(())
                }
                Part::Index(at) => element(node, *at).map(|it| *it = value),
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
            Part::Name(name) => node.get_mut(name),
            Part::Index(at) => element(node, *at).ok(),
        });
        match (found, last) {
            (Some(Value::Object(members)), Part::Name(name)) => drop(members.shift_remove(name)),
            (Some(Value::Array(items)), Part::Index(at)) => {
                let index = position(*at, items.len()).filter(|it| *it < items.len());
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
pub fn follow<'v>(value: &'v Value, parts: &[Part]) -> Option<&'v Value> {
    parts.iter().try_fold(value, |node, part| match part {
        Part::Name(name) => node.as_object()?.get(name),
        Part::Index(at) => {
            let items = node.as_array()?;
            items.get(position(*at, items.len())?)
        }
    })
}

fn place<'v>(value: &'v mut Value, parts: &[Part]) -> Result<&'v mut Value, String> {
    parts.iter().try_fold(value, |node, part| match part {
        Part::Name(name) => {
            if node.get(name).is_none() {
                write_name(node, name, Value::Null);
            }
            node.get_mut(name).ok_or_else(|| format!("there is no '{name}'"))
        }
        Part::Index(at) => element(node, *at),
    })
}

fn write_name(node: &mut Value, name: &str, value: Value) {
    match node {
        Value::Object(members) => _ = members.insert(name.to_owned(), value),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            *other = Value::Object(Map::from_iter([(name.to_owned(), value)]));
        }
    }
}

fn element(node: &mut Value, at: i64) -> Result<&mut Value, String> {
    let missing = || format!("there is no element {at}");
    let items = node.as_array_mut().ok_or_else(missing)?;
    let index = position(at, items.len()).ok_or_else(missing)?;
    items.get_mut(index).ok_or_else(missing)
}

/// Converts an index to a position from the start of a list; negative indexes count from its end.
fn position(at: i64, length: usize) -> Option<usize> {
    let back = usize::try_from(at.unsigned_abs()).ok()?;
    if at < 0 { length.checked_sub(back) } else { Some(back) }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            match part {
                Part::Name(name) if at == 0 => f.write_str(name)?,
                Part::Name(name) => write!(f, ".{name}")?,
                Part::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Path, D::Error> {
        Path::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
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
    fn paths_are_read_and_printed() {
        for source in ["a", "a.b", "a[0]", "a[-1].b[2][3]", "_x1.Y"] {
            assert_eq!(Path::parse(source).unwrap().to_string(), source);
        }
        for source in ["", ".", "a.", "a..b", "a[x]", "a[1", "[0]", "a b", "a-b"] {
            assert!(Path::parse(source).is_err(), "{source}");
        }
    }

    #[test]
    fn values_are_found_put_and_removed() {
        let mut vars = object(json!({"a": {"b": 1}, "items": [1, {"t": 2}], "text": "x"}));
        let find = |vars: &Map<String, Value>, path: &str| Path::parse(path).unwrap().find(vars).cloned();
        assert_eq!(find(&vars, "items[-1].t"), Some(json!(2)));
        assert_eq!(find(&vars, "items[-3]"), None);
        Path::parse("a.c.d").unwrap().put(&mut vars, json!(3)).unwrap();
        Path::parse("text.in").unwrap().put(&mut vars, json!(4)).unwrap();
        Path::parse("items[0]").unwrap().put(&mut vars, json!(5)).unwrap();
        assert!(Path::parse("items[7]").unwrap().put(&mut vars, json!(6)).is_err());
        Path::parse("a.b").unwrap().remove(&mut vars);
        for missing in ["nope.b", "a.b", "items[2]", "items[-3]", "items.t", "text[0]", "items[0].t"] {
            Path::parse(missing).unwrap().remove(&mut vars);
        }
        assert_eq!(Value::Object(vars.clone()), json!({"a": {"c": {"d": 3}}, "items": [5, {"t": 2}], "text": {"in": 4}}));
        for present in ["items[1].t", "items[-2]", "text"] {
            Path::parse(present).unwrap().remove(&mut vars);
        }
        assert_eq!(Value::Object(vars), json!({"a": {"c": {"d": 3}}, "items": [{}]}));
    }
}
