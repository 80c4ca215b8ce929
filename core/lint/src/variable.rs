//! Templates that use unknown variables.

use std::collections::BTreeSet;

use convengine_config::flow::shape::{Meaning, TextUse};
use convengine_config::{Issue, TABLES, TableRow};
use convengine_text::template::Template;

use super::context::LintContext;
use super::known_paths::{KnownPaths, VIEW_MEMBERS, find_similar, is_engine_name};
use super::misspelling;

/// Names of every template, besides the session view.
const COMMON_NAMES: [&str; 22] = [
    "session",
    "inputParams",
    "safeInputParams",
    "rawInputParams",
    "promptVars",
    "metadata",
    "schema",
    "schemaJson",
    "stepInfos",
    "standalone_query",
    "resolved_user_input",
    "dialogue_act",
    "missing_fields",
    "missing_field_options",
    "container_data",
    "schema_id",
    "schema_json",
    "schema_description",
    "schema_field_details",
    "post_intent_rule",
    "rule_execution_source",
    "rule_execution_origin",
];

/// Names that exist only in the texts of responses.
const RESPONSE_NAMES: [&str; 3] = ["outputFormat", "responseType", "exactText"];

/// Names that exist only in prompts, with the equivalent in other texts.
const PROMPT_NAMES: [(&str, &str); 19] = [
    ("user_input", "userText"),
    ("userInput", "userText"),
    ("user_text", "userText"),
    ("user_message", "userText"),
    ("userMessage", "userText"),
    ("input_text", "userText"),
    ("inputText", "userText"),
    ("resolvedInput", "resolvedUserInput"),
    ("resolved_input", "resolvedUserInput"),
    ("effective_input", "resolvedUserInput"),
    ("effectiveInput", "resolvedUserInput"),
    ("rewritten_query", "standaloneQuery"),
    ("rewrittenQuery", "standaloneQuery"),
    ("pending_clarification", "pendingClarificationQuestion"),
    ("pendingClarification", "pendingClarificationQuestion"),
    ("contextJson", "context"),
    ("context_json", "context"),
    ("data_schema", "schema"),
    ("json_schema", "schema"),
];

pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let facts = KnownPaths::new(context);
    let own = defined_names(context, &facts);
    let is_plain = |table: &str| context.profile.has_literal_texts && table == "ce_response";
    let is_text = |meaning| matches!(meaning, Meaning::Template(TextUse::Text | TextUse::Prompt));
    for row in TABLES.iter().filter(|it| !is_plain(it.name)).flat_map(|it| context.rows(it.name)) {
        for column in row.table().columns_of(is_text) {
            let Ok(template) = Template::compile(&row.text(column.name).unwrap_or_default()) else { continue };
            let is_prompt = column.meaning == Some(Meaning::Template(TextUse::Prompt));
            findings.extend(template.names().filter_map(|name| {
                check_variable(row, column.name, name, &own, is_prompt)
                    .or_else(|| check_misspelled(context, row, column.name, name, &own))
                    .or_else(|| check_unset(context, &facts, row, column.name, name, &own))
            }));
        }
    }
}

/// Returns the names that the configuration defines: extracted fields, and what rules, scripts and known replies of tasks set. Any word of
/// the value of a rule may be such a name, as those of a path may.
fn defined_names(context: &LintContext<'_>, facts: &KnownPaths<'_>) -> BTreeSet<String> {
    let mut own = facts.properties.clone();
    for rule in &context.rules {
        let words = rule.value.split(|character: char| !(character.is_alphanumeric() || character == '_'));
        own.extend(words.filter(|it| !it.is_empty()).map(str::to_owned));
    }
    for written in [&context.written.params, &context.written.context] {
        own.extend(written.names().map(str::to_owned));
    }
    own
}

