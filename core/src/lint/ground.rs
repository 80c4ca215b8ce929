//! The rows that checks work on, read once.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{ANY, Issue, Phase, Profile, Row, Tables, UNKNOWN, around, by_priority, same_code, upper};

/// The tables that are looked at.
const TABLES: [&str; 18] = [
    "ce_config",
    "ce_intent",
    "ce_intent_classifier",
    "ce_policy",
    "ce_rule",
    "ce_response",
    "ce_verbose",
    "ce_prompt_template",
    "ce_output_schema",
    "ce_pending_action",
    "ce_mcp_tool",
    "ce_mcp_planner",
    "ce_tool",
    "ce_task",
    "ce_http_tool",
    "ce_mcp_db_tool",
    "cv_tool_spec",
    "cv_extension",
];

/// Patterns of rules that fit every message.
const EVERYTHING: [&str; 6] = [".*", ".+", "^.*$", "^.+$", "(?s).*", ".*?"];

/// Enabled rows that are not left out, and what is read of them more than once.
pub(super) struct Ground<'t> {
    rows: BTreeMap<&'static str, Vec<Row<'t>>>,
    /// What reads them.
    pub profile: &'static Profile,
    /// Enabled intents, in upper case.
    pub intents: BTreeSet<String>,
    /// Rules in the order in which they are tried within their scope.
    pub rules: Vec<Rule<'t>>,
    /// Scopes of responses.
    answered: BTreeSet<(String, String)>,
    /// What tasks may change: they can set intent, state and context.
    pub has_tasks: bool,
    pub templates: BTreeMap<Template, Vec<Row<'t>>>,
}

/// Where a prompt template is looked for: format, intent and state.
pub(super) type Template = (String, String, String);

/// A rule.
pub(super) struct Rule<'t> {
    pub row: Row<'t>,
    pub phase: Phase,
    pub intent: String,
    pub state: String,
    /// `rule_type`, in upper case.
    pub kind: String,
    pub pattern: String,
    /// `action`, in upper case.
    pub action: String,
    /// `action_value`, without white space around it.
    pub value: String,
}

impl<'t> Ground<'t> {
    /// Reads the tables; what an issue says is left out is left out here too.
    pub fn of(tables: &'t Tables, profile: &'static Profile, issues: &[Issue]) -> Ground<'t> {
        let out: BTreeSet<&str> =
            issues.iter().filter(|it| it.is_error()).filter_map(|it| it.path.rsplit_once('.')).map(|it| it.0).collect();
        let kept = |row: &Row<'t>| row.path("").strip_suffix('.').is_some_and(|it| !out.contains(it));
        let rows = TABLES.map(|table| (table, tables.enabled(table).into_iter().filter(kept).collect::<Vec<_>>())).into();
        let mut ground = Ground {
            rows,
            profile,
            intents: BTreeSet::new(),
            rules: Vec::new(),
            answered: BTreeSet::new(),
            has_tasks: false,
            templates: BTreeMap::new(),
        };
        ground.intents = ground.rows("ce_intent").iter().filter_map(|it| it.code("intent_code")).map(|it| upper(&it)).collect();
        ground.rules = rules(ground.rows("ce_rule"));
        ground.rules.retain(|it| profile.has_phase(it.phase));
        ground.answered = ground.rows("ce_response").iter().map(|it| scope(it)).collect();
        ground.has_tasks = !ground.rows("ce_task").is_empty() || ground.rules.iter().any(|it| it.action == "SET_TASK");
        for row in ground.rows("ce_prompt_template").to_vec() {
            let format = row.code("output_format").or_else(|| row.code("response_type")).unwrap_or_default();
            let (intent, state) = scope(&row);
            ground.templates.entry((upper(&format), intent, state)).or_default().push(row);
        }
        ground
    }

    /// The rows of a table.
    pub fn rows(&self, table: &str) -> &[Row<'t>] {
        self.rows.get(table).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a response fits an intent in a state.
    pub fn answers(&self, intent: &str, state: &str) -> bool {
        around(intent, state).into_iter().any(|(intent, state)| self.answered.contains(&(intent.to_owned(), state.to_owned())))
    }

    /// Whether a prompt template of a format stands for an intent in a state, when both are ANY or as given.
    pub fn has_template(&self, format: &str, intent: &str, state: &str) -> bool {
        let key = |(intent, state): (&str, &str)| (format.to_owned(), intent.to_owned(), state.to_owned());
        around(intent, state).into_iter().any(|it| self.templates.contains_key(&key(it)))
    }
}

impl Rule<'_> {
    /// The path of a column.
    pub fn path(&self, column: &str) -> String {
        self.row.path(column)
    }

    /// Whether it applies to every message.
    pub fn unconditional(&self) -> bool {
        match self.kind.as_str() {
            "EXACT" => same_code(&self.pattern, ANY),
            "REGEX" => EVERYTHING.contains(&self.pattern.trim()),
            _ => false,
        }
    }

    /// Whether it applies only to messages with certain words.
    pub fn waits_for_words(&self) -> bool {
        matches!(self.kind.as_str(), "EXACT" | "REGEX") && !self.unconditional()
    }

    /// The state that it sets.
    pub fn sets_state(&self) -> Option<String> {
        (self.action == "SET_STATE").then(|| upper(&self.value))
    }

    /// Whether it changes intent or state, or may.
    pub fn moves(&self) -> bool {
        matches!(self.action.as_str(), "SET_STATE" | "SET_INTENT" | "SET_TASK")
    }
}

fn rules<'t>(rows: &[Row<'t>]) -> Vec<Rule<'t>> {
    by_priority(rows.to_vec()).iter().filter_map(rule).collect()
}

fn rule<'t>(row: &Row<'t>) -> Option<Rule<'t>> {
    let (intent, state) = scope(row);
    Some(Rule {
        row: *row,
        phase: Phase::parse(row.code("phase").as_deref())?,
        intent,
        state,
        kind: upper(&row.code("rule_type")?),
        pattern: row.text("match_pattern")?,
        action: upper(&row.code("action")?),
        value: row.code("action_value").unwrap_or_default(),
    })
}

/// Intent and state of a row in upper case; ANY where it names none.
pub(super) fn scope(row: &Row<'_>) -> (String, String) {
    (row.code_or_any("intent_code"), row.code_or_any("state_code"))
}

/// The state that a classifier gives.
pub(super) fn classifier_state(row: &Row<'_>) -> String {
    row.code("state_code").map_or_else(|| UNKNOWN.to_owned(), |it| upper(&it))
}

/// Whether something of a scope can meet something of another one.
pub(super) fn meet(a: &str, b: &str) -> bool {
    a == b || a == ANY || b == ANY
}
