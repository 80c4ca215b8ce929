//! `ce_verbose`: progress messages. (`spec/data-and-api.md` 8.1)

use std::collections::BTreeMap;

use super::issue::Issue;
use super::row::Row;
use super::scope::{ANY, Scopes, same_code, upper};
use super::tables::Tables;
use crate::json::path::JsonPath;
use crate::text::regex::Regex;
use crate::text::template::Template;

/// How a row chooses the step it speaks for.
#[derive(Debug, Clone)]
pub enum StepMatch {
    /// This step, or every step for `ANY`.
    Exact(String),
    /// Steps whose name the pattern occurs in.
    Regex(Regex),
    /// Events whose metadata the path holds for.
    JsonPath(JsonPath),
}

/// A progress message.
#[derive(Debug, Clone)]
pub struct Verbose {
    /// `verbose_id`.
    pub id: i64,
    /// The intent, in upper case.
    pub intent: String,
    /// The state, in upper case.
    pub state: String,
    /// The determinant, in upper case.
    pub determinant: String,
    /// How it chooses the step.
    pub step: StepMatch,
    /// The rule it speaks for.
    pub rule_id: Option<i64>,
    /// The tool it speaks for.
    pub tool_code: Option<String>,
    /// What to show.
    pub message: Option<Template>,
    /// What to show when something failed.
    pub error_message: Option<Template>,
    /// Lower wins; null is last.
    pub priority: i64,
}

/// Progress messages by determinant.
#[derive(Debug, Clone, Default)]
pub struct VerboseRows(BTreeMap<String, Vec<Verbose>>);

impl VerboseRows {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, issues: &mut Vec<Issue>) -> VerboseRows {
        let mut rows = VerboseRows::default();
        for row in scopes.rows(tables, "ce_verbose", issues) {
            match compile(&row) {
                Ok(verbose) => rows.0.entry(verbose.determinant.clone()).or_default().push(verbose),
                Err(issue) => issues.push(issue),
            }
        }
        rows
    }

    /// Whether there is no row at all, so that nothing needs to be prepared.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Rows that may speak for a determinant in an intent and a state.
    pub fn candidates<'r>(&'r self, determinant: &str, intent: &'r str, state: &'r str) -> impl Iterator<Item = &'r Verbose> {
        let rows = [upper(determinant), ANY.to_owned()].into_iter().filter_map(|it| self.0.get(&it)).flatten();
        let fits = |code: &str, of_turn: &str| code == ANY || same_code(code, of_turn);
        rows.filter(move |it| fits(&it.intent, intent) && fits(&it.state, state))
    }
}

fn compile(row: &Row<'_>) -> Result<Verbose, Issue> {
    let need = |column: &str| row.code(column).ok_or_else(|| row.error(column, "is blank", "it is filled in"));
    let step_value = need("step_value")?;
    let step_match = row.code("step_match").unwrap_or_else(|| "EXACT".to_owned());
    let bad = |reason| row.error("step_value", reason, "the value is corrected");
    let step = match upper(&step_match).as_str() {
        "EXACT" => StepMatch::Exact(step_value),
        "REGEX" => Regex::new(&step_value).map(StepMatch::Regex).map_err(bad)?,
        "JSON_PATH" => JsonPath::compile(&step_value).map(StepMatch::JsonPath).map_err(bad)?,
        _ => return Err(row.error("step_match", format!("'{step_match}' is not EXACT, REGEX or JSON_PATH"), "it is one of these")),
    };
    let template = |column: &str| {
        let source = row.text(column).filter(|it| !it.trim().is_empty());
        let compile = |it: String| Template::compile(&it).map_err(|reason| row.error(column, reason, "the template is corrected"));
        source.map(compile).transpose()
    };
    Ok(Verbose {
        id: row.id(),
        intent: row.code("intent_code").map_or_else(|| ANY.to_owned(), |it| upper(&it)),
        state: row.code("state_code").map_or_else(|| ANY.to_owned(), |it| upper(&it)),
        determinant: upper(&need("determinant")?),
        step,
        rule_id: row.integer("rule_id"),
        tool_code: row.code("tool_code"),
        message: template("message")?,
        error_message: template("error_message")?,
        priority: row.integer("priority").unwrap_or(999_999),
    })
}
