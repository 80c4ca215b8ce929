//! `ce_tool`: tool requests that the configuration makes at an intent and a state. (docs/decisions/README.md#9)

mod args;

use super::by_scope::ByScope;
use super::issue::Issue;
use super::row::{Row, by_priority};
use super::scope::Scopes;
use super::tables::Tables;
use super::tool::tool_group;
use crate::json::path::JsonPath;
use crate::turn::{Considered, Fate};

pub use args::Args;

/// A row that requests a tool.
#[derive(Debug, Clone)]
pub struct ToolRow {
    /// `tool_id`.
    pub id: i64,
    /// `tool_code`.
    pub code: Option<String>,
    /// `tool_group`, in canonical spelling.
    pub group: Option<String>,
    /// `args_json`.
    pub args: Args,
    /// `when_path`: the row requests the tool only when the path is true.
    pub when: Option<JsonPath>,
}

impl ToolRow {
    /// The row as a candidate of an explanation.
    pub fn considered(&self, fate: Fate) -> Considered {
        Considered::row("ce_tool", self.id, self.code.as_ref().or(self.group.as_ref()).map_or("", String::as_str), fate)
    }
}

/// Rows by scope, within a scope by priority.
#[derive(Debug, Clone, Default)]
pub struct ToolRows(ByScope<ToolRow>);

impl ToolRows {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, issues: &mut Vec<Issue>) -> ToolRows {
        let mut found = ToolRows::default();
        let rows = by_priority(scopes.rows(tables, "ce_tool", issues));
        for row in rows {
            match compile(&row) {
                Ok(tool) => found.0.add(&row, tool),
                Err(issue) => issues.push(issue),
            }
        }
        found
    }

    /// Iterates over the rows that apply to an intent and a state: the narrowest scope first, then by priority.
    pub fn of(&self, intent: &str, state: &str) -> impl Iterator<Item = &ToolRow> + use<'_> {
        self.0.fitting(intent, state)
    }

    /// Returns the rows of other scopes as candidates.
    pub fn outside(&self, intent: &str, state: &str) -> Vec<Considered> {
        self.0.outside(intent, state, ToolRow::considered)
    }
}

fn compile(row: &Row<'_>) -> Result<ToolRow, Issue> {
    let (code, group) = (row.code("tool_code"), row.code("tool_group").map(|it| tool_group(&it)));
    if code.is_none() && group.is_none() {
        return Err(row.error("tool_code", "is blank, and so is tool_group", "it names a tool or a group"));
    }
    let args = Args::compile(&row.text("args_json").unwrap_or_default());
    let args = args.map_err(|reason| row.error("args_json", reason, "it is a JSON object whose strings are templates"))?;
    let when = row.code("when_path").map(|it| JsonPath::compile(&it)).transpose();
    let when = when.map_err(|reason| row.error("when_path", reason, "the path is corrected"))?;
    Ok(ToolRow { id: row.id(), code, group, args, when })
}
