//! Prompt templates that are never asked for.

use std::cmp::Reverse;

use super::ground::Ground;
use crate::config::{Issue, Row};

/// Formats that something asks for.
const FORMATS: [&str; 5] = ["TEXT", "JSON", "SCHEMA_JSON", "SEMANTIC_INTERPRET", "SEMANTIC_QUERY"];

/// Types of responses that are taken for formats.
const TYPES: [&str; 2] = ["DERIVED", "EXACT"];

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    for ((format, intent, state), rows) in &ground.templates {
        found.extend(rows.iter().filter_map(|it| unknown_format(it, format)));
        let mut rows: Vec<&Row<'_>> = rows.iter().collect();
        if format == "SCHEMA_JSON" {
            // Extraction takes the newest one, an answer the first.
            rows.sort_by_key(|it| Reverse((it.integer("created_at").unwrap_or_default(), it.id())));
        }
        let Some((used, unused)) = rows.split_first().filter(|_| FORMATS.contains(&format.as_str())) else { continue };
        for row in unused.iter().filter(|it| !speaks_of_interaction(it)) {
            let reason =
                format!("is never used: {} is the {format} template of '{intent}' in the state '{state}'", used.path("output_format"));
            found.push(
                Issue::warning(row.path("output_format"), reason, "disable one of the two, or give it a state of its own")
                    .of("shadowed-row"),
            );
        }
    }
}

fn unknown_format(row: &Row<'_>, format: &str) -> Option<Issue> {
    let column = if row.code("output_format").is_some() { "output_format" } else { "response_type" };
    let reason = format!("'{format}' is the format of no prompt, so nothing ever asks for the row");
    if TYPES.contains(&format) {
        let hint = "write TEXT, JSON or SCHEMA_JSON; how an answer is made stands in ce_response.response_type";
        return Some(Issue::error(row.path(column), reason, hint).of("schema-column"));
    }
    (!FORMATS.contains(&format)).then(|| Issue::warning(row.path(column), reason, "write TEXT, JSON or SCHEMA_JSON").of("schema-column"))
}

/// Such a row counts even when its prompts do not.
fn speaks_of_interaction(row: &Row<'_>) -> bool {
    row.code("interaction_mode").is_some() || row.code("interaction_contract").is_some()
}
