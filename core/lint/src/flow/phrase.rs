//! Phrases that conflict with each other, and their marks. (I005, I006, I011, I013, I014)

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;
use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{IntentDef, NodeKind};
use convengine_text::marked_phrase::MarkedPhrase;
use convengine_text::phrase::Phrase;
use convengine_text::variable_path::VariablePath;

use super::context::FlowContext;

/// The separator of tokens, which no token contains.
const SEPARATOR: &str = "\u{1f}";

/// A phrase of an intent, with its position.
struct IntentPhrase<'f> {
    intent: usize,
    number: usize,
    name: &'f str,
    text: &'f str,
}

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let document = &context.flow.document;
    let mut phrases_by_key: BTreeMap<String, Vec<IntentPhrase<'_>>> = BTreeMap::new();
    let all =
        document.intents.iter().zip(&context.flow.phrases).enumerate().filter(|(_, (intent, _))| intent.enabled && !intent.is_fallback);
    for (intent, (definition, phrases)) in all {
        for (number, ((text, phrase), marked)) in definition.phrases.iter().zip(&phrases.positive).zip(&phrases.marked).enumerate() {
            if !phrase.tokens().is_empty() {
                let key = marked.as_ref().map_or_else(|| phrase_key(phrase), |marked| key_of_tokens(marked.comparable_tokens()));
                phrases_by_key.entry(key).or_default().push(IntentPhrase { intent, number, name: &definition.name, text });
            }
        }
    }
    check_marks(context, findings);
    for same in phrases_by_key.values() {
        check_equal(context, same, findings);
    }
    check_contained(context, &phrases_by_key, findings);
    for (at, (talk, patterns)) in document.small_talk.iter().zip(&context.flow.small_talk_patterns).enumerate() {
        for (number, pattern) in patterns.iter().enumerate() {
            if let Some(intent) = phrases_by_key.get(&phrase_key(pattern)).and_then(|it| it.first()) {
                let location = context.item_location("small_talk", at).join(&format!("/patterns/{number}"));
                let text = talk.patterns.get(number).map_or("", String::as_str);
                let message = format!("'{text}' is also a phrase of '{}', but small talk takes precedence", intent.name);
                findings.push(location.warning("I011", message).with_fix("remove it from one of them"));
            }
        }
    }
}

/// Joins the tokens of a phrase, with the separator at both ends as well.
fn phrase_key(phrase: &Phrase) -> String {
    key_of_tokens(phrase.tokens().iter().map(String::as_str))
}

fn key_of_tokens<'t>(tokens: impl IntoIterator<Item = &'t str>) -> String {
    tokens.into_iter().fold(SEPARATOR.to_owned(), |key, it| key + it + SEPARATOR)
}

fn check_marks(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for (at, (intent, phrases)) in context.flow.document.intents.iter().zip(&context.flow.phrases).enumerate() {
        let all =
            intent.phrases.iter().zip(&phrases.marked).enumerate().filter_map(|(number, (text, it))| Some((number, text, it.as_ref()?)));
        for (number, text, phrase) in all {
            check_phrase_marks(context, (at, intent), (number, text, phrase), findings);
        }
    }
}

fn check_phrase_marks(
    context: &FlowContext<'_>,
    (at, intent): (usize, &IntentDef),
    (number, text, phrase): (usize, &str, &MarkedPhrase),
    findings: &mut Vec<DocumentIssue>,
) {
    let location = context.item_location("intents", at).join(&format!("/phrases/{number}"));
    for variable in phrase.variables().filter(|it| !is_slot(context, intent, it)) {
        let message = format!("'{{{variable}}}' in the phrase '{text}' is not a slot of '{}'", intent.name);
        let fix = "use the variable of a parameter of the intent or of an entity node of its graph";
        findings.push(location.clone().error("I013", message).with_fix(fix));
    }
    if !phrase.is_divisible() {
        let reason = if phrase.literal_length() == 0 { "no words other than its marks" } else { "no words between two of its marks" };
        let message = format!("the phrase '{text}' has {reason}, so it never matches");
        findings.push(location.error("I014", message).with_fix("add the words that users write there"));
    }
}

/// Whether a variable is that of a parameter of an intent, or of an entity node of its graph.
fn is_slot(context: &FlowContext<'_>, intent: &IntentDef, variable: &VariablePath) -> bool {
    let is_prompted = |kind: &NodeKind| matches!(kind, NodeKind::Entity(data) if data.variable == *variable);
    let graph = context.graph(&intent.graph);
    intent.parameters.iter().any(|it| it.variable == *variable)
        || graph.is_some_and(|graph_cx| graph_cx.definition.nodes.iter().any(|node| is_prompted(&node.kind)))
}

fn check_equal(context: &FlowContext<'_>, same: &[IntentPhrase<'_>], findings: &mut Vec<DocumentIssue>) {
    let Some(first) = same.first() else { return };
    let mut reported = BTreeSet::from([first.intent]);
    for other in same.iter().filter(|it| reported.insert(it.intent)) {
        let location = context.item_location("intents", other.intent).join(&format!("/phrases/{}", other.number));
        let message = format!("'{}' is also a phrase of '{}'", other.text, first.name);
        findings.push(location.warning("I005", message).with_fix("remove it from one of them"));
    }
}

/// Reports phrases within phrases of another intent; one automaton searches for all phrases at once.
fn check_contained(context: &FlowContext<'_>, phrases: &BTreeMap<String, Vec<IntentPhrase<'_>>>, findings: &mut Vec<DocumentIssue>) {
    let keys: Vec<(&String, &Vec<IntentPhrase<'_>>)> = phrases.iter().collect();
    let Ok(finder) = AhoCorasick::new(keys.iter().map(|it| it.0)) else { return };
    let mut reported: BTreeMap<(usize, usize), (&IntentPhrase<'_>, &IntentPhrase<'_>)> = BTreeMap::new();
    for (whole, longer) in &keys {
        for hit in finder.find_overlapping_iter(whole.as_str()) {
            let Some((part, shorter)) = keys.get(hit.pattern().as_usize()) else { continue };
            if part == whole {
                continue;
            }
            for short in shorter.iter() {
                if let Some(long) = longer.iter().find(|it| it.intent != short.intent) {
                    reported.entry((short.intent, short.number)).or_insert((short, long));
                }
            }
        }
    }
    for (short, long) in reported.values() {
        let location = context.item_location("intents", short.intent).join(&format!("/phrases/{}", short.number));
        let message = format!("'{}' is part of the phrase '{}' of '{}'", short.text, long.text, long.name);
        findings.push(location.warning("I006", message).with_fix("make sure that the longer phrase should win"));
    }
}
