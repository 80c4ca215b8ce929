//! Imports flow documents exported by canvas editors. (docs/spec/flows.md#2.1)

use serde_json::{Map, Value};

/// Display members of nodes in canvas exports.
const NODE_DISPLAY_MEMBERS: [&str; 26] = [
    "width",
    "height",
    "initialWidth",
    "initialHeight",
    "measured",
    "handles",
    "selected",
    "dragging",
    "resizing",
    "positionAbsolute",
    "sourcePosition",
    "targetPosition",
    "draggable",
    "selectable",
    "connectable",
    "deletable",
    "focusable",
    "dragHandle",
    "extent",
    "expandParent",
    "hidden",
    "zIndex",
    "style",
    "className",
    "ariaLabel",
    "origin",
];

/// Display members of edges in canvas exports.
const EDGE_DISPLAY_MEMBERS: [&str; 20] = [
    "type",
    "animated",
    "style",
    "className",
    "selected",
    "selectable",
    "deletable",
    "focusable",
    "reconnectable",
    "updatable",
    "hidden",
    "zIndex",
    "interactionWidth",
    "pathOptions",
    "markerStart",
    "markerEnd",
    "labelStyle",
    "labelShowBg",
    "labelBgStyle",
    "ariaLabel",
];

/// Canvas names of edge members.
const ALIASES: [(&str, &str); 2] = [("sourceHandle", "source_port"), ("targetHandle", "target_port")];

/// Converts a canvas export: moves ports and node names to the members of this format and removes what is only about display.
/// A member of this format wins over its alias; unknown members stay. A document that is no export is returned as it is.
///
/// ```
/// use convengine_config::flow::import_canvas;
/// use serde_json::json;
///
/// let edge = json!({"id": "e1", "source": "a", "sourceHandle": "yes", "target": "b", "animated": true});
/// let imported = import_canvas(json!({"graphs": [{"edges": [edge]}]}));
/// assert_eq!(imported["graphs"][0]["edges"][0], json!({"id": "e1", "source": "a", "target": "b", "source_port": "yes"}));
/// ```
pub fn import_canvas(mut source: Value) -> Value {
    let graphs = source.get_mut("graphs").and_then(Value::as_array_mut).into_iter().flatten();
    for graph in graphs {
        items_mut(graph, "nodes").for_each(convert_node);
        items_mut(graph, "edges").for_each(convert_edge);
    }
    source
}

fn items_mut<'v>(graph: &'v mut Value, list: &str) -> impl Iterator<Item = &'v mut Map<String, Value>> {
    graph.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

fn convert_node(node: &mut Map<String, Value>) {
    node.retain(|name, _| !NODE_DISPLAY_MEMBERS.contains(&name.as_str()));
    if node.contains_key("name") {
        return;
    }
    let data = node.get_mut("data").and_then(Value::as_object_mut);
    if let Some(label) = data.filter(|data| data.get("label").is_some_and(Value::is_string)).and_then(|it| it.shift_remove("label")) {
        node.insert("name".to_owned(), label);
    }
}

fn convert_edge(edge: &mut Map<String, Value>) {
    edge.retain(|name, _| !EDGE_DISPLAY_MEMBERS.contains(&name.as_str()));
    for (alias, name) in ALIASES {
        if let Some(port) = edge.shift_remove(alias).filter(|it| !it.is_null()) {
            edge.entry(name).or_insert(port);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_canvas_export_is_converted() {
        let exported = json!({"graphs": [{"nodes": [
            {"id": "a", "type": "message", "data": {"label": "Greet", "blocks": []}, "position": {"x": 1, "y": 2}, "width": 10, "height": 5,
                "selected": true, "dragging": false, "positionAbsolute": {"x": 1, "y": 2}, "own": 1},
            {"id": "b", "type": "end", "name": "End", "data": {"label": "kept"}},
            {"id": "c", "type": "end", "data": {"label": 5}}, null
        ], "edges": [
            {"id": "e", "source": "a", "sourceHandle": "btn:x", "target": "b", "targetHandle": null, "type": "smoothstep", "animated": true,
                "style": {}, "selected": false, "markerEnd": {"type": "arrow"}, "own": 1},
            {"id": "f", "source": "a", "sourceHandle": "yes", "source_port": "no", "target": "b", "targetHandle": "in"}
        ]}, {}, 5]});
        let expected = json!({"graphs": [{"nodes": [
            {"id": "a", "type": "message", "name": "Greet", "data": {"blocks": []}, "position": {"x": 1, "y": 2}, "own": 1},
            {"id": "b", "type": "end", "name": "End", "data": {"label": "kept"}},
            {"id": "c", "type": "end", "data": {"label": 5}}, null
        ], "edges": [
            {"id": "e", "source": "a", "source_port": "btn:x", "target": "b", "own": 1},
            {"id": "f", "source": "a", "source_port": "no", "target": "b", "target_port": "in"}
        ]}, {}, 5]});
        assert_eq!(import_canvas(exported), expected);
        for other in [json!(null), json!({"graphs": 1}), json!([1])] {
            assert_eq!(import_canvas(other.clone()), other);
        }
        let bank: Value = serde_json::from_str(include_str!("../../../../tests/packs/flow/bank_assistant.flow.json")).unwrap();
        assert_eq!(import_canvas(bank.clone()), bank);
    }
}
