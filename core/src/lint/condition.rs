//! Conditions that are never true, and conditions on unknown paths that are always or never true.

use std::cell::RefCell;

use super::fact::Facts;
use super::ground::Ground;
use crate::config::{Issue, Row};
use crate::json::path::{JsonPath, Known, Verdict};

pub(super) fn check(context: &Ground<'_>, findings: &mut Vec<Issue>) {
    let facts = Facts::of(context);
    let of_turn = |path: &[&str]| facts.known(path);
    let of_context = |path: &[&str]| if path.is_empty() { Known::Object } else { facts.known(&[&["context"], path].concat()) };
    for rule in &context.rules {
        findings.extend(match rule.kind.as_str() {
            "JSON_PATH" => judge(&facts, &rule.row, "match_pattern", &rule.pattern, of_turn),
            "CONTEXT_JSON_PATH" => judge(&facts, &rule.row, "match_pattern", &rule.pattern, of_context),
            _ => None,
        });
    }
    for row in context.rows("ce_tool") {
        findings.extend(row.code("when_path").and_then(|it| judge(&facts, row, "when_path", &it, of_turn)));
    }
}

/// Returns the paths that a condition reads, with those of nested filters.
pub(super) fn reads(source: &str) -> Vec<String> {
    let read = RefCell::new(Vec::new());
    if let Ok(path) = JsonPath::compile(source) {
        path.verdict(|names| {
            read.borrow_mut().push(names.join("."));
            Known::Object
        });
    }
    read.into_inner()
}

fn judge(facts: &Facts, row: &Row<'_>, column: &str, source: &str, known: impl Fn(&[&str]) -> Known) -> Option<Issue> {
    let missing = RefCell::new(None);
    let verdict = JsonPath::compile(source).ok()?.verdict(|names| {
        let known = known(names);
        if known == Known::Missing {
            missing.borrow_mut().get_or_insert(names.join("."));
        }
        known
    });
    let outcome = match verdict {
        Verdict::Never => "never true",
        Verdict::Always => "always true",
        Verdict::Open => return None,
    };
    match missing.into_inner() {
        Some(path) => {
            let rule = if path.starts_with("context.") { "unknown-context-path" } else { "unknown-fact-path" };
            let reason = format!("unknown path '{path}', so the condition is {outcome}");
            Some(Issue::warning(row.path(column), reason, facts.instead(&path)).of(rule))
        }
        None if verdict == Verdict::Never => {
            let hint = "compare values of the same type: order only numbers, write true and false without quotes, and compare the result \
                        of a function";
            Some(Issue::error(row.path(column), "the condition is never true", hint).of("condition-never-met"))
        }
        None => None,
    }
}
