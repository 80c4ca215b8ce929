//! Responses that never win, that no prompt exists for, and a missing last resort.

use std::collections::{BTreeMap, BTreeSet};

use super::ground::{Ground, scope};
use crate::config::{ANY, Issue, Row, UNKNOWN, upper};

/// By how much a row of the very state is ahead of one of any state, before priorities count.
const AHEAD: i64 = 990;

/// The priority of a row that has none.
const NO_PRIORITY: i64 = 999_999;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    last_resort(ground, found);
    let formats = formats(ground);
    for row in ground.rows("ce_response") {
        let is_derived = row.code("response_type").is_some_and(|it| upper(&it) == "DERIVED");
        if is_derived {
            found.extend(without_template(ground, &formats, row));
            found.extend(without_schema(row));
        }
    }
    losers(ground, found);
}

/// What nobody understood needs an answer too.
fn last_resort(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    let speaks = !ground.rows("ce_intent").is_empty() || !ground.rows("ce_response").is_empty();
    let leads_on = ground.rules.iter().any(|it| it.moves() && it.unconditional() && [ANY, UNKNOWN].contains(&it.intent.as_str()));
    if speaks && !leads_on && !ground.answers(UNKNOWN, UNKNOWN) {
        let reason = "no response fits a message that no intent was found for";
        let hint = "add a row with intent_code UNKNOWN or ANY and state_code ANY";
        found.push(Issue::warning("ce_response", reason, hint).of("no-fallback-response"));
    }
}

/// Formats and intents that prompt templates exist for, in whatever state.
fn formats<'g>(ground: &'g Ground<'_>) -> BTreeSet<(&'g str, &'g str)> {
    ground.templates.keys().map(|(format, intent, _)| (format.as_str(), intent.as_str())).collect()
}

fn without_template(ground: &Ground<'_>, formats: &BTreeSet<(&str, &str)>, row: &Row<'_>) -> Option<Issue> {
    let format = upper(&row.code("output_format")?);
    let (intent, state) = scope(row);
    // A row of any intent or state is served by the templates of each.
    let served = match (intent.as_str(), state.as_str()) {
        (ANY, _) => formats.range((format.as_str(), "")..).next().is_some_and(|it| it.0 == format),
        (intent, ANY) => [intent, ANY].iter().any(|it| formats.contains(&(format.as_str(), *it))),
        (intent, state) => ground.has_template(&format, intent, state),
    };
    (!served).then(|| {
        let reason = format!("DERIVED needs a prompt, and no {format} template fits '{intent}' in the state '{state}'");
        let hint = "add a ce_prompt_template with this output_format for the intent and the state, or for ANY";
        Issue::error(row.path("response_type"), reason, hint).of("derived-without-template")
    })
}

fn without_schema(row: &Row<'_>) -> Option<Issue> {
    let is_json = row.code("output_format").is_some_and(|it| upper(&it) == "JSON");
    (is_json && row.code("json_schema").is_none()).then(|| {
        let reason = "the model is not told what the JSON has to look like";
        Issue::warning(row.path("json_schema"), reason, "give the JSON schema of the answer").of("json-without-schema")
    })
}

fn losers(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    let priority = |row: &Row<'_>| row.integer("priority").unwrap_or(NO_PRIORITY);
    let mut winners: BTreeMap<(String, String), &Row<'_>> = BTreeMap::new();
    for row in ground.rows("ce_response") {
        let winner = winners.entry(scope(row)).or_insert(row);
        if winner.id() == row.id() {
            continue;
        }
        let loser = if priority(row) < priority(winner) { std::mem::replace(winner, row) } else { row };
        let reason = format!("is never chosen: {} has the same intent and state and comes first", winner.path("priority"));
        found.push(
            Issue::warning(loser.path("priority"), reason, "disable one of the two, or give it a state of its own").of("shadowed-row"),
        );
    }
    for ((intent, state), row) in &winners {
        let general = winners.get(&(intent.clone(), ANY.to_owned())).filter(|_| state != ANY);
        if let Some(general) = general.filter(|it| priority(row).saturating_sub(priority(it)) > AHEAD) {
            let reason = format!("is never chosen: its priority puts it behind {}, which is for any state", general.path("priority"));
            let hint = format!("keep the two priorities within {AHEAD} of each other");
            found.push(Issue::warning(row.path("priority"), reason, hint).of("priority-outweighs-specificity"));
        }
    }
}
