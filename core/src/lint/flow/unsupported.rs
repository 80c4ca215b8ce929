//! Features that documents may use but that the engine does not support yet. (U001, U002; the tools check has U003)

use super::context::{FlowContext, Location};
use crate::config::flow::DocumentIssue;

/// Unsupported node types, and what to use instead.
const UNSUPPORTED_TYPES: [(&str, &str); 3] = [
    ("knowledge", "query your own service with a node of the type 'service'"),
    ("python", "compute in a node of the type 'set', or call a service"),
    ("handoff", "notify a service with a node of the type 'service', and end with a message"),
];

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    if context.flow.document.settings.knowledge_fallback {
        let location = Location { path: "/settings/knowledge_fallback".to_owned(), ..Location::default() };
        findings.push(location.error("U002", "the knowledge fallback is not supported yet").with_fix("disable 'knowledge_fallback'"));
    }
    // Disabled nodes are skipped at run time, so their type does not matter.
    for (graph_cx, at, node) in context.nodes().filter(|it| !it.2.disabled) {
        if let Some((kind, fix)) = UNSUPPORTED_TYPES.iter().find(|it| it.0 == node.type_name) {
            let message = format!("the node type '{kind}' is not supported yet");
            findings.push(graph_cx.node_location(at).join("/type").error("U001", message).with_fix(*fix));
        }
    }
}
