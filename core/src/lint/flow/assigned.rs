//! Variables that are read but never written, and outputs that are written but never read. (E002, E004, T003, V012)

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ground::{Chart, Ground, Place};
use super::spot::{Kind, Spot};
use super::variables::{outputs, variable};
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{CallMode, NodeKind};
use crate::text::path::Path;

/// Roots that are only available in some texts.
const ELSEWHERE: [&str; 6] = ["args", "item", "index", "value", "trigger", "steps"];

/// The members of `system`.
const SYSTEM: [&str; 7] = ["now", "locale", "channel", "session_id", "turn", "assistant", "version"];

pub(super) fn check(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    if !context.writes.unknown {
        for text in &context.document_texts {
            let location = Place { path: text.path.clone(), name: text.name.clone(), ..Place::default() };
            findings.extend(text.reads().iter().filter_map(|path| never(context, text, path, &location)));
        }
        let root = context.number(&context.flow.document.root).filter(|it| entered_once(context, *it));
        for (number, graph_cx) in context.graphs.iter().enumerate() {
            let mut first_run = FirstRun { graph_cx, number, known: BTreeMap::new() };
            for (at, texts) in graph_cx.texts.iter().enumerate() {
                for text in texts {
                    let location = Place { path: text.path.clone(), ..graph_cx.place_of(at) };
                    for path in &text.reads() {
                        let later = || (root == Some(number)).then(|| first_run.too_late(context, at, text, path, &location)).flatten();
                        findings.extend(never(context, text, path, &location).or_else(later));
                    }
                }
            }
        }
    }
    unread(context, findings);
}

/// Reports a variable that nothing in the document writes.
fn never(context: &Ground<'_>, text: &Spot<'_>, path: &Path, location: &Place) -> Option<DocumentIssue> {
    let location = location.clone();
    if path.first() == "system" && path.rest().is_some_and(|it| !SYSTEM.contains(&it.first())) {
        return Some(issue(text, location, format!("unknown member '{path}'")).fix(format!("use one of {}", SYSTEM.join(", "))));
    }
    let name = variable(path, text.here).filter(|it| it.first() != "secret")?;
    if context.writes.of_variable(&name).next().is_some() {
        return None;
    }
    if ELSEWHERE.contains(&path.first()) && path.parts().len() > 1 && matches!(text.kind, Kind::Condition | Kind::Formula) {
        let message = format!("'{}' is not available here, and no variable has this name", path.first());
        return Some(location.error("E002", message).fix("use a variable, or a member of 'event', 'system' or 'user'"));
    }
    Some(issue(text, location, format!("'{name}' is read but never written")).fix("write it first, or correct its name"))
}

fn issue(text: &Spot<'_>, location: Place, message: String) -> DocumentIssue {
    location.warning(if matches!(text.kind, Kind::Condition | Kind::Formula) { "E004" } else { "T003" }, message)
}

/// Whether a graph is only entered by the start of a session.
fn entered_once(context: &Ground<'_>, root: usize) -> bool {
    let Some(id) = context.graphs.get(root).map(|it| &it.form.id) else { return false };
    let document = &context.flow.document;
    let events = [&document.events.welcome.graph, &document.events.fallback.graph, &document.events.no_input.graph];
    let limit = &document.settings.fallback_limit_graph;
    let called = context.nodes().any(|it| matches!(&it.2.kind, NodeKind::Subflow(data) if data.graph == *id));
    !called && !events.contains(&&Some(id.clone())) && limit.as_ref() != Some(id) && document.intents.iter().all(|it| it.graph != *id)
}

/// The analysis of the root graph if it runs once. Other graphs run in any order and any number of times, so the variables that they
/// write may have values from the beginning.
struct FirstRun<'r, 'g> {
    graph_cx: &'r Chart<'g>,
    number: usize,
    /// By variable, the nodes at which it may have a value.
    known: BTreeMap<Path, Vec<bool>>,
}

