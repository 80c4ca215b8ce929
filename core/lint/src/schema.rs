//! Output schemas without a prompt template to extract their values.

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::{ANY, Issue, UNKNOWN, to_upper_code};

use super::context::{LintContext, scope};

const SCHEMA_JSON: &str = "SCHEMA_JSON";

pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    // The states that rules set, without the initial ones, in which nothing is extracted yet.
    let mut later: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for rule in &context.rules {
        later
            .entry(&rule.intent)
            .or_default()
            .extend(rule.target_state().filter(|state| ![ANY, UNKNOWN, "IDLE"].contains(&state.as_str())));
    }
    let extracting: BTreeSet<&str> = context.templates.keys().filter(|it| it.0 == SCHEMA_JSON).map(|it| it.1.as_str()).collect();
    for row in context.rows("ce_output_schema") {
        let kind = row.code("schema_type").map_or_else(|| SCHEMA_JSON.to_owned(), |it| to_upper_code(&it));
        let (intent, state) = scope(row);
        // Templates for ANY intent do not count: extraction is specific to one intent.
        let has = |state: &str| context.templates.contains_key(&(SCHEMA_JSON.to_owned(), intent.clone(), state.to_owned()));
        if kind != SCHEMA_JSON || has(ANY) {
            continue;
        }
        if !extracting.contains(intent.as_str()) || (state != ANY && !has(&state)) {
            let reason = format!("no SCHEMA_JSON template matches '{intent}' in the state '{state}', so extraction fails the turn");
            let hint = "add a ce_prompt_template with output_format SCHEMA_JSON for the intent and state ANY";
            findings.push(Issue::error(row.path("intent_code"), reason, hint).with_rule("schema-without-extractor"));
            continue;
        }
        if state != ANY {
            continue;
        }
        let states: Vec<&str> = later.get(intent.as_str()).into_iter().flatten().map(String::as_str).filter(|it| !has(it)).collect();
        if !states.is_empty() {
            let reason = format!("extracts in every state, but no SCHEMA_JSON template matches '{intent}' in {}", states.join(", "));
            let hint = "set the state of the template to ANY";
            findings.push(Issue::warning(row.path("intent_code"), reason, hint).with_rule("schema-without-extractor"));
        }
    }
}
