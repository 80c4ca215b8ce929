//! `ce_mcp_tool`: tools by scope and by code, and the spellings of tool groups. (docs/spec/tools.md#1.1, docs/spec/tools.md#1.3)

mod executor;
mod mcp;

use std::collections::BTreeMap;
use std::sync::Arc;

use convengine_turn::{EffectClass, MCP_GROUP};

use super::code::{ANY, is_same_code, to_upper_code};
use super::column::{CREATED_AT, DESCRIPTION, ENABLED, INTENT_CODE, STATE_CODE, TableShape, integer, json, text};
use super::issue::Issue;
use super::row::TableRow;
use super::scope::Scopes;
use super::scope_index::ScopeIndex;
use super::settings::{HttpPolicy, Settings};
use super::tables::Tables;
use crate::flow::document::Approval;

pub use executor::{ArgumentsSchema, Executor, SqlTemplate};
pub(super) use executor::{DB_TOOL, HTTP_TOOL, TOOL_SPEC};
pub(super) use mcp::{MCP_TOOL, SERVER};
pub use mcp::{McpTool, classify_mcp_tool, mcp_spec};

pub(crate) static TOOL: TableShape = TableShape {
    name: "ce_mcp_tool",
    help: "Tools. How a tool is carried out is in the table of its group.",
    columns: &[
        integer("tool_id", "shared by the rows that set the tool up"),
        INTENT_CODE,
        STATE_CODE,
        text("tool_code", "names the tool for planners, parameters and audits").with_example(r#""orders.find""#),
        text(
            "tool_group",
            "`DB`, `HTTP_API`, `NOTIFICATION`, `CALCULATOR_TRANSFORM`, `WORKFLOW_ACTION`, `DOCUMENT_RETRIEVAL`, `FILES` or one of the host",
        ),
        DESCRIPTION.with_help("shown to planners"),
        ENABLED,
        CREATED_AT,
    ],
};

pub(crate) static DOCUMENT: TableShape = TableShape {
    name: "cv_document",
    help: "Documents that tools of the group `DOCUMENT_RETRIEVAL` search. Not part of the snapshot.",
    columns: &[
        integer("document_id", "id of the row"),
        text("collection", "which tools search it"),
        text("title", "title; searched and returned"),
        text("body", "text; searched and returned"),
        json("metadata", "JSON that is returned"),
    ],
};

/// Spellings of tool groups with their canonical names.
const GROUP_NAMES: [(&str, &str); 21] = [
    ("DB", "DB"),
    ("MCP_DB", "DB"),
    ("DATABASE", "DB"),
    ("SQL", "DB"),
    ("HTTP", "HTTP_API"),
    ("HTTP_API", "HTTP_API"),
    ("API", "HTTP_API"),
    ("ACTION", "WORKFLOW_ACTION"),
    ("WORKFLOW_ACTION", "WORKFLOW_ACTION"),
    ("WORKFLOW", "WORKFLOW_ACTION"),
    ("DOC", "DOCUMENT_RETRIEVAL"),
    ("DOCUMENT", "DOCUMENT_RETRIEVAL"),
    ("DOCUMENT_RETRIEVAL", "DOCUMENT_RETRIEVAL"),
    ("RAG", "DOCUMENT_RETRIEVAL"),
    ("CALC", "CALCULATOR_TRANSFORM"),
    ("CALCULATOR", "CALCULATOR_TRANSFORM"),
    ("TRANSFORM", "CALCULATOR_TRANSFORM"),
    ("CALCULATOR_TRANSFORM", "CALCULATOR_TRANSFORM"),
    ("NOTIFY", "NOTIFICATION"),
    ("NOTIFICATION", "NOTIFICATION"),
    ("FILE", "FILES"),
];

/// Returns the canonical name of a tool group; an unknown one is only converted to upper case.
pub fn canonical_tool_group(text: &str) -> String {
    let upper = to_upper_code(text);
    GROUP_NAMES.iter().find(|it| it.0 == upper).map_or(upper, |it| it.1.to_owned())
}

/// A tool row.
#[derive(Debug, Clone)]
pub struct Tool {
    /// `tool_id`.
    pub id: i64,
    /// `tool_code`.
    pub code: String,
    /// `tool_group`, in canonical spelling.
    pub group: String,
    /// `intent_code`.
    pub intent: String,
    /// `state_code`.
    pub state: String,
    /// `description`.
    pub description: Option<String>,
    /// How it is executed.
    pub executor: Executor,
    /// The schema of its arguments, if any.
    pub arguments: Option<ArgumentsSchema>,
    /// What a call does.
    pub class: EffectClass,
    /// Who agrees to its calls; `None` when its rows do not say.
    pub approval: Option<Approval>,
}

/// Tool rows by scope and by code.
#[derive(Debug, Clone, Default)]
pub struct Tools {
    /// In table order.
    rows: Vec<Tool>,
    by_scope: ScopeIndex<usize>,
    by_code: BTreeMap<String, Vec<usize>>,
}

impl Tools {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, defaults: &HttpPolicy, issues: &mut Vec<Issue>) -> Tools {
        let executors = executor::ExecutorSet::compile(tables, defaults, issues);
        let mut tools = Tools::default();
        for row in scopes.rows(tables, &TOOL, issues) {
            match compile(&row, &executors, issues) {
                Ok(tool) => tools.add(&row, tool),
                Err(issue) => issues.push(issue),
            }
        }
        tools
    }

    fn add(&mut self, row: &TableRow<'_>, tool: Tool) {
        let position = self.rows.len();
        self.by_scope.add(row, position);
        self.by_code.entry(tool.code.to_lowercase()).or_default().push(position);
        self.rows.push(tool);
    }

    /// Whether there is any tool for an intent and a state.
    pub fn has_any(&self, intent: &str, state: &str) -> bool {
        self.by_scope.applicable(intent, state).next().is_some()
    }

    /// Returns the tools for an intent and a state, in table order; of several rows with one code, the narrowest.
    pub fn for_scope(&self, intent: &str, state: &str) -> Vec<&Tool> {
        let mut positions: Vec<usize> = self.by_scope.applicable(intent, state).copied().collect();
        positions.sort_unstable();
        let mut found: Vec<&Tool> = Vec::with_capacity(positions.len());
        let mut places = BTreeMap::new();
        for tool in positions.into_iter().filter_map(|it| self.rows.get(it)) {
            match places.get(&tool.code.to_lowercase()).and_then(|it: &usize| found.get_mut(*it)) {
                Some(first) if tool.specificity() > first.specificity() => *first = tool,
                Some(_) => {}
                None => {
                    places.insert(tool.code.to_lowercase(), found.len());
                    found.push(tool);
                }
            }
        }
        found
    }

    /// Returns the only tool of a group for an intent and a state; `None` when there are none or several.
    pub fn sole_in_group(&self, group: &str, intent: &str, state: &str) -> Option<&Tool> {
        let mut of_group = self.for_scope(intent, state).into_iter().filter(|it| it.group == group);
        let first = of_group.next()?;
        of_group.next().is_none().then_some(first)
    }

    /// Returns the tool with a code for an intent and a state: the narrowest row, on a tie the last.
    pub fn find(&self, code: &str, intent: &str, state: &str) -> Option<&Tool> {
        let fits = |row: &str, of_turn: &str| is_same_code(row, ANY) || is_same_code(row, of_turn);
        let rows = self.by_code.get(&code.trim().to_lowercase())?.iter().filter_map(|it| self.rows.get(*it));
        // Names of tools of MCP servers may differ in case only.
        let is_named = |tool: &Tool| tool.group != MCP_GROUP || tool.code == code.trim();
        rows.filter(|tool| fits(&tool.intent, intent) && fits(&tool.state, state) && is_named(tool)).max_by_key(|it| it.specificity())
    }
}

