//! `ce_pending_action`: actions that run once the user confirms.

use convengine_text::task::TaskName;
use convengine_turn::{Candidate, Verdict};

use super::column::{CREATED_AT, DESCRIPTION, ENABLED, INTENT_CODE, PRIORITY, STATE_CODE, TableShape, integer, text};
use super::issue::Issue;
use super::row::TableRow;
use super::scope::Scopes;
use super::scope_index::ScopeIndex;
use super::tables::Tables;

pub(crate) static PENDING_ACTION: TableShape = TableShape {
    name: "ce_pending_action",
    help: "Tasks that need the confirmation of the user.",
    columns: &[
        integer("pending_action_id", "id of the row"),
        INTENT_CODE,
        STATE_CODE,
        text("action_key", "names the action for parameters, options and audits"),
        text("bean_name", "first half of the task name"),
        text("method_names", "second half: a method, or several separated by commas"),
        PRIORITY.with_default("100"),
        DESCRIPTION.with_help("shown as the option in a disambiguation question; a yes or no may repeat its words"),
        ENABLED,
        CREATED_AT,
    ],
};

/// A pending action row.
#[derive(Debug, Clone)]
pub struct PendingAction {
    /// `pending_action_id`.
    pub id: i64,
    /// `action_key`.
    pub key: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// `bean:methods`, as the row spells them.
    pub reference: String,
    /// The task that runs the action.
    pub task: TaskName,
    /// Lower comes first; null is last.
    pub priority: i64,
}

/// Pending actions by intent and state.
#[derive(Debug, Clone, Default)]
pub struct PendingActions(ScopeIndex<PendingAction>);

impl PendingActions {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, issues: &mut Vec<Issue>) -> PendingActions {
        let rows = scopes.rows(tables, &PENDING_ACTION, issues);
        PendingActions(ScopeIndex::compile(&rows, issues, |row, _| compile(row)))
    }

    /// Returns the actions that apply to an intent and a state, by priority, then by id.
    pub fn eligible(&self, intent: &str, state: &str) -> Vec<&PendingAction> {
        let mut found: Vec<&PendingAction> = self.0.applicable(intent, state).collect();
        found.sort_by_key(|it| (it.priority, it.id));
        found
    }

    /// Returns the rows of other scopes as candidates.
    pub fn out_of_scope(&self, intent: &str, state: &str) -> Vec<Candidate> {
        self.0.out_of_scope(intent, state, PendingAction::candidate)
    }
}

impl PendingAction {
    /// The row as a candidate of an explanation.
    pub fn candidate(&self, verdict: Verdict) -> Candidate {
        Candidate::for_row("ce_pending_action", self.id, self.key.as_ref().unwrap_or(&self.reference), verdict)
    }
}

fn compile(row: &TableRow<'_>) -> Result<PendingAction, Issue> {
    let part = |column: &str| row.required(column, "it names a bean and its methods");
    let reference = format!("{}:{}", part("bean_name")?, part("method_names")?);
    let Some(task) = TaskName::parse(&reference) else {
        return Err(row.error("method_names", "names no method", "it names a method, or several separated by commas"));
    };
    Ok(PendingAction {
        id: row.id(),
        key: row.code("action_key"),
        description: row.code("description"),
        reference,
        task,
        priority: row.integer("priority").unwrap_or(i64::MAX),
    })
}
