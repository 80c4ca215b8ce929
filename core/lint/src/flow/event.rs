//! Event replies and settings. (B001–B004, B006, B007, B009)

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{FallbackOn, LocalizedText, NodeKind};

use super::context::{FlowContext, Location};
use super::reachability::has_fallback;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let document = &context.flow.document;
    let (events, settings) = (&document.events, &document.settings);
    let graphs = [
        ("/events/welcome/graph", &events.welcome.graph),
        ("/events/fallback/graph", &events.fallback.graph),
        ("/events/no_input/graph", &events.no_input.graph),
        ("/settings/fallback_limit_graph", &settings.fallback_limit_graph),
    ];
    let commands = document.repair.commands.iter().map(|command| (format!("/repair/{}/graph", command.name()), &command.graph));
    for (path, graph) in graphs.map(|it| (it.0.to_owned(), it.1)).into_iter().chain(commands) {
        if let Some(graph) = graph.as_ref().filter(|graph| context.graph(graph).is_none()) {
            let message = format!("unknown graph '{graph}'");
            findings.push(location(&path).error("B001", message).with_fix("use the id of a graph of the document"));
        }
    }
    let has_text = |message: &Option<LocalizedText>| message.as_ref().is_some_and(|message| !message.is_blank());
    if events.welcome.enabled && !has_text(&events.welcome.message) && events.welcome.graph.is_none() {
        findings.push(
            location("/events/welcome")
                .error("B002", "the welcome event has no message or graph")
                .with_fix("add a message or a graph, or disable it"),
        );
    }
    let has_timeout = |kind: &NodeKind| matches!(kind, NodeKind::Entity(data) if data.no_input_ms.is_some_and(|timeout| timeout > 0));
    if events.no_input.enabled && settings.no_input_timeout_s == 0 && !context.nodes().any(|it| has_timeout(&it.2.kind)) {
        let message = "the event 'no_input' never fires because the timeout is 0";
        findings.push(
            location("/events/no_input").error("B003", message).with_fix("set 'no_input_timeout_s' in the settings, or disable the event"),
        );
    }
    findings.extend(check_spend_cap(context));
    let has_event = events.fallback.enabled && (has_text(&events.fallback.message) || events.fallback.graph.is_some());
    let has_intent = document.intents.iter().any(|intent| intent.is_fallback && intent.enabled);
    if !has_event && !has_intent && !context.root_graph().is_some_and(|it| has_fallback(it, FallbackOn::NoIntent)) {
        let message = "no reply to messages without an intent";
        findings.push(location("/events").error("B006", message).with_fix("enable the event 'fallback' with a message"));
    }
    if settings.knowledge_fallback && settings.knowledge_fallback_min_score.is_none() {
        let message = "the knowledge fallback has no minimum score";
        findings.push(location("/settings/knowledge_fallback").warning("B007", message).with_fix("set 'knowledge_fallback_min_score'"));
    }
    let is_set = |name: &str| context.source.pointer(&format!("/settings/{name}")).is_some();
    if is_set("knowledge_fallback_min_score") && !is_set("knowledge_fallback") {
        let message = "the minimum score has no effect: the knowledge fallback is off";
        let issue = location("/settings/knowledge_fallback_min_score").warning("B009", message);
        findings.push(issue.with_fix("set 'knowledge_fallback' to true, or to false to keep it off"));
    }
}

fn location(path: &str) -> Location {
    Location { path: path.to_owned(), ..Location::default() }
}

/// Reports a document that requires models with a spend cap of 0.
fn check_spend_cap(context: &FlowContext<'_>) -> Option<DocumentIssue> {
    let document = &context.flow.document;
    if document.settings.monthly_llm_spend_cap_cents != Some(0) {
        return None;
    }
    let is_matched = |intent: &&convengine_config::flow::document::IntentDef| intent.enabled && !intent.is_fallback;
    let by_model = document.intents.iter().filter(is_matched).find(|intent| intent.phrases.is_empty() && document.settings.llm_match);
    let by_node = context.nodes().find(|(_, _, node)| node.traits().requires_model);
    let name = by_model.map(|it| &it.name).or_else(|| by_node.map(|(_, _, node)| &node.name))?;
    let message = format!("'{name}' requires a model, but the monthly spend cap is 0");
    Some(location("/settings/monthly_llm_spend_cap_cents").warning("B004", message).with_fix("increase or omit the cap"))
}
