//! Workflow graphs and what they are bound to. (W001–W014)

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::flow::document::{Branching, EdgeDef, Node, NodeKind, ProgramData, ProgramKind};
use convengine_config::flow::{DocumentIssue, Flow, UNREADABLE_CODES, check_workflow_structure, document_kind, is_same_name};
use serde_json::{Value, json};

use super::context::{FlowContext, GraphContext, Location};
use super::{PublishTarget, agent, expression, knowledge, request_target, secret, sort_issues, template, tool, unverified};

/// The maximum depth of workflows that run one another.
const MAX_DEPTH: usize = 8;

/// The letters of the shortest text that is searched for in messages without a warning.
const MIN_SEARCHED_LETTERS: usize = 3;

/// The version of a document that serves as any.
const ANY_VERSION: &str = "*";

/// What a name of a document stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// A published document.
    Published,
    /// A document without a published version.
    Unpublished,
    /// Several documents.
    Ambiguous,
    /// None.
    Missing,
}

/// The documents and tools of a workspace, which workflow graphs and chains are bound to.
///
/// ```
/// use convengine_config::flow::document::ProgramKind;
/// use convengine_lint::flow::{BoundPrograms, Resolution};
/// use serde_json::json;
///
/// let programs = BoundPrograms::from_pack(&[json!({"doc": "ai_agent", "id": "shop", "name": "The shop"})], &[]);
/// assert_eq!(programs.resolve(ProgramKind::Agent, "shop"), Resolution::Published);
/// assert_eq!(programs.resolve(ProgramKind::Agent, " the SHOP"), Resolution::Published, "by its name");
/// assert_eq!(programs.resolve(ProgramKind::Assistant, "shop"), Resolution::Missing);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoundPrograms {
    /// The published versions by [key](Self::key), with `latest`; none for a document that is not published.
    pub versions: BTreeMap<String, Vec<String>>,
    /// The names of documents by key, for chains, which may refer to them by name.
    pub names: BTreeMap<String, String>,
    /// The workflows that a workflow runs.
    pub nested: BTreeMap<String, Vec<String>>,
    /// The tools.
    pub tools: BTreeSet<String>,
}

impl BoundPrograms {
    /// The key of a document in `versions`.
    pub fn key(kind: ProgramKind, id: &str) -> String {
        [kind.name(), " ", id].concat()
    }

    /// Returns what an id or a name of a document stands for. An id takes precedence; names are compared ignoring case and surrounding
    /// space.
    pub fn resolve(&self, kind: ProgramKind, name: &str) -> Resolution {
        let status = |key: &String| match self.versions.get(key) {
            Some(versions) if versions.is_empty() => Resolution::Unpublished,
            Some(_) => Resolution::Published,
            None => Resolution::Missing,
        };
        let by_id = status(&BoundPrograms::key(kind, name));
        if by_id != Resolution::Missing {
            return by_id;
        }
        let is_of_kind = |key: &str| key.strip_prefix(kind.name()).is_some_and(|rest| rest.starts_with(' '));
        let mut found = self.names.iter().filter(|(key, bound_name)| is_of_kind(key) && is_same_name(bound_name, name));
        match (found.next(), found.next()) {
            (Some((key, _)), None) => status(key),
            (Some(_), Some(_)) => Resolution::Ambiguous,
            (None, _) => Resolution::Missing,
        }
    }

    /// Those of a pack, whose documents serve as any version.
    pub fn from_pack(documents: &[Value], tools: &[Value]) -> BoundPrograms {
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut programs = BoundPrograms { tools: tools.iter().map(|it| text(it, "id")).collect(), ..BoundPrograms::default() };
        for document in documents {
            let Some(kind) = document_kind(document) else { continue };
            let key = BoundPrograms::key(kind, &text(document, "id"));
            programs.names.insert(key.clone(), text(document, "name"));
            programs.versions.insert(key, vec![ANY_VERSION.to_owned()]);
            let nodes = document.get("nodes").and_then(Value::as_array).into_iter().flatten();
            let nested = nodes.filter_map(|node| node.pointer("/data/workflow_id")?.as_str().map(str::to_owned)).collect();
            if kind == ProgramKind::Workflow {
                programs.nested.insert(text(document, "id"), nested);
            }
        }
        programs
    }
}

