//! Conditions that can never be met, and those that always are because they ask for what is never there.

use std::cell::RefCell;

use super::fact::Facts;
use super::ground::Ground;
use crate::config::{Issue, Row};
use crate::json::path::{JsonPath, Known, Verdict};

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    let facts = Facts::of(ground);
    let of_turn = |place: &[&str]| facts.known(place);
    let of_context = |place: &[&str]| if place.is_empty() { Known::Object } else { facts.known(&[&["context"], place].concat()) };
    for rule in &ground.rules {
        found.extend(match rule.kind.as_str() {
            "JSON_PATH" => judge(&facts, &rule.row, "match_pattern", &rule.pattern, of_turn),
            "CONTEXT_JSON_PATH" => judge(&facts, &rule.row, "match_pattern", &rule.pattern, of_context),
            _ => None,
        });
    }
    for row in ground.rows("ce_tool") {
        found.extend(row.code("when_path").and_then(|it| judge(&facts, row, "when_path", &it, of_turn)));
    }
}

/// The paths that a condition names, one in the other.
pub(super) fn reads(source: &str) -> Vec<String> {
    let read = RefCell::new(Vec::new());
    if let Ok(path) = JsonPath::compile(source) {
        path.verdict(|place| {
            read.borrow_mut().push(place.join("."));
            Known::Object
        });
    }
    read.into_inner()
}

fn judge(facts: &Facts, row: &Row<'_>, column: &str, source: &str, known: impl Fn(&[&str]) -> Known) -> Option<Issue> {
    let missing = RefCell::new(None);
    let verdict = JsonPath::compile(source).ok()?.verdict(|place| {
        let known = known(place);
        if known == Known::Missing {
            missing.borrow_mut().get_or_insert(place.join("."));
        }
        known
    });
    let so = match verdict {
        Verdict::Never => "never holds",
        Verdict::Always => "always holds",
        Verdict::Open => return None,
    };
    match missing.into_inner() {
        Some(path) => {
            let rule = if path.starts_with("context.") { "unknown-context-path" } else { "unknown-fact-path" };
            let reason = format!("nothing is ever at {path}, so the condition {so}");
            Some(Issue::warning(row.path(column), reason, facts.instead(&path)).of(rule))
        }
        None if verdict == Verdict::Never => {
            let hint = "compare values of one kind: only numbers have an order, true and false stand without quotes, and a path that \
                        ends in a function finds nothing";
            Some(Issue::error(row.path(column), "the condition never holds", hint).of("condition-never-met"))
        }
        None => None,
    }
}
