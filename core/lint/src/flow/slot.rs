//! Entities, and the nodes and parameters that prompt for them. (N001, N003–N005, N007–N009, N011–N014, N018, N019)

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{Ask, EntityData, EntityDef, Node, NodeKind, OnError, Validation};
use convengine_text::date::parse_duration_seconds;
use convengine_text::regex::Regex;
use convengine_text::value::EXPRESSION;
use convengine_text::variable_path::VariablePath;
use convengine_understanding::entity::Entity;
use serde_json::Value;

use super::context::{FlowContext, GraphContext, Location};
use super::wait::has_prompt_for;

/// Words in names of variables that must not appear in logs.
const SENSITIVE_WORDS: [&str; 13] =
    ["card", "cvc", "cvv", "iban", "otp", "passcode", "passport", "password", "passwort", "pin", "secret", "ssn", "pwd"];

/// Words in names of codes, whose leading zeros count.
const CODE_WORDS: [&str; 15] =
    ["code", "zip", "zipcode", "postcode", "postal", "plz", "cep", "iban", "isbn", "imei", "vin", "sku", "pin", "phone", "otp"];

/// Words for what has a number that is a code, as in `account_number`.
const NUMBERED_WORDS: [&str; 12] =
    ["account", "card", "customer", "member", "order", "policy", "ticket", "invoice", "tracking", "booking", "reference", "serial"];

/// Words that make such a name harmless, as in `card_type`.
const HARMLESS_WORDS: [&str; 7] = ["brand", "count", "kind", "ok", "status", "type", "valid"];

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for (at, entity) in context.flow.document.entities.iter().enumerate() {
        check_entity(&context.item_location("entities", at), entity, context.flow.compile_entity(&entity.id).as_ref(), findings);
    }
    for (graph_cx, at, node) in context.nodes() {
        let NodeKind::Entity(data) = &node.kind else { continue };
        let location = graph_cx.node_location(at).join("/data");
        check_entity_node(context, graph_cx, node, data, &location, findings);
        check_prefill(context, data, &location, findings);
        check_kept(context, graph_cx, data, &location, findings);
    }
    let prompted = prompted_variables(context);
    let mut types: BTreeMap<&VariablePath, (&str, Option<&str>)> = BTreeMap::new();
    for PromptedVariable { location, variable, entity, .. } in &prompted {
        match types.get(variable) {
            Some((other, first)) if other != entity => {
                let first = first.unwrap_or_default();
                let message = format!("'{variable}' has the type '{other}' in '{first}', but '{entity}' here");
                findings.push(location.join("/entity").warning("N011", message).with_fix("use one type, or write to another variable"));
            }
            Some(_) => {}
            None => _ = types.insert(variable, (entity, location.name.as_deref())),
        }
    }
    for slot in prompted.iter().filter(|slot| slot.entity == "@number" && is_code(slot.variable)) {
        let message = format!("'{}' looks like a code, and a number loses its leading zeros", slot.variable);
        findings.push(slot.location.join("/entity").warning("N014", message).with_fix("use '@string' or an entity with a pattern"));
    }
    check_sensitive(context, &prompted, findings);
}

/// Checks a slot that keeps what another request has left.
fn check_kept(
    context: &FlowContext<'_>,
    graph_cx: &GraphContext<'_>,
    data: &EntityData,
    location: &Location,
    findings: &mut Vec<DocumentIssue>,
) {
    if !data.keep {
        return;
    }
    let location = location.join("/keep");
    if data.ask == Ask::Always {
        let message = format!("'{}' keeps its value, but is asked for anyway", data.variable);
        findings.push(location.warning("N018", message).with_fix("remove 'keep', or set 'ask' to 'if_empty'"));
        return;
    }
    let is_same = |node: &Node| matches!(&node.kind, NodeKind::Entity(other) if other.variable == data.variable);
    let other = context.nodes().find(|(other_cx, _, node)| other_cx.definition.id != graph_cx.definition.id && is_same(node));
    if let Some((other, _, _)) = other {
        let message = format!("'{}' is not asked for when '{}' has filled it in another request", data.variable, other.definition.id);
        findings.push(location.info("N019", message).with_fix("remove 'keep' if each request has a value of its own"));
    }
}

/// A variable that a node or a parameter of an intent prompts for.
struct PromptedVariable<'g> {
    location: Location,
    variable: &'g VariablePath,
    entity: &'g str,
    redact: bool,
}

