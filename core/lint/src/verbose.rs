//! Progress messages that are never shown because another row always has a better score.

use std::collections::BTreeMap;

use convengine_config::{ANY, Issue, PUBLISHERS, TableRow, is_same_code, to_upper_code};
use convengine_text::regex::Regex;

use super::context::{LintContext, scope};

/// Renamed steps: the old and the new name.
const RENAMED_STEPS: [(&str, &str); 1] = [("AgentToolStep", "McpToolStep")];

/// The scope of a row: intent, state, determinant, step, rule and tool, with ANY as the default.
type Scope = [String; 6];

/// A borrowed [`Scope`] for lookups.
type ScopeKey<'k> = [&'k str; 6];

/// The default priority.
const DEFAULT_PRIORITY: i64 = 999_999;

/// Score, priority and id; the row with the lowest rank is shown.
type Rank = (i64, i64, i64);

pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let rows = context.rows("ce_verbose");
    findings.extend(rows.iter().filter_map(|it| check_step_name(context, it)));
    let ranked: Vec<(Scope, Rank, &TableRow<'_>)> = rows.iter().map(rank_row).collect();
    let mut best: BTreeMap<ScopeKey<'_>, (Rank, &TableRow<'_>)> = BTreeMap::new();
    for (scope, rank, row) in &ranked {
        let first = best.entry(scope_key(scope)).or_insert((*rank, row));
        if *rank < first.0 {
            *first = (*rank, row);
        }
    }
    for (scope, rank, row) in &ranked {
        findings.extend(find_shadowing_row(&best, scope, *rank).map(|(by, same)| {
            let (rule, cause) = if same {
                ("shadowed-row", "has the same scope and precedence")
            } else {
                ("priority-outweighs-specificity", "is more general, but its priority places it first")
            };
            let reason = format!("never shown: {} {cause}", by.path("priority"));
            Issue::warning(row.path("priority"), reason, "lower the priority number of this row, or remove it").with_rule(rule)
        }));
    }
}

/// Reports a step that publishes nothing: no step of the profile, unless tasks and extensions may publish in the name of others.
fn check_step_name(context: &LintContext<'_>, row: &TableRow<'_>) -> Option<Issue> {
    let value = row.code("step_value")?;
    let unknown = |name: &str, hint: String| {
        Some(Issue::warning(row.path("step_value"), format!("unknown step '{name}'"), hint).with_rule("unknown-step"))
    };
    if let Some((old, new)) = RENAMED_STEPS.iter().find(|it| value.contains(it.0)) {
        return unknown(old, format!("write {new}"));
    }
    let steps = || context.profile.order.iter().map(|step| step.name()).chain(PUBLISHERS);
    let is_known = match row.code_or_any("step_match").as_str() {
        "JSON_PATH" => true,
        "REGEX" => Regex::new(&value).is_ok_and(|pattern| steps().any(|step| pattern.is_match(step) == Ok(true))),
        _ => steps().chain([ANY]).any(|it| is_same_code(it, &value)),
    };
    if is_known || context.has_tasks || !context.rows("cv_extension").is_empty() {
        return None;
    }
    let name = value.to_lowercase();
    let similar = steps().find(|step| step.to_lowercase().contains(name.trim_end_matches("step")) && name.len() > 4);
    unknown(&value, similar.map_or_else(|| "write the name of a step, or ANY".to_owned(), |it| format!("write {it}")))
}

fn rank_row<'r, 't>(row: &'r TableRow<'t>) -> (Scope, Rank, &'r TableRow<'t>) {
    let (intent, state) = scope(row);
    let value = row.code("step_value").unwrap_or_default();
    let (step, of_step) = match row.code_or_any("step_match").as_str() {
        "REGEX" => (format!("REGEX {value}"), 150),
        "JSON_PATH" => (format!("JSON_PATH {value}"), 100),
        _ => (to_upper_code(&value), 225),
    };
    let scope = [intent, state, row.code_or_any("determinant"), step, row.code_or_any("rule_id"), row.code_or_any("tool_code")];
    let points: i64 = scope.iter().zip([400, 300, 250, of_step, 200, 150]).filter(|it| *it.0 != ANY).map(|it| it.1).sum();
    let priority = row.integer("priority").unwrap_or(DEFAULT_PRIORITY);
    (scope, (priority.saturating_sub(points), priority, row.id()), row)
}

fn scope_key(scope: &Scope) -> ScopeKey<'_> {
    scope.each_ref().map(String::as_str)
}

/// Returns a row that is always shown in place of this one, and whether its scope is the same.
fn find_shadowing_row<'r, 't>(
    best: &BTreeMap<ScopeKey<'_>, (Rank, &'r TableRow<'t>)>,
    scope: &Scope,
    rank: Rank,
) -> Option<(&'r TableRow<'t>, bool)> {
    let own = scope_key(scope);
    // Each bit generalizes one part of the scope to ANY.
    let general = |bits: u32| {
        let mut key = own;
        for (at, part) in key.iter_mut().enumerate() {
            if bits & (1 << at) != 0 {
                *part = ANY;
            }
        }
        key
    };
    let specific = own.iter().enumerate().filter(|it| *it.1 != ANY).fold(0, |bits, (part, _)| bits | (1 << part));
    let wider = (0_u32..1 << own.len()).filter(|bits| bits & !specific == 0);
    let better = |bits: u32| best.get(&general(bits)).filter(|other| other.0 < rank).map(|other| (other.1, bits == 0));
    wider.into_iter().find_map(better)
}
