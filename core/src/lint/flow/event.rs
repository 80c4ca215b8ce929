//! Events and settings. (B001–B004, B006, B007)

use super::ground::{Ground, Place};
use super::reach::has_fallback;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{FallbackOn, LocalizedText, NodeKind};
use serde_json::Value;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    let document = &ground.flow.document;
    let (events, settings) = (&document.events, &document.settings);
    let graphs = [
        ("/events/welcome/graph", &events.welcome.graph),
        ("/events/fallback/graph", &events.fallback.graph),
        ("/events/no_input/graph", &events.no_input.graph),
        ("/settings/fallback_limit_graph", &settings.fallback_limit_graph),
    ];
    for (path, graph) in graphs {
        if let Some(graph) = graph.as_ref().filter(|it| ground.chart(it).is_none()) {
            let message = format!("there is no graph '{graph}'");
            found.push(at(path).error("B001", message).fix("name a graph of the document"));
        }
    }
    let says = |message: &Option<LocalizedText>| message.as_ref().is_some_and(|it| !it.is_blank());
    if events.welcome.enabled && !says(&events.welcome.message) && events.welcome.graph.is_none() {
        found.push(at("/events/welcome").error("B002", "the welcome says nothing").fix("give it a message or a graph, or switch it off"));
    }
    let waits = |it: &NodeKind| matches!(it, NodeKind::Entity(data) if data.no_input_ms.is_some_and(|it| it > 0));
    if events.no_input.enabled && settings.no_input_timeout_s == 0 && !ground.nodes().any(|it| waits(&it.2.kind)) {
        let message = "nobody is ever taken for silent: the time after which that is so is 0";
        found.push(at("/events/no_input").error("B003", message).fix("set 'no_input_timeout_s' in the settings, or switch it off"));
    }
    found.extend(without_models(ground));
    let has_event = events.fallback.enabled && (says(&events.fallback.message) || events.fallback.graph.is_some());
    let has_intent = document.intents.iter().any(|it| it.is_fallback && it.enabled);
    if !has_event && !has_intent && !ground.root().is_some_and(|it| has_fallback(it, FallbackOn::NoIntent)) {
        let message = "nothing is said when nobody understands what the user wants";
        found.push(at("/events").error("B006", message).fix("switch the event 'fallback' on, with a message"));
    }
    if settings.knowledge_fallback && settings.knowledge_fallback_min_score.is_none() {
        let message = "how sure the knowledge has to be is not said";
        found.push(at("/settings/knowledge_fallback").warning("B007", message).fix("set 'knowledge_fallback_min_score'"));
    }
}

fn at(path: &str) -> Place {
    Place { path: path.to_owned(), ..Place::default() }
}

/// A document that needs models and may not pay for them.
fn without_models(ground: &Ground<'_>) -> Option<DocumentIssue> {
    let document = &ground.flow.document;
    if document.settings.monthly_llm_spend_cap_cents != Some(0) {
        return None;
    }
    let matched = |it: &&crate::config::flow::document::IntentForm| it.enabled && !it.is_fallback;
    let by_model = document.intents.iter().filter(matched).find(|it| it.phrases.is_empty() && document.settings.llm_match);
    let synthesizes = |chart: &super::ground::Chart<'_>, at: usize| chart.data(at, "synthesize").and_then(Value::as_bool) != Some(false);
    let by_node = ground.nodes().find(|(chart, at, node)| {
        matches!(node.kind, NodeKind::InstructionAgent(_)) || node.type_name == "knowledge" && synthesizes(chart, *at)
    });
    let name = by_model.map(|it| &it.name).or_else(|| by_node.map(|it| &it.2.name))?;
    let message = format!("'{name}' needs a model, and models may cost nothing");
    Some(at("/settings/monthly_llm_spend_cap_cents").warning("B004", message).fix("raise it, or leave it out"))
}
