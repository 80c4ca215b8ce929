//! `ce_verbose`: progress messages. (docs/spec/data-and-api.md#8.1)

use std::collections::BTreeMap;

use convengine_text::json::path::JsonPath;
use convengine_text::regex::Regex;
use convengine_text::template::Template;

use super::code::{ANY, to_upper_code};
use super::column::{CREATED_AT, ENABLED, INTENT_CODE, PRIORITY, STATE_CODE, TableShape, integer, pattern, template, text, word};
use super::flow::shape::{Meaning, Target};
use super::issue::Issue;
use super::parts::Patterns;
use super::row::TableRow;
use super::scope::Scopes;
use super::scope_index::{ScopeIndex, index_key};
use super::tables::Tables;

pub(crate) static VERBOSE: TableShape = TableShape {
    name: "ce_verbose",
    help: "Progress messages. The best score wins ([selection](../spec/data-and-api.md#8.1)).",
    columns: &[
        integer("verbose_id", "id of the row"),
        INTENT_CODE,
        STATE_CODE,
        word("step_match", &["EXACT", "REGEX", "JSON_PATH"], "").with_default(r#""EXACT""#),
        pattern("step_value", "step name, pattern or path"),
        text("determinant", "the occasion ([8.3](../spec/data-and-api.md#8.3)), or `ANY`"),
        integer("rule_id", "only for this rule"),
        text("tool_code", "only for this tool").with_meaning(Meaning::Names(Target::Tool)),
        template("message", "text, a template"),
        template("error_message", "text for failures, a template"),
        PRIORITY.with_help("subtracted from the score; null is 999,999").with_default("100"),
        ENABLED,
        CREATED_AT,
    ],
};

/// How a row selects the steps it applies to.
#[derive(Debug, Clone)]
pub enum StepMatcher {
    /// This step, or every step for `ANY`.
    Exact(String),
    /// Steps whose name matches the pattern.
    Regex(Regex),
    /// Events for whose metadata the path is true.
    JsonPath(JsonPath),
}

/// A progress message.
#[derive(Debug, Clone)]
pub struct VerboseRow {
    /// `verbose_id`.
    pub id: i64,
    /// The intent, in upper case.
    pub intent: String,
    /// The state, in upper case.
    pub state: String,
    /// The determinant, in upper case.
    pub determinant: String,
    /// The steps it applies to.
    pub step: StepMatcher,
    /// The rule it applies to.
    pub rule_id: Option<i64>,
    /// The tool it applies to.
    pub tool_code: Option<String>,
    /// The message.
    pub message: Option<Template>,
    /// The message after a failure.
    pub error_message: Option<Template>,
    /// The lowest wins; null is last.
    pub priority: i64,
}

/// An event for which progress messages are looked up.
#[derive(Debug, Clone, Copy)]
pub struct VerboseEvent<'o> {
    /// The determinant.
    pub determinant: &'o str,
    /// The rule, if the event is about one.
    pub rule_id: Option<i64>,
    /// The tool, if the event is about one.
    pub tool_code: Option<&'o str>,
    /// The intent at the time of the event.
    pub intent: &'o str,
    /// The state at the time of the event.
    pub state: &'o str,
}

/// Progress messages by determinant, by rule or tool, and by scope.
#[derive(Debug, Clone, Default)]
pub struct VerboseRows(BTreeMap<String, DeterminantRows>);

#[derive(Debug, Clone, Default)]
struct DeterminantRows {
    rows_by_rule: BTreeMap<i64, ScopeIndex<VerboseRow>>,
    rows_by_tool: BTreeMap<String, ScopeIndex<VerboseRow>>,
    others: ScopeIndex<VerboseRow>,
}

impl VerboseRows {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, regexes: &mut Patterns<'_>, issues: &mut Vec<Issue>) -> VerboseRows {
        let mut rows = VerboseRows::default();
        for row in scopes.rows(tables, &VERBOSE, issues) {
            match compile(&row, regexes) {
                Ok(verbose) => rows.0.entry(verbose.determinant.clone()).or_default().add(&row, verbose),
                Err(issue) => issues.push(issue),
            }
        }
        rows
    }

    /// Whether there is no row at all, so that callers can skip their preparations.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the rows that may apply to an event.
    pub fn candidates<'r>(&'r self, occasion: VerboseEvent<'r>) -> impl Iterator<Item = &'r VerboseRow> {
        let own = index_key(occasion.determinant);
        let any = if own == ANY { None } else { self.0.get(ANY) };
        [self.0.get(&*own), any].into_iter().flatten().flat_map(move |it| it.applicable(occasion))
    }
}

impl DeterminantRows {
    /// Adds a row; one for both a rule and a tool is indexed by the rule.
    fn add(&mut self, row: &TableRow<'_>, verbose: VerboseRow) {
        let rows = match (verbose.rule_id, &verbose.tool_code) {
            (Some(rule_id), _) => self.rows_by_rule.entry(rule_id).or_default(),
            (None, Some(tool_code)) => self.rows_by_tool.entry(to_upper_code(tool_code)).or_default(),
            (None, None) => &mut self.others,
        };
        rows.add(row, verbose);
    }

    fn applicable<'r>(&'r self, occasion: VerboseEvent<'r>) -> impl Iterator<Item = &'r VerboseRow> {
        let of_rule = occasion.rule_id.and_then(|it| self.rows_by_rule.get(&it));
        let of_tool = occasion.tool_code.and_then(|code| self.rows_by_tool.get(&*index_key(code)));
        let rows = [of_rule, of_tool, Some(&self.others)].into_iter().flatten();
        rows.flat_map(move |rows| rows.applicable(occasion.intent, occasion.state))
    }
}

fn compile(row: &TableRow<'_>, regexes: &mut Patterns<'_>) -> Result<VerboseRow, Issue> {
    let step_value = row.required("step_value", "it is filled in")?;
    let step_match = row.code("step_match").unwrap_or_else(|| "EXACT".to_owned());
    let invalid = |reason| row.error("step_value", reason, "the value is corrected");
    let step = match to_upper_code(&step_match).as_str() {
        "EXACT" => StepMatcher::Exact(step_value),
        "REGEX" => regexes.compile(&step_value).map(StepMatcher::Regex).map_err(invalid)?,
        "JSON_PATH" => JsonPath::compile(&step_value).map(StepMatcher::JsonPath).map_err(invalid)?,
        _ => return Err(row.error("step_match", row.unknown_word("step_match"), "it is one of these")),
    };
    let template = |column: &str| row.code(column).map(|_| row.template(column)).transpose();
    Ok(VerboseRow {
        id: row.id(),
        intent: row.code_or_any("intent_code"),
        state: row.code_or_any("state_code"),
        determinant: to_upper_code(&row.required("determinant", "it is filled in")?),
        step,
        rule_id: row.integer("rule_id"),
        tool_code: row.code("tool_code"),
        message: template("message")?,
        error_message: template("error_message")?,
        priority: row.integer("priority").unwrap_or(999_999),
    })
}
