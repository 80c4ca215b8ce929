//! Publish checks for flow documents. (docs/spec/flows.md#11)
//!
//! Each file has the checks of one group of codes, or an analysis that several of them use. Checks avoid false positives, because
//! errors block publishing. All checks run in about linear time.
//!
//! Publishing calls the function for the kind of the document. Each runs the structural check first, so its issues are all there are.
//!
//! ```
//! use convengine_lint::flow::{PublishTarget, check_document};
//! use serde_json::json;
//!
//! let document = json!({
//!     "schema_version": "1.0", "doc": "conversation_flow", "id": "hello", "name": "Hello", "default_locale": "en-US", "root": "root",
//!     "graphs": [{
//!         "id": "root", "kind": "root", "entry": "start",
//!         "nodes": [
//!             {"id": "start", "type": "start", "name": "Start", "data": {}},
//!             {"id": "ask", "type": "entity", "name": "Ask", "data": {"variable": "name", "entity": "@string", "prompt": "Your name?"}},
//!         ],
//!         "edges": [{"id": "e1", "source": "start", "target": "nowhere"}],
//!     }],
//! });
//! let issues = check_document(&document, &PublishTarget::empty());
//! let edge = issues.iter().find(|issue| issue.code == "G003").ok_or("the edge leads to no node")?;
//! assert!(edge.is_error());
//! assert_eq!((edge.graph.as_deref(), edge.path.as_str()), (Some("root"), "/graphs/0/edges/0/target"));
//! # Ok::<(), &str>(())
//! ```

mod agent;
mod ai_agent;
mod button;
mod call;
mod chain;
mod codes;
mod condition;
mod context;
mod cycle;
mod event;
mod expression;
mod graph;
mod handoff;
mod intent;
mod knowledge;
mod learned;
mod live_edges;
mod locale;
mod migration;
mod model;
mod negative_phrase;
mod path_length;
mod phrase;
mod port;
mod python;
mod python_token;
mod reachability;
mod request_target;
mod secret;
mod service;
mod slot;
mod slot_order;
mod source_text;
mod template;
mod tool;
mod unverified;
mod variable_use;
mod variable_writes;
mod wait;
mod workflow;
mod workspace_tool;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub use self::ai_agent::check_agent;
pub use self::chain::check_chain;
pub use self::codes::CODES;
use self::context::FlowContext;
pub use self::workflow::{BoundPrograms, Resolution, check_workflow};
pub use self::workspace_tool::check_workspace_tool;
use convengine_config::flow::document::FlowTool;
use convengine_config::flow::{DocumentIssue, Flow, UNREADABLE_CODES, check_structure};
use convengine_turn::EffectClass;

/// The environment that a document is published to. What is unknown is not checked, so that an editor can lint without a server, and finds
/// less than publishing does.
///
/// ```
/// use std::collections::BTreeSet;
/// use convengine_lint::flow::{PublishTarget, check_workspace_tool};
/// use serde_json::json;
///
/// let tool = json!({"id": "orders", "name": "Orders", "kind": "http",
///     "request": {"method": "GET", "url": "https://shop.example", "headers": {"X-Key": "{{ secret.SHOP }}"}}});
/// assert!(check_workspace_tool(&tool, &PublishTarget::empty()).is_empty());
///
/// let secrets = BTreeSet::from(["CRM".to_owned()]);
/// let issues = check_workspace_tool(&tool, &PublishTarget { secrets: Some(&secrets), ..PublishTarget::empty() });
/// assert_eq!((issues[0].code, issues[0].path.as_str()), ("V010", "/request/headers/X-Key"));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PublishTarget<'a> {
    /// The names of the secrets of the workspace; `None` if unknown.
    pub secrets: Option<&'a BTreeSet<String>>,
    /// The names of revoked secrets.
    pub revoked_secrets: &'a BTreeSet<String>,
    /// Allowed private targets, as `host`, `host:port` or a network such as `10.1.0.0/16`.
    pub allowed_targets: &'a [String],
    /// Whether the fake service at `${STUB}` may be called, as in a pack with `http`; what calls it is not published.
    pub has_stub: bool,
    /// The maximum run time of a script, in milliseconds; `None` if unknown.
    pub script_timeout_ms: Option<u64>,
    /// What the interpreter reports of scripts, by the SHA-256 of their code, each with its line.
    pub script_issues: &'a BTreeMap<String, Vec<(u32, String)>>,
    /// What workflow graphs and chains are bound to; `None` if unknown.
    pub programs: Option<&'a BoundPrograms>,
    /// The knowledge sources of the assistant, each with whether it is ready; `None` if unknown.
    pub knowledge: Option<&'a BTreeMap<String, bool>>,
    /// The approved tools of MCP servers by code; `None` if unknown.
    pub mcp_tools: Option<&'a BTreeMap<String, ApprovedTool>>,
    /// The tasks, as `bean:method`, and the extensions that functions may call; `None` if unknown.
    pub functions: Option<&'a BTreeSet<String>>,
    /// Whether somebody can sign in at the desk of the server; `None` if unknown.
    pub has_desk: Option<bool>,
    /// The providers of models by name; `None` if unknown.
    pub providers: Option<&'a BTreeMap<String, ModelProvider>>,
}

