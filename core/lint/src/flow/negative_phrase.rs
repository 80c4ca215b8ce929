//! Values of entities that mean something else in other sentences, and the phrases that say so. (N016, N017)

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{EntityDef, Node, NodeKind};
use convengine_text::language::language_of;
use convengine_text::marked_phrase::without_marks;
use convengine_text::normal_form::compose;
use convengine_text::phrase::Phrase;
use convengine_text::stop_words::is_stop_word;
use convengine_text::variable_path::VariablePath;
use convengine_understanding::entity::{Entity, ExtractionContext};

use super::context::{FlowContext, Location, find_reachable};
use super::slot::{is_prefilled, is_value_redacted};
use super::wait::has_prompt_for;

/// Built-in types alone read a text by its time and place.
const ANYWHERE: ExtractionContext<'_> = ExtractionContext { locale: "en", now: 0, time_zone: "UTC", parses: None };

/// Sentences of the document that users say.
struct Sentences {
    sentences: Vec<Sentence>,
    /// Their numbers by their words.
    by_word: BTreeMap<String, Vec<usize>>,
}

struct Sentence {
    /// The number of its intent; `None` for a sentence that begins none.
    intent: Option<usize>,
    text: String,
}

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let document = &context.flow.document;
    let sentences = Sentences::new(context);
    for (at, definition) in document.entities.iter().enumerate() {
        let Some(entity) = context.flow.compile_entity(&definition.id) else { continue };
        let location = context.item_location("entities", at);
        check_phrases(&location, definition, &entity, findings);
        let Some(variable) = prefilled_variable(context, &definition.id).filter(|_| definition.negative_phrases.is_empty()) else {
            continue;
        };
        let fix = "add 'negative_phrases': phrases in which it means something else";
        if let Some(word) = function_word(context, definition) {
            let message = format!("'{word}' is a word of many sentences, and each of them fills '{variable}'");
            findings.push(location.info("N016", message).with_fix(fix));
        } else if let Some((value, text)) = sentences.find_other_meaning(context, definition, &entity) {
            let message = format!("'{text}' has a value of '{}' that might not be meant: '{value}' fills '{variable}'", definition.id);
            findings.push(location.info("N016", message).with_fix(fix));
        }
    }
}

/// Reports phrases that exclude nothing, or a value itself.
fn check_phrases(location: &Location, definition: &EntityDef, entity: &Entity, findings: &mut Vec<DocumentIssue>) {
    for (at, phrase) in definition.negative_phrases.iter().enumerate() {
        let location = location.join(&format!("/negative_phrases/{at}"));
        if !entity.may_have_value(phrase) {
            let message = format!("'{phrase}' has no value of '{}', so it excludes nothing", definition.id);
            findings.push(location.warning("N017", message).with_fix("write the phrase with the word of the value, or remove it"));
        } else if spellings(definition).any(|spelling| letters(spelling) == letters(phrase)) {
            let message = format!("'{phrase}' is a spelling of a value of '{}', so no message can give that value", definition.id);
            findings.push(location.warning("N017", message).with_fix("add the words that change its meaning, or remove it"));
        }
    }
}

fn spellings(definition: &EntityDef) -> impl Iterator<Item = &str> {
    definition.entries.iter().flat_map(|entry| [&entry.value].into_iter().chain(&entry.synonyms)).map(String::as_str)
}

/// A text without what is not compared.
fn letters(text: &str) -> String {
    Phrase::without_accents(text).tokens().concat()
}

/// The variable of a slot of an entity that may take a value from the message that triggers an intent.
fn prefilled_variable<'g>(context: &FlowContext<'g>, entity: &str) -> Option<&'g VariablePath> {
    let parameters = context.flow.document.intents.iter().filter(|it| it.enabled).flat_map(|intent| {
        let is_open = |variable: &VariablePath| context.graph(&intent.graph).is_none_or(|graph_cx| !has_prompt_for(graph_cx, variable));
        intent.parameters.iter().filter(move |parameter| is_open(&parameter.variable))
    });
    let parameters = parameters.filter(|it| it.entity == entity).map(|it| &it.variable);
    let of_node = |node: &'g Node| {
        let NodeKind::Entity(data) = &node.kind else { return None };
        (data.entity == entity && !node.disabled && is_prefilled(context, data)).then_some(&data.variable)
    };
    parameters.filter(|it| !is_value_redacted(context, it, entity)).chain(context.nodes().filter_map(|it| of_node(it.2))).next()
}

