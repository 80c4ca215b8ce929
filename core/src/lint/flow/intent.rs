//! Intents, with what they collect. (I001–I004, I007–I010, I012)

use super::ground::Ground;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{GraphKind, IntentForm, NodeKind};

/// Phrases from which on an intent is recognised well.
const ENOUGH: usize = 3;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    let mut fallback: Option<&str> = None;
    for (at, intent) in ground.flow.document.intents.iter().enumerate() {
        let place = ground.listed("intents", at);
        graph(ground, at, intent, found);
        parameters(ground, at, intent, found);
        if !intent.enabled {
            continue;
        }
        if !intent.is_fallback {
            wording(ground, at, intent, found);
            continue;
        }
        if let Some(first) = fallback {
            let message = format!("'{first}' is a fallback already, and only the first is taken");
            found.push(place.at("/is_fallback").error("I002", message).fix("let one intent be the fallback"));
        }
        fallback = fallback.or(Some(&intent.name));
        if !intent.phrases.is_empty() {
            let message = format!("'{}' is taken when nothing else matches, and has phrases as well", intent.name);
            found.push(place.at("/phrases").warning("I003", message).fix("remove the phrases, or give them to an intent of their own"));
        }
    }
    nodes(ground, found);
}

fn graph(ground: &Ground<'_>, at: usize, intent: &IntentForm, found: &mut Vec<DocumentIssue>) {
    let place = ground.listed("intents", at).at("/graph");
    let fix = "name a graph of the kind 'intent'";
    match ground.chart(&intent.graph) {
        None => found.push(place.error("I001", format!("there is no graph '{}'", intent.graph)).fix(fix)),
        Some(chart) if !chart.is(GraphKind::Intent) => {
            found.push(place.error("I001", format!("the graph '{}' is not of the kind 'intent'", intent.graph)).fix(fix));
        }
        Some(_) => {}
    }
}

fn parameters(ground: &Ground<'_>, at: usize, intent: &IntentForm, found: &mut Vec<DocumentIssue>) {
    for (number, parameter) in intent.parameters.iter().enumerate() {
        let place = ground.listed("intents", at).at(&format!("/parameters/{number}"));
        if !super::slot::is_entity(ground, &parameter.entity) {
            let message = format!("there is no entity '{}'", parameter.entity);
            found.push(place.at("/entity").error("I009", message).fix("name an entity of the document, or a type as '@number'"));
        }
        if parameter.required && parameter.reprompt.is_empty() {
            let message = format!("'{}' has to be given, and what is asked again is not said", parameter.variable);
            found.push(place.warning("I010", message).fix("add a 'reprompt' that says what is wanted"));
        }
    }
}

/// By what an intent is recognised.
fn wording(ground: &Ground<'_>, at: usize, intent: &IntentForm, found: &mut Vec<DocumentIssue>) {
    let place = ground.listed("intents", at);
    let is_matched = ground.flow.document.settings.llm_match;
    let phrases = ground.source.pointer(&format!("{}/phrases", place.path)).map_or_else(|| place.clone(), |_| place.at("/phrases"));
    let (name, count) = (&intent.name, intent.phrases.len());
    if count == 0 && !is_matched {
        let message = format!("nothing leads to '{name}': it has no phrases, and no model looks for intents");
        found.push(phrases.error("I004", message).fix("add phrases, or switch 'llm_match' on"));
    } else if count < ENOUGH {
        let message = format!("'{name}' has {count} of the {ENOUGH} phrases that an intent should have");
        found.push(phrases.warning("I007", message).fix("add what users say"));
    }
    if is_matched && intent.description.trim().is_empty() {
        let message = format!("a model looks for intents, and is not told what '{name}' is for");
        found.push(place.warning("I008", message).fix("add a 'description'"));
    }
}

/// Nodes that name intents, or graphs of intents.
fn nodes(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    for (chart, at, node) in ground.nodes() {
        if let NodeKind::Intent(data) = &node.kind
            && ground.flow.intent(&data.intent_id).is_none()
        {
            let message = format!("there is no intent '{}'", data.intent_id);
            found.push(chart.place_of(at).at("/data/intent_id").error("I001", message).fix("name the intent that the graph belongs to"));
        }
        let NodeKind::Subflow(data) = &node.kind else { continue };
        if let Some(intent) = ground.flow.document.intents.iter().find(|it| !it.enabled && it.graph == data.graph) {
            let message = format!("'{}' calls the graph of the intent '{}', which is not enabled", node.name, intent.name);
            found.push(chart.place_of(at).at("/data/graph").error("I012", message).fix("enable the intent, or make its graph a 'subflow'"));
        }
    }
}
