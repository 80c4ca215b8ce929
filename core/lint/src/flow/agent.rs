//! Instruction agent nodes. (A001–A003, A005, A007–A012)

use std::collections::BTreeMap;

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{AgentData, AgentTool, FlowTool, NodeKind, is_built_in};
use convengine_text::json::schema::JsonSchema;
use convengine_turn::EffectClass;

use super::context::{FlowContext, Location};
use super::model;
use super::service::effect_class;

/// The model alias that always exists.
const DEFAULT_MODEL: &str = "default";

/// More characters than the context window of any model, at four per token.
const MAX_MEMORY_CHARS: usize = 800_000;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for (alias, name) in &context.flow.document.settings.models {
        let location = Location { path: format!("/settings/models/{alias}"), ..Location::default() };
        findings.extend(model::check_name(context.target, name, &location));
    }
    for (graph_cx, at, node) in context.nodes() {
        let NodeKind::InstructionAgent(data) = &node.kind else { continue };
        let location = graph_cx.node_location(at).join("/data");
        if data.instructions.source.trim().is_empty() {
            let message = format!("'{}' has no instructions for the model", node.name);
            findings.push(location.join("/instructions").error("A001", message).with_fix("add instructions"));
        }
        check_tools(context, data, &location, findings);
        let models = &context.flow.document.settings.models;
        let named = data.model.as_ref().filter(|model| *model != DEFAULT_MODEL && !models.contains_key(*model));
        findings.extend(named.and_then(|model| check_model(context, model, &location.join("/model"))));
        let schema = data.output.as_ref().and_then(|it| it.schema.as_ref());
        if let Some(reason) = schema.and_then(|schema| JsonSchema::compile(schema).err()) {
            let message = format!("invalid output schema of '{}': {reason}", node.name);
            findings.push(location.join("/output/schema").error("A009", message).with_fix("correct the schema"));
        }
        if data.memory.max_chars > MAX_MEMORY_CHARS {
            let message = format!("the memory of '{}' has up to {} characters, more than models accept", node.name, data.memory.max_chars);
            findings.push(
                location
                    .join("/memory/max_chars")
                    .warning("A010", message)
                    .with_fix(format!("set 'max_chars' to at most {MAX_MEMORY_CHARS}")),
            );
        }
    }
}

/// Checks the model of a node that is not an alias of the settings.
fn check_model(context: &FlowContext<'_>, name: &str, location: &Location) -> Option<DocumentIssue> {
    let unknown = || {
        let fix = "add it to 'models' in the settings, write PROVIDER:MODEL, or omit 'model'";
        let is_unknown = !model::names_provider(context.target, name);
        is_unknown.then(|| location.clone().error("A005", format!("unknown model '{name}'")).with_fix(fix))
    };
    model::check_name(context.target, name, location).or_else(unknown)
}

fn check_tools(context: &FlowContext<'_>, data: &AgentData, location: &Location, findings: &mut Vec<DocumentIssue>) {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let find = |tool: &AgentTool| context.flow.tool(&tool.tool);
    for (number, listed) in data.tools.iter().enumerate() {
        let location = location.join(&format!("/tools/{number}/tool"));
        let Some(tool) = find(listed) else {
            findings.push(
                location
                    .error("A002", format!("unknown tool '{}'", listed.tool))
                    .with_fix("use the id of a tool of the document or of the workspace"),
            );
            continue;
        };
        let name = tool.name_for_models();
        let built_in = is_built_in(&name).then(|| "a built-in tool".to_owned());
        if let Some(other) = names.insert(name.clone(), format!("the tool '{}'", tool.id)).or(built_in) {
            let message = format!("{other} and the tool '{}' have the same name '{name}' for models", tool.id);
            findings.push(location.clone().error("A003", message).with_fix("use tool ids that differ in letters or digits"));
        }
        let needs_approval = tool.is_approved_by_author(listed.approval, has_side_effects(tool));
        if !needs_approval {
            findings.extend(super::tool::missing_approval(context.target, tool, location.clone()));
        }
        if tool.sensitive && !needs_approval {
            let message = format!("the model can call the sensitive tool '{}' without approval", tool.name);
            findings.push(location.clone().error("A007", message).with_fix("set 'approval' to 'always'"));
        }
        // Prompt injection: the output of any other tool, reading or writing, can make the model call this one.
        let untrusted = data.tools.iter().filter(|it| it.tool != listed.tool).filter_map(find).find(|it| it.kind != "noop");
        if let Some(source) = untrusted.filter(|_| has_side_effects(tool) && !needs_approval) {
            let message = format!("the output of '{}' can make the model call '{}', which has side effects", source.name, tool.name);
            findings.push(location.warning("A008", message).with_fix("set 'approval' to 'write'"));
        } else if has_side_effects(tool) && !needs_approval {
            findings.push(call_without_consent(tool, location));
        } else if !needs_approval && sends_more_than_it_says(tool) {
            let message = format!("'{}' is declared as read but sends a writing request, so no approval is requested", tool.name);
            findings.push(location.warning("A011", message).with_fix("remove 'effect_class', unless the call changes nothing"));
        }
    }
}

/// The issue of a tool that changes something and that a model may call without anybody's consent.
pub(super) fn call_without_consent(tool: &FlowTool, location: Location) -> DocumentIssue {
    let message = format!("the model can call '{}', which has side effects and needs no approval", tool.name);
    location.warning("A011", message).with_fix("remove 'approval', or set it to 'write', unless this is meant")
}

/// Whether a tool that is declared to read sends a request by a writing method.
fn sends_more_than_it_says(tool: &FlowTool) -> bool {
    let method = tool.request.as_ref().map(|it| EffectClass::from_method(&it.method));
    tool.effect_class == Some(EffectClass::Read) && method == Some(EffectClass::Write)
}

pub(super) fn has_side_effects(tool: &FlowTool) -> bool {
    tool.kind != "noop" && matches!(effect_class(None, Some(tool), None), EffectClass::Write | EffectClass::Irreversible)
}
