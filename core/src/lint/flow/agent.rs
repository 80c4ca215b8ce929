//! Nodes in which a model talks and calls tools. (A001–A003, A005, A007–A010)

use std::collections::BTreeMap;

use super::ground::{Ground, Place};
use super::service::class;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{AgentData, AgentTool, Approval, FlowTool, NodeKind, is_built_in};
use crate::json::schema::JsonSchema;
use crate::turn::Class;

/// The alias that every engine has a model for.
const DEFAULT: &str = "default";

/// Characters that no model takes at once, at four for a token.
const MOST_CHARS: usize = 800_000;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    for (chart, at, node) in ground.nodes() {
        let NodeKind::InstructionAgent(data) = &node.kind else { continue };
        let place = chart.place_of(at).at("/data");
        if data.instructions.source.trim().is_empty() {
            let message = format!("'{}' does not say what the model is to do", node.name);
            found.push(place.at("/instructions").error("A001", message).fix("write instructions"));
        }
        tools(ground, data, &place, found);
        let models = &ground.flow.document.settings.models;
        if let Some(alias) = data.model.as_ref().filter(|it| *it != DEFAULT && !models.contains_key(*it)) {
            let message = format!("there is no model '{alias}'");
            found.push(place.at("/model").error("A005", message).fix("add it to 'models' in the settings, or leave 'model' out"));
        }
        let schema = data.output.as_ref().and_then(|it| it.schema.as_ref());
        if let Some(wrong) = schema.and_then(|it| JsonSchema::compile(it).err()) {
            let message = format!("the schema of what '{}' leaves cannot be used: {wrong}", node.name);
            found.push(place.at("/output/schema").error("A009", message).fix("correct it"));
        }
        if data.memory.max_chars > MOST_CHARS {
            let message = format!("'{}' keeps {} characters, more than models take", node.name, data.memory.max_chars);
            found.push(place.at("/memory/max_chars").warning("A010", message).fix(format!("keep {MOST_CHARS} at most")));
        }
    }
}

fn tools(ground: &Ground<'_>, data: &AgentData, place: &Place, found: &mut Vec<DocumentIssue>) {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let known = |it: &AgentTool| ground.flow.tool(&it.tool);
    for (number, listed) in data.tools.iter().enumerate() {
        let place = place.at(&format!("/tools/{number}/tool"));
        let Some(tool) = known(listed) else {
            found.push(place.error("A002", format!("there is no tool '{}'", listed.tool)).fix("name a tool of the document"));
            continue;
        };
        let name = tool.offered();
        let built_in = is_built_in(&name).then(|| "what every agent can call".to_owned());
        if let Some(other) = names.insert(name.clone(), format!("the tool '{}'", tool.id)).or(built_in) {
            let message = format!("models know {other} and the tool '{}' by one name, '{name}'", tool.id);
            found.push(place.clone().error("A003", message).fix("give the tools ids that differ in letters or digits"));
        }
        let asks = match listed.approval {
            Some(Approval::Always) => true,
            Some(Approval::Write) => changes(tool),
            Some(Approval::Never) | None => false,
        };
        if tool.sensitive && !asks {
            let message = format!("'{}' is sensitive, and nobody is asked before the model calls it", tool.name);
            found.push(place.clone().error("A007", message).fix("set 'approval' to 'always'"));
        }
        // What others answer may tell the model to call another one, whether asking them has changed anything or not.
        let untrusted = data.tools.iter().filter(|it| it.tool != listed.tool).filter_map(known).find(|it| it.kind != "noop");
        if let Some(source) = untrusted.filter(|_| changes(tool) && !asks) {
            let message = format!("what '{}' answers can lead the model to call '{}', which changes something", source.name, tool.name);
            found.push(place.warning("A008", message).fix("set 'approval' to 'write'"));
        }
    }
}

fn changes(tool: &FlowTool) -> bool {
    matches!(class(None, Some(tool), None), Class::Write | Class::Irreversible)
}
