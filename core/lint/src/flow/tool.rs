//! Tools, their outputs, and the use of secrets. (V004–V006, V010, V011, V013–V018, S002, S003)

use std::collections::BTreeSet;

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{FlowTool, NodeKind, OutputMapping};
use convengine_turn::EffectClass;

use super::PublishTarget;
use super::context::{FlowContext, Location};
use super::service::check_reserved;
use super::source_text::TextKind;

/// The allowed timeouts of an attempt, in milliseconds.
const TIMEOUT_BOUNDS_MS: std::ops::RangeInclusive<u32> = 100..=60_000;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for (at, tool) in context.flow.document.tools.iter().enumerate() {
        let location = context.item_location("tools", at);
        check_kind(context, tool, &location, findings);
        if let Some(ms) = tool.timeout_ms.filter(|it| !TIMEOUT_BOUNDS_MS.contains(it)) {
            let message = format!("the timeout of {ms} ms is not between {} and {} ms", TIMEOUT_BOUNDS_MS.start(), TIMEOUT_BOUNDS_MS.end());
            findings.push(location.join("/timeout_ms").error("V006", message).with_fix("use a timeout within these bounds"));
        }
        check_outputs(&tool.outputs, &location.join("/outputs"), findings);
        for (number, output) in tool.outputs.iter().enumerate() {
            findings.extend(check_reserved(location.join(&format!("/outputs/{number}/variable")), &output.variable.to_string()));
        }
        for (number, name) in tool.secrets.iter().enumerate() {
            findings.extend(check_known_secret(context.target, name, location.join(&format!("/secrets/{number}"))));
        }
        if let Some(name) = &tool.signing_secret {
            findings.extend(check_known_secret(context.target, name, location.join("/signing_secret")));
        }
    }
    for (graph_cx, at, node) in context.nodes() {
        if let NodeKind::Service(data) = &node.kind {
            if let Some(tool) = data.tool_id.as_ref().and_then(|it| context.flow.tool(it)) {
                findings.extend(missing_approval(context.target, tool, graph_cx.node_location(at)));
            }
            check_outputs(&data.outputs, &graph_cx.node_location(at).join("/data/outputs"), findings);
        }
    }
    for (location, text) in context.all_texts() {
        let names: BTreeSet<&str> = text.interpolation().map(|it| it.secret_names()).unwrap_or_default().into_iter().collect();
        for name in names {
            findings.extend(check_known_secret(context.target, name, location.clone()));
            findings.extend(check_allowed_secret(context, name, &location));
            if matches!(text.kind, TextKind::Url | TextKind::Query) {
                findings.push(secret_in_url(name, location.clone()));
            }
        }
    }
}

fn check_kind(context: &FlowContext<'_>, tool: &FlowTool, location: &Location, findings: &mut Vec<DocumentIssue>) {
    match tool.kind.as_str() {
        "noop" => {
            let message = format!("the tool '{}' does nothing", tool.name);
            findings.push(location.join("/kind").warning("V013", message).with_fix("change its kind to 'http'"));
        }
        "mcp" => findings.extend(check_mcp_tool(context.target, tool, location)),
        "function" => findings.extend(check_function(context.target, tool, location)),
        _ => {}
    }
}

/// Checks that a tool of an MCP server is approved, and does not do more than its effect class says.
fn check_mcp_tool(target: &PublishTarget<'_>, tool: &FlowTool, location: &Location) -> Option<DocumentIssue> {
    let Some(code) = tool.mcp_code() else {
        let message = format!("the tool '{}' does not name an MCP server", tool.name);
        return Some(location.join("/kind").error("V014", message).with_fix("add 'server', the key of a row of ce_mcp_server"));
    };
    let approved = target.mcp_tools?.get(&code);
    let Some(approved) = approved else {
        let message = format!("the tool '{code}' is not approved");
        return Some(
            location.join("/kind").error("V015", message).with_fix("approve it among the tools of its server, or correct 'remote_name'"),
        );
    };
    let is_weaker = tool.effect_class == Some(EffectClass::Read) && approved.class != EffectClass::Read;
    is_weaker.then(|| {
        let message = format!("the tool '{}' is said to only read, but its approved definition does not say so", tool.name);
        location.join("/effect_class").error("V016", message).with_fix("remove 'effect_class', or use 'write'")
    })
}

/// Checks that a function exists.
fn check_function(target: &PublishTarget<'_>, tool: &FlowTool, location: &Location) -> Option<DocumentIssue> {
    let name = tool.called_name();
    (!target.functions?.contains(name)).then(|| {
        let message = format!("unknown function '{name}'");
        location.join("/remote_name").error("V018", message).with_fix("bind the task 'bean:method' in ce_task, or name an extension")
    })
}

/// The issue of a tool of an MCP server whose calls need an approval, where nobody is asked for it.
pub(super) fn missing_approval(target: &PublishTarget<'_>, tool: &FlowTool, location: Location) -> Option<DocumentIssue> {
    let needs_approval = target.approved_tool(tool)?.needs_approval;
    needs_approval.then(|| {
        let message = format!("each call of the tool '{}' needs an approval, and is made here without one", tool.name);
        location.error("V017", message).with_fix("let an agent ask, or set the approval of the tool to 'never'")
    })
}

pub(super) fn check_outputs(outputs: &[OutputMapping], location: &Location, findings: &mut Vec<DocumentIssue>) {
    for (number, output) in outputs.iter().enumerate() {
        if let Err(reason) = &output.path.query {
            let message = format!("invalid path '{}': {reason}", output.path.source);
            findings
                .push(location.join(&format!("/{number}/path")).error("V004", message).with_fix("write a JSONPath, such as '$.balance'"));
        }
    }
}

/// Reports an unknown or revoked secret, if the secrets of the workspace are known.
pub(super) fn check_known_secret(target: &PublishTarget<'_>, name: &str, location: Location) -> Option<DocumentIssue> {
    let secrets = target.secrets?;
    if secrets.contains(name) {
        return None;
    }
    if target.revoked_secrets.contains(name) {
        return Some(
            location.error("S002", format!("the secret '{name}' is revoked")).with_fix("store a new value, or use another secret"),
        );
    }
    Some(location.error("V010", format!("unknown secret '{name}'")).with_fix("store it, or correct its name"))
}

/// The issue of a secret in a URL.
pub(super) fn secret_in_url(name: &str, location: Location) -> DocumentIssue {
    let message = format!("the secret '{name}' is part of a URL, which servers and proxies log");
    location.warning("V011", message).with_fix("send it in a header")
}

/// Reports a secret that a tool uses but does not list, if it lists any.
fn check_allowed_secret(context: &FlowContext<'_>, name: &str, location: &Location) -> Option<DocumentIssue> {
    let number: usize = location.path.strip_prefix("/tools/")?.split('/').next()?.parse().ok()?;
    let tool = context.flow.document.tools.get(number)?;
    (!tool.secrets.is_empty() && !tool.secrets.iter().any(|it| it == name)).then(|| {
        let message = format!("the tool '{}' does not list the secret '{name}'", tool.name);
        location.clone().error("S003", message).with_fix("add it to 'secrets' of the tool, or use another secret")
    })
}
