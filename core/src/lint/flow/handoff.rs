//! Nodes that hand a conversation to a person. (H001–H003)

use serde_json::Value;

use super::ground::Ground;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::OnError;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    let is_told = ground.flow.document.settings.handoff_webhook_url.as_ref().is_some_and(|it| !it.trim().is_empty());
    for (chart, at, node) in ground.nodes().filter(|it| it.2.type_name == "handoff" && !it.2.disabled) {
        let place = chart.place_of(at);
        if !is_told {
            let message = format!("nobody is told when '{}' hands a conversation over", node.name);
            found.push(place.clone().warning("H001", message).fix("set 'handoff_webhook_url' in the settings"));
        }
        if node.on_error == OnError::Port && !chart.wired(node, "unavailable") {
            let message = format!("nothing follows when '{}' reaches nobody", node.name);
            found.push(place.clone().warning("H002", message).fix("wire the port 'unavailable'"));
        }
        let returns = chart.data(at, "mode").and_then(Value::as_str) == Some("return");
        if returns && !chart.wired(node, "out") {
            let message = format!("nothing follows when the conversation comes back to '{}'", node.name);
            found.push(place.error("H003", message).fix("wire the port 'out'"));
        }
    }
}
