//! Knowledge nodes, the sources of intents and the knowledge fallback. (K001–K003, K005, K006)

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{FallbackOn, NodeKind};
use serde_json::Value;

use super::context::{FlowContext, Location};
use super::reachability::has_fallback;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    check_fallback(context, findings);
    for (at, intent) in context.flow.document.intents.iter().enumerate() {
        let location = context.item_location("intents", at).join("/knowledge_sources");
        check_sources(context, intent.knowledge_sources.as_deref(), &location, findings);
    }
    for (graph_cx, at, node) in context.nodes() {
        let NodeKind::Knowledge(data) = &node.kind else { continue };
        let location = graph_cx.node_location(at).join("/data");
        if data.sources.as_ref().is_some_and(Vec::is_empty) {
            let message = format!("'{}' has an empty list of sources", node.name);
            findings
                .push(location.join("/sources").error("K001", message).with_fix("add sources, or omit 'sources' to search all of them"));
        }
        if !node.disabled {
            check_sources(context, data.sources.as_deref(), &location.join("/sources"), findings);
        }
        // Sources of the intent are reported there.
        let is_bound = data.sources.is_some() || context.flow.document.intents.iter().any(|it| it.knowledge_sources.is_some());
        if !node.disabled && !is_bound && context.target.knowledge.is_some_and(|it| it.is_empty()) {
            let message = format!("'{}' has nothing to search: the assistant has no knowledge source", node.name);
            findings.push(location.clone().error("K001", message).with_fix("add a knowledge source to the assistant"));
        }
        let query = graph_cx.node_data(at, "query");
        let parts = query.and_then(|it| it.get("from")).and_then(Value::as_array).into_iter().flatten();
        let is_blank = query.and_then(|it| it.get("template")).and_then(Value::as_str).is_none_or(|template| template.trim().is_empty());
        if is_blank && parts.into_iter().any(|part| part.as_str() == Some("template")) {
            let message = format!("the query of '{}' uses a template, but 'template' is missing", node.name);
            findings.push(location.join("/query").error("K003", message).with_fix("add 'template', or remove it from 'from'"));
        }
        if !node.disabled && !graph_cx.is_wired(node, "no_result") && !has_fallback(graph_cx, FallbackOn::NoEdge) {
            let message = format!("nothing follows when '{}' finds no result", node.name);
            findings.push(graph_cx.node_location(at).warning("K005", message).with_fix("connect the port 'no_result'"));
        }
    }
}

/// Reports sources that the assistant does not have, or that are not ready.
pub(super) fn check_sources(context: &FlowContext<'_>, sources: Option<&[String]>, location: &Location, findings: &mut Vec<DocumentIssue>) {
    let (Some(sources), Some(known)) = (sources, context.target.knowledge) else { return };
    for (at, source) in sources.iter().enumerate() {
        let location = location.join(&format!("/{at}"));
        match known.get(source) {
            None => {
                let message = format!("the assistant has no knowledge source '{source}'");
                findings.push(location.error("K001", message).with_fix("add the source, or correct its id"));
            }
            Some(false) => {
                let message = format!("the knowledge source '{source}' is not ready");
                findings.push(location.error("K002", message).with_fix("wait until it is indexed, or correct why it failed"));
            }
            Some(true) => {}
        }
    }
}

/// Reports a knowledge fallback that has nothing to search.
fn check_fallback(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let has_none = context.target.knowledge.is_some_and(|knowledge| !knowledge.values().any(|is_usable| *is_usable));
    if context.flow.document.settings.knowledge_fallback && has_none {
        let location = Location { path: "/settings/knowledge_fallback".to_owned(), ..Location::default() };
        let message = "the knowledge fallback is enabled, but no knowledge source is ready";
        findings.push(location.error("K006", message).with_fix("add a knowledge source, or disable 'knowledge_fallback'"));
    }
}