fn check_variable(row: &TableRow<'_>, column: &str, name: &str, own: &BTreeSet<String>, is_prompt: bool) -> Option<Issue> {
    let mut parts = name.split('.');
    let (first, second) = (parts.next()?, parts.next());
    let warning = |rule: &'static str, hint: String| {
        Some(Issue::warning(row.path(column), format!("unknown variable '{name}', which renders as empty text"), hint).with_rule(rule))
    };
    let view = || VIEW_MEMBERS.iter().map(|&(name, _)| name);
    match (first, second) {
        ("context", Some("agent")) if !own.contains("agent") => {
            return warning("unknown-context-path", "write context.mcp".to_owned());
        }
        ("session", Some(member)) if member != "stepInfos" && view().all(|it| it != member) => {
            let hint = find_similar(member, view()).map_or_else(
                || "read parameters from inputParams and collected values from context".to_owned(),
                |it| format!("write session.{it}"),
            );
            return warning("unknown-variable", hint);
        }
        _ => {}
    }
    if own.contains(first) || view().chain(COMMON_NAMES).any(|it| it == first) {
        return None;
    }
    let of_prompts = PROMPT_NAMES.iter().find(|it| it.0 == first);
    if let Some((_, instead)) = of_prompts.filter(|_| !is_prompt) {
        return warning("unknown-variable", format!("it exists only in prompts; write {instead}"));
    }
    let similar = find_similar(first, view().chain(COMMON_NAMES)).filter(|_| of_prompts.is_none() && !is_prompt)?;
    warning("unknown-variable", format!("write {similar}"))
}

/// Reports a name that is nearly one that is set. A name without a root is looked up in texts of responses only: prompts and progress
/// messages have names of their own.
fn check_misspelled(context: &LintContext<'_>, row: &TableRow<'_>, column: &str, name: &str, own: &BTreeSet<String>) -> Option<Issue> {
    let first = name.split('.').next()?;
    let places = [&context.written.params, &context.written.context];
    let is_written = places.iter().any(|it| it.member(first).is_some());
    let is_looked_up = column == "exact_text" && !is_view_name(first) && (is_written || !own.contains(first));
    let bare = if is_looked_up { places.to_vec() } else { Vec::new() };
    misspelling::check_name(context, row, column, name, &bare)
}

/// Reports a name in the text of a response that nothing sets. Tasks and extensions may set any, unless they say what they set.
fn check_unset(
    context: &LintContext<'_>,
    facts: &KnownPaths<'_>,
    row: &TableRow<'_>,
    column: &str,
    name: &str,
    own: &BTreeSet<String>,
) -> Option<Issue> {
    if column != "exact_text" || context.written.is_open {
        return None;
    }
    let mut parts = name.split('.').skip_while(|part| *part == "session");
    let first = parts.next()?;
    let reason = format!("nothing sets '{name}', which then renders as empty text");
    let member = parts.next().filter(|_| first == "context");
    if member.is_some_and(|member| facts.is_unset_member(member)) {
        let hint = "correct the name, or set it first";
        return Some(Issue::warning(row.path(column), reason, hint).with_rule("unknown-context-path"));
    }
    (!own.contains(first) && !is_view_name(first) && !is_engine_name(first)).then(|| {
        let hint = format!("write inputParams.{name} if clients send it, or correct the name");
        Issue::warning(row.path(column), reason, hint).with_rule("unset-variable")
    })
}

/// Whether the text of a response has a name, whatever the configuration sets.
fn is_view_name(name: &str) -> bool {
    VIEW_MEMBERS.iter().map(|it| it.0).chain(COMMON_NAMES).chain(RESPONSE_NAMES).any(|it| it == name)
}

#[cfg(test)]
mod tests {
    use convengine_config::table_shape;
    use convengine_pack::{Conversations, Pack};
    use convengine_tables::session::Session;
    use convengine_turn::ProgramRef;
    use serde_json::json;

    use super::*;

    #[test]
    fn shared_parameters_are_known() {
        let turn = r#"{"request": {"method": "POST", "path": "/api/v1/conversation/message", "body": {"message": "hello"}}}"#;
        let pack = Pack::parse(&format!(r#"{{"name": "one", "turns": [{turn}]}}"#)).unwrap();
        let mut session = Session::from_input(pack.message(0).unwrap().into_input(&Conversations::default(), ProgramRef::PipelineV2), 20);
        session.share_view();
        let response = json!({"response_id": 1});
        let row = TableRow::new(table_shape("ce_response").unwrap(), 1, response.as_object().unwrap());
        let judged = |name: &str| check_variable(&row, "exact_text", name, &BTreeSet::new(), false);
        assert!(session.params.len() > 5);
        let unknown: Vec<&String> = session.params.keys().filter(|key| judged(key).is_some()).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        assert!(judged("conversation_id").is_some());
    }
}
