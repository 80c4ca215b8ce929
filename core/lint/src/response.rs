//! Responses that are never chosen, responses without a prompt template, and a missing fallback response.

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::{ANY, Issue, TableRow, UNKNOWN, to_upper_code};

use super::context::{LintContext, scope};

/// The priority advantage of a response for a specific state over one for ANY.
const STATE_ADVANTAGE: i64 = 990;

/// The default priority.
const DEFAULT_PRIORITY: i64 = 999_999;

pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    check_fallback(context, findings);
    let formats = template_formats(context);
    for row in context.rows("ce_response") {
        let is_derived = row.code("response_type").is_some_and(|code| to_upper_code(&code) == "DERIVED");
        if is_derived {
            findings.extend(check_template(context, &formats, row));
            findings.extend(check_schema(row));
        }
    }
    check_shadowed(context, findings);
}

/// Reports that no response matches a message without an intent.
fn check_fallback(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let has_dialogue = !context.rows("ce_intent").is_empty() || !context.rows("ce_response").is_empty();
    let is_redirected = context
        .rules
        .iter()
        .any(|rule| rule.action.may_transition() && rule.is_unconditional() && [ANY, UNKNOWN].contains(&rule.intent.as_str()));
    if has_dialogue && !is_redirected && !context.has_response(UNKNOWN, UNKNOWN) {
        let reason = "no response matches a message without an intent";
        let hint = "add a row with intent_code UNKNOWN or ANY, and state_code ANY";
        findings.push(Issue::warning("ce_response", reason, hint).with_rule("no-fallback-response"));
    }
}

/// The formats and intents of prompt templates, for any state.
fn template_formats<'g>(context: &'g LintContext<'_>) -> BTreeSet<(&'g str, &'g str)> {
    context.templates.keys().map(|(format, intent, _)| (format.as_str(), intent.as_str())).collect()
}

fn check_template(context: &LintContext<'_>, formats: &BTreeSet<(&str, &str)>, row: &TableRow<'_>) -> Option<Issue> {
    let format = to_upper_code(&row.code("output_format")?);
    let (intent, state) = scope(row);
    // A row for ANY may use the templates of every intent or state.
    let has_template = match (intent.as_str(), state.as_str()) {
        (ANY, _) => formats.range((format.as_str(), "")..).next().is_some_and(|it| it.0 == format),
        (intent, ANY) => [intent, ANY].iter().any(|intent| formats.contains(&(format.as_str(), *intent))),
        (intent, state) => context.has_template(&format, intent, state),
    };
    (!has_template).then(|| {
        let reason = format!("DERIVED requires a prompt, but no {format} template matches '{intent}' in the state '{state}'");
        let hint = "add a ce_prompt_template with this output_format for the intent and the state, or for ANY";
        Issue::error(row.path("response_type"), reason, hint).with_rule("derived-without-template")
    })
}

fn check_schema(row: &TableRow<'_>) -> Option<Issue> {
    let is_json = row.code("output_format").is_some_and(|code| to_upper_code(&code) == "JSON");
    (is_json && row.code("json_schema").is_none()).then(|| {
        let reason = "the prompt does not describe the JSON that the model must return";
        Issue::warning(row.path("json_schema"), reason, "add the JSON schema of the answer").with_rule("json-without-schema")
    })
}

fn check_shadowed(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let priority = |row: &TableRow<'_>| row.integer("priority").unwrap_or(DEFAULT_PRIORITY);
    let mut winners: BTreeMap<(String, String), &TableRow<'_>> = BTreeMap::new();
    for row in context.rows("ce_response") {
        let winner = winners.entry(scope(row)).or_insert(row);
        if winner.id() == row.id() {
            continue;
        }
        let loser = if priority(row) < priority(winner) { std::mem::replace(winner, row) } else { row };
        let reason = format!("never chosen: {} has the same intent and state, and precedence", winner.path("priority"));
        findings.push(
            Issue::warning(loser.path("priority"), reason, "disable one of the rows, or use different states").with_rule("shadowed-row"),
        );
    }
    for ((intent, state), row) in &winners {
        let general = winners.get(&(intent.clone(), ANY.to_owned())).filter(|_| state != ANY);
        if let Some(general) = general.filter(|general| priority(row).saturating_sub(priority(general)) > STATE_ADVANTAGE) {
            let reason = format!("never chosen: its priority places it after {}, which applies to any state", general.path("priority"));
            let hint = format!("keep the two priorities within {STATE_ADVANTAGE} of each other");
            findings.push(Issue::warning(row.path("priority"), reason, hint).with_rule("priority-outweighs-specificity"));
        }
    }
}
