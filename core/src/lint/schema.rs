//! Schemas whose values nothing can extract.

use std::collections::{BTreeMap, BTreeSet};

use super::ground::{Ground, scope};
use crate::config::{ANY, Issue, UNKNOWN, upper};

const SCHEMA_JSON: &str = "SCHEMA_JSON";

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    // States that follow; in those where conversations begin nothing is collected yet.
    let mut later: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for rule in &ground.rules {
        later.entry(&rule.intent).or_default().extend(rule.sets_state().filter(|it| ![ANY, UNKNOWN, "IDLE"].contains(&it.as_str())));
    }
    let extracting: BTreeSet<&str> = ground.templates.keys().filter(|it| it.0 == SCHEMA_JSON).map(|it| it.1.as_str()).collect();
    for row in ground.rows("ce_output_schema") {
        let kind = row.code("schema_type").map_or_else(|| SCHEMA_JSON.to_owned(), |it| upper(&it));
        let (intent, state) = scope(row);
        // Templates of any intent are not asked: what is extracted belongs to one intent.
        let has = |state: &str| ground.templates.contains_key(&(SCHEMA_JSON.to_owned(), intent.clone(), state.to_owned()));
        if kind != SCHEMA_JSON || has(ANY) {
            continue;
        }
        if !extracting.contains(intent.as_str()) || (state != ANY && !has(&state)) {
            let reason = format!("no SCHEMA_JSON template fits '{intent}' in the state '{state}', so extraction fails the turn");
            let hint = "add a ce_prompt_template with output_format SCHEMA_JSON for the intent and the state ANY";
            found.push(Issue::error(row.path("intent_code"), reason, hint).of("schema-without-extractor"));
            continue;
        }
        if state != ANY {
            continue;
        }
        let states: Vec<&str> = later.get(intent.as_str()).into_iter().flatten().map(String::as_str).filter(|it| !has(it)).collect();
        if !states.is_empty() {
            let reason = format!("extracts in every state, and no SCHEMA_JSON template fits '{intent}' in {}", states.join(", "));
            let hint = "give the template the state ANY";
            found.push(Issue::warning(row.path("intent_code"), reason, hint).of("schema-without-extractor"));
        }
    }
}