/// Returns the tools of tables without looking at their scopes, for checks of rows.
pub fn read_tools(tables: &Tables) -> Vec<Tool> {
    let executors = executor::ExecutorSet::compile(tables, &Settings::default().tools.http, &mut Vec::new());
    tables.enabled_rows_of(&TOOL).iter().filter_map(|row| compile(row, &executors, &mut Vec::new()).ok()).collect()
}

impl Tool {
    /// Whether the user approves each call.
    pub fn needs_approval(&self) -> bool {
        match self.approval {
            Some(Approval::Always) => true,
            Some(Approval::Write) => self.changes_something(),
            Some(Approval::Never) | None => false,
        }
    }

    /// Whether a call does more than read.
    pub fn changes_something(&self) -> bool {
        matches!(self.class, EffectClass::Write | EffectClass::Irreversible)
    }

    /// Whether a model may plan a call only once the user has confirmed. (docs/decisions/0056-nothing-is-written-before-consent.md)
    pub fn waits_for_consent(&self) -> bool {
        self.changes_something() && self.approval.is_none()
    }

    /// How narrow the scope is; the intent outweighs the state.
    fn specificity(&self) -> u8 {
        2 * u8::from(!is_same_code(&self.intent, ANY)) + u8::from(!is_same_code(&self.state, ANY))
    }
}

