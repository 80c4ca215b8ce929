//! Values that nobody has verified and that choose whose data a call reads. (S004)
//!
//! A page says what it likes in `visitor` and in the inputs of the document, so anyone who opens it could read the data of somebody else.

use std::collections::BTreeSet;

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{NodeKind, ServiceData};
use convengine_text::variable_path::VariablePath;
use convengine_turn::EffectClass;
use serde_json::Value;

use super::context::{FlowContext, GraphContext, Location};
use super::service::effect_class;
use super::source_text::SourceText;
use super::variable_writes::variable_of_path;

/// The root with what a page says of its user.
const VISITOR: &str = "visitor";

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let unverified = Unverified::find(context);
    for (at, tool) in context.flow.document.tools.iter().enumerate() {
        if effect_class(None, Some(tool), None) != EffectClass::Read {
            continue;
        }
        let request = format!("/tools/{at}/request/");
        let location = context.item_location("tools", at);
        for text in context.document_texts.iter().filter(|it| it.path.starts_with(&request)) {
            findings.extend(unverified.paths_of(text).map(|it| issue(&it, &location, text)));
        }
    }
    for (graph_cx, at, node) in context.nodes() {
        let NodeKind::Service(data) = &node.kind else { continue };
        if class_of_call(context, data) != EffectClass::Read {
            continue;
        }
        let location = graph_cx.node_location(at);
        let parts = [location.join("/data/args/").path, location.join("/data/request/").path];
        for text in texts_below(graph_cx, at, &parts) {
            findings.extend(unverified.paths_of(text).map(|it| issue(&it, &location, text)));
        }
    }
}

/// The effect class of a call. An approved tool of an MCP server is of the class that it was approved with.
fn class_of_call(context: &FlowContext<'_>, data: &ServiceData) -> EffectClass {
    let tool = data.tool_id.as_deref().and_then(|it| context.flow.tool(it));
    let approved = tool.and_then(|it| context.target.approved_tool(it)).map(|it| it.class);
    effect_class(data.effect_class.or_else(|| tool.and_then(|tool| tool.effect_class)).or(approved), tool, data.request.as_ref())
}

fn texts_below<'t>(graph_cx: &'t GraphContext<'_>, at: usize, parts: &'t [String]) -> impl Iterator<Item = &'t SourceText<'t>> {
    let texts = graph_cx.texts.get(at).map(Vec::as_slice).unwrap_or_default();
    texts.iter().filter(|text| parts.iter().any(|part| text.path.starts_with(part)))
}

fn issue(path: &VariablePath, location: &Location, text: &SourceText<'_>) -> DocumentIssue {
    let location = Location { path: text.path.clone(), ..location.clone() };
    let message = format!("'{path}' is set by the page and selects whose data is read; a page can claim to be anyone");
    location.warning("S004", message).with_fix("use a member of 'user', which a signed token or a key with an owner claim sets")
}

/// What nobody has verified: `visitor`, the inputs of the document, and variables that are set from them.
struct Unverified {
    variables: BTreeSet<VariablePath>,
    /// Whether `visitor` is a variable of the document.
    has_own_visitor: bool,
}

impl Unverified {
    fn find(context: &FlowContext<'_>) -> Unverified {
        let has_own_visitor = context.writes.for_variable(&VariablePath::from_name(VISITOR)).next().is_some();
        let mut found = Unverified { variables: inputs(context.source).collect(), has_own_visitor };
        loop {
            let count = found.variables.len();
            for (graph_cx, at, node) in context.nodes() {
                let NodeKind::Set(data) = &node.kind else { continue };
                for (number, assignment) in data.assignments.iter().enumerate() {
                    let part = [graph_cx.node_location(at).join(&format!("/data/assign/{number}/")).path];
                    let is_copied = texts_below(graph_cx, at, &part).any(|text| found.paths_of(text).next().is_some());
                    if is_copied {
                        found.variables.insert(assignment.variable.clone());
                    }
                }
            }
            if found.variables.len() == count {
                return found;
            }
        }
    }

    /// The paths of a text that read something unverified.
    fn paths_of<'u>(&'u self, text: &SourceText<'_>) -> impl Iterator<Item = VariablePath> + use<'u> {
        let extra_roots = text.extra_roots;
        text.paths().into_iter().filter(move |path| {
            if path.first_name() == VISITOR && !self.has_own_visitor && !extra_roots.contains(&VISITOR) {
                return true;
            }
            let variable = variable_of_path(path, extra_roots);
            variable
                .is_some_and(|read| self.variables.iter().any(|unverified| unverified.starts_with(&read) || read.starts_with(unverified)))
        })
    }
}

/// The variables that a page may set when it starts a session.
fn inputs(document: &Value) -> impl Iterator<Item = VariablePath> + '_ {
    // Workflows name their variables differently.
    let list = |name: &str| document.get(name).and_then(Value::as_array).into_iter().flatten();
    let is_marked = |item: &&Value| item.get("input") == Some(&Value::Bool(true));
    let marked = list("variables").chain(list("shared_state")).filter(is_marked).filter_map(|item| item.get("name")?.as_str());
    list("inputs").filter_map(Value::as_str).chain(marked).filter_map(|name| VariablePath::parse(name).ok())
}
