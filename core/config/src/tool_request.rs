//! `ce_tool`: tool requests that the configuration makes at an intent and a state. (docs/decisions/0034-tools-requested-by-table.md)

use convengine_text::json::path::JsonPath;
use convengine_turn::{Candidate, Verdict};

use super::args_template::ArgsTemplate;
use super::column::{DESCRIPTION, ENABLED, INTENT_CODE, PRIORITY, STATE_CODE, TableShape, integer, json, text};
use super::flow::shape::{Meaning, Target, TextUse};
use super::issue::Issue;
use super::row::{TableRow, by_priority};
use super::scope::Scopes;
use super::scope_index::ScopeIndex;
use super::tables::Tables;
use super::tool::canonical_tool_group;

pub(crate) static TOOL_REQUEST: TableShape = TableShape {
    name: "ce_tool",
    help: "Tool calls that the configuration requests: the first row that fits makes the call of the turn.",
    columns: &[
        integer("tool_id", "not the id of `ce_mcp_tool`"),
        INTENT_CODE,
        STATE_CODE,
        text("tool_group", "the group to call"),
        text("tool_code", "the tool to call; one of both columns is required").with_meaning(Meaning::Names(Target::Tool)),
        json("args_json", "JSON object of templates").with_meaning(Meaning::Template(TextUse::Body)),
        text("when_path", "JSON path or comparison that must be true for the facts")
            .with_meaning(Meaning::Condition)
            .with_example(r#""$.context.order_id != null""#),
        PRIORITY.with_default("100"),
        ENABLED,
        DESCRIPTION,
    ],
};

/// A row that requests a tool.
#[derive(Debug, Clone)]
pub struct ToolRequestRow {
    /// `tool_id`.
    pub id: i64,
    /// `tool_code`.
    pub code: Option<String>,
    /// `tool_group`, in canonical spelling.
    pub group: Option<String>,
    /// `args_json`.
    pub args: ArgsTemplate,
    /// `when_path`: the row requests the tool only when the path is true.
    pub when: Option<JsonPath>,
}

impl ToolRequestRow {
    /// The row as a candidate of an explanation.
    pub fn candidate(&self, verdict: Verdict) -> Candidate {
        Candidate::for_row("ce_tool", self.id, self.code.as_ref().or(self.group.as_ref()).map_or("", String::as_str), verdict)
    }
}

/// Rows by scope, within a scope by priority.
#[derive(Debug, Clone, Default)]
pub struct ToolRequestRows(ScopeIndex<ToolRequestRow>);

impl ToolRequestRows {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, issues: &mut Vec<Issue>) -> ToolRequestRows {
        let rows = by_priority(scopes.rows(tables, &TOOL_REQUEST, issues));
        ToolRequestRows(ScopeIndex::compile(&rows, issues, |row, _| compile(row)))
    }

    /// Iterates over the rows that apply to an intent and a state: the narrowest scope first, then by priority.
    pub fn for_scope(&self, intent: &str, state: &str) -> impl Iterator<Item = &ToolRequestRow> + use<'_> {
        self.0.applicable(intent, state)
    }

    /// Returns the rows of other scopes as candidates.
    pub fn out_of_scope(&self, intent: &str, state: &str) -> Vec<Candidate> {
        self.0.out_of_scope(intent, state, ToolRequestRow::candidate)
    }
}

fn compile(row: &TableRow<'_>) -> Result<ToolRequestRow, Issue> {
    let (code, group) = (row.code("tool_code"), row.code("tool_group").map(|it| canonical_tool_group(&it)));
    if code.is_none() && group.is_none() {
        return Err(row.error("tool_code", "is blank, and so is tool_group", "it names a tool or a group"));
    }
    let args = ArgsTemplate::compile(&row.text("args_json").unwrap_or_default());
    let args = args.map_err(|reason| row.error("args_json", reason, "it is a JSON object whose strings are templates"))?;
    let when = row.code("when_path").map(|it| JsonPath::compile(&it)).transpose();
    let when = when.map_err(|reason| row.error("when_path", reason, "the path is corrected"))?;
    Ok(ToolRequestRow { id: row.id(), code, group, args, when })
}
