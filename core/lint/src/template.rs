//! Prompt templates that are never used.

use std::cmp::Reverse;

use convengine_config::{Issue, TableRow};

use super::context::LintContext;

/// Response types, which authors confuse with formats.
const RESPONSE_TYPES: [&str; 2] = ["DERIVED", "EXACT"];

pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    for ((format, intent, state), rows) in &context.templates {
        findings.extend(rows.iter().filter_map(|it| check_format(it, format)));
        let mut rows: Vec<&TableRow<'_>> = rows.iter().collect();
        if format == "SCHEMA_JSON" {
            // Extraction uses the newest template, responses the first one.
            rows.sort_by_key(|row| Reverse((row.integer("created_at").unwrap_or_default(), row.id())));
        }
        let Some((used, unused)) = rows.split_first().filter(|it| is_used(it.0, format)) else { continue };
        for row in unused.iter().filter(|it| !has_interaction(it)) {
            let reason =
                format!("never used: {} is the {format} template of '{intent}' in the state '{state}'", used.path("output_format"));
            findings.push(
                Issue::warning(row.path("output_format"), reason, "disable one of the rows, or use different states")
                    .with_rule("shadowed-row"),
            );
        }
    }
}

fn check_format(row: &TableRow<'_>, format: &str) -> Option<Issue> {
    let column = if row.code("output_format").is_some() { "output_format" } else { "response_type" };
    let reason = format!("'{format}' is not a prompt format, so the row is never used");
    if RESPONSE_TYPES.contains(&format) {
        let hint = "write TEXT, JSON or SCHEMA_JSON; the type of a response belongs in ce_response.response_type";
        return Some(Issue::error(row.path(column), reason, hint).with_rule("schema-column"));
    }
    (!is_used(row, format)).then(|| Issue::warning(row.path(column), reason, "write TEXT, JSON or SCHEMA_JSON").with_rule("schema-column"))
}

/// Whether a step uses prompts of a format.
fn is_used(row: &TableRow<'_>, format: &str) -> bool {
    row.table().words("output_format").contains(&format)
}

/// Whether the row sets an interaction mode or contract, which applies even if its prompts are unused.
fn has_interaction(row: &TableRow<'_>) -> bool {
    row.code("interaction_mode").is_some() || row.code("interaction_contract").is_some()
}
