//! The input of the checks: enabled, valid rows and indexes over them, built once.

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::{
    ANY, Issue, Phase, Profile, RuleAction, TABLES, TableRow, Tables, Tool, UNKNOWN, by_priority, enclosing_scopes, is_same_code,
    read_tools, to_upper_code,
};
use serde_json::Value;

use super::written::Written;

/// Regex patterns that match every message.
const MATCH_ALL_PATTERNS: [&str; 6] = [".*", ".+", "^.*$", "^.+$", "(?s).*", ".*?"];

/// Enabled and valid rows, with indexes that several checks use.
pub(super) struct LintContext<'t> {
    rows: BTreeMap<&'static str, Vec<TableRow<'t>>>,
    /// The profile that runs the tables.
    pub profile: &'static Profile,
    /// The codes of enabled intents, in upper case.
    pub intents: BTreeSet<String>,
    /// Rules in evaluation order within their scope.
    pub rules: Vec<Rule<'t>>,
    /// The scopes (intent, state) of responses.
    response_scopes: BTreeSet<(String, String)>,
    /// Whether tasks can run, which may set intent, state and context.
    pub has_tasks: bool,
    /// The tools.
    pub tools: Vec<Tool>,
    /// Prompt templates by their lookup key.
    pub templates: BTreeMap<TemplateKey, Vec<TableRow<'t>>>,
    /// What rows and known replies of tasks write into parameters and context.
    pub written: Written,
}

/// The lookup key of a prompt template: format, intent and state.
pub(super) type TemplateKey = (String, String, String);

/// A rule row, parsed.
pub(super) struct Rule<'t> {
    pub row: TableRow<'t>,
    pub phase: Phase,
    pub intent: String,
    pub state: String,
    /// `rule_type`, in upper case.
    pub kind: String,
    pub pattern: String,
    pub action: RuleAction,
    /// `action_value`, trimmed.
    pub value: String,
}

impl<'t> LintContext<'t> {
    /// Indexes the tables, without the rows that an issue of compiling rejects. `replies` are known replies of tasks.
    pub fn new(tables: &'t Tables, profile: &'static Profile, issues: &[Issue], replies: &[Value]) -> LintContext<'t> {
        let rejected: BTreeSet<&str> =
            issues.iter().filter(|it| it.is_error()).filter_map(|it| it.path.rsplit_once('.')).map(|it| it.0).collect();
        let is_kept = |row: &TableRow<'t>| !rejected.contains(row.location().as_str());
        let rows = TABLES.map(|table| (table.name, tables.enabled_rows(table.name).into_iter().filter(is_kept).collect::<Vec<_>>())).into();
        let mut context = LintContext {
            rows,
            profile,
            intents: BTreeSet::new(),
            rules: Vec::new(),
            response_scopes: BTreeSet::new(),
            has_tasks: false,
            tools: read_tools(tables),
            templates: BTreeMap::new(),
            written: Written::default(),
        };
        context.intents = context.rows("ce_intent").iter().filter_map(|it| it.code("intent_code")).map(|it| to_upper_code(&it)).collect();
        context.rules = parse_rules(context.rows("ce_rule"));
        context.rules.retain(|it| profile.has_phase(it.phase));
        context.response_scopes = context.rows("ce_response").iter().map(|it| scope(it)).collect();
        context.has_tasks = !context.rows("ce_task").is_empty() || context.rules.iter().any(|rule| rule.action.task().is_some());
        for row in context.rows("ce_prompt_template").to_vec() {
            let format = row.code("output_format").or_else(|| row.code("response_type")).unwrap_or_default();
            let (intent, state) = scope(&row);
            context.templates.entry((to_upper_code(&format), intent, state)).or_default().push(row);
        }
        let actions: Vec<&RuleAction> = context.rules.iter().map(|rule| &rule.action).collect();
        context.written = Written::new(&context.rows, &actions, &context.tools, replies);
        context
    }

    /// The rows of a table.
    pub fn rows(&self, table: &str) -> &[TableRow<'t>] {
        self.rows.get(table).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a response matches an intent in a state.
    pub fn has_response(&self, intent: &str, state: &str) -> bool {
        enclosing_scopes(intent, state)
            .into_iter()
            .any(|(intent, state)| self.response_scopes.contains(&(intent.to_owned(), state.to_owned())))
    }

    /// Whether a prompt template of a format matches an intent in a state, exactly or by ANY.
    pub fn has_template(&self, format: &str, intent: &str, state: &str) -> bool {
        let key = |(intent, state): (&str, &str)| (format.to_owned(), intent.to_owned(), state.to_owned());
        enclosing_scopes(intent, state).into_iter().any(|scope| self.templates.contains_key(&key(scope)))
    }
}

impl Rule<'_> {
    /// The path of a column.
    pub fn path(&self, column: &str) -> String {
        self.row.path(column)
    }

    /// Whether it applies to every message.
    pub fn is_unconditional(&self) -> bool {
        match self.kind.as_str() {
            "EXACT" => is_same_code(&self.pattern, ANY),
            "REGEX" => MATCH_ALL_PATTERNS.contains(&self.pattern.trim()),
            _ => false,
        }
    }

    /// Whether it applies only to messages with specific words.
    pub fn requires_words(&self) -> bool {
        matches!(self.kind.as_str(), "EXACT" | "REGEX") && !self.is_unconditional()
    }

    /// The intent that it sets, in upper case.
    pub fn target_intent(&self) -> Option<String> {
        self.action.target_intent().map(to_upper_code)
    }

    /// The state that it sets, in upper case.
    pub fn target_state(&self) -> Option<String> {
        self.action.target_state().map(to_upper_code)
    }
}

fn parse_rules<'t>(rows: &[TableRow<'t>]) -> Vec<Rule<'t>> {
    by_priority(rows.to_vec()).iter().filter_map(parse_rule).collect()
}

fn parse_rule<'t>(row: &TableRow<'t>) -> Option<Rule<'t>> {
    let (intent, state) = scope(row);
    Some(Rule {
        row: *row,
        phase: Phase::parse(row.code("phase").as_deref())?,
        intent,
        state,
        kind: to_upper_code(&row.code("rule_type")?),
        pattern: row.text("match_pattern")?,
        action: RuleAction::from_row(row).ok()?,
        value: row.code("action_value").unwrap_or_default(),
    })
}

/// Returns intent and state of a row in upper case, with ANY as the default.
pub(super) fn scope(row: &TableRow<'_>) -> (String, String) {
    (row.code_or_any("intent_code"), row.code_or_any("state_code"))
}

/// Returns the state that a classifier sets.
pub(super) fn classifier_state(row: &TableRow<'_>) -> String {
    row.code("state_code").map_or_else(|| UNKNOWN.to_owned(), |it| to_upper_code(&it))
}

/// Whether two intents or states can match the same conversation.
pub(super) fn overlaps(a: &str, b: &str) -> bool {
    a == b || a == ANY || b == ANY
}
