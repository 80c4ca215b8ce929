//! Entities, and the nodes that ask for them. (N001, N003–N005, N007–N009, N011, N012)

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ground::{Chart, Ground, Place};
use super::wait::asks;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{EntityData, EntityForm, Node, NodeKind, OnError, Validation};
use crate::entity::Entity;
use crate::text::date::seconds;
use crate::text::path::Path;
use crate::text::regex::Regex;

/// Parts of names of what must not stand in logs.
const SENSITIVE: [&str; 13] =
    ["card", "cvc", "cvv", "iban", "otp", "passcode", "passport", "password", "passwort", "pin", "secret", "ssn", "pwd"];

/// Parts beside which it is only something about it.
const HARMLESS: [&str; 7] = ["brand", "count", "kind", "ok", "status", "type", "valid"];

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    for (at, entity) in ground.flow.document.entities.iter().enumerate() {
        of_document(&ground.listed("entities", at), entity, ground.flow.entity(&entity.id).as_ref(), found);
    }
    for (chart, at, node) in ground.nodes() {
        let NodeKind::Entity(data) = &node.kind else { continue };
        slot(ground, chart, node, data, &chart.place_of(at).at("/data"), found);
    }
    let asked = asked(ground);
    let mut types: BTreeMap<&Path, (&str, Option<&str>)> = BTreeMap::new();
    for Asked { place, variable, entity, .. } in &asked {
        match types.get(variable) {
            Some((other, first)) if other != entity => {
                let first = first.unwrap_or_default();
                let message = format!("'{first}' asks for '{variable}' as '{other}', and here it is asked for as '{entity}'");
                found.push(place.at("/entity").warning("N011", message).fix("ask for one type, or write to another variable"));
            }
            Some(_) => {}
            None => _ = types.insert(variable, (entity, place.name.as_deref())),
        }
    }
    sensitive(ground, &asked, found);
}

/// A variable that is asked for: by a node, or by a parameter of an intent, which is asked for as by a node.
struct Asked<'g> {
    place: Place,
    variable: &'g Path,
    entity: &'g str,
    redact: bool,
}

fn asked<'g>(ground: &Ground<'g>) -> Vec<Asked<'g>> {
    let mut asked = Vec::new();
    for (at, intent) in ground.flow.document.intents.iter().enumerate() {
        for (number, it) in intent.parameters.iter().enumerate() {
            // One for which a node of the intent's graph asks is not asked for itself.
            if ground.chart(&intent.graph).is_none_or(|chart| !asks(chart, &it.variable)) {
                let place = ground.listed("intents", at).at(&format!("/parameters/{number}"));
                asked.push(Asked { place, variable: &it.variable, entity: &it.entity, redact: false });
            }
        }
    }
    for (chart, at, node) in ground.nodes() {
        if let NodeKind::Entity(data) = &node.kind {
            let place = chart.place_of(at).at("/data");
            asked.push(Asked { place, variable: &data.variable, entity: &data.entity, redact: data.redact });
        }
    }
    asked
}

/// Whether there is an entity of a name.
pub(super) fn is_entity(ground: &Ground<'_>, name: &str) -> bool {
    Entity::system(name).is_some() || ground.flow.document.entities.iter().any(|it| it.id == name)
}

fn of_document(place: &Place, form: &EntityForm, entity: Option<&Entity>, found: &mut Vec<DocumentIssue>) {
    for (spelling, values) in entity.map(Entity::synonym_clashes).unwrap_or_default() {
        let message = format!("'{spelling}' stands for '{}', so it is asked again", values.join("' and '"));
        found.push(place.at("/entries").error("N003", message).fix("leave it at one of the values"));
    }
    for (at, pattern) in form.patterns.iter().enumerate() {
        let wrong = Entity::patterns(std::slice::from_ref(pattern), None).err().or_else(|| Regex::linear(pattern).err());
        if let Some(wrong) = wrong {
            let message = format!("the pattern cannot be used: {wrong}");
            found.push(place.at(&format!("/patterns/{at}")).error("N004", message).fix("correct it"));
        }
    }
    if let Some(pattern) = entity.and_then(Entity::without_group) {
        let message = format!("the pattern '{pattern}' has no group '{}'", form.group.as_deref().unwrap_or_default());
        found.push(place.at("/group").error("N005", message).fix("name a group that each pattern has"));
    }
}

