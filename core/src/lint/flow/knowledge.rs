//! Nodes that look into knowledge. (K001, K003, K005)

use serde_json::Value;

use super::ground::Ground;
use super::reach::has_fallback;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::FallbackOn;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    for (chart, at, node) in ground.nodes().filter(|it| it.2.type_name == "knowledge") {
        let place = chart.place_of(at).at("/data");
        if chart.data(at, "sources").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            let message = format!("'{}' looks into no source at all", node.name);
            found.push(place.at("/sources").error("K001", message).fix("name sources, or leave 'sources' out to look into all of them"));
        }
        let query = chart.data(at, "query");
        let parts = query.and_then(|it| it.get("from")).and_then(Value::as_array).into_iter().flatten();
        let is_blank = query.and_then(|it| it.get("template")).and_then(Value::as_str).is_none_or(|it| it.trim().is_empty());
        if is_blank && parts.into_iter().any(|it| it.as_str() == Some("template")) {
            let message = format!("'{}' asks by a template and has none", node.name);
            found.push(place.at("/query").error("K003", message).fix("add 'template', or leave it out of 'from'"));
        }
        if !node.disabled && !chart.wired(node, "no_result") && !has_fallback(chart, FallbackOn::NoEdge) {
            let message = format!("nothing follows when '{}' finds nothing", node.name);
            found.push(chart.place_of(at).warning("K005", message).fix("wire the port 'no_result'"));
        }
    }
}
