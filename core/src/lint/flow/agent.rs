//! Instruction agent nodes. (A001–A003, A005, A007–A010)

use std::collections::BTreeMap;

use super::ground::{Ground, Place};
use super::service::class;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{AgentData, AgentTool, Approval, FlowTool, NodeKind, is_built_in};
use crate::json::schema::JsonSchema;
use crate::turn::Class;

/// The model alias that always exists.
const DEFAULT: &str = "default";

/// More characters than the context window of any model, at four per token.
const MOST_CHARS: usize = 800_000;

pub(super) fn check(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    for (graph_cx, at, node) in context.nodes() {
        let NodeKind::InstructionAgent(data) = &node.kind else { continue };
        let location = graph_cx.place_of(at).at("/data");
        if data.instructions.source.trim().is_empty() {
            let message = format!("'{}' has no instructions for the model", node.name);
            findings.push(location.at("/instructions").error("A001", message).fix("add instructions"));
        }
        tools(context, data, &location, findings);
        let models = &context.flow.document.settings.models;
        if let Some(alias) = data.model.as_ref().filter(|it| *it != DEFAULT && !models.contains_key(*it)) {
            let message = format!("unknown model '{alias}'");
            findings.push(location.at("/model").error("A005", message).fix("add it to 'models' in the settings, or omit 'model'"));
        }
        let schema = data.output.as_ref().and_then(|it| it.schema.as_ref());
        if let Some(reason) = schema.and_then(|it| JsonSchema::compile(it).err()) {
            let message = format!("invalid output schema of '{}': {reason}", node.name);
            findings.push(location.at("/output/schema").error("A009", message).fix("correct the schema"));
        }
        if data.memory.max_chars > MOST_CHARS {
            let message = format!("the memory of '{}' has up to {} characters, more than models accept", node.name, data.memory.max_chars);
            findings.push(location.at("/memory/max_chars").warning("A010", message).fix(format!("set 'max_chars' to at most {MOST_CHARS}")));
        }
    }
}

fn tools(context: &Ground<'_>, data: &AgentData, location: &Place, findings: &mut Vec<DocumentIssue>) {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let find = |it: &AgentTool| context.flow.tool(&it.tool);
    for (number, listed) in data.tools.iter().enumerate() {
        let location = location.at(&format!("/tools/{number}/tool"));
        let Some(tool) = find(listed) else {
            findings.push(location.error("A002", format!("unknown tool '{}'", listed.tool)).fix("use the id of a tool of the document"));
            continue;
        };
        let name = tool.offered();
        let built_in = is_built_in(&name).then(|| "a built-in tool".to_owned());
        if let Some(other) = names.insert(name.clone(), format!("the tool '{}'", tool.id)).or(built_in) {
            let message = format!("{other} and the tool '{}' have the same name '{name}' for models", tool.id);
            findings.push(location.clone().error("A003", message).fix("use tool ids that differ in letters or digits"));
        }
        let needs_approval = match listed.approval {
            Some(Approval::Always) => true,
            Some(Approval::Write) => changes(tool),
            Some(Approval::Never) | None => false,
        };
        if tool.sensitive && !needs_approval {
            let message = format!("the model can call the sensitive tool '{}' without approval", tool.name);
            findings.push(location.clone().error("A007", message).fix("set 'approval' to 'always'"));
        }
        // Prompt injection: the output of any other tool, reading or writing, can make the model call this one.
        let untrusted = data.tools.iter().filter(|it| it.tool != listed.tool).filter_map(find).find(|it| it.kind != "noop");
        if let Some(source) = untrusted.filter(|_| changes(tool) && !needs_approval) {
            let message = format!("the output of '{}' can make the model call '{}', which has side effects", source.name, tool.name);
            findings.push(location.warning("A008", message).fix("set 'approval' to 'write'"));
        }
    }
}

fn changes(tool: &FlowTool) -> bool {
    matches!(class(None, Some(tool), None), Class::Write | Class::Irreversible)
}
