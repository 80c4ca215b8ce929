//! The pages of documents: everything that flow documents, workflow graphs, AI agents and chains consist of, from their JSON Schemas.

use anyhow::{Context, Result};
use convengine_core::config::flow::document::{DRAFT_TYPES, NodeKind, WorkflowNodeKind};
use convengine_core::config::flow::shape::{Fields, Kinds};
use serde_json::{Value, json};

use super::markdown::{anchor, codes, fence, table};
use super::sections::{FLOW_PARTS, FLOWS, Part, Sections};
use super::{Page, prose};

const WORKFLOWS: &str = "workflow-graphs.md";
const AGENTS: &str = "ai-agents.md";
const CHAINS: &str = "chains.md";

const AGENT_PARTS: [Part; 2] = [("Task", "Task"), ("Guardrail", "Guardrail")];

const CHAIN_PARTS: [Part; 2] = [("ChainTrigger", "Trigger"), ("ChainBranch", "Branch")];

/// Generates the page of flow documents.
///
/// # Errors
/// If a type of nodes has no example.
pub fn flows() -> Result<Page> {
    let sections = flow_sections()?;
    let mut body = prose(include_str!("data/nodes_intro.txt"));
    body.push_str(&sections.document());
    for part in FLOW_PARTS.iter().take(3) {
        body.push_str(&sections.part(*part));
    }
    body.push_str(&sections.common("Nodes", "Node", "data"));
    body.push_str("\n`data` of each type is below.\n\n");
    let kinds = sections.kinds("Node", "type");
    let types = kinds.iter().map(|(kind, _)| Ok((*kind, ports(&bare(kind)?)))).collect::<Result<Vec<_>>>()?;
    body.push_str(&overview(&types, |_| ""));
    for ((kind, definition), (_, ports)) in kinds.iter().zip(&types) {
        body.push_str(&sections.kind(kind, definition, "data", Some(ports))?);
    }
    body.push_str("\n## Block\n\nA part of a message, by `kind`.\n");
    body.push_str(&sections.union("Block", "kind"));
    for part in FLOW_PARTS.iter().skip(3) {
        body.push_str(&sections.part(*part));
    }
    Ok(sections.page("Flow documents and nodes", "flow documents: every member, node type, port and setting", body))
}

/// Generates the page of workflow graphs. What nodes of assistants have as well is on their page.
///
/// # Errors
/// If a type of nodes that only they have has no example.
pub fn workflow_graphs() -> Result<Page> {
    let sections = Sections::new(WORKFLOWS, "workflow_graph", &[], include_str!("data/workflow_node_examples.json"))?;
    let flows = flow_sections()?;
    let known = flows.kinds("Node", "type");
    let is_shared = |kind: &str, definition: &Value| {
        known.iter().any(|(name, of_flows)| *name == kind && of_flows["properties"]["data"] == definition["properties"]["data"])
    };
    let mut body = prose(include_str!("data/workflow_graphs_intro.txt"));
    body.push_str(&sections.document());
    body.push_str(&sections.common("Nodes", "WorkflowNode", "data"));
    body.push_str(&format!("\nDrafts may also have nodes of the types {}, which cannot be published.\n\n", codes(DRAFT_TYPES)));
    let mut kinds = sections.kinds("WorkflowNode", "type");
    kinds.retain(|(kind, _)| !DRAFT_TYPES.contains(kind));
    let types = kinds.iter().map(|(kind, _)| Ok((*kind, ports(&bare::<WorkflowNodeKind>(kind)?.into())))).collect::<Result<Vec<_>>>()?;
    let page_of = |kind: &str| if kinds.iter().any(|(name, definition)| *name == kind && is_shared(kind, definition)) { FLOWS } else { "" };
    body.push_str(&overview(&types, page_of));
    for ((kind, definition), (_, ports)) in kinds.iter().zip(&types).filter(|((kind, definition), _)| !is_shared(kind, definition)) {
        body.push_str(&sections.kind(kind, definition, "data", Some(ports))?);
    }
    Ok(sections.page("Workflow graphs", "workflow graphs: every member, node type and port", body))
}

/// Generates the page of AI agents.
///
/// # Errors
/// If the schema is unknown.
pub fn ai_agents() -> Result<Page> {
    let sections = Sections::new(AGENTS, "ai_agent", &AGENT_PARTS, "{}")?;
    let mut body = prose(include_str!("data/ai_agents_intro.txt"));
    body.push_str(&sections.document());
    body.push_str(&format!("\n{}", fence("json", include_str!("data/ai_agent_example.json"))));
    for part in AGENT_PARTS {
        body.push_str(&sections.part(part));
    }
    Ok(sections.page("AI agents", "AI agents: every member, task and guardrail", body))
}

/// Generates the page of chains.
///
/// # Errors
/// If a kind of steps has no example.
pub fn chains() -> Result<Page> {
    let sections = Sections::new(CHAINS, "workflow_chain", &CHAIN_PARTS, include_str!("data/step_examples.json"))?;
    let mut body = prose(include_str!("data/chains_intro.txt"));
    body.push_str(&sections.document());
    for part in CHAIN_PARTS {
        body.push_str(&sections.part(part));
    }
    body.push_str(&sections.common("Steps", "ChainStep", "config"));
    for (kind, definition) in sections.kinds("ChainStep", "kind") {
        body.push_str(&sections.kind(kind, definition, "config", None)?);
    }
    Ok(sections.page("Chains", "chains: every member, trigger and step", body))
}

fn flow_sections() -> Result<Sections> {
    Sections::new(FLOWS, "conversation_flow", &FLOW_PARTS, include_str!("data/node_examples.json"))
}

/// A kind of node as the engine knows it when the document says nothing else.
fn bare<K: Kinds>(kind: &str) -> Result<K> {
    let node = json!({"type": kind});
    let fields = Fields::of_object(&node).context("a node is an object")?;
    K::read_kind(fields).with_context(|| format!("unknown node type {kind}"))
}

/// The ports of a type of nodes, and the one by which it fails.
fn ports(node: &NodeKind) -> [String; 2] {
    let traits = node.data().traits();
    let own = traits.ports.iter().filter(|port| Some(**port) != traits.failure_port && **port != "else");
    let last = traits.ports.iter().filter(|it| **it == "else");
    [codes(own.chain(traits.own_ports).chain(last).copied()), codes(traits.failure_port)]
}

/// The table of the ports of all types; `page` has the section of a type.
fn overview(types: &[(&str, [String; 2])], page: impl Fn(&str) -> &'static str) -> String {
    let row = |(kind, [ports, failure]): &(&str, [String; 2])| {
        vec![format!("[`{kind}`]({}#{})", page(kind), anchor(kind)), ports.clone(), failure.clone()]
    };
    table(&["Type", "Output ports", "Failure port"], &types.iter().map(row).collect::<Vec<_>>())
}
