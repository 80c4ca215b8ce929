//! Variables that are read but never written, and outputs that are written but never read. (E002, E004, T003, V012)

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::NodeKind;
use convengine_text::variable_path::VariablePath;
use serde_json::Value;

use super::context::{FlowContext, GraphContext, Location};
use super::source_text::{SourceText, TextKind};
use super::variable_writes::{output_mappings, variable_of_path};

/// Roots that are only available in some texts.
const LOCAL_ROOTS: [&str; 6] = ["args", "item", "index", "value", "trigger", "steps"];

/// The members of `system`.
const SYSTEM_MEMBERS: [&str; 8] = ["now", "locale", "time_zone", "channel", "session_id", "turn", "assistant", "version"];

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    if !context.writes.has_undeclared {
        for text in &context.document_texts {
            let location = Location { path: text.path.clone(), name: text.owner_name.clone(), ..Location::default() };
            findings.extend(text.paths().iter().filter_map(|path| check_written(context, text, path, &location)));
        }
        let root = context.graph_index(&context.flow.document.root).filter(|it| is_entered_once(context, *it));
        for (number, graph_cx) in context.graphs.iter().enumerate() {
            let mut first_run = FirstRun { graph_cx, number, written_by_node: BTreeMap::new() };
            for (at, texts) in graph_cx.texts.iter().enumerate() {
                for text in texts {
                    let location = Location { path: text.path.clone(), ..graph_cx.node_location(at) };
                    for path in &text.paths() {
                        let later =
                            || (root == Some(number)).then(|| first_run.check_written_first(context, at, text, path, &location)).flatten();
                        findings.extend(check_written(context, text, path, &location).or_else(later));
                    }
                }
            }
        }
    }
    check_unread_outputs(context, findings);
}

/// Reports a variable that nothing in the document writes.
fn check_written(context: &FlowContext<'_>, text: &SourceText<'_>, path: &VariablePath, location: &Location) -> Option<DocumentIssue> {
    let location = location.clone();
    if path.first_name() == "system" && path.rest().is_some_and(|member| !SYSTEM_MEMBERS.contains(&member.first_name())) {
        return Some(
            issue(text, location, format!("unknown member '{path}'")).with_fix(format!("use one of {}", SYSTEM_MEMBERS.join(", "))),
        );
    }
    let name = variable_of_path(path, text.extra_roots).filter(|variable| variable.first_name() != "secret")?;
    let is_string = path.first_name() == "strings" && path.rest().is_some_and(|it| has_string(context, &it));
    // What a page says of its user, unless the document has a variable of this name.
    let is_visitor = path.first_name() == "visitor";
    if is_string || is_visitor || context.writes.for_variable(&name).next().is_some() {
        return None;
    }
    if LOCAL_ROOTS.contains(&path.first_name()) && path.parts().len() > 1 && matches!(text.kind, TextKind::Condition | TextKind::Formula) {
        let message = format!("'{}' is not available here, and no variable has this name", path.first_name());
        return Some(location.error("E002", message).with_fix("use a variable, or a member of 'event', 'system' or 'user'"));
    }
    let fix = text.bracket_fix(path).unwrap_or_else(|| "write it first, or correct its name".to_owned());
    let message = match path.first_name() {
        "strings" => format!("'{name}' is neither in 'strings' nor a variable"),
        _ => format!("'{name}' is read but never written"),
    };
    Some(issue(text, location, message).with_fix(fix))
}

/// Whether the document has a text of its string table in any locale.
fn has_string(context: &FlowContext<'_>, key: &VariablePath) -> bool {
    let strings = &context.flow.document.strings;
    let of_locale = |value: &Value| value.as_object().and_then(|texts| key.find(texts)).is_some_and(Value::is_string);
    strings.values().any(of_locale) || key.find(strings).is_some_and(Value::is_string)
}

fn issue(text: &SourceText<'_>, location: Location, message: String) -> DocumentIssue {
    location.warning(if matches!(text.kind, TextKind::Condition | TextKind::Formula) { "E004" } else { "T003" }, message)
}

/// Whether a graph is only entered by the start of a session.
fn is_entered_once(context: &FlowContext<'_>, root: usize) -> bool {
    let Some(id) = context.graphs.get(root).map(|it| &it.definition.id) else { return false };
    let document = &context.flow.document;
    let events = [&document.events.welcome.graph, &document.events.fallback.graph, &document.events.no_input.graph];
    let limit = &document.settings.fallback_limit_graph;
    let is_command = document.repair.commands.iter().any(|command| command.graph.as_ref() == Some(id));
    let called = context.nodes().any(|(_, _, node)| matches!(&node.kind, NodeKind::Subflow(data) if data.graph == *id));
    !called
        && !is_command
        && !events.contains(&&Some(id.clone()))
        && limit.as_ref() != Some(id)
        && document.intents.iter().all(|it| it.graph != *id)
}

