//! Tools, their outputs, and the use of secrets. (U003, V004–V006, V010, V011, V013, S002, S003)

use std::collections::BTreeSet;

use super::ground::{Ground, Place};
use super::service::reserved;
use super::spot::Kind;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{FlowTool, NodeKind, OutputMap};
use crate::json::query::Query;

/// The allowed timeouts of an attempt, in milliseconds.
const TIMES: std::ops::RangeInclusive<u32> = 100..=60_000;

pub(super) fn check(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    for (at, tool) in context.flow.document.tools.iter().enumerate() {
        let location = context.listed("tools", at);
        kind(tool, &location, findings);
        if let Some(ms) = tool.timeout_ms.filter(|it| !TIMES.contains(it)) {
            let message = format!("the timeout of {ms} ms is not between {} and {} ms", TIMES.start(), TIMES.end());
            findings.push(location.at("/timeout_ms").error("V006", message).fix("use a timeout within these bounds"));
        }
        outputs(&tool.outputs, &location.at("/outputs"), findings);
        for (number, output) in tool.outputs.iter().enumerate() {
            findings.extend(reserved(location.at(&format!("/outputs/{number}/variable")), &output.variable.to_string()));
        }
        for (number, name) in tool.secrets.iter().enumerate() {
            findings.extend(known(context, name, location.at(&format!("/secrets/{number}"))));
        }
        if let Some(name) = &tool.signing_secret {
            findings.extend(known(context, name, location.at("/signing_secret")));
        }
    }
    for (graph_cx, at, node) in context.nodes() {
        if let NodeKind::Service(data) = &node.kind {
            outputs(&data.outputs, &graph_cx.place_of(at).at("/data/outputs"), findings);
        }
    }
    for (location, text) in context.texts() {
        let names: BTreeSet<&str> = text.braces().map(|it| it.secrets()).unwrap_or_default().into_iter().collect();
        for name in names {
            findings.extend(known(context, name, location.clone()));
            findings.extend(allowed(context, name, &location));
            if matches!(text.kind, Kind::Url | Kind::Query) {
                let message = format!("the secret '{name}' is part of a URL, which servers and proxies log");
                findings.push(location.clone().warning("V011", message).fix("send it in a header"));
            }
        }
    }
}

fn kind(tool: &FlowTool, location: &Place, findings: &mut Vec<DocumentIssue>) {
    match tool.kind.as_str() {
        "noop" => {
            let message = format!("the tool '{}' does nothing", tool.name);
            findings.push(location.at("/kind").warning("V013", message).fix("change its kind to 'http'"));
        }
        "function" | "mcp" => {
            let message = format!("tools of the kind '{}' are not supported yet", tool.kind);
            findings.push(location.at("/kind").error("U003", message).fix("provide it over HTTP, and change its kind to 'http'"));
        }
        _ => {}
    }
}

fn outputs(outputs: &[OutputMap], location: &Place, findings: &mut Vec<DocumentIssue>) {
    for (number, output) in outputs.iter().enumerate() {
        if let Err(reason) = Query::compile(&output.path) {
            let message = format!("invalid path '{}': {reason}", output.path);
            findings.push(location.at(&format!("/{number}/path")).error("V004", message).fix("write a JSONPath, such as '$.balance'"));
        }
    }
}

/// Reports an unknown or revoked secret, if the secrets of the workspace are known.
fn known(context: &Ground<'_>, name: &str, location: Place) -> Option<DocumentIssue> {
    let secrets = context.around.secrets?;
    if secrets.contains(name) {
        return None;
    }
    if context.around.revoked.contains(name) {
        return Some(location.error("S002", format!("the secret '{name}' is revoked")).fix("store a new value, or use another secret"));
    }
    Some(location.error("V010", format!("unknown secret '{name}'")).fix("store it, or correct its name"))
}

/// Reports a secret that a tool uses but does not list, if it lists any.
fn allowed(context: &Ground<'_>, name: &str, location: &Place) -> Option<DocumentIssue> {
    let number: usize = location.path.strip_prefix("/tools/")?.split('/').next()?.parse().ok()?;
    let tool = context.flow.document.tools.get(number)?;
    (!tool.secrets.is_empty() && !tool.secrets.iter().any(|it| it == name)).then(|| {
        let message = format!("the tool '{}' does not list the secret '{name}'", tool.name);
        location.clone().error("S003", message).fix("add it to 'secrets' of the tool, or use another secret")
    })
}
