//! Slots of an intent that one message fills in the order of its values. (N015)

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::flow::document::{Ask, Await, EdgeDef, IntentDef, LocalizedText, Node, NodeKind, Validation, Waiting};
use convengine_config::flow::{DocumentIssue, IntentPhrases};
use convengine_text::locale::{is_determiner, is_question_word};
use convengine_text::variable_path::VariablePath;
use convengine_understanding::entity::near_words::{NearWords, WordLocales};

use super::context::{FlowContext, GraphContext, Location, find_reachable};
use super::slot::{is_prefilled, is_value_redacted, words_of};
use super::wait::has_prompt_for;

/// Entities that read a message as a whole, so that their slots do not share its values.
const WHOLE_TEXT_ENTITIES: [&str; 3] = ["@string", "@list", "@boolean"];

/// A slot that the message that triggers an intent may fill.
struct MessageSlot<'g> {
    location: Location,
    variable: &'g VariablePath,
    /// The prompts of its variable.
    prompts: Vec<&'g LocalizedText>,
    rules: &'g [Validation],
    /// Its node; `None` for a parameter.
    node: Option<usize>,
    /// What tells the type of its values from others.
    type_key: String,
}

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let mut reported: BTreeSet<String> = BTreeSet::new();
    for (at, (intent, phrases)) in context.flow.document.intents.iter().zip(&context.flow.phrases).enumerate() {
        let Some(graph_cx) = context.graph(&intent.graph).filter(|_| intent.enabled) else { continue };
        let mut by_type: BTreeMap<String, Vec<MessageSlot<'_>>> = BTreeMap::new();
        let next = successors_in_turn(context, graph_cx);
        for slot in message_slots(context, graph_cx, &next, (at, intent)) {
            by_type.entry(slot.type_key.clone()).or_default().push(slot);
        }
        for slots in by_type.values().filter(|slots| slots.len() > 1) {
            for (first, second) in unclear_pairs(context, &next, phrases, slots) {
                if reported.insert(second.location.path.clone()) {
                    findings.push(unclear_pair(first, second));
                }
            }
        }
    }
}

fn unclear_pair(first: &MessageSlot<'_>, second: &MessageSlot<'_>) -> DocumentIssue {
    let (one, other) = (first.variable, second.variable);
    let message =
        format!("no word tells '{one}' and '{other}' apart, so the first value of a message fills '{one}' and the next fills '{other}'");
    let alternative = match first.node.or(second.node) {
        Some(_) => "set 'prefill' to false for one of them",
        None => "ask for one of them by a node with 'prefill' set to false",
    };
    let fix = format!("use words in their names or prompts that users put beside the values, such as 'from' and 'to', or {alternative}");
    second.location.join("/variable").warning("N015", message).with_fix(fix)
}

/// The slots of an intent that its message may fill: its parameters, then the nodes that are entered in the same turn.
fn message_slots<'g>(
    context: &FlowContext<'g>,
    graph_cx: &GraphContext<'g>,
    next: &[Vec<usize>],
    (at, intent): (usize, &'g IntentDef),
) -> Vec<MessageSlot<'g>> {
    let shares_values = |entity: &str| !WHOLE_TEXT_ENTITIES.contains(&entity) && context.flow.compile_entity(entity).is_some();
    let mut slots = Vec::new();
    for (number, parameter) in intent.parameters.iter().enumerate() {
        let is_asked_by_node = has_prompt_for(graph_cx, &parameter.variable);
        if !is_asked_by_node && shares_values(&parameter.entity) && !is_value_redacted(context, &parameter.variable, &parameter.entity) {
            slots.push(MessageSlot {
                location: context.item_location("intents", at).join(&format!("/parameters/{number}")),
                variable: &parameter.variable,
                prompts: prompts_of(graph_cx, intent, &parameter.variable, &parameter.entity),
                rules: &[],
                node: None,
                type_key: parameter.entity.clone(),
            });
        }
    }
    let entered = find_reachable(next, graph_cx.entry_index());
    for (number, node) in graph_cx.definition.nodes.iter().enumerate() {
        let NodeKind::Entity(data) = &node.kind else { continue };
        // A list of values takes all of them.
        let may_take_one = !node.disabled && !data.multiple && entered.get(number).copied().unwrap_or_default();
        if may_take_one && shares_values(&data.entity) && is_prefilled(context, data) {
            slots.push(MessageSlot {
                location: graph_cx.node_location(number).join("/data"),
                variable: &data.variable,
                prompts: prompts_of(graph_cx, intent, &data.variable, &data.type_key()),
                rules: &data.validation,
                node: Some(number),
                type_key: data.type_key(),
            });
        }
    }
    slots
}

/// The prompts of all parameters and nodes for the values of a type in a variable.
fn prompts_of<'g>(graph_cx: &GraphContext<'g>, intent: &'g IntentDef, variable: &VariablePath, type_key: &str) -> Vec<&'g LocalizedText> {
    let parameters =
        intent.parameters.iter().filter(|parameter| parameter.variable == *variable && parameter.entity == type_key).map(|it| &it.prompt);
    let nodes = graph_cx.definition.nodes.iter().filter_map(|node| if let NodeKind::Entity(data) = &node.kind { Some(data) } else { None });
    let nodes = nodes.filter(|data| data.variable == *variable && data.type_key() == type_key).map(|it| &it.prompt);
    parameters.chain(nodes).collect()
}