/// The analysis of the root graph if it runs once. Other graphs run in any order and any number of times, so the variables that they
/// write may have values from the beginning.
struct FirstRun<'r, 'g> {
    graph_cx: &'r GraphContext<'g>,
    number: usize,
    /// By variable, the nodes at which it may have a value.
    written_by_node: BTreeMap<VariablePath, Vec<bool>>,
}

impl FirstRun<'_, '_> {
    /// Reports a variable that is only written after it is read.
    fn check_written_first(
        &mut self,
        context: &FlowContext<'_>,
        at: usize,
        text: &SourceText<'_>,
        path: &VariablePath,
        location: &Location,
    ) -> Option<DocumentIssue> {
        let name = variable_of_path(path, text.extra_roots)?;
        let writes: Option<Vec<usize>> =
            context.writes.for_variable(&name).map(|write| write.node.filter(|_| write.graph == Some(self.number))).collect();
        // Without any write it is a text of the string table.
        let writes = writes.filter(|it| !it.is_empty())?;
        let fallbacks =
            self.graph_cx.definition.nodes.iter().enumerate().filter(|(_, node)| matches!(node.kind, NodeKind::Fallback(_))).map(|it| it.0);
        let begin = writes.into_iter().chain(fallbacks);
        let known = self.written_by_node.entry(name.clone()).or_insert_with(|| self.graph_cx.reachable_from(begin));
        if known.get(at).copied().unwrap_or(true) || !self.graph_cx.is_reachable(at) {
            return None;
        }
        let message = format!("'{name}' is read before it is written");
        Some(issue(text, location.clone(), message).with_fix("write it first, or add a default"))
    }
}

/// Reports outputs of tools and services that nothing reads.
fn check_unread_outputs(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let scripts =
        context.graphs.iter().flat_map(|it| &it.node_values).filter(|node| node.get("type").and_then(Value::as_str) == Some("python"));
    // A script without declared inputs may read every variable.
    if scripts.into_iter().any(|script| script.pointer("/data/inputs").is_none()) {
        return;
    }
    let mut reads: BTreeMap<String, BTreeSet<VariablePath>> = BTreeMap::new();
    for (_, text) in context.all_texts() {
        for path in text.paths() {
            if path.first_name() == "session" && path.parts().len() == 1 {
                return;
            }
            reads.insert_path(variable_of_path(&path, text.extra_roots));
        }
    }
    for graph_cx in &context.graphs {
        graph_cx.definition.returns.iter().for_each(|output| reads.insert_path(Some(output.name.clone())));
    }
    for (_, _, node) in context.nodes() {
        if let NodeKind::Entity(data) = &node.kind {
            // An entity node reads its variable: it does not prompt if there is a value.
            reads.insert_path(Some(data.variable.clone()));
        } else if let NodeKind::Set(data) = &node.kind {
            data.assignments.iter().for_each(|assignment| reads.insert_path(Some(assignment.variable.clone())));
        }
    }
    let is_read = |path: &VariablePath| {
        reads.get(path.first_name()).is_some_and(|all| all.iter().any(|other| other.starts_with(path) || path.starts_with(other)))
    };
    let message = |path: &VariablePath| format!("the output '{path}' is never read");
    let fix = "remove the output, or correct its name";
    for (at, tool) in context.flow.document.tools.iter().enumerate() {
        for (number, output) in tool.outputs.iter().enumerate().filter(|it| !is_read(&it.1.variable)) {
            let location = context.item_location("tools", at).join(&format!("/outputs/{number}/variable"));
            findings.push(location.warning("V012", message(&output.variable)).with_fix(fix));
        }
    }
    for (graph_cx, at, node) in context.nodes() {
        let NodeKind::Service(data) = &node.kind else { continue };
        for (number, output) in output_mappings(None, &data.outputs).enumerate().filter(|it| !is_read(&it.1.variable)) {
            let location = graph_cx.node_location(at).join(&format!("/data/outputs/{number}/variable"));
            findings.push(location.warning("V012", message(&output.variable)).with_fix(fix));
        }
    }
}

trait PathIndex {
    fn insert_path(&mut self, path: Option<VariablePath>);
}

impl PathIndex for BTreeMap<String, BTreeSet<VariablePath>> {
    fn insert_path(&mut self, path: Option<VariablePath>) {
        if let Some(path) = path {
            self.entry(path.first_name().to_owned()).or_default().insert(path);
        }
    }
}
