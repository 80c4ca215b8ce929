//! The check that rows name existing intents and states. (docs/spec/data-and-api.md#3.4)

use std::collections::BTreeSet;

use super::code::{ANY, UNKNOWN, to_upper_code};
use super::column::TableShape;
use super::issue::{Issue, Severity};
use super::row::TableRow;
use super::tables::Tables;

/// The intents and states that rows may name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Scopes {
    intents: BTreeSet<String>,
    states: BTreeSet<String>,
}

impl Scopes {
    /// Takes the enabled intents and the states of rules; `ANY` and `UNKNOWN` are valid besides.
    pub fn new(mut intents: BTreeSet<String>, mut states: BTreeSet<String>) -> Scopes {
        for codes in [&mut intents, &mut states] {
            codes.extend([ANY.to_owned(), UNKNOWN.to_owned()]);
        }
        Scopes { intents, states }
    }

    /// Whether others contain all of these.
    pub fn is_subset(&self, others: &Scopes) -> bool {
        self.intents.is_subset(&others.intents) && self.states.is_subset(&others.states)
    }

    /// Returns the enabled rows of a table with a valid scope; a row of an unknown intent is kept with a warning.
    pub fn rows<'t>(&self, tables: &'t Tables, table: &'static TableShape, issues: &mut Vec<Issue>) -> Vec<TableRow<'t>> {
        let mut rows = tables.enabled_rows_of(table);
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
