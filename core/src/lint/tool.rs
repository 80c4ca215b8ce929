//! Tools that planners name and that are not there, and pending actions that tie.

use std::collections::{BTreeMap, BTreeSet};

use super::ground::{Ground, meet, scope};
use crate::config::{Issue, Row};

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    named_tools(ground, found);
    ties(ground, found);
}

/// A prompt names a tool between back-ticks.
fn named_tools(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    let mut tools: BTreeMap<String, (String, String)> = BTreeMap::new();
    for row in ground.rows("ce_mcp_tool") {
        tools.extend(row.code("tool_code").map(|it| (it, scope(row))));
    }
    let families: BTreeSet<&str> = tools.keys().filter_map(|it| it.split_once('.')).map(|it| it.0).collect();
    for row in ground.rows("ce_mcp_planner") {
        for column in ["system_prompt", "user_prompt"] {
            let text = row.text(column).unwrap_or_default();
            let names: BTreeSet<&str> = text.split('`').skip(1).step_by(2).collect();
            found.extend(names.into_iter().filter_map(|it| named(row, column, it, &tools, &families)));
        }
    }
}

/// Other things stand between back-ticks too: only a name that looks like the tools that exist is one.
fn named(row: &Row<'_>, column: &str, name: &str, tools: &BTreeMap<String, (String, String)>, families: &BTreeSet<&str>) -> Option<Issue> {
    let Some((intent, state)) = tools.get(name) else {
        let is_tool = name.split_once('.').is_some_and(|it| families.contains(it.0)) && !name.contains(char::is_whitespace);
        return is_tool.then(|| {
            let hint = "correct the name, or enable the tool in ce_mcp_tool";
            Issue::warning(row.path(column), format!("names the tool '{name}', which is no enabled tool"), hint).of("unknown-tool")
        });
    };
    let of_planner = scope(row);
    (!meet(intent, &of_planner.0) || !meet(state, &of_planner.1)).then(|| {
        let reason = format!("names the tool '{name}', which is only for '{intent}' in the state '{state}'");
        Issue::warning(row.path(column), reason, "widen the scope of the tool, or take it out of the prompt").of("tool-out-of-scope")
    })
}

/// Actions of one scope with one priority: the user is asked which one is meant, every time.
fn ties(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    let mut first: BTreeMap<(String, String, Option<i64>), &Row<'_>> = BTreeMap::new();
    for row in ground.rows("ce_pending_action") {
        let (intent, state) = scope(row);
        let other = first.entry((intent, state, row.integer("priority"))).or_insert(row);
        if other.code("action_key") != row.code("action_key") {
            let reason =
                format!("has the priority of {}, so the user is asked each time which of the two is meant", other.path("priority"));
            let hint = "give one of them a smaller number, unless the question is wanted";
            found.push(Issue::warning(row.path("priority"), reason, hint).of("tied-pending-actions"));
        }
    }
}
