//! What changes in a document, by the ids of its parts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use serde::Serialize;
use serde_json::Value;

/// The parts of a document that a new version adds, removes and changes: a graph, a node or an edge of it, an intent, and other members,
/// such as `graphs.root`, `graphs.root.nodes.ask`, `intents.book` and `settings`.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct PartChanges {
    /// Parts that only the new version has.
    pub added: Vec<String>,
    /// Parts that only the old version has.
    pub removed: Vec<String>,
    /// Parts of both versions that differ.
    pub changed: Vec<String>,
}

/// The members of a part that identify it in its list.
const ID_MEMBERS: [&str; 3] = ["id", "name", "code"];

type Path = Vec<String>;

impl PartChanges {
    /// Compares two versions of a document that differ.
    pub fn between(old: &Value, new: &Value) -> PartChanges {
        let (before, after) = (list_parts(old), list_parts(new));
        let only = |of: &BTreeMap<Path, Value>, other: &BTreeMap<Path, Value>| {
            join_outermost(of.keys().filter(|it| !other.contains_key(*it)).collect())
        };
        let is_changed = |(path, part): &(&Path, &Value)| before.get(*path).is_some_and(|it| it != *part);
        let changed: Vec<String> = after.iter().filter(is_changed).map(|it| it.0.join(".")).collect();
        let changes = PartChanges { added: only(&after, &before), removed: only(&before, &after), changed };
        if changes == PartChanges::default() { PartChanges { changed: changed_members(old, new), ..changes } } else { changes }
    }
}

impl Display for PartChanges {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (sign, parts) in [('-', &self.removed), ('+', &self.added), ('~', &self.changed)] {
            parts.iter().try_for_each(|part| writeln!(f, "  {sign} {part}"))?;
        }
        Ok(())
    }
}

/// The parts of a document by their paths, each without the parts in it.
fn list_parts(document: &Value) -> BTreeMap<Path, Value> {
    let mut parts = BTreeMap::new();
    for (member, value) in document.as_object().into_iter().flatten() {
        let Some(items) = items_by_id(value) else {
            parts.insert(vec![member.clone()], value.clone());
            continue;
        };
        for (id, item) in items {
            add_item(vec![member.clone(), id.to_owned()], item, &mut parts);
        }
    }
    parts
}

/// Adds an item of a list, such as a graph, and what its own lists have, such as its nodes.
fn add_item(path: Path, item: &Value, parts: &mut BTreeMap<Path, Value>) {
    let mut rest = serde_json::Map::new();
    for (member, value) in item.as_object().into_iter().flatten() {
        match items_by_id(value) {
            Some(items) => {
                for (id, inner) in items {
                    parts.insert([path.as_slice(), &[member.clone(), id.to_owned()]].concat(), inner.clone());
                }
            }
            None => drop(rest.insert(member.clone(), value.clone())),
        }
    }
    parts.insert(path, Value::Object(rest));
}

/// The items of a list by their ids; `None` for another value, and if an item has no id or one of another item.
fn items_by_id(list: &Value) -> Option<Vec<(&str, &Value)>> {
    let items: Vec<(&str, &Value)> = list.as_array()?.iter().map(|item| Some((id_of(item)?, item))).collect::<Option<_>>()?;
    let ids: BTreeSet<&str> = items.iter().map(|it| it.0).collect();
    (ids.len() == items.len()).then_some(items)
}

fn id_of(item: &Value) -> Option<&str> {
    ID_MEMBERS.iter().find_map(|member| item.get(member)?.as_str())
}

/// Joins sorted paths, without those within another one of them: of a new graph, not each of its nodes.
fn join_outermost(paths: Vec<&Path>) -> Vec<String> {
    let mut outermost: Vec<&Path> = Vec::new();
    for path in paths {
        if !outermost.last().is_some_and(|last| path.starts_with(last)) {
            outermost.push(path);
        }
    }
    outermost.into_iter().map(|it| it.join(".")).collect()
}

/// The members of documents whose parts are equal: the order of a list differs, or whether it is there.
fn changed_members(old: &Value, new: &Value) -> Vec<String> {
    let names: BTreeSet<&String> = [old, new].into_iter().filter_map(Value::as_object).flat_map(serde_json::Map::keys).collect();
    names.into_iter().filter(|name| old.get(*name) != new.get(*name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_smallest_parts_that_differ_are_named() {
        let node = |id: &str, text: &str| json!({"id": id, "type": "message", "data": {"text": text}});
        let old = json!({
            "id": "desk", "name": "Desk", "root": "root", "settings": {"a": 1}, "old": [],
            "graphs": [
                {"id": "root", "kind": "root", "nodes": [node("ask", "a"), node("say", "b")], "edges": [{"id": "e1", "target": "say"}]},
                {"id": "gone", "nodes": [node("x", "x")]},
            ],
            "intents": [{"id": "book", "phrases": ["book"]}],
            "entities": [{"name": "size", "values": ["s"]}, {"name": "day", "values": []}],
        });
        let new = json!({
            "root": "root", "id": "desk", "name": "Desk", "settings": {"a": 2},
            "graphs": [
                {"id": "more", "nodes": [node("y", "y")], "edges": []},
                {"id": "root", "kind": "root", "nodes": [node("ask", "c"), node("end", "b")], "edges": [{"id": "e1", "target": "end"}]},
            ],
            "intents": [{"id": "book", "phrases": ["book it"]}],
            "entities": [{"name": "day", "values": []}, {"name": "size", "values": ["s"]}],
        });
        let found = PartChanges::between(&old, &new);
        assert_eq!(found.added, ["graphs.more", "graphs.root.nodes.end"]);
        assert_eq!(found.removed, ["graphs.gone", "graphs.root.nodes.say"]);
        assert_eq!(found.changed, ["graphs.root.edges.e1", "graphs.root.nodes.ask", "intents.book", "settings"]);
        let text = found.to_string();
        assert!(text.starts_with("  - graphs.gone\n") && text.contains("  + graphs.more\n") && text.ends_with("  ~ settings\n"), "{text}");
    }

    #[test]
    fn a_list_without_ids_and_an_order_are_members_that_change() {
        let between = |old: Value, new: Value| PartChanges::between(&old, &new);
        let changed = |member: &str| PartChanges { changed: vec![member.to_owned()], ..PartChanges::default() };
        assert_eq!(between(json!({"tags": ["a"], "x": 1}), json!({"tags": ["b"], "x": 1})), changed("tags"));
        assert_eq!(between(json!({"nodes": [{"id": "a"}, {"id": "b"}]}), json!({"nodes": [{"id": "b"}, {"id": "a"}]})), changed("nodes"));
        assert_eq!(between(json!({"nodes": []}), json!({})), changed("nodes"));
        let twice = json!([{"id": "a"}, {"id": "a", "x": 1}]);
        assert_eq!(between(json!({"nodes": twice, "x": 1}), json!({"nodes": [{"id": "a"}], "x": 1})).removed, ["nodes"]);
    }
}