/// Returns all issues of a workflow graph. For one that cannot be parsed, returns only the structural issues. The target says what it is
/// bound to; `tools` are those of the workspace.
pub fn check_workflow(source: &Value, tools: &[Value], target: &PublishTarget<'_>) -> Vec<DocumentIssue> {
    let mut findings = check_workflow_structure(source);
    if findings.iter().any(|it| UNREADABLE_CODES.contains(&it.code)) {
        return findings;
    }
    let Ok(flow) = Flow::compile(&json!({"root": source, "tools": tools})) else { return findings };
    findings.extend(check_compiled(source, &flow, target));
    findings
}

fn check_compiled(source: &Value, flow: &Flow, target: &PublishTarget<'_>) -> Vec<DocumentIssue> {
    // The other checks look for nodes in graphs.
    let graph = json!({"id": flow.document.id, "nodes": source.get("nodes"), "edges": source.get("edges")});
    let mut document = source.clone();
    if let Some(members) = document.as_object_mut() {
        members.insert("graphs".to_owned(), json!([graph]));
    }
    let context = FlowContext::new(&document, flow, target);
    let mut findings = Vec::new();
    for check in [
        expression::check,
        template::check,
        tool::check,
        request_target::check,
        secret::check,
        unverified::check,
        knowledge::check,
        agent::check,
    ] {
        check(&context, &mut findings);
    }
    if let Some(graph_cx) = context.graphs.first() {
        check_graph(&context, graph_cx, &mut findings);
    }
    let mut findings = sort_issues(findings, &context);
    for issue in &mut findings {
        if let Some(rest) = issue.path.strip_prefix("/graphs/0") {
            issue.path = rest.to_owned();
        }
    }
    findings
}

fn check_graph(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>, findings: &mut Vec<DocumentIssue>) {
    if graph_cx.entry_index().is_none() {
        let issue = graph_cx.location().join("/entries").error("W001", "no entry leads to a node that runs, and no root is set");
        findings.push(issue.with_fix("add a trigger to 'entries', or name the first node in 'root'"));
    } else if !graph_cx.definition.nodes.iter().enumerate().any(|(at, node)| graph_cx.is_reachable(at) && node.traits().is_goal) {
        let issue = graph_cx.location().error("W003", "no agent, assistant, knowledge search or end is reachable");
        findings.push(issue.with_fix("connect one with an entry"));
    }
    for (at, node) in graph_cx.definition.nodes.iter().enumerate() {
        check_node(context, graph_cx, node, graph_cx.node_location(at), findings);
    }
    let mut open: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (at, edge) in graph_cx.definition.edges.iter().enumerate() {
        check_edge(edge, graph_cx.edge_location(at), findings);
        if edge.condition.is_none() && !open.insert((&edge.source, &edge.source_port)) {
            let message = format!("several edges leave the port '{}' without a condition; only the first is taken", edge.source_port);
            findings.push(graph_cx.edge_location(at).warning("W014", message).with_fix("remove the others, or add conditions"));
        }
    }
}

