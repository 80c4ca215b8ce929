//! Rows that call a language model, for a host without one.

use convengine_config::{Issue, SCHEMA_JSON, TableRow, UNKNOWN, to_upper_code};

use super::context::LintContext;

/// Reports each kind of call once, at its first row.
pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let mut report = |path: String, what: &str| {
        let reason = format!("{what}, and no model is set up: the turn fails");
        let hint = "name a model by --llm, or scripted:FILE with a pack whose llm answers these calls";
        findings.push(Issue::warning(path, reason, hint).with_rule("model-is-off"));
    };
    if context.rows("ce_intent").iter().any(|row| upper_code(row, "intent_code") != UNKNOWN) {
        report("ce_intent".to_owned(), "a message that no row of ce_intent_classifier fits asks a model for its intent");
    }
    if let Some(row) = context.rows("ce_response").iter().find(|row| upper_code(row, "response_type") == "DERIVED") {
        report(row.path("response_type"), "a model writes this answer");
    }
    let can_extract = context.templates.keys().any(|key| key.0 == SCHEMA_JSON);
    if let Some(row) = context.rows("ce_output_schema").first().filter(|_| can_extract) {
        report(row.path("json_schema"), "a model reads these values");
    }
}

fn upper_code(row: &TableRow<'_>, column: &str) -> String {
    to_upper_code(&row.code(column).unwrap_or_default())
}
