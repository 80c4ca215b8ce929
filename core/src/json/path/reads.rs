//! Reports the values that a path reads from a document, to explain why it matches or not.

use serde_json::Value;

use super::JsonPath;
use super::filter::{Filter, Operand};
use super::query::{Path, Segment};

type Map = serde_json::Map<String, Value>;

impl JsonPath {
    /// Returns the values that decide whether the path matches, by their location in the document; null for a missing value. A list
    /// that is searched is returned as a whole.
    pub fn reads(&self, document: &Value) -> Map {
        let mut reader = Reader { document, found: Map::new() };
        reader.path(&self.path, Place { name: String::new(), value: Some(document) });
        reader.found
    }
}

struct Reader<'v> {
    document: &'v Value,
    found: Map,
}

/// A location in the document and its value.
#[derive(Clone)]
struct Place<'v> {
    name: String,
    value: Option<&'v Value>,
}

impl<'v> Reader<'v> {
    /// Records what a path reads; `at` is the location of `@`.
    fn path(&mut self, path: &Path, at: Place<'v>) {
        let mut place = if path.from_document { Place { name: String::new(), value: Some(self.document) } } else { at };
        for segment in &path.segments {
            match segment {
                Segment::Name(name) => {
                    if !place.name.is_empty() {
                        place.name.push('.');
                    }
                    place.name.push_str(name);
                    place.value = place.value.and_then(|it| it.get(name));
                }
                // An object is tested itself.
                Segment::Filter(filter) if place.value.is_some_and(|it| !it.is_array()) => {
                    self.filter(filter, &place);
                    return;
                }
                Segment::Names(_) | Segment::Select(_) | Segment::Filter(_) | Segment::Length => break,
            }
        }
        if !place.name.is_empty() {
            self.found.insert(place.name, place.value.cloned().unwrap_or_default());
        }
    }

    fn filter(&mut self, filter: &Filter, at: &Place<'v>) {
        match filter {
            Filter::Any(filters) | Filter::All(filters) => filters.iter().for_each(|it| self.filter(it, at)),
            Filter::Not(inner) => self.filter(inner, at),
            Filter::Exists(path) => self.path(path, at.clone()),
            Filter::Compare(a, _, b) => [a, b].into_iter().for_each(|it| self.operand(it, at)),
            Filter::Matches(operand, _) => self.operand(operand, at),
        }
    }

    fn operand(&mut self, operand: &Operand, at: &Place<'v>) {
        if let Operand::Path(path) = operand {
            self.path(path, at.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_path_tells_what_it_read() {
        let document = json!({"state": "A", "n": {"a": 1, "gone": null}, "items": [{"q": 1}]});
        for (path, expected) in [
            ("$.n.a", json!({"n.a": 1})),
            ("$.state == 'B' && $.n.gone == null || !$.x.y", json!({"state": "A", "n.gone": null, "x.y": null})),
            ("$[?(@.n.a > 3 && $.state =~ /a/i)]", json!({"n.a": 1, "state": "A"})),
            ("$.n[?(@.a == 1)]", json!({"n.a": 1})),
            ("$.items[?(@.q == 1)].q", json!({"items": [{"q": 1}]})),
            ("$.items[0].q", json!({"items": [{"q": 1}]})),
            ("$[?(@.items.length() > $.n.a)]", json!({"items": [{"q": 1}], "n.a": 1})),
            ("$", json!({})),
        ] {
            assert_eq!(Value::Object(JsonPath::compile(path).unwrap().reads(&document)), expected, "{path}");
        }
    }
}
