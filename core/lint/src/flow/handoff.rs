//! Handoff nodes. (H001–H003)

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::OnError;
use serde_json::Value;

use super::context::FlowContext;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    // Without a webhook, people wait at the desk of the server.
    let reaches_nobody = context.flow.document.settings.handoff_webhook_url.is_none() && context.target.has_desk == Some(false);
    for (graph_cx, at, node) in context.nodes().filter(|(_, _, node)| node.type_name == "handoff" && !node.disabled) {
        let location = graph_cx.node_location(at);
        if reaches_nobody {
            let message = format!(
                "the handoff of '{}' reaches nobody: the document has no webhook, and no key opens the desk of the server",
                node.name
            );
            let fix = "create an API key of the scope 'desk' for '/desk', or set 'handoff_webhook_url' in the settings";
            findings.push(location.clone().warning("H001", message).with_fix(fix));
        }
        if node.on_error == OnError::Port && !graph_cx.is_wired(node, "unavailable") {
            let message = format!("no edge handles a handoff of '{}' that nobody accepts", node.name);
            findings.push(location.clone().warning("H002", message).with_fix("connect the port 'unavailable'"));
        }
        let returns = graph_cx.node_data(at, "mode").and_then(Value::as_str) == Some("return");
        if returns && !graph_cx.is_wired(node, "out") {
            let message = format!("nothing follows when the conversation returns to '{}'", node.name);
            findings.push(location.error("H003", message).with_fix("connect the port 'out'"));
        }
    }
}
