//! Nodes that cases put into the help, between the intent and its end.

use serde_json::{Value, json};

use super::Change;

/// The help with a node `n` of a type in the place of its agent; edges lead from the default port to the end.
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

/// The same with more changes.
pub(super) fn and(mut changes: Vec<Change>, more: &[Change]) -> Vec<Change> {
    changes.extend_from_slice(more);
    changes
}

/// A request of the node `n` of the help.
pub(super) fn request(request: Value) -> Vec<Change> {
    with_node("service", "success", json!({"request": request}))
}

/// A condition on the first edge of the shop's decision.
pub(super) fn condition(source: &str) -> Vec<Change> {
    vec![("/graphs/1/edges/5/condition/expr", json!(source))]
}

/// A text of the shop's message.
pub(super) fn text(source: &str) -> Vec<Change> {
    vec![("/graphs/1/nodes/4/data/blocks/0/text", json!(source))]
}

/// A script in the place of the help's agent.
pub(super) fn script(code: &str) -> Vec<Change> {
    with_node("python", "out", json!({"code": code, "inputs": [], "outputs": []}))
}
