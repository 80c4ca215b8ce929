//! `ce_prompt_template`: prompts for extraction and responses, and which interactions a scope allows.

use convengine_text::template::Template;
use convengine_turn::{Candidate, Verdict};
use serde_json::Value;

use super::code::{ANY, enclosing_scopes, is_same_code, mismatch_reason, to_upper_code};
use super::column::{CREATED_AT, ENABLED, INTENT_CODE, STATE_CODE, TableShape, integer, json, number, prompt, text, word};
use super::issue::Issue;
use super::row::TableRow;
use super::scope::Scopes;
use super::scope_index::ScopeIndex;
use super::tables::Tables;

pub(crate) static PROMPT_TEMPLATE: TableShape = TableShape {
    name: "ce_prompt_template",
    help: "Prompts for answers and for the collection of values. The narrowest scope wins.",
    columns: &[
        integer("template_id", "id of the row"),
        INTENT_CODE,
        STATE_CODE,
        word(
            "output_format",
            &["TEXT", "JSON", SCHEMA_JSON, "SEMANTIC_INTERPRET", "SEMANTIC_QUERY"],
            "`TEXT`, `JSON` (answers) or `SCHEMA_JSON` (extraction)",
        ),
        // Older databases call the column so. (docs/decisions/0040-accepted-spellings.md)
        text("response_type", "older name of `output_format`"),
        prompt("system_prompt", "system part of the prompt, a template"),
        prompt("user_prompt", "user part of the prompt, a template"),
        number("temperature", "not read; the temperature is `convengine.llm.temperature`"),
        word("interaction_mode", &INTERACTION_MODES, "what the user may do here"),
        json("interaction_contract", "JSON that overrides the mode"),
        ENABLED,
        CREATED_AT.with_help("where age decides, the newer of two rows wins"),
    ],
};

/// The format of extraction templates.
pub const SCHEMA_JSON: &str = "SCHEMA_JSON";

/// Known interaction modes.
const INTERACTION_MODES: [&str; 11] =
    ["NORMAL", "IDLE", "COLLECT", "CONFIRM", "PROCESSING", "FINAL", "ERROR", "DISAMBIGUATE", "FOLLOW_UP", "PENDING_ACTION", "REVIEW"];

/// A template row.
#[derive(Debug, Clone)]
pub struct PromptTemplate {
    /// `template_id`.
    pub id: i64,
    /// The intent, in upper case.
    pub intent: String,
    /// The state, in upper case.
    pub state: String,
    /// System prompt.
    pub system: Template,
    /// User prompt.
    pub user: Template,
    /// What the user may do; `None` when the row does not define it.
    pub interaction: Option<InteractionTerms>,
    format: String,
    /// Orders rows by age: the larger value is the newer row.
    recency: (i64, i64),
}

/// What the user may do in a scope. (docs/spec/pipeline.md#2.9, step 4)
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InteractionTerms {
    mode: String,
    allows: Option<Vec<String>>,
}

impl InteractionTerms {
    /// Whether the user may confirm.
    pub fn can_affirm(&self) -> bool {
        self.allows("affirm", &["CONFIRM"])
    }

    /// Whether the user may change a value.
    pub fn can_edit(&self) -> bool {
        self.allows("edit", &["CONFIRM", "REVIEW"])
    }

    /// Whether the user may retry the last action.
    pub fn can_retry(&self) -> bool {
        self.allows("retry", &["ERROR", "PROCESSING"])
    }

    /// The list of the contract decides if there is one, else the mode.
    fn allows(&self, what: &str, modes: &[&str]) -> bool {
        let listed = |list: &Vec<String>| list.iter().any(|entry| entry.trim().eq_ignore_ascii_case(what));
        self.allows.as_ref().map_or_else(|| modes.contains(&self.mode.as_str()), listed)
    }
}

impl PromptTemplate {
    fn candidate(&self, verdict: Verdict) -> Candidate {
        Candidate::for_row("ce_prompt_template", self.id, self.user.source(), verdict)
    }
}

/// Template rows by intent and state.
#[derive(Debug, Clone, Default)]
pub struct PromptTemplates(ScopeIndex<PromptTemplate>);

