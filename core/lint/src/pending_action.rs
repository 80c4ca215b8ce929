//! Pending actions whose failure no row handles: the user is asked again as if nothing had happened.

use std::collections::BTreeSet;

use convengine_config::{Issue, Phase, TableRow};

use super::context::{LintContext, Rule, overlaps, scope};

/// What holds the result of an action: a parameter, and the status in parameters and context.
const RESULT_PATHS: [&str; 2] = ["pending_action_result", "pending_action_runtime"];

/// The result of an action that has failed.
const FAILED: &str = "FAILED";

/// Other results, for which a condition may ask instead.
const OTHER_RESULTS: [&str; 3] = ["EXECUTED", "REJECTED", "EXPIRED"];

/// Phases that are over when the action runs.
const EARLIER_PHASES: [Phase; 4] =
    [Phase::PostDialogueAct, Phase::PostClassifierIntent, Phase::PostAgentIntent, Phase::PostSchemaExtraction];

/// Tables of answers and prompts, with the columns whose text may depend on the result.
const TEXT_COLUMNS: [(&str, [&str; 2]); 2] =
    [("ce_response", ["exact_text", "derivation_hint"]), ("ce_prompt_template", ["system_prompt", "user_prompt"])];

pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let handlers = handling_scopes(context);
    for row in context.rows("ce_pending_action") {
        let (intent, state) = scope(row);
        if handlers.iter().any(|handler| overlaps(&intent, &handler.0) && overlaps(&state, &handler.1)) {
            continue;
        }
        let task = format!("{}:{}", row.code("bean_name").unwrap_or_default(), row.code("method_names").unwrap_or_default());
        let reason = format!(
            "nothing handles a failure of the task '{task}': the user is asked again as if nothing had happened, and the next yes makes \
             another call"
        );
        let hint = "add a rule of PRE_RESPONSE_RESOLUTION with the condition $.inputParams.pending_action_result == 'FAILED' that sets a \
                    state, and a response for that state";
        findings.push(Issue::warning(row.path("bean_name"), reason, hint).with_rule("unhandled-failure"));
    }
}

/// The intents and states in which a rule, a text or a hook may tell the user of a failure.
fn handling_scopes(context: &LintContext<'_>) -> BTreeSet<(String, String)> {
    let rules = context.rules.iter().filter(|rule| may_handle_failure(rule));
    let mut scopes: BTreeSet<(String, String)> = rules.map(|rule| (rule.intent.clone(), rule.state.clone())).collect();
    for (table, columns) in TEXT_COLUMNS {
        let depends = |row: &TableRow<'_>| columns.iter().any(|column| row.text(column).is_some_and(|text| may_mean_failure(&text)));
        scopes.extend(context.rows(table).iter().filter(|row| depends(row)).map(scope));
    }
    scopes.extend(context.rows("ce_task").iter().filter(|row| row.code_or_any("kind") == "HOOK").map(scope));
    scopes
}

/// Whether a rule runs after the action and can apply when it has failed because it asks for the result. A rule that leaves the state on
/// every message is reported by its own check.
fn may_handle_failure(rule: &Rule<'_>) -> bool {
    if EARLIER_PHASES.contains(&rule.phase) {
        return false;
    }
    if rule.is_unconditional() {
        return rule.action.may_transition();
    }
    rule.kind.ends_with("JSON_PATH") && may_mean_failure(&rule.pattern)
}

/// Whether a condition or a text depends on the result of an action in a way that tells a failure.
fn may_mean_failure(text: &str) -> bool {
    // Without a word for another result, or with a negation, it is about a failure as well.
    let is_open = text.contains('!') || !OTHER_RESULTS.iter().any(|result| text.contains(result));
    RESULT_PATHS.iter().any(|path| text.contains(path)) && (text.contains(FAILED) || is_open)
}
