//! Progress messages that are never shown because another row always has a better score.

use std::collections::BTreeMap;

use super::ground::{Ground, scope};
use crate::config::{ANY, Issue, Row, upper};

/// Renamed steps: the old and the new name.
const OLD_STEPS: [(&str, &str); 1] = [("AgentToolStep", "McpToolStep")];

/// The scope of a row: intent, state, determinant, step, rule and tool, with ANY as the default.
type Scope = [String; 6];

/// A borrowed [`Scope`] for lookups.
type Key<'k> = [&'k str; 6];

/// The default priority.
const NO_PRIORITY: i64 = 999_999;

/// Score, priority and id; the row with the lowest rank is shown.
type Rank = (i64, i64, i64);

pub(super) fn check(context: &Ground<'_>, findings: &mut Vec<Issue>) {
    let rows = context.rows("ce_verbose");
    findings.extend(rows.iter().filter_map(old_step));
    let ranked: Vec<(Scope, Rank, &Row<'_>)> = rows.iter().map(ranked).collect();
    let mut best: BTreeMap<Key<'_>, (Rank, &Row<'_>)> = BTreeMap::new();
    for (scope, rank, row) in &ranked {
        let first = best.entry(key(scope)).or_insert((*rank, row));
        if *rank < first.0 {
            *first = (*rank, row);
        }
    }
    for (scope, rank, row) in &ranked {
        findings.extend(covered(&best, scope, *rank).map(|(by, same)| {
            let (rule, cause) = if same {
                ("shadowed-row", "has the same scope and precedence")
            } else {
                ("priority-outweighs-specificity", "is more general, but its priority places it first")
            };
            let reason = format!("never shown: {} {cause}", by.path("priority"));
            Issue::warning(row.path("priority"), reason, "lower the number of this row, or remove it").of(rule)
        }));
    }
}

fn old_step(row: &Row<'_>) -> Option<Issue> {
    let value = row.code("step_value")?;
    let (old, new) = OLD_STEPS.iter().find(|it| value.contains(it.0))?;
    Some(Issue::warning(row.path("step_value"), format!("unknown step '{old}'"), format!("write {new}")).of("unknown-step"))
}

fn ranked<'r, 't>(row: &'r Row<'t>) -> (Scope, Rank, &'r Row<'t>) {
    let (intent, state) = scope(row);
    let value = row.code("step_value").unwrap_or_default();
    let (step, of_step) = match row.code_or_any("step_match").as_str() {
        "REGEX" => (format!("REGEX {value}"), 150),
        "JSON_PATH" => (format!("JSON_PATH {value}"), 100),
        _ => (upper(&value), 225),
    };
    let scope = [intent, state, row.code_or_any("determinant"), step, row.code_or_any("rule_id"), row.code_or_any("tool_code")];
    let points: i64 = scope.iter().zip([400, 300, 250, of_step, 200, 150]).filter(|it| *it.0 != ANY).map(|it| it.1).sum();
    let priority = row.integer("priority").unwrap_or(NO_PRIORITY);
    (scope, (priority.saturating_sub(points), priority, row.id()), row)
}

fn key(scope: &Scope) -> Key<'_> {
    scope.each_ref().map(String::as_str)
}

/// Returns a row that is always shown in place of this one, and whether its scope is the same.
fn covered<'r, 't>(best: &BTreeMap<Key<'_>, (Rank, &'r Row<'t>)>, scope: &Scope, rank: Rank) -> Option<(&'r Row<'t>, bool)> {
    let own = key(scope);
    // Each bit generalizes one part of the scope to ANY.
    let general = |bits: u32| {
        let mut key = own;
        key.iter_mut().enumerate().filter(|it| bits & (1 << it.0) != 0).for_each(|it| *it.1 = ANY);
        key
    };
    let specific = own.iter().enumerate().filter(|it| *it.1 != ANY).fold(0, |bits, it| bits | (1 << it.0));
    let wider = (0_u32..1 << own.len()).filter(|bits| bits & !specific == 0);
    let better = |bits: u32| best.get(&general(bits)).filter(|it| it.0 < rank).map(|it| (it.1, bits == 0));
    wider.into_iter().find_map(better)
}
