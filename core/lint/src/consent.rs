//! Tools that change something: who agrees to the calls that a model plans. (docs/decisions/0056-nothing-is-written-before-consent.md)

use convengine_config::flow::document::Approval;
use convengine_config::{Executor, Issue, TableRow, Tool, is_same_code, to_upper_code};
use convengine_turn::EffectClass;

use super::context::{LintContext, overlaps, scope};

pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    for row in context.rows("ce_mcp_tool") {
        let code = row.code("tool_code").unwrap_or_default();
        let tool = context.tools.iter().find(|tool| tool.id == row.id() && is_same_code(&tool.code, &code));
        findings.extend(tool.filter(|it| it.changes_something()).and_then(|it| check_tool(context, row, it)));
        findings.extend(tool.and_then(|it| check_declared_reading(context, row, it)));
    }
}

/// Reports a call by a writing method that a model may plan because its tool is declared to read only.
fn check_declared_reading(context: &LintContext<'_>, row: &TableRow<'_>, tool: &Tool) -> Option<Issue> {
    let Executor::Http(call) = &tool.executor else { return None };
    let is_planned = context.rows("ce_mcp_planner").iter().any(|planner| overlaps(&scope(row).0, &scope(planner).0));
    if tool.changes_something() || EffectClass::from_method(&call.method) == EffectClass::Read || !is_planned {
        return None;
    }
    let reason = format!("'{}' sends {} and is declared as read: a model can call it without confirmation", tool.code, call.method);
    let hint = "remove the effect 'read' from its spec, unless the call changes nothing";
    Some(Issue::warning(row.path("tool_code"), reason, hint).with_rule("write-without-consent"))
}

fn check_tool(context: &LintContext<'_>, row: &TableRow<'_>, tool: &Tool) -> Option<Issue> {
    let (intent, state) = scope(row);
    let is_there = |row: &TableRow<'_>, any_state: bool| {
        let row_scope = scope(row);
        overlaps(&intent, &row_scope.0) && (any_state || overlaps(&state, &row_scope.1))
    };
    let code = &tool.code;
    let warn = |reason: String, hint: &str, rule: &'static str| Some(Issue::warning(row.path("tool_code"), reason, hint).with_rule(rule));
    if !context.rows("ce_mcp_planner").iter().any(|it| is_there(it, false)) {
        let reason = format!("'{code}' changes something, and no row of ce_mcp_planner applies to its intent and state: no model calls it");
        let hint = "add a row of ce_mcp_planner, or request the tool by a row of ce_tool; if it only reads, set its spec to {\"effect\": \"read\"}";
        return if is_requested(context, code) { None } else { warn(reason, hint, "write-never-planned") };
    }
    if tool.approval == Some(Approval::Never) {
        let reason = format!("a model can call '{code}', which has side effects, without confirmation");
        return warn(reason, "remove the approval 'never', or set it to 'write', unless this is meant", "write-without-consent");
    }
    let is_confirming = |row: &&TableRow<'_>| is_there(row, true) && may_confirm(row);
    if tool.waits_for_consent() && !context.rows("ce_prompt_template").iter().any(|it| is_confirming(&it)) {
        let reason = format!("'{code}' has side effects, but its intent has no confirmation step, so no model calls it");
        let hint = "add a prompt template with the interaction_mode CONFIRM to the state that reads the values back, or set the spec of the tool to \
                    {\"approval\": \"write\"}";
        return warn(reason, hint, "write-never-confirmed");
    }
    None
}

/// Whether a template lets the user confirm: by its contract, else by its mode.
fn may_confirm(row: &TableRow<'_>) -> bool {
    row.code("interaction_contract").map_or_else(
        || row.code("interaction_mode").is_some_and(|mode| to_upper_code(&mode) == "CONFIRM"),
        |contract| contract.to_lowercase().contains("\"affirm\""),
    )
}

/// Whether a row requests the tool without a planner.
fn is_requested(context: &LintContext<'_>, code: &str) -> bool {
    let names = |request: &TableRow<'_>| request.code("tool_code").is_some_and(|named| is_same_code(&named, code));
    context.rows("ce_tool").iter().any(names) || context.rules.iter().any(|rule| rule.value.to_lowercase().contains(&code.to_lowercase()))
}
