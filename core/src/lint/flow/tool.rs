//! Tools of a document, and what is taken out of answers. (U003, V004–V006, V010, V011, V013, S002, S003)

use std::collections::BTreeSet;

use super::ground::{Ground, Place};
use super::service::reserved;
use super::spot::Kind;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{FlowTool, NodeKind, OutputMap};
use crate::json::query::Query;

/// Milliseconds that an attempt may have.
const TIMES: std::ops::RangeInclusive<u32> = 100..=60_000;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    for (at, tool) in ground.flow.document.tools.iter().enumerate() {
        let place = ground.listed("tools", at);
        kind(tool, &place, found);
        if let Some(ms) = tool.timeout_ms.filter(|it| !TIMES.contains(it)) {
            let message = format!("an attempt has {ms} ms, and from {} to {} are possible", TIMES.start(), TIMES.end());
            found.push(place.at("/timeout_ms").error("V006", message).fix("take a time between"));
        }
        outputs(&tool.outputs, &place.at("/outputs"), found);
        for (number, output) in tool.outputs.iter().enumerate() {
            found.extend(reserved(place.at(&format!("/outputs/{number}/variable")), &output.variable.to_string()));
        }
        for (number, name) in tool.secrets.iter().enumerate() {
            found.extend(known(ground, name, place.at(&format!("/secrets/{number}"))));
        }
        if let Some(name) = &tool.signing_secret {
            found.extend(known(ground, name, place.at("/signing_secret")));
        }
    }
    for (chart, at, node) in ground.nodes() {
        if let NodeKind::Service(data) = &node.kind {
            outputs(&data.outputs, &chart.place_of(at).at("/data/outputs"), found);
        }
    }
    for (place, spot) in ground.texts() {
        let named: BTreeSet<&str> = spot.braces().map(|it| it.secrets()).unwrap_or_default().into_iter().collect();
        for name in named {
            found.extend(known(ground, name, place.clone()));
            found.extend(allowed(ground, name, &place));
            if matches!(spot.kind, Kind::Url | Kind::Query) {
                let message = format!("the secret '{name}' stands in an address, which others write into their logs");
                found.push(place.clone().warning("V011", message).fix("send it in a header"));
            }
        }
    }
}

fn kind(tool: &FlowTool, place: &Place, found: &mut Vec<DocumentIssue>) {
    match tool.kind.as_str() {
        "noop" => {
            let message = format!("the tool '{}' does nothing", tool.name);
            found.push(place.at("/kind").warning("V013", message).fix("make it a tool of the kind 'http'"));
        }
        "function" | "mcp" => {
            let message = format!("tools of the kind '{}' cannot run yet", tool.kind);
            found.push(place.at("/kind").error("U003", message).fix("offer it over HTTP, and make it a tool of the kind 'http'"));
        }
        _ => {}
    }
}

fn outputs(outputs: &[OutputMap], place: &Place, found: &mut Vec<DocumentIssue>) {
    for (number, output) in outputs.iter().enumerate() {
        if let Err(wrong) = Query::compile(&output.path) {
            let message = format!("the path '{}' cannot be read: {wrong}", output.path);
            found.push(place.at(&format!("/{number}/path")).error("V004", message).fix("write a JSONPath, as '$.balance'"));
        }
    }
}

/// Whether a secret is there, as far as that is known.
fn known(ground: &Ground<'_>, name: &str, place: Place) -> Option<DocumentIssue> {
    let secrets = ground.around.secrets?;
    if secrets.contains(name) {
        return None;
    }
    if ground.around.revoked.contains(name) {
        return Some(place.error("S002", format!("the secret '{name}' was revoked")).fix("store a new value, or name another secret"));
    }
    Some(place.error("V010", format!("there is no secret '{name}'")).fix("store it, or correct its name"))
}

/// A tool that lists secrets may use these alone.
fn allowed(ground: &Ground<'_>, name: &str, place: &Place) -> Option<DocumentIssue> {
    let number: usize = place.path.strip_prefix("/tools/")?.split('/').next()?.parse().ok()?;
    let tool = ground.flow.document.tools.get(number)?;
    (!tool.secrets.is_empty() && !tool.secrets.iter().any(|it| it == name)).then(|| {
        let message = format!("the tool '{}' does not list the secret '{name}' among its own", tool.name);
        place.clone().error("S003", message).fix("add it to 'secrets' of the tool, or name another one")
    })
}
