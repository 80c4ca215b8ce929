//! The check that rows name existing intents and states. (docs/spec/data-and-api.md#3.4)

use std::collections::BTreeSet;

use super::code::{ANY, UNKNOWN, to_upper_code};
use super::issue::{Issue, Severity};
use super::row::TableRow;
use super::rule::RuleAction;
use super::tables::Tables;

/// The codes of enabled intents, in upper case.
pub(super) fn enabled_intents(tables: &Tables) -> BTreeSet<String> {
    tables.enabled_rows("ce_intent").into_iter().filter_map(|it| it.code("intent_code")).map(|it| to_upper_code(&it)).collect()
}

/// The intents and states that rows may name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Scopes {
    intents: BTreeSet<String>,
    states: BTreeSet<String>,
}

impl Scopes {
    /// Collects the enabled intents and the states of rules.
    pub fn from_tables(tables: &Tables) -> Scopes {
        let mut intents = enabled_intents(tables);
        intents.extend([ANY.to_owned(), UNKNOWN.to_owned()]);
        Scopes { intents, states: state_codes(tables) }
    }

    /// Whether others contain all of these.
    pub fn is_subset(&self, others: &Scopes) -> bool {
        self.intents.is_subset(&others.intents) && self.states.is_subset(&others.states)
    }

    /// Returns the enabled rows of a table with a valid scope; a row of an unknown intent is kept with a warning.
    pub fn rows<'t>(&self, tables: &'t Tables, table: &str, issues: &mut Vec<Issue>) -> Vec<TableRow<'t>> {
        let mut rows = tables.enabled_rows(table);
        rows.retain(|row| {
            let issue = check_row(row, &self.intents, &self.states);
            let keep = issue.as_ref().is_none_or(|issue| issue.severity == Severity::Warning);
            issues.extend(issue);
            keep
        });
        rows
    }
}

fn check_row(row: &TableRow<'_>, intents: &BTreeSet<String>, states: &BTreeSet<String>) -> Option<Issue> {
    let intent = row.code("intent_code").map(|it| to_upper_code(&it));
    let state = row.code("state_code").map(|it| to_upper_code(&it));
    if row.table().name == "ce_rule" && (intent.is_none() || state.is_none()) {
        return None;
    }
    let Some(intent) = intent else {
        return Some(Issue::error(
            row.path("intent_code"),
            "is blank",
            "the row is skipped until it names an intent of ce_intent, UNKNOWN or ANY",
        ));
    };
    let Some(state) = state else {
        return Some(Issue::error(row.path("state_code"), "is blank", "the row is skipped until it names a state, UNKNOWN or ANY"));
    };
    if !intents.contains(&intent) {
        let reason = format!("'{intent}' is not an enabled intent");
        return Some(Issue::warning(row.path("intent_code"), reason, "enable it in ce_intent or correct the code"));
    }
    if !states.contains(&state) {
        let reason = format!("no rule names the state '{state}'");
        let hint = "the row is skipped until the code is corrected, or a rule has this state_code or sets this state";
        return Some(Issue::error(row.path("state_code"), reason, hint));
    }
    None
}

fn state_codes(tables: &Tables) -> BTreeSet<String> {
    let rules = tables.enabled_rows("ce_rule");
    let scoped = rules.iter().filter_map(|it| it.code("state_code"));
    let set = rules.iter().filter_map(|rule| RuleAction::from_row(rule).ok()?.target_state().map(str::to_owned));
    scoped.chain(set).map(|it| to_upper_code(&it)).chain([ANY.to_owned(), UNKNOWN.to_owned()]).collect()
}
