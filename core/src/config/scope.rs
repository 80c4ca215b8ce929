//! Intent and state codes, and the check that rows name codes that exist. (`spec/data-and-api.md` 1.3, 3.4)

use std::collections::BTreeSet;

use super::issue::Issue;
use super::row::Row;
use super::tables::Tables;

/// The code that stands for every intent or state.
pub const ANY: &str = "ANY";

/// The code of an intent or state that is not resolved.
pub const UNKNOWN: &str = "UNKNOWN";

/// Whether two codes are the same: case and white space around them do not count.
pub fn same_code(a: &str, b: &str) -> bool {
    a.trim().eq_ignore_ascii_case(b.trim())
}

/// A code as it stands in an index.
pub(super) fn upper(code: &str) -> String {
    code.trim().to_uppercase()
}

/// Reports rows whose intent or state nothing else knows.
pub(super) fn check(tables: &Tables, issues: &mut Vec<Issue>) {
    let intents = intents(tables);
    let states = states(tables);
    for table in ["ce_rule", "ce_response", "ce_verbose", "ce_intent_classifier"] {
        for row in tables.enabled(table) {
            issues.extend(check_row(&row, &intents, &states));
        }
    }
}

fn check_row(row: &Row<'_>, intents: &BTreeSet<String>, states: &BTreeSet<String>) -> Option<Issue> {
    let intent = row.code("intent_code").map(|it| upper(&it));
    let state = row.code("state_code").map(|it| upper(&it));
    if row.table() == "ce_rule" && (intent.is_none() || state.is_none()) {
        return None;
    }
    let Some(intent) = intent else {
        return Some(Issue::error(row.path("intent_code"), "is blank", "write an intent of ce_intent, UNKNOWN or ANY"));
    };
    let Some(state) = state else {
        return Some(Issue::error(row.path("state_code"), "is blank", "write a state, UNKNOWN or ANY"));
    };
    if !intents.contains(&intent) {
        let reason = format!("'{intent}' is no enabled intent");
        return Some(Issue::warning(row.path("intent_code"), reason, "enable it in ce_intent or correct the code"));
    }
    if !states.contains(&state) {
        let reason = format!("no rule names the state '{state}'");
        let hint = "correct the code, or add a rule with this state_code or a SET_STATE to it";
        return Some(Issue::error(row.path("state_code"), reason, hint));
    }
    None
}

fn intents(tables: &Tables) -> BTreeSet<String> {
    let codes = tables.enabled("ce_intent").into_iter().filter_map(|it| it.code("intent_code")).map(|it| upper(&it));
    codes.chain([ANY.to_owned(), UNKNOWN.to_owned()]).collect()
}

fn states(tables: &Tables) -> BTreeSet<String> {
    let rules = tables.enabled("ce_rule");
    let scoped = rules.iter().filter_map(|it| it.code("state_code"));
    let sets = |it: &&Row<'_>| it.code("action").is_some_and(|action| same_code(&action, "SET_STATE"));
    let set = rules.iter().filter(sets).filter_map(|it| it.code("action_value"));
    scoped.chain(set).map(|it| upper(&it)).chain([ANY.to_owned(), UNKNOWN.to_owned()]).collect()
}
