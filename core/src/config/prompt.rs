//! `ce_prompt_template`: prompts for extraction and responses, and which interactions a scope allows.

use serde_json::Value;

use super::by_scope::ByScope;
use super::issue::Issue;
use super::row::Row;
use super::scope::{ANY, Scopes, apart, around, same_code, upper};
use super::tables::Tables;
use crate::text::template::Template;
use crate::turn::{Considered, Fate};

/// The format of extraction templates.
pub const SCHEMA_JSON: &str = "SCHEMA_JSON";

/// Known interaction modes.
const MODES: [&str; 11] =
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
    newness: (i64, i64),
}

/// What the user may do in a scope. (docs/spec/pipeline.md#2.9, step 4)
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InteractionTerms {
    mode: String,
    allows: Option<Vec<String>>,
}

impl InteractionTerms {
    /// Whether the user may confirm.
    pub fn may_affirm(&self) -> bool {
        self.allows("affirm", &["CONFIRM"])
    }

    /// Whether the user may change a value.
    pub fn may_edit(&self) -> bool {
        self.allows("edit", &["CONFIRM", "REVIEW"])
    }

    /// Whether the user may retry the last action.
    pub fn may_retry(&self) -> bool {
        self.allows("retry", &["ERROR", "PROCESSING"])
    }

    /// The list of the contract decides if there is one, else the mode.
    fn allows(&self, what: &str, modes: &[&str]) -> bool {
        let listed = |list: &Vec<String>| list.iter().any(|it| it.trim().eq_ignore_ascii_case(what));
        self.allows.as_ref().map_or_else(|| modes.contains(&self.mode.as_str()), listed)
    }
}

impl PromptTemplate {
    fn considered(&self, fate: Fate) -> Considered {
        Considered::row("ce_prompt_template", self.id, self.user.source(), fate)
    }
}

/// Template rows by intent and state.
#[derive(Debug, Clone, Default)]
pub struct PromptTemplates(ByScope<PromptTemplate>);

impl PromptTemplates {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, issues: &mut Vec<Issue>) -> PromptTemplates {
        let mut templates = PromptTemplates::default();
        for row in scopes.rows(tables, "ce_prompt_template", issues) {
            match compile(&row) {
                Ok(template) => templates.0.add(&row, template),
                Err(issue) => issues.push(issue),
            }
        }
        templates
    }

    /// Returns the newest extraction template of an intent in a state, else in any state.
    pub fn extraction(&self, intent: &str, state: &str) -> Option<&PromptTemplate> {
        let newest = |state: &str| self.of_format(SCHEMA_JSON, intent, state).max_by_key(|it| it.newness);
        newest(state).or_else(|| newest(ANY))
    }

    /// Returns the response template of a format in the narrowest scope.
    pub fn answer(&self, format: &str, intent: &str, state: &str) -> Option<&PromptTemplate> {
        around(intent, state).into_iter().find_map(|(intent, state)| self.of_format(format, intent, state).next())
    }

    /// Returns what the user may do in an intent and a state: the newest row that defines it in the narrowest scope.
    pub fn interaction(&self, intent: &str, state: &str) -> Option<&InteractionTerms> {
        if intent.trim().is_empty() || state.trim().is_empty() {
            return None;
        }
        let newest = |(intent, state)| self.0.at(intent, state).iter().filter(|it| it.interaction.is_some()).max_by_key(|it| it.newness);
        around(intent, state).into_iter().find_map(newest).and_then(|it| it.interaction.as_ref())
    }

    /// Returns the verdict on each row as the template of a format for an intent and a state; `chosen` is the id of the selected row.
    pub fn considered(&self, format: &str, intent: &str, state: &str, chosen: Option<i64>) -> Vec<Considered> {
        let judge = |(scope, it): ((&str, &str), &PromptTemplate)| match apart(scope, intent, state) {
            _ if it.format != format => it.considered(Fate::NotMatched).because(format!("it is of the format {}", it.format)),
            Some(reason) => it.considered(Fate::OutOfScope).because(reason),
            None if chosen == Some(it.id) => it.considered(Fate::Won),
            None if format == SCHEMA_JSON && !same_code(scope.0, intent) => {
                it.considered(Fate::Lost).because("values are extracted by a row of the intent itself")
            }
            None => it.considered(Fate::Lost).because("a row of a closer scope, or of the same, goes before it"),
        };
        self.0.all().map(judge).collect()
    }

    fn of_format(&self, format: &str, intent: &str, state: &str) -> impl Iterator<Item = &PromptTemplate> {
        self.0.at(intent, state).iter().filter(move |it| it.format == format)
    }
}

fn compile(row: &Row<'_>) -> Result<PromptTemplate, Issue> {
    // Older databases call the column response_type. (docs/decisions/README.md#9)
    let Some(format) = row.code("output_format").or_else(|| row.code("response_type")) else {
        return Err(row.error("output_format", "is blank", "it names a format, such as TEXT, JSON or SCHEMA_JSON"));
    };
    let template = |column: &str| {
        let source = row.text(column).unwrap_or_default();
        Template::compile(&source).map_err(|reason| row.error(column, reason, "the template is corrected"))
    };
    Ok(PromptTemplate {
        id: row.id(),
        intent: row.code_or_any("intent_code"),
        state: row.code_or_any("state_code"),
        system: template("system_prompt")?,
        user: template("user_prompt")?,
        interaction: interaction(row),
        newness: (row.integer("created_at").unwrap_or_default(), row.id()),
        format: upper(&format),
    })
}

/// A row defines the interaction when its mode is known or its contract is JSON.
fn interaction(row: &Row<'_>) -> Option<InteractionTerms> {
    let mode = row.code("interaction_mode").map(|it| upper(&it)).filter(|it| MODES.contains(&it.as_str()));
    let contract = row.text("interaction_contract").and_then(|it| serde_json::from_str::<Value>(&it).ok());
    if mode.is_none() && contract.is_none() {
        return None;
    }
    let list = contract.as_ref().and_then(|it| it.get("allows")?.as_array());
    let allows = list.map(|it| it.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect());
    Some(InteractionTerms { mode: mode.unwrap_or_else(|| "NORMAL".to_owned()), allows })
}