/// What publishing needs to know of a provider of models.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelProvider {
    /// Its models; any without one.
    pub models: Vec<String>,
    /// Whether the names of its models have tags after a colon.
    pub has_tags: bool,
}

/// What publishing needs to know of an approved tool of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovedTool {
    /// What a call does.
    pub class: EffectClass,
    /// Whether a person has to approve each call.
    pub needs_approval: bool,
}

impl PublishTarget<'_> {
    /// Returns the approved tool that a tool of a document calls, if it is known.
    pub(crate) fn approved_tool(&self, tool: &FlowTool) -> Option<ApprovedTool> {
        self.mcp_tools?.get(&tool.mcp_code()?).copied()
    }

    /// An environment of which nothing is known and in which no private target is allowed.
    pub const fn empty() -> PublishTarget<'static> {
        const NONE: &BTreeSet<String> = &BTreeSet::new();
        const NO_ISSUES: &BTreeMap<String, Vec<(u32, String)>> = &BTreeMap::new();
        PublishTarget {
            secrets: None,
            revoked_secrets: NONE,
            allowed_targets: &[],
            has_stub: false,
            script_timeout_ms: None,
            script_issues: NO_ISSUES,
            programs: None,
            knowledge: None,
            mcp_tools: None,
            functions: None,
            has_desk: None,
            providers: None,
        }
    }
}

impl Default for PublishTarget<'_> {
    fn default() -> Self {
        PublishTarget::empty()
    }
}

/// Returns all issues of a flow document: first those of the whole, then by graph and node. For a document that cannot be parsed, returns
/// only the structural issues.
pub fn check_document(source: &Value, target: &PublishTarget<'_>) -> Vec<DocumentIssue> {
    let mut findings = check_structure(source);
    if findings.iter().any(|it| UNREADABLE_CODES.contains(&it.code)) {
        return findings;
    }
    let Ok(flow) = Flow::compile(source) else { return findings };
    let context = FlowContext::new(source, &flow, target);
    for check in [
        graph::check,
        port::check,
        reachability::check,
        cycle::check,
        condition::check,
        intent::check,
        phrase::check,
        learned::check,
        slot::check,
        slot_order::check,
        negative_phrase::check,
        button::check,
        expression::check,
        template::check,
        variable_use::check,
        service::check,
        tool::check,
        request_target::check,
        secret::check,
        unverified::check,
        python::check,
        call::check,
        knowledge::check,
        agent::check,
        handoff::check,
        event::check,
        locale::check,
        migration::check,
    ] {
        check(&context, &mut findings);
    }
    sort_issues(findings, &context)
}

/// Sorts issues by graph and node; issues of one node keep their order.
fn sort_issues(mut findings: Vec<DocumentIssue>, context: &FlowContext<'_>) -> Vec<DocumentIssue> {
    let mut order: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, graph_cx) in context.graphs.iter().enumerate() {
        order.insert(&graph_cx.definition.id, at + 1);
    }
    findings.sort_by_cached_key(|issue| {
        let graph = issue.graph.as_deref().filter(|_| issue.path.starts_with("/graphs"));
        let node = graph.zip(issue.node.as_deref()).and_then(|(graph, node)| context.graph(graph)?.node_index(node));
        (graph.and_then(|id| order.get(id)).copied().unwrap_or_default(), node.map_or(0, |node| node + 1))
    });
    findings
}

#[cfg(test)]
mod tests;