fn compile(row: &TableRow<'_>, executors: &executor::ExecutorSet, issues: &mut Vec<Issue>) -> Result<Tool, Issue> {
    let code = row.required("tool_code", "it names the tool")?;
    let scope = |column| row.code(column).unwrap_or_else(|| ANY.to_owned());
    let group = row.code("tool_group").map_or_else(|| "DB".to_owned(), |it| canonical_tool_group(&it));
    let executor = executors.executor(row.id(), &group, &code).unwrap_or_else(|reason| {
        let path = format!("cv_tool_spec[{}].spec", row.id());
        let unavailable = Executor::Unavailable(format!("{path} {reason}").into());
        issues.push(Issue::error(path, reason, "the tool is not called until it is corrected"));
        unavailable
    });
    let terms = executors.terms(row.id(), &group, &executor);
    let mcp = if let Executor::Mcp(tool) = &executor { Some(Arc::clone(tool)) } else { None };
    let mcp = mcp.as_deref();
    Ok(Tool {
        id: row.id(),
        code,
        group,
        class: terms.class,
        approval: terms.approval,
        executor,
        arguments: executors.arguments(row.id()).or_else(|| mcp?.arguments.clone()),
        intent: scope("intent_code"),
        state: scope("state_code"),
        description: row.text("description").or_else(|| mcp?.description.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use serde_json::json;

    #[test]
    fn groups_are_known_by_every_spelling() {
        let pairs = [(" sql ", "DB"), ("rag", "DOCUMENT_RETRIEVAL"), ("Files", "FILES"), ("file", "FILES"), ("my_own", "MY_OWN")];
        for (text, expected) in pairs {
            assert_eq!(canonical_tool_group(text), expected);
        }
    }

    #[test]
    fn of_rows_with_one_code_the_narrowest_wins() {
        let row = |id: i64, code: &str, intent: &str, state: &str| json!({"tool_id": id, "tool_code": code, "tool_group": "", "intent_code": intent, "state_code": state});
        let tables = json!({
            "ce_intent": [{"intent_code": "PAY"}],
            "ce_rule": [{"rule_id": 1, "rule_type": "EXACT", "match_pattern": "ANY", "state_code": "OPEN", "action": "SET_STATE", "action_value": "OPEN"}],
            "ce_mcp_tool": [
                row(1, "a", "ANY", "ANY"), row(2, "B", "ANY", "open"), row(3, "A", "pay", "ANY"), row(4, "b", "PAY", "ANY"),
                row(5, "c", "UNKNOWN", "ANY"), row(6, " ", "ANY", "ANY"), row(7, "d", "", "ANY"),
            ],
        });
        let (config, issues) = Config::compile(&serde_json::from_value(tables).unwrap(), &json!({}));
        let ids = |intent: &str, state: &str| config.tools.for_scope(intent, state).iter().map(|tool| tool.id).collect::<Vec<_>>();
        assert_eq!(ids("pay", "OPEN"), [3, 4]);
        assert_eq!(ids("OTHER", "OPEN"), [1, 2]);
        assert_eq!(ids("UNKNOWN", "X"), [1, 5]);
        assert_eq!(config.tools.find(" a ", "PAY", "X").map(|tool| (tool.id, tool.group.as_str())), Some((3, "DB")));
        assert!(config.tools.find("c", "PAY", "X").is_none());
        let paths: Vec<&str> = issues.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["ce_mcp_tool[7].intent_code", "ce_mcp_tool[6].tool_code"]);
    }
}
