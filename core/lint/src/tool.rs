//! Planner prompts that name unknown or out-of-scope tools, and pending actions with equal priority.

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::flow::shape::{Meaning, TextUse};
use convengine_config::{Issue, TableRow};

use super::context::{LintContext, overlaps, scope};

pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    check_tool_names(context, findings);
    check_ties(context, findings);
}

/// Checks the tool names between backticks in planner prompts.
fn check_tool_names(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let mut tools: BTreeMap<String, (String, String)> = BTreeMap::new();
    for row in context.rows("ce_mcp_tool") {
        tools.extend(row.code("tool_code").map(|it| (it, scope(row))));
    }
    let families: BTreeSet<&str> = tools.keys().filter_map(|it| it.split_once('.')).map(|it| it.0).collect();
    for row in context.rows("ce_mcp_planner") {
        for column in row.table().columns_of(|meaning| meaning == Meaning::Template(TextUse::Prompt)).map(|it| it.name) {
            let text = row.text(column).unwrap_or_default();
            let names: BTreeSet<&str> = text.split('`').skip(1).step_by(2).collect();
            findings.extend(names.into_iter().filter_map(|it| check_tool_name(row, column, it, &tools, &families)));
        }
    }
}

/// Checks one text between backticks. It is a tool name only if its prefix is that of an existing tool.
fn check_tool_name(
    row: &TableRow<'_>,
    column: &str,
    name: &str,
    tools: &BTreeMap<String, (String, String)>,
    families: &BTreeSet<&str>,
) -> Option<Issue> {
    let Some((intent, state)) = tools.get(name) else {
        let is_tool = name.split_once('.').is_some_and(|it| families.contains(it.0)) && !name.contains(char::is_whitespace);
        return is_tool.then(|| {
            let hint = "enable the tool in ce_mcp_tool, or correct the name";
            Issue::warning(row.path(column), format!("unknown or disabled tool '{name}'"), hint).with_rule("unknown-tool")
        });
    };
    let of_planner = scope(row);
    (!overlaps(intent, &of_planner.0) || !overlaps(state, &of_planner.1)).then(|| {
        let reason = format!("the tool '{name}' is only available for '{intent}' in the state '{state}'");
        Issue::warning(row.path(column), reason, "widen the scope of the tool, or remove it from the prompt").with_rule("tool-out-of-scope")
    })
}

/// Reports actions of one scope with equal priority: the user must choose between them every time.
fn check_ties(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let mut first: BTreeMap<(String, String, Option<i64>), &TableRow<'_>> = BTreeMap::new();
    for row in context.rows("ce_pending_action") {
        let (intent, state) = scope(row);
        let other = first.entry((intent, state, row.integer("priority"))).or_insert(row);
        if other.code("action_key") != row.code("action_key") {
            let reason = format!("same priority as {}, so the user has to choose between them every time", other.path("priority"));
            let hint = "lower the priority number of one of them, unless this is intended";
            findings.push(Issue::warning(row.path("priority"), reason, hint).with_rule("tied-pending-actions"));
        }
    }
}