fn prompted_variables<'g>(context: &FlowContext<'g>) -> Vec<PromptedVariable<'g>> {
    let mut prompted = Vec::new();
    for (at, intent) in context.flow.document.intents.iter().enumerate() {
        for (number, parameter) in intent.parameters.iter().enumerate() {
            // If a node of the graph of the intent prompts for it, the parameter does not.
            if context.graph(&intent.graph).is_none_or(|graph_cx| !has_prompt_for(graph_cx, &parameter.variable)) {
                let location = context.item_location("intents", at).join(&format!("/parameters/{number}"));
                prompted.push(PromptedVariable { location, variable: &parameter.variable, entity: &parameter.entity, redact: false });
            }
        }
    }
    for (graph_cx, at, node) in context.nodes() {
        if let NodeKind::Entity(data) = &node.kind {
            let location = graph_cx.node_location(at).join("/data");
            prompted.push(PromptedVariable { location, variable: &data.variable, entity: &data.entity, redact: data.redact });
        }
    }
    prompted
}

/// Whether an entity exists, in the document or as a system entity.
pub(super) fn is_entity(context: &FlowContext<'_>, name: &str) -> bool {
    Entity::from_system_name(name).is_some() || context.flow.document.entities.iter().any(|it| it.id == name)
}

fn check_entity(location: &Location, definition: &EntityDef, entity: Option<&Entity>, findings: &mut Vec<DocumentIssue>) {
    for (spelling, values) in entity.map(Entity::synonym_clashes).unwrap_or_default() {
        let message = format!("'{spelling}' is ambiguous between '{}', so the user has to choose", values.join("' and '"));
        findings.push(location.join("/entries").error("N003", message).with_fix("keep it for only one of the values"));
    }
    for (at, pattern) in definition.patterns.iter().enumerate() {
        let error = Entity::from_patterns(std::slice::from_ref(pattern), None, definition.ignores_case)
            .err()
            .or_else(|| Regex::new_linear(pattern).err());
        if let Some(reason) = error {
            let message = format!("invalid pattern: {reason}");
            findings.push(location.join(&format!("/patterns/{at}")).error("N004", message).with_fix("correct the pattern"));
        }
    }
    if let Some(pattern) = entity.and_then(Entity::pattern_without_group) {
        let message = format!("the pattern '{pattern}' has no group '{}'", definition.group.as_deref().unwrap_or_default());
        findings.push(location.join("/group").error("N005", message).with_fix("use a group that each pattern has"));
    }
}

fn check_entity_node(
    context: &FlowContext<'_>,
    graph_cx: &GraphContext<'_>,
    node: &Node,
    data: &EntityData,
    location: &Location,
    findings: &mut Vec<DocumentIssue>,
) {
    if !is_entity(context, &data.entity) {
        let message = format!("unknown entity '{}'", data.entity);
        findings.push(
            location
                .join("/entity")
                .error("N001", message)
                .with_fix("use the id of an entity of the document, or a system entity such as '@number'"),
        );
    }
    let node_location = || Location { path: location.path.trim_end_matches("/data").to_owned(), ..location.clone() };
    if data.required && node.on_error == OnError::Port && !node.disabled && !graph_cx.is_wired(node, "failed") {
        let message = format!("nothing follows when '{}' gets no value (attempts: {})", node.name, data.max_attempts);
        findings.push(node_location().warning("N007", message).with_fix("connect the port 'failed'"));
    }
    let (needed, count) = (usize::try_from(data.max_attempts).unwrap_or(1).saturating_sub(1), data.reprompt.len());
    // The last reprompt repeats, so one is enough; without any, the question itself repeats.
    if count == 0 && needed > 0 {
        let message = format!("'{}' asks the same question again up to {needed} times", node.name);
        findings
            .push(node_location().warning("N008", message).with_fix("add a reprompt, the last of which repeats, or reduce 'max_attempts'"));
    }
    for (at, rule) in data.validation.iter().enumerate() {
        let location = location.join(&format!("/validation/{at}"));
        if is_unsatisfiable(rule) {
            findings.push(
                location.clone().error("N009", "no value satisfies the rule: its minimum is above its maximum").with_fix("swap the bounds"),
            );
        }
        if let Some(reason) = rule.pattern.as_ref().and_then(|pattern| Regex::new_linear(pattern).err()) {
            findings.push(location.join("/pattern").error("N004", format!("invalid pattern: {reason}")).with_fix("correct the pattern"));
        }
    }
}

/// Reports a slot that asks to be prefilled, and never is.
fn check_prefill(context: &FlowContext<'_>, data: &EntityData, location: &Location, findings: &mut Vec<DocumentIssue>) {
    let is_redacted = data.redact || is_value_redacted(context, &data.variable, &data.entity);
    let reason = if is_redacted { "redacted" } else { "not interruptible" };
    if data.prefill.allowed() == Some(true) && (is_redacted || !data.interruptible) {
        let message = format!("'{}' is {reason}, so the message that triggers the intent never fills it", data.variable);
        findings.push(location.join("/prefill").warning("N013", message).with_fix("remove 'prefill'"));
    }
}