fn slot(ground: &Ground<'_>, chart: &Chart<'_>, node: &Node, data: &EntityData, place: &Place, found: &mut Vec<DocumentIssue>) {
    if !is_entity(ground, &data.entity) {
        let message = format!("there is no entity '{}'", data.entity);
        found.push(place.at("/entity").error("N001", message).fix("name an entity of the document, or a type as '@number'"));
    }
    let node_place = || Place { path: place.path.trim_end_matches("/data").to_owned(), ..place.clone() };
    if data.required && node.on_error == OnError::Port && !node.disabled && !chart.wired(node, "failed") {
        let message = format!("nothing follows when '{}' gets no value in {} attempts", node.name, data.max_attempts);
        found.push(node_place().warning("N007", message).fix("wire the port 'failed'"));
    }
    let (wanted, given) = (usize::try_from(data.max_attempts).unwrap_or(1).saturating_sub(1), data.reprompt.len());
    if given < wanted {
        let message = format!("'{}' asks again {wanted} times and has {given} texts for that", node.name);
        found.push(node_place().warning("N008", message).fix("add to 'reprompt', or lower 'max_attempts'"));
    }
    for (at, rule) in data.validation.iter().enumerate() {
        let place = place.at(&format!("/validation/{at}"));
        if is_empty(rule) {
            found.push(place.clone().error("N009", "no value can keep the rule: its least is above its greatest").fix("swap the bounds"));
        }
        if let Some(wrong) = rule.pattern.as_ref().and_then(|it| Regex::linear(it).err()) {
            found.push(place.at("/pattern").error("N004", format!("the pattern cannot be used: {wrong}")).fix("correct it"));
        }
    }
}

fn is_empty(rule: &Validation) -> bool {
    let bounds = rule.min.as_ref().zip(rule.max.as_ref()).and_then(|(min, max)| order(min, max));
    let lengths = rule.min_length.zip(rule.max_length).map(|(min, max)| min.cmp(&max));
    [bounds, lengths].contains(&Some(Ordering::Greater))
}

/// How two bounds of one kind stand to each other.
fn order(min: &Value, max: &Value) -> Option<Ordering> {
    let number = |it: &Value| crate::text::decimal::number_of(it.get("amount").unwrap_or(it)).and_then(|it| it.as_f64());
    if let (Some(min), Some(max)) = (number(min), number(max)) {
        return min.partial_cmp(&max);
    }
    let (min, max) = (min.as_str()?, max.as_str()?);
    if let (Some(min), Some(max)) = (seconds(min), seconds(max)) {
        return min.partial_cmp(&max);
    }
    // Dates are ordered as their texts are.
    let is_date = |it: &str| it.starts_with(|it: char| it.is_ascii_digit());
    (is_date(min) && is_date(max)).then(|| min.cmp(max))
}

/// Variables that look as if nobody should read them in a log.
fn sensitive(ground: &Ground<'_>, asked: &[Asked<'_>], found: &mut Vec<DocumentIssue>) {
    let document = &ground.flow.document;
    let fix = "declare it with 'redact', so that its value stays out of logs and transcripts";
    let message = |path: &Path| format!("'{path}' looks as if its value should not be shown to everybody");
    let redacted = |path: &Path| document.variables.iter().any(|it| it.redact && (path.within(&it.name) || it.name.within(path)));
    for (at, variable) in document.variables.iter().enumerate() {
        if is_sensitive(&variable.name) && !redacted(&variable.name) {
            let place = Place { name: Some(variable.name.to_string()), ..ground.listed("variables", at) };
            found.push(place.warning("N012", message(&variable.name)).fix(fix));
        }
    }
    let declared: BTreeSet<&Path> = document.variables.iter().map(|it| &it.name).collect();
    let hidden: BTreeSet<&str> = document.entities.iter().filter(|it| it.redact).map(|it| it.id.as_str()).collect();
    for Asked { place, variable, entity, redact } in asked {
        let is_hidden = *redact || hidden.contains(entity) || redacted(variable);
        if is_sensitive(variable) && !is_hidden && !declared.contains(variable) {
            found.push(place.at("/variable").warning("N012", message(variable)).fix(fix));
        }
    }
}

fn is_sensitive(path: &Path) -> bool {
    let name = path.to_string();
    let mut words = String::new();
    let mut before = ' ';
    for letter in name.chars() {
        // `cardNumber` has two words.
        if letter.is_ascii_uppercase() && before.is_ascii_lowercase() {
            words.push(' ');
        }
        words.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' });
        before = letter;
    }
    let words: Vec<&str> = words.split_whitespace().collect();
    words.iter().any(|it| SENSITIVE.contains(it)) && !words.iter().any(|it| HARMLESS.contains(it))
}
