//! Conditions that are never true, and conditions on unknown paths that are always or never true.

use std::cell::RefCell;

use convengine_config::{Issue, TableRow};
use convengine_text::json::path::{JsonPath, KnownType, Satisfiability};

use super::context::LintContext;
use super::known_paths::{KnownPaths, is_fact};
use super::misspelling;

/// What the paths of a condition begin at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Root {
    /// All facts of the turn.
    Turn,
    /// The context alone.
    Context,
}

pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let facts = KnownPaths::new(context);
    for rule in &context.rules {
        findings.extend(match rule.kind.as_str() {
            "JSON_PATH" => check_condition(&facts, &rule.row, "match_pattern", &rule.pattern, Root::Turn)
                .or_else(|| misspelling::check_paths(context, &rule.row, "match_pattern", &rule.pattern)),
            "CONTEXT_JSON_PATH" => check_condition(&facts, &rule.row, "match_pattern", &rule.pattern, Root::Context)
                .or_else(|| misspelling::check_context_paths(context, &rule.row, "match_pattern", &rule.pattern)),
            _ => None,
        });
    }
    for row in context.rows("ce_tool") {
        let Some(path) = row.code("when_path") else { continue };
        findings.extend(
            check_condition(&facts, row, "when_path", &path, Root::Turn)
                .or_else(|| misspelling::check_paths(context, row, "when_path", &path)),
        );
    }
}

fn check_condition(facts: &KnownPaths<'_>, row: &TableRow<'_>, column: &str, source: &str, root: Root) -> Option<Issue> {
    let missing = RefCell::new(None);
    let verdict = JsonPath::compile(source).ok()?.satisfiability(|names| {
        let known = match root {
            Root::Context if names.is_empty() => KnownType::Object,
            Root::Context => facts.known_type(&[&["context"], names].concat()),
            Root::Turn => facts.known_type(names),
        };
        if known == KnownType::Missing {
            missing.borrow_mut().get_or_insert(names.join("."));
        }
        known
    });
    let outcome = match verdict {
        Satisfiability::Never => "never true",
        Satisfiability::Always => "always true",
        Satisfiability::Sometimes => return None,
    };
    match missing.into_inner() {
        Some(path) => {
            let is_in_context = root == Root::Context || path.starts_with("context.");
            let rule = if is_in_context { "unknown-context-path" } else { "unknown-fact-path" };
            let reason = format!("unknown path '{path}', so the condition is {outcome}");
            let hint = match root {
                Root::Context if is_fact(&path) => "make it a JSON_PATH condition: this one sees the context alone".to_owned(),
                Root::Context => facts.suggest(&format!("context.{path}")),
                Root::Turn => facts.suggest(&path),
            };
            Some(Issue::warning(row.path(column), reason, hint).with_rule(rule))
        }
        None if verdict == Satisfiability::Never => {
            let hint = "compare values of the same type: order only numbers, write true and false without quotes, and compare the result \
                        of a function";
            Some(Issue::error(row.path(column), "the condition is never true", hint).with_rule("condition-never-met"))
        }
        None => None,
    }
}
