//! Reports the values that a path reads from a document, to explain why it matches or not.

use serde_json::Value;

use super::tree::{CompiledPath, PathFilter, PathOperand, PathPattern, PathSegment};

type Map = serde_json::Map<String, Value>;

/// Returns the values that decide whether a path matches, by their location in the document.
pub(super) fn read_values(path: &CompiledPath, document: &Value) -> Map {
    let mut reader = ReadCollector { document, found: Map::new() };
    reader.visit_path(path, PathLocation { name: String::new(), value: Some(document) });
    reader.found
}

struct ReadCollector<'v> {
    document: &'v Value,
    found: Map,
}

/// A location in the document and its value.
#[derive(Clone)]
struct PathLocation<'v> {
    name: String,
    value: Option<&'v Value>,
}

impl<'v> ReadCollector<'v> {
    /// Records what a path reads; `at` is the location of `@`.
    fn visit_path(&mut self, path: &CompiledPath, at: PathLocation<'v>) {
        let mut place = if path.from_document { PathLocation { name: String::new(), value: Some(self.document) } } else { at };
        for segment in &path.segments {
            match segment {
                PathSegment::Name(name) => {
                    if !place.name.is_empty() {
                        place.name.push('.');
                    }
                    place.name.push_str(name);
                    place.value = place.value.and_then(|it| it.get(name));
                }
                // An object is tested itself.
                PathSegment::Filter(filter) if place.value.is_some_and(|it| !it.is_array()) => {
                    self.visit_filter(filter, &place);
                    return;
                }
                PathSegment::Names(_) | PathSegment::Select(_) | PathSegment::Filter(_) => break,
            }
        }
        if !place.name.is_empty() {
            self.found.insert(place.name, place.value.cloned().unwrap_or_default());
        }
    }

    fn visit_filter(&mut self, filter: &PathFilter, at: &PathLocation<'v>) {
        match filter {
            PathFilter::Any(filters) | PathFilter::All(filters) => filters.iter().for_each(|it| self.visit_filter(it, at)),
            PathFilter::Not(inner) => self.visit_filter(inner, at),
            PathFilter::Exists(path) => self.visit_path(path, at.clone()),
            PathFilter::Compare(a, _, b) => [a, b].into_iter().for_each(|it| self.visit_operand(it, at)),
            PathFilter::Matches(operand, pattern) => {
                self.visit_operand(operand, at);
                if let PathPattern::Dynamic(pattern, _) = pattern {
                    self.visit_operand(pattern, at);
                }
            }
        }
    }

    fn visit_operand(&mut self, operand: &PathOperand, at: &PathLocation<'v>) {
        match operand {
            PathOperand::Path(path) | PathOperand::Count(path) | PathOperand::Only(path) => self.visit_path(path, at.clone()),
            PathOperand::Length(of) => self.visit_operand(of, at),
            PathOperand::Literal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::json::path::JsonPath;

    #[test]
    fn the_values_that_a_path_reads_are_reported() {
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
            assert_eq!(Value::Object(JsonPath::compile(path).unwrap().read_values(&document)), expected, "{path}");
        }
    }
}
