//! The hash that identifies a version of a flow document. (docs/spec/flows.md#2.1)

use convengine_text::json::jcs;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Returns the hash of a document, alone or with those that it is bound to, without `meta` and the canvas positions of nodes, which do not
/// affect behaviour.
///
/// ```
/// use convengine_config::flow::snapshot_hash;
/// use serde_json::json;
///
/// let hash = snapshot_hash(&json!({"id": "hello", "name": "Hello", "meta": {"author": "me"}}));
/// assert!(hash.starts_with("sha256:"));
/// assert_eq!(hash, snapshot_hash(&json!({"name": "Hello", "id": "hello"})), "names in any order");
/// ```
pub fn snapshot_hash(source: &Value) -> String {
    let mut document = source.clone();
    remove_irrelevant(&mut document);
    if document.get("root").is_some_and(Value::is_object) {
        let bound = document.get_mut("bound").and_then(Value::as_array_mut).into_iter().flatten();
        bound.filter_map(|it| it.get_mut("document")).for_each(remove_irrelevant);
        if let Some(root) = document.get_mut("root") {
            remove_irrelevant(root);
        }
    }
    let hash = Sha256::digest(jcs::to_text(&document).as_bytes());
    hash.iter().fold("sha256:".to_owned(), |text, it| text + &format!("{it:02x}"))
}

/// Removes what does not affect behaviour from a document.
fn remove_irrelevant(document: &mut Value) {
    if let Some(members) = document.as_object_mut() {
        members.shift_remove("meta");
    }
    let remove_positions = |graph: &mut Value| {
        let nodes = graph.get_mut("nodes").and_then(Value::as_array_mut).into_iter().flatten();
        for node in nodes.filter_map(Value::as_object_mut) {
            node.shift_remove("position");
        }
    };
    document.get_mut("graphs").and_then(Value::as_array_mut).into_iter().flatten().for_each(remove_positions);
    // A workflow graph has its nodes itself.
    remove_positions(document);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const BANK: &str = include_str!("../../../../tests/packs/flow/bank_assistant.flow.json");

    #[test]
    fn it_is_the_hash_of_the_canonical_text() {
        let hash = snapshot_hash(&json!({"name": "é", "n": 1.0, "meta": {"by": "me"}}));
        assert_eq!(hash, "sha256:d8eecabfaf4ccceee4cd9ca1603c82985478e3248498791871ab6c7edf7128d0");
    }

    #[test]
    fn moving_a_node_changes_nothing_and_renaming_it_does() {
        let document: Value = serde_json::from_str(BANK).unwrap();
        let mut moved = document.clone();
        moved["graphs"][1]["nodes"][2]["position"] = json!({"x": 1, "y": 2});
        moved["meta"] = json!({"author": "me"});
        assert_eq!(snapshot_hash(&moved), snapshot_hash(&document));
        moved["graphs"][1]["nodes"][2]["name"] = json!("Which one");
        assert_ne!(snapshot_hash(&moved), snapshot_hash(&document));
        // Only `position` of nodes and `meta` of the document are excluded.
        let (mut one, mut other) = (document.clone(), document);
        one["graphs"][0]["nodes"][0]["data"] = json!({"init": {"position": 1, "meta": 1}});
        other["graphs"][0]["nodes"][0]["data"] = json!({"init": {"position": 2, "meta": 1}});
        assert_ne!(snapshot_hash(&one), snapshot_hash(&other));
    }
}