/// A spelling that is a word such as `it`, or part of one as in `what's`.
fn function_word<'g>(context: &FlowContext<'g>, definition: &'g EntityDef) -> Option<&'g str> {
    let locale = &context.flow.document.default_locale;
    let language = language_of(locale)?;
    spellings(definition).find(|spelling| {
        let words = Phrase::new(spelling, locale);
        let [word] = words.tokens() else { return false };
        is_stop_word(&compose(word).collect::<String>(), language)
    })
}

impl Sentences {
    fn new(context: &FlowContext<'_>) -> Sentences {
        let document = &context.flow.document;
        let mut sentences = Vec::new();
        for (at, intent) in document.intents.iter().enumerate().filter(|(_, intent)| intent.enabled && !intent.is_fallback) {
            sentences.extend(intent.phrases.iter().map(|phrase| Sentence { intent: Some(at), text: without_marks(phrase) }));
            sentences.extend(intent.negative_phrases.iter().map(|it| Sentence { intent: None, text: it.clone() }));
        }
        let patterns = document.small_talk.iter().flat_map(|it| &it.patterns);
        sentences.extend(patterns.map(|it| Sentence { intent: None, text: it.clone() }));
        let mut by_word: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, sentence) in sentences.iter().enumerate() {
            for word in Phrase::without_accents(&sentence.text).tokens() {
                by_word.entry(word.clone()).or_default().push(number);
            }
        }
        Sentences { sentences, by_word }
    }

    /// A value of one word, or of a pattern, in a sentence that is about something else.
    fn find_other_meaning(&self, context: &FlowContext<'_>, definition: &EntityDef, entity: &Entity) -> Option<(String, &str)> {
        let users = intents_with(context, &definition.id);
        let of_words = spellings(definition).filter_map(|spelling| {
            let words = Phrase::without_accents(spelling);
            let [word] = words.tokens() else { return None };
            self.by_word.get(word)
        });
        let numbers: BTreeSet<usize> = of_words.flatten().copied().collect();
        let all =
            self.sentences.iter().enumerate().filter(|&(number, _)| definition.kind != "list" || numbers.contains(&number)).map(|it| it.1);
        all.filter(|sentence| sentence.intent.is_none_or(|intent| !users.contains(&intent))).find_map(|sentence| {
            let found = entity.find_all(&sentence.text, ANYWHERE);
            let words = found.into_iter().filter_map(|value| sentence.text.get(value.range));
            let value = words.into_iter().find(|word| definition.kind != "list" || Phrase::without_accents(word).tokens().len() == 1)?;
            Some((value.to_owned(), sentence.text.as_str()))
        })
    }
}

/// The numbers of the intents that have a slot of an entity, also in a graph that theirs calls.
fn intents_with(context: &FlowContext<'_>, entity: &str) -> BTreeSet<usize> {
    let has_slot = |node: &Node| matches!(&node.kind, NodeKind::Entity(data) if data.entity == entity);
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); context.graphs.len()];
    for (caller, graph_cx) in context.graphs.iter().enumerate() {
        for callee in graph_cx.definition.nodes.iter().filter_map(|node| context.graph_index(node.traits().called_graph?)) {
            if let Some(callers) = callers.get_mut(callee) {
                callers.push(caller);
            }
        }
    }
    let own = context.graphs.iter().enumerate().filter(|(_, graph_cx)| graph_cx.definition.nodes.iter().any(has_slot)).map(|it| it.0);
    let graphs = find_reachable(&callers, own);
    let graph_has_slot = |graph: &str| context.graph_index(graph).and_then(|index| graphs.get(index)).copied().unwrap_or_default();
    let intents = context.flow.document.intents.iter().enumerate();
    intents
        .filter(|(_, intent)| intent.parameters.iter().any(|parameter| parameter.entity == entity) || graph_has_slot(&intent.graph))
        .map(|it| it.0)
        .collect()
}
