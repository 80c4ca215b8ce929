//! AI agents. (A001–A003, A005, A007, A008, A011, A012, K001, K002, N004, V002)

use std::collections::BTreeMap;

use convengine_config::flow::document::{
    AgentPolicy, FlowTool, GuardrailKind, REMEMBER, SEARCH_KNOWLEDGE, TaskFlag, agent_graph, is_built_in,
};
use convengine_config::flow::{DocumentIssue, Flow, UNREADABLE_CODES, check_agent_structure};
use serde_json::{Value, json};

use super::agent::{call_without_consent, has_side_effects};
use super::context::{FlowContext, Location};
use super::knowledge::check_sources;
use super::model;
use super::variable_writes::variable_of_path;
use super::{PublishTarget, expression, request_target, secret, sort_issues, template, tool, unverified};

/// The members of an AI agent that its graph has, by their paths in the graph.
const MOVED_PATHS: [(&str, &str); 2] = [("/graphs/0/nodes/0/data/instructions", "/mission"), ("/graphs/0/nodes/0/data/model", "/model")];

/// Returns all issues of an AI agent. For one that cannot be parsed, returns only the structural issues.
///
/// ```
/// use convengine_lint::flow::{PublishTarget, check_agent};
/// use serde_json::json;
///
/// let issues = check_agent(&json!({"schema_version": "1.0", "doc": "ai_agent", "id": "shop", "name": 5}), &PublishTarget::empty());
/// assert!(issues.iter().any(|issue| issue.is_error() && issue.path == "/name"), "{issues:?}");
/// ```
pub fn check_agent(source: &Value, target: &PublishTarget<'_>) -> Vec<DocumentIssue> {
    let mut findings = check_agent_structure(source);
    if findings.iter().any(|it| UNREADABLE_CODES.contains(&it.code)) {
        return findings;
    }
    let Ok(flow) = Flow::compile(source) else { return findings };
    let Some(policy) = &flow.document.agent else { return findings };
    // The other checks look for nodes in graphs, and find the mission there.
    let mut document = source.clone();
    if let Some(members) = document.as_object_mut() {
        members.shift_remove("mission");
        members.insert("graphs".to_owned(), json!([agent_graph(source)]));
    }
    let context = FlowContext::new(&document, &flow, target);
    for check in [expression::check, template::check, tool::check, request_target::check, secret::check, unverified::check] {
        check(&context, &mut findings);
    }
    for check in [check_texts, check_tools, check_tasks, check_guardrails] {
        check(&context, policy, &mut findings);
    }
    if let Some(knowledge) = &policy.knowledge {
        check_sources(&context, knowledge.sources.as_deref(), &member("knowledge"), &mut findings);
    }
    let mut findings = sort_issues(findings, &context);
    for issue in &mut findings {
        if let Some((_, path)) = MOVED_PATHS.iter().find(|it| issue.path == it.0) {
            (*path).clone_into(&mut issue.path);
            (issue.graph, issue.node) = (None, None);
        }
    }
    findings
}

fn member(name: &str) -> Location {
    Location { path: format!("/{name}"), ..Location::default() }
}

fn check_texts(context: &FlowContext<'_>, _policy: &AgentPolicy, findings: &mut Vec<DocumentIssue>) {
    let data = context.graphs.first().and_then(|it| it.node_values.first()).and_then(|it| it.get("data"));
    let is_blank = |name: &str| data.and_then(|data| data.get(name)).and_then(Value::as_str).is_some_and(|text| text.trim().is_empty());
    if is_blank("instructions") {
        findings.push(member("mission").error("A001", "the AI agent has no mission").with_fix("say what it is for"));
    }
    if is_blank("model") {
        findings.push(member("model").error("A005", "the name of the model is blank").with_fix("name a model, or omit 'model'"));
    }
    let model = data.and_then(|it| it.get("model")).and_then(Value::as_str);
    findings.extend(model.and_then(|name| model::check_name(context.target, name, &member("model"))));
}