/// Whether the message that triggers an intent may fill a node.
pub(super) fn is_prefilled(context: &FlowContext<'_>, data: &EntityData) -> bool {
    data.prefill.allowed() != Some(false) && data.interruptible && !data.redact && !is_value_redacted(context, &data.variable, &data.entity)
}

/// Whether the values of a variable are redacted by its declaration, or by their entity.
pub(super) fn is_value_redacted(context: &FlowContext<'_>, variable: &VariablePath, entity: &str) -> bool {
    let document = &context.flow.document;
    document.entities.iter().any(|definition| definition.id == entity && definition.redact) || is_declared_redacted(context, variable)
}

fn is_declared_redacted(context: &FlowContext<'_>, variable: &VariablePath) -> bool {
    let touches = |other: &VariablePath| variable.starts_with(other) || other.starts_with(variable);
    context.flow.document.variables.iter().any(|variable| variable.redact && touches(&variable.name))
}

fn is_unsatisfiable(rule: &Validation) -> bool {
    let bounds = rule.min.as_ref().zip(rule.max.as_ref()).and_then(|(min, max)| compare_bounds(min, max));
    let lengths = rule.min_length.zip(rule.max_length).map(|(min, max)| min.cmp(&max));
    [bounds, lengths].contains(&Some(Ordering::Greater))
}

/// Compares two bounds of the same type.
fn compare_bounds(min: &Value, max: &Value) -> Option<Ordering> {
    let number = |value: &Value| EXPRESSION.number_of(value.get("amount").unwrap_or(value)).and_then(|number| number.as_f64());
    if let (Some(min), Some(max)) = (number(min), number(max)) {
        return min.partial_cmp(&max);
    }
    let (min, max) = (min.as_str()?, max.as_str()?);
    if let (Some(min), Some(max)) = (parse_duration_seconds(min), parse_duration_seconds(max)) {
        return min.partial_cmp(&max);
    }
    // The order of ISO dates is that of their texts.
    let is_date = |text: &str| text.starts_with(|character: char| character.is_ascii_digit());
    (is_date(min) && is_date(max)).then(|| min.cmp(max))
}

/// Reports variables with sensitive names that are not redacted.
fn check_sensitive(context: &FlowContext<'_>, prompted: &[PromptedVariable<'_>], findings: &mut Vec<DocumentIssue>) {
    let document = &context.flow.document;
    let fix = "declare it with 'redact' to keep its value out of logs and transcripts";
    let message = |path: &VariablePath| format!("'{path}' looks sensitive but is not redacted");
    for (at, variable) in document.variables.iter().enumerate() {
        if is_sensitive(&variable.name) && !is_declared_redacted(context, &variable.name) {
            let location = Location { name: Some(variable.name.to_string()), ..context.item_location("variables", at) };
            findings.push(location.warning("N012", message(&variable.name)).with_fix(fix));
        }
    }
    let declared: BTreeSet<&VariablePath> = document.variables.iter().map(|it| &it.name).collect();
    let redacted_entities: BTreeSet<&str> = document.entities.iter().filter(|it| it.redact).map(|it| it.id.as_str()).collect();
    for PromptedVariable { location, variable, entity, redact } in prompted {
        let is_redacted = *redact || redacted_entities.contains(entity) || is_declared_redacted(context, variable);
        if is_sensitive(variable) && !is_redacted && !declared.contains(variable) {
            findings.push(location.join("/variable").warning("N012", message(variable)).with_fix(fix));
        }
    }
}

fn is_sensitive(path: &VariablePath) -> bool {
    let words = words_of(path);
    let contains = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    contains(&SENSITIVE_WORDS) && !contains(&HARMLESS_WORDS)
}

fn is_code(path: &VariablePath) -> bool {
    let words = words_of(path);
    let contains = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let is_numbered = contains(&NUMBERED_WORDS) && contains(&["number", "no", "nr", "id"]);
    (contains(&CODE_WORDS) || is_numbered) && !contains(&HARMLESS_WORDS)
}

/// The words of a name; `cardNumber` has two.
pub(super) fn words_of(path: &VariablePath) -> Vec<String> {
    let mut words = String::new();
    let mut before = ' ';
    for letter in path.to_string().chars() {
        if letter.is_ascii_uppercase() && before.is_ascii_lowercase() {
            words.push(' ');
        }
        words.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' });
        before = letter;
    }
    words.split_whitespace().map(str::to_owned).collect()
}