impl PromptTemplates {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, issues: &mut Vec<Issue>) -> PromptTemplates {
        let rows = scopes.rows(tables, &PROMPT_TEMPLATE, issues);
        PromptTemplates(ScopeIndex::compile(&rows, issues, |row, _| compile(row)))
    }

    /// Returns the newest extraction template of an intent in a state, else in any state.
    pub fn find_extraction(&self, intent: &str, state: &str) -> Option<&PromptTemplate> {
        let newest = |state: &str| self.rows_of_format(SCHEMA_JSON, intent, state).max_by_key(|row| row.recency);
        newest(state).or_else(|| newest(ANY))
    }

    /// Returns the response template of a format in the narrowest scope.
    pub fn find_response(&self, format: &str, intent: &str, state: &str) -> Option<&PromptTemplate> {
        enclosing_scopes(intent, state).into_iter().find_map(|(intent, state)| self.rows_of_format(format, intent, state).next())
    }

    /// Returns what the user may do in an intent and a state: the newest row that defines it in the narrowest scope.
    pub fn find_interaction(&self, intent: &str, state: &str) -> Option<&InteractionTerms> {
        if intent.trim().is_empty() || state.trim().is_empty() {
            return None;
        }
        let newest =
            |(intent, state)| self.0.rows_at(intent, state).iter().filter(|row| row.interaction.is_some()).max_by_key(|row| row.recency);
        enclosing_scopes(intent, state).into_iter().find_map(newest).and_then(|it| it.interaction.as_ref())
    }

    /// Returns the verdict on each row as the template of a format for an intent and a state; `chosen` is the id of the selected row.
    pub fn candidates(&self, format: &str, intent: &str, state: &str, chosen: Option<i64>) -> Vec<Candidate> {
        let judge = |(scope, row): ((&str, &str), &PromptTemplate)| match mismatch_reason(scope, intent, state) {
            _ if row.format != format => row.candidate(Verdict::NotMatched).with_reason(format!("it is of the format {}", row.format)),
            Some(reason) => row.candidate(Verdict::OutOfScope).with_reason(reason),
            None if chosen == Some(row.id) => row.candidate(Verdict::Won),
            None if format == SCHEMA_JSON && !is_same_code(scope.0, intent) => {
                row.candidate(Verdict::Lost).with_reason("values are extracted by a row of the intent itself")
            }
            None => row.candidate(Verdict::Lost).with_reason("a row of a closer scope, or of the same, goes before it"),
        };
        self.0.entries().map(judge).collect()
    }

    fn rows_of_format(&self, format: &str, intent: &str, state: &str) -> impl Iterator<Item = &PromptTemplate> {
        self.0.rows_at(intent, state).iter().filter(move |it| it.format == format)
    }
}

fn compile(row: &TableRow<'_>) -> Result<PromptTemplate, Issue> {
    // Older databases call the column response_type. (docs/decisions/0040-accepted-spellings.md)
    let Some(format) = row.code("output_format").or_else(|| row.code("response_type")) else {
        return Err(row.error("output_format", "is blank", "it names a format, such as TEXT, JSON or SCHEMA_JSON"));
    };
    Ok(PromptTemplate {
        id: row.id(),
        intent: row.code_or_any("intent_code"),
        state: row.code_or_any("state_code"),
        system: row.template("system_prompt")?,
        user: row.template("user_prompt")?,
        interaction: parse_interaction(row),
        recency: (row.integer("created_at").unwrap_or_default(), row.id()),
        format: to_upper_code(&format),
    })
}

/// A row defines the interaction when its mode is known or its contract is JSON.
fn parse_interaction(row: &TableRow<'_>) -> Option<InteractionTerms> {
    let mode = row.code("interaction_mode").map(|it| to_upper_code(&it)).filter(|mode| INTERACTION_MODES.contains(&mode.as_str()));
    let contract = row.text("interaction_contract").and_then(|text| serde_json::from_str::<Value>(&text).ok());
    if mode.is_none() && contract.is_none() {
        return None;
    }
    let list = contract.as_ref().and_then(|contract| contract.get("allows")?.as_array());
    let allows = list.map(|items| items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect());
    Some(InteractionTerms { mode: mode.unwrap_or_else(|| "NORMAL".to_owned()), allows })
}