fn check_tools(context: &FlowContext<'_>, policy: &AgentPolicy, findings: &mut Vec<DocumentIssue>) {
    let tools = &context.flow.document.tools;
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for (at, tool) in tools.iter().enumerate() {
        let location = context.item_location("tools", at);
        let name = tool.name_for_models();
        let is_built_in = is_built_in(&name) || [REMEMBER, SEARCH_KNOWLEDGE].contains(&name.as_str());
        let built_in = is_built_in.then(|| "a built-in tool".to_owned());
        if let Some(other) = names.insert(name.clone(), &tool.id).map(|it| format!("the tool '{it}'")).or(built_in) {
            let message = format!("{other} and the tool '{}' have the same name '{name}' for models", tool.id);
            findings.push(location.join("/id").error("A003", message).with_fix("use tool ids that differ in letters or digits"));
        }
        if ["http", "webhook"].contains(&tool.kind.as_str()) && tool.request.is_none() {
            let message = format!("the tool '{}' has no request", tool.name);
            findings.push(location.clone().error("V002", message).with_fix("add 'request'"));
        }
        if tool.sensitive && !policy.verifies_user() {
            let message = format!("the tool '{}' is sensitive, but no guardrail verifies the user, so it is never called", tool.name);
            findings.push(location.join("/sensitive").error("A007", message).with_fix("add a guardrail of the kind 'AUTH'"));
        }
        // Prompt injection: passages, or the output of any other tool, can make the model call this one.
        let other = tools.iter().find(|other| other.id != tool.id && other.kind != "noop").map(|it| format!("the output of '{}'", it.name));
        let untrusted = policy.knowledge.is_some().then(|| "a passage of the knowledge base".to_owned()).or(other);
        if let Some(source) = untrusted.filter(|_| is_unguarded(tool)) {
            let message = format!("{source} can make the model call '{}', which has side effects", tool.name);
            findings.push(location.warning("A008", message).with_fix("set 'approval' to 'write', so that a person approves each call"));
        } else if is_unguarded(tool) {
            findings.push(call_without_consent(tool, location));
        }
    }
}

/// Whether a tool changes something without the approval of a person.
fn is_unguarded(tool: &FlowTool) -> bool {
    has_side_effects(tool) && !tool.needs_approval(None, true)
}

fn check_tasks(context: &FlowContext<'_>, policy: &AgentPolicy, findings: &mut Vec<DocumentIssue>) {
    check_tool_names(context, &policy.tool_names, &member("tool_names"), findings);
    for (at, task) in policy.tasks.iter().enumerate() {
        let location = context.item_location("tasks", at);
        check_tool_names(context, &task.tool_names, &location.join("/tool_names"), findings);
        if task.flag == TaskFlag::Sensitive && !policy.verifies_user() {
            let message = format!("the task '{}' is sensitive, but no guardrail verifies the user, so its tools are never called", task.id);
            findings.push(location.join("/flag").error("A007", message).with_fix("add a guardrail of the kind 'AUTH'"));
        }
    }
}

fn check_tool_names(context: &FlowContext<'_>, names: &[String], location: &Location, findings: &mut Vec<DocumentIssue>) {
    for (number, name) in names.iter().enumerate().filter(|&(_, name)| context.flow.tool(name).is_none()) {
        let issue = location.join(&format!("/{number}")).error("A002", format!("unknown tool '{name}'"));
        findings.push(issue.with_fix("use the id of a tool of the AI agent or of the workspace"));
    }
}

fn check_guardrails(context: &FlowContext<'_>, policy: &AgentPolicy, findings: &mut Vec<DocumentIssue>) {
    let sources = context.source.get("guardrails").and_then(Value::as_array);
    for guardrail in &policy.guardrails {
        // Disabled ones are only in the source.
        let is_source = |source: &Value| source.get("id").and_then(Value::as_str) == Some(&guardrail.id);
        let Some(at) = sources.and_then(|sources| sources.iter().position(is_source)) else { continue };
        let location = context.item_location("guardrails", at).join("/config");
        match &guardrail.kind {
            GuardrailKind::Auth(condition) => {
                let paths = condition.compiled.as_ref().map(|it| it.paths()).unwrap_or_default();
                let written = paths.iter().filter_map(|it| variable_of_path(it, &[])).find(|variable| variable.first_name() == "memory");
                if let Some(variable) = written {
                    let message = format!("the model itself can write '{variable}', and so bypass verification");
                    findings.push(location.error("A007", message).with_fix("use a variable that a tool or the host writes"));
                }
            }
            GuardrailKind::Limit(limit) => check_tool_names(context, &limit.tools, &location.join("/tools"), findings),
            GuardrailKind::Redact(mask) => {
                for (number, reason) in mask.patterns.iter().enumerate().filter_map(|(at, pattern)| Some((at, pattern.as_ref().err()?))) {
                    let issue = location.join(&format!("/patterns/{number}")).error("N004", format!("invalid pattern: {reason}"));
                    findings.push(issue.with_fix("correct the pattern"));
                }
            }
            GuardrailKind::Budget(_) | GuardrailKind::Escalate(_) => {}
        }
    }
}
