//! Knowledge nodes. (K001, K003, K005)

use serde_json::Value;

use super::context::FlowContext;
use super::reachability::has_fallback;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::FallbackOn;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for (graph_cx, at, node) in context.nodes().filter(|it| it.2.type_name == "knowledge") {
        let location = graph_cx.node_location(at).join("/data");
        if graph_cx.node_data(at, "sources").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            let message = format!("'{}' has an empty list of sources", node.name);
            findings
                .push(location.join("/sources").error("K001", message).with_fix("add sources, or omit 'sources' to search all of them"));
        }
        let query = graph_cx.node_data(at, "query");
        let parts = query.and_then(|it| it.get("from")).and_then(Value::as_array).into_iter().flatten();
        let is_blank = query.and_then(|it| it.get("template")).and_then(Value::as_str).is_none_or(|it| it.trim().is_empty());
        if is_blank && parts.into_iter().any(|it| it.as_str() == Some("template")) {
            let message = format!("the query of '{}' uses a template but has none", node.name);
            findings.push(location.join("/query").error("K003", message).with_fix("add 'template', or remove it from 'from'"));
        }
        if !node.disabled && !graph_cx.is_wired(node, "no_result") && !has_fallback(graph_cx, FallbackOn::NoEdge) {
            let message = format!("nothing follows when '{}' finds no result", node.name);
            findings.push(graph_cx.node_location(at).warning("K005", message).with_fix("connect the port 'no_result'"));
        }
    }
}