/// The slots of a type that nothing tells from one that the same turn enters before, each with that one.
fn unclear_pairs<'s, 'g>(
    context: &FlowContext<'g>,
    next: &[Vec<usize>],
    phrases: &IntentPhrases,
    slots: &'s [MessageSlot<'g>],
) -> Vec<(&'s MessageSlot<'g>, &'s MessageSlot<'g>)> {
    let document = &context.flow.document;
    let locales: BTreeSet<&str> = document.locales.iter().chain([&document.default_locale]).map(String::as_str).collect();
    let words_of_slot = |slot: &MessageSlot<'_>| -> Vec<NearWords> {
        locales.iter().map(|locale| near_words(slot, phrases, WordLocales { phrases: &document.default_locale, session: locale })).collect()
    };
    let words: Vec<Vec<NearWords>> = slots.iter().map(words_of_slot).collect();
    let says_nothing = |word: &str| {
        word.contains(char::is_numeric) || locales.iter().any(|locale| is_question_word(word, locale) || is_determiner(word, locale))
    };
    // A word of both says nothing either, although the word of a name counts more than that of a prompt.
    let is_distinguished = |(one, other): (&NearWords, &NearWords)| {
        let mut words = one.words_without(other).chain(other.words_without(one));
        words.any(|word| !says_nothing(word))
    };
    let after = |node: usize| find_reachable(next, next.get(node).into_iter().flatten().copied());
    let entered_after: Vec<Option<Vec<bool>>> = slots.iter().map(|it| it.node.map(after)).collect();
    let follows = |first: usize, second: usize| {
        let node = slots.get(second).and_then(|slot| slot.node);
        match (entered_after.get(first).and_then(Option::as_ref), node) {
            (None, _) => second > first,
            (Some(_), None) => false,
            (Some(entered), Some(node)) => entered.get(node).copied().unwrap_or_default(),
        }
    };
    let is_unclear = |at: usize, number: usize| {
        let (Some(first), Some(second)) = (slots.get(at), slots.get(number)) else { return false };
        let are_alike = first.variable != second.variable && have_same_rules(first.rules, second.rules);
        // In a loop, the first of the document counts.
        let are_in_order = follows(at, number) && (at < number || !follows(number, at));
        are_alike && are_in_order && !words.get(at).into_iter().flatten().zip(words.get(number).into_iter().flatten()).any(is_distinguished)
    };
    let first_of = |number: usize| (0..slots.len()).find(|at| is_unclear(*at, number)).and_then(|first| slots.get(first));
    slots.iter().enumerate().filter_map(|(number, second)| Some((first_of(number)?, second))).collect()
}

/// The words that stand for a slot. A number or a letter in its name, as in `city2`, is none.
fn near_words(slot: &MessageSlot<'_>, phrases: &IntentPhrases, locales: WordLocales<'_>) -> NearWords {
    let mut words = NearWords::default();
    let name =
        words_of(slot.variable).into_iter().map(|word| word.trim_end_matches(|character: char| character.is_ascii_digit()).to_owned());
    words.add_name(&name.filter(|word| word.len() > 1).collect::<Vec<_>>().join(" "), locales);
    slot.prompts.iter().flat_map(|it| it.templates()).for_each(|it| words.add_prompt(&it.source, locales));
    let marks = phrases.marked.iter().flatten().flat_map(|it| it.neighbors());
    marks.filter(|it| it.variable == slot.variable).for_each(|it| words.add_neighbors(it, locales));
    words.add_directions(locales);
    words
}

/// Whether the same values are valid: a value that breaks a rule of a slot is left for the next.
fn have_same_rules(first: &[Validation], second: &[Validation]) -> bool {
    fn key(rule: &Validation) -> impl PartialEq {
        let Validation { min, max, min_length, max_length, pattern, expr, message: _ } = rule;
        (min, max, min_length, max_length, pattern, expr.as_ref().map(|it| &it.source))
    }
    first.iter().map(key).eq(second.iter().map(key))
}

/// The nodes that may follow each node of a graph in the same turn.
fn successors_in_turn(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>) -> Vec<Vec<usize>> {
    let followers = |(node, edges): (&Node, &Vec<usize>)| {
        // Only an answer leads to the other ports of a slot.
        let is_taken = |edge: &&EdgeDef| !matches!(node.kind, NodeKind::Entity(_)) || edge.source_port == node.default_port();
        let edges = edges.iter().filter(|_| !waits(context, graph_cx, node)).filter_map(|index| graph_cx.definition.edges.get(*index));
        edges.filter(is_taken).filter_map(|edge| graph_cx.node_index(&edge.target)).collect()
    };
    graph_cx.definition.nodes.iter().zip(&graph_cx.outgoing_edges).map(followers).collect()
}

/// Whether a node waits for the user, whatever the message holds.
fn waits(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>, node: &Node) -> bool {
    match (&node.kind, node.traits().waiting) {
        _ if node.disabled => false,
        (NodeKind::Entity(data), _) => data.ask == Ask::Always && !is_prefilled(context, data),
        (_, Waiting::Always) => true,
        (_, Waiting::AnswerToMessage) => graph_cx.graph.await_mode(node) != Await::None,
        (_, Waiting::Parameters(_) | Waiting::InCall | Waiting::Nothing) => false,
    }
}
