//! Nodes that cases insert into the help graph, between its intent and its end.

use serde_json::{Value, json};

use super::Change;

/// Replaces the agent of the help graph by a node `n` of a type, with edges from `port` to the end.
pub(super) fn with_node(kind: &str, port: &str, data: Value) -> Vec<Change> {
    let node = json!({"id": "n", "type": kind, "name": "Node", "data": data});
    vec![
        ("/graphs/3/nodes/1", node),
        (
            "/graphs/3/edges",
            json!([{"id": "h1", "source": "asked", "target": "n"}, {"id": "h2", "source": "n", "source_port": port, "target": "over"}]),
        ),
    ]
}

/// Adds more changes.
pub(super) fn with_changes(mut changes: Vec<Change>, more: &[Change]) -> Vec<Change> {
    changes.extend_from_slice(more);
    changes
}

/// Replaces the agent of the help graph by a service node with a request.
pub(super) fn with_request(request: Value) -> Vec<Change> {
    with_node("service", "success", json!({"request": request}))
}

/// Sets the condition of the first edge of the decision of the shop.
pub(super) fn with_condition(source: &str) -> Vec<Change> {
    vec![("/graphs/1/edges/5/condition/expr", json!(source))]
}

/// Sets the text of the message of the shop.
pub(super) fn with_text(source: &str) -> Vec<Change> {
    vec![("/graphs/1/nodes/4/data/blocks/0/text", json!(source))]
}

/// Replaces the agent of the help graph by a script.
pub(super) fn with_script(code: &str) -> Vec<Change> {
    with_node("python", "out", json!({"code": code, "inputs": [], "outputs": []}))
}