impl FirstRun<'_, '_> {
    /// Reports a variable that is only written after it is read.
    fn too_late(&mut self, context: &Ground<'_>, at: usize, text: &Spot<'_>, path: &Path, location: &Place) -> Option<DocumentIssue> {
        let name = variable(path, text.here)?;
        let writes: Option<Vec<usize>> =
            context.writes.of_variable(&name).map(|it| it.node.filter(|_| it.graph == Some(self.number))).collect();
        let writes = writes?;
        let fallbacks = self.graph_cx.form.nodes.iter().enumerate().filter(|it| matches!(it.1.kind, NodeKind::Fallback(_))).map(|it| it.0);
        let begin = writes.into_iter().chain(fallbacks);
        let known = self.known.entry(name.clone()).or_insert_with(|| self.graph_cx.from(begin));
        if known.get(at).copied().unwrap_or(true) || !self.graph_cx.is_reached(at) {
            return None;
        }
        let message = format!("'{name}' is read before it is written");
        Some(issue(text, location.clone(), message).fix("write it first, or add a default"))
    }
}

/// Reports outputs of tools and services that nothing reads.
fn unread(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    let scripts = context.graphs.iter().flat_map(|it| &it.sources).filter(|it| it.get("type").and_then(Value::as_str) == Some("python"));
    // A script without declared inputs may read every variable.
    if scripts.into_iter().any(|it| it.pointer("/data/inputs").is_none()) {
        return;
    }
    let mut reads: BTreeMap<String, BTreeSet<Path>> = BTreeMap::new();
    for (_, text) in context.texts() {
        for path in text.reads() {
            if path.first() == "session" && path.parts().len() == 1 {
                return;
            }
            reads.extend_with(variable(&path, text.here));
        }
    }
    for graph_cx in &context.graphs {
        graph_cx.form.returns.iter().for_each(|it| reads.extend_with(Some(it.name.clone())));
    }
    for (_, _, node) in context.nodes() {
        match &node.kind {
            // An entity node reads its variable: it does not prompt if there is a value.
            NodeKind::Entity(data) => reads.extend_with(Some(data.variable.clone())),
            NodeKind::Set(data) => data.assign.iter().for_each(|it| reads.extend_with(Some(it.variable.clone()))),
            NodeKind::Subflow(data) if data.mode == CallMode::Call => {}
            NodeKind::Start(_)
            | NodeKind::End(_)
            | NodeKind::Intent(_)
            | NodeKind::Message(_)
            | NodeKind::Decision
            | NodeKind::Router
            | NodeKind::Service(_)
            | NodeKind::Fallback(_)
            | NodeKind::Subflow(_)
            | NodeKind::InstructionAgent(_)
            | NodeKind::Unavailable => {}
        }
    }
    let is_read = |path: &Path| reads.get(path.first()).is_some_and(|all| all.iter().any(|it| it.within(path) || path.within(it)));
    let message = |path: &Path| format!("the output '{path}' is never read");
    let fix = "remove the output, or correct its name";
    for (at, tool) in context.flow.document.tools.iter().enumerate() {
        for (number, output) in tool.outputs.iter().enumerate().filter(|it| !is_read(&it.1.variable)) {
            let location = context.listed("tools", at).at(&format!("/outputs/{number}/variable"));
            findings.push(location.warning("V012", message(&output.variable)).fix(fix));
        }
    }
    for (graph_cx, at, node) in context.nodes() {
        let NodeKind::Service(data) = &node.kind else { continue };
        for (number, output) in outputs(None, &data.outputs).enumerate().filter(|it| !is_read(&it.1.variable)) {
            let location = graph_cx.place_of(at).at(&format!("/data/outputs/{number}/variable"));
            findings.push(location.warning("V012", message(&output.variable)).fix(fix));
        }
    }
}

trait Paths {
    fn extend_with(&mut self, path: Option<Path>);
}

impl Paths for BTreeMap<String, BTreeSet<Path>> {
    fn extend_with(&mut self, path: Option<Path>) {
        if let Some(path) = path {
            self.entry(path.first().to_owned()).or_default().insert(path);
        }
    }
}