fn check_node(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>, node: &Node, location: Location, findings: &mut Vec<DocumentIssue>) {
    if matches!(node.kind, NodeKind::Draft(_)) {
        let message = format!("nodes of the type '{}' cannot be published", node.type_name);
        findings.push(location.error("W002", message).with_fix("remove the node, or do its work in an assistant"));
        return;
    }
    let is_branching = node.traits().branching == Branching::Out;
    if is_branching && !graph_cx.is_wired(node, "out") && !graph_cx.is_wired(node, "else") {
        findings.push(location.error("W011", format!("no edge leaves '{}'", node.name)).with_fix("connect it"));
        return;
    }
    if let NodeKind::Service(data) = &node.kind {
        let tool = data.tool_id.as_deref().unwrap_or_default();
        if context.target.programs.is_some_and(|it| !it.tools.contains(tool)) {
            let message = format!("the workspace has no tool '{tool}'");
            findings.push(location.join("/data/tool_name").error("W007", message).with_fix("add the tool, or correct its name"));
        }
    }
    if let NodeKind::Program(data) = &node.kind {
        findings.extend(check_program(context, data, &location));
    }
}

fn check_program(context: &FlowContext<'_>, data: &ProgramData, location: &Location) -> Option<DocumentIssue> {
    let programs = context.target.programs?;
    let (member, missing, unpublished) = match data.kind {
        ProgramKind::Assistant => ("assistant_id", "W004", "W005"),
        ProgramKind::Workflow => ("workflow_id", "W008", "W008"),
        ProgramKind::Agent => ("agent_id", "W006", "W006"),
    };
    let (kind, id) = (data.kind.name(), &data.id);
    let location = location.join(&format!("/data/{member}"));
    if data.kind == ProgramKind::Workflow {
        let root = &context.flow.document.id;
        let depth = nesting_depth(programs, id, &mut BTreeMap::from([(root.as_str(), None)]));
        match depth {
            None => {
                let message = format!("the workflow '{id}' runs itself again");
                return Some(location.error("W009", message).with_fix("remove the node from one of the workflows"));
            }
            Some(depth) if depth > MAX_DEPTH => {
                let message = format!("workflows are nested {depth} deep; at most {MAX_DEPTH} are possible");
                return Some(location.error("W010", message).with_fix("nest fewer workflows"));
            }
            Some(_) => {}
        }
    }
    let Some(versions) = programs.versions.get(&BoundPrograms::key(data.kind, id)) else {
        return Some(location.error(missing, format!("unknown {kind} '{id}'")).with_fix("create it, or correct the id"));
    };
    if versions.iter().any(|version| version == ANY_VERSION || *version == data.version) {
        return None;
    }
    let message = match data.version.as_str() {
        "latest" => format!("the {kind} '{id}' has no published version"),
        version => format!("the {kind} '{id}' has no version {version}"),
    };
    Some(location.error(unpublished, message).with_fix("publish it, or choose another version"))
}

/// The depth of a workflow with those that it runs; `None` for a cycle. `known` has the depths so far, `None` for workflows around it.
fn nesting_depth<'p>(programs: &'p BoundPrograms, id: &'p str, known: &mut BTreeMap<&'p str, Option<usize>>) -> Option<usize> {
    if let Some(depth) = known.get(id) {
        return *depth;
    }
    known.insert(id, None);
    let mut deepest = 0;
    for nested in programs.nested.get(id).into_iter().flatten() {
        deepest = deepest.max(nesting_depth(programs, nested, known)?);
    }
    known.insert(id, Some(deepest + 1));
    Some(deepest + 1)
}

fn check_edge(edge: &EdgeDef, location: Location, findings: &mut Vec<DocumentIssue>) {
    let Some(condition) = &edge.condition else { return };
    let location = location.join("/condition/expr");
    let Ok(expr) = &condition.expr.compiled else {
        findings.push(location.error("W012", "the condition is empty").with_fix("write a condition, or remove it"));
        return;
    };
    let letters = |text: &str| text.chars().filter(|character| character.is_alphanumeric()).count();
    if let Some(text) = expr.searched_text().filter(|text| letters(text) < MIN_SEARCHED_LETTERS) {
        let message = format!("'{text}' is searched for in the message of the user, and such a short text occurs in many words");
        findings.push(location.warning("W013", message).with_fix("search for a longer text, or write a condition"));
    }
}
