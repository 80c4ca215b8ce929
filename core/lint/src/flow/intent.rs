//! Intents and their parameters. (I001–I004, I007–I010, I012, I017)

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{GraphKind, IntentDef, NodeKind};

use super::context::{FlowContext, Location};
use super::wait::has_prompt_for;

/// The recommended minimum number of phrases.
const RECOMMENDED_PHRASES: usize = 3;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let mut fallback: Option<&str> = None;
    for (at, intent) in context.flow.document.intents.iter().enumerate() {
        let location = context.item_location("intents", at);
        check_graph(context, at, intent, findings);
        check_parameters(context, at, intent, findings);
        if !intent.enabled {
            continue;
        }
        if !intent.is_fallback {
            check_matching(context, at, intent, findings);
            continue;
        }
        if let Some(first) = fallback {
            let message = format!("'{first}' is already the fallback intent, and only the first one is used");
            findings.push(location.join("/is_fallback").error("I002", message).with_fix("set 'is_fallback' for only one intent"));
        }
        fallback = fallback.or(Some(&intent.name));
        if !intent.phrases.is_empty() {
            let message = format!("the fallback intent '{}' has phrases, which are not matched", intent.name);
            findings
                .push(location.join("/phrases").warning("I003", message).with_fix("remove the phrases, or move them to another intent"));
        }
    }
    check_nodes(context, findings);
}

fn check_graph(context: &FlowContext<'_>, at: usize, intent: &IntentDef, findings: &mut Vec<DocumentIssue>) {
    let location = context.item_location("intents", at).join("/graph");
    let fix = "use the id of a graph of the kind 'intent'";
    match context.graph(&intent.graph) {
        None => findings.push(location.error("I001", format!("unknown graph '{}'", intent.graph)).with_fix(fix)),
        Some(graph_cx) if !graph_cx.is_kind(GraphKind::Intent) => {
            findings.push(location.error("I001", format!("the graph '{}' is not of the kind 'intent'", intent.graph)).with_fix(fix));
        }
        Some(_) => {}
    }
}

fn check_parameters(context: &FlowContext<'_>, at: usize, intent: &IntentDef, findings: &mut Vec<DocumentIssue>) {
    for (number, parameter) in intent.parameters.iter().enumerate() {
        let location = context.item_location("intents", at).join(&format!("/parameters/{number}"));
        if !super::slot::is_entity(context, &parameter.entity) {
            let message = format!("unknown entity '{}'", parameter.entity);
            findings.push(
                location
                    .join("/entity")
                    .error("I009", message)
                    .with_fix("use the id of an entity of the document, or a system entity such as '@number'"),
            );
        }
        if parameter.required && parameter.reprompt.is_empty() {
            let message = format!("the required parameter '{}' has no reprompt", parameter.variable);
            findings.push(location.clone().warning("I010", message).with_fix("add a 'reprompt' that describes the expected value"));
        }
        check_unasked(context, intent, number, location, findings);
    }
}

/// Reports a parameter that is never asked for and stands before a question, whose answer may have a value for it.
fn check_unasked(context: &FlowContext<'_>, intent: &IntentDef, number: usize, location: Location, findings: &mut Vec<DocumentIssue>) {
    let (Some(parameter), Some(graph_cx)) = (intent.parameters.get(number), context.graph(&intent.graph)) else { return };
    if parameter.is_prompted() || has_prompt_for(graph_cx, &parameter.variable) {
        return;
    }
    let mut behind = intent.parameters.iter().skip(number + 1);
    let later = behind.find(|it| it.is_prompted() && !has_prompt_for(graph_cx, &it.variable)).map(|it| &it.variable);
    let mut nodes = graph_cx.definition.nodes.iter().filter(|node| !node.disabled);
    let asked_by_node = nodes.find_map(|node| if let NodeKind::Entity(data) = &node.kind { Some(&data.variable) } else { None });
    let Some(question) = later.or(asked_by_node) else { return };
    let message =
        format!("the answers from the question for '{question}' on do not fill '{}', which is never asked for", parameter.variable);
    let fix = if later.is_some() { "move it behind the parameters that are asked for, or add a 'prompt'" } else { "add a 'prompt'" };
    findings.push(location.info("I017", message).with_fix(fix));
}

/// Checks the phrases and the description of an intent.
fn check_matching(context: &FlowContext<'_>, at: usize, intent: &IntentDef, findings: &mut Vec<DocumentIssue>) {
    let location = context.item_location("intents", at);
    let is_matched = context.flow.document.settings.llm_match;
    let phrases =
        context.source.pointer(&format!("{}/phrases", location.path)).map_or_else(|| location.clone(), |_| location.join("/phrases"));
    let (name, count) = (&intent.name, intent.phrases.len());
    if count == 0 && !is_matched {
        let message = format!("'{name}' can never be matched: it has no phrases, and no model resolves intents");
        findings.push(phrases.error("I004", message).with_fix("add phrases, or enable 'llm_match'"));
    } else if count < RECOMMENDED_PHRASES {
        let message = format!("'{name}' has {count} of the recommended {RECOMMENDED_PHRASES} phrases");
        findings.push(phrases.warning("I007", message).with_fix("add typical user messages"));
    }
    if is_matched && intent.description.trim().is_empty() {
        let message = format!("a model resolves intents, but '{name}' has no description for it");
        findings.push(location.warning("I008", message).with_fix("add a 'description'"));
    }
}

/// Checks the nodes that refer to intents or to graphs of intents.
fn check_nodes(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for (graph_cx, at, node) in context.nodes() {
        if let NodeKind::Intent(data) = &node.kind
            && context.flow.intent(&data.intent_id).is_none()
        {
            let message = format!("unknown intent '{}'", data.intent_id);
            findings.push(
                graph_cx.node_location(at).join("/data/intent_id").error("I001", message).with_fix("use the id of the intent of the graph"),
            );
        }
        let NodeKind::Subflow(data) = &node.kind else { continue };
        if let Some(intent) = context.flow.document.intents.iter().find(|intent| !intent.enabled && intent.graph == data.graph) {
            let message = format!("'{}' calls the graph of the disabled intent '{}'", node.name, intent.name);
            findings.push(
                graph_cx
                    .node_location(at)
                    .join("/data/graph")
                    .error("I012", message)
                    .with_fix("enable the intent, or change the kind of its graph to 'subflow'"),
            );
        }
    }
}
