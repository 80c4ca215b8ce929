//! `ce_pending_action`: what may be carried out when the user agrees.

use std::collections::BTreeMap;

use super::issue::Issue;
use super::row::Row;
use super::scope::{ANY, Scopes, upper};
use super::tables::Tables;
use crate::text::task::TaskName;

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
    /// The task that carries it out.
    pub task: TaskName,
    /// Lower comes first; null is last.
    pub priority: i64,
}

/// Pending actions by intent and state, both in upper case.
#[derive(Debug, Clone, Default)]
pub struct PendingActions(BTreeMap<(String, String), Vec<PendingAction>>);

impl PendingActions {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, issues: &mut Vec<Issue>) -> PendingActions {
        let mut actions = PendingActions::default();
        for row in scopes.rows(tables, "ce_pending_action", issues) {
            match compile(&row) {
                Ok((scope, action)) => actions.0.entry(scope).or_default().push(action),
                Err(issue) => issues.push(issue),
            }
        }
        actions
    }

    /// The actions of an intent and a state, those of any included: by priority, then by id.
    pub fn eligible(&self, intent: &str, state: &str) -> Vec<&PendingAction> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let (intent, state) = (upper(intent), upper(state));
        let mut scopes =
            vec![(intent.clone(), state.clone()), (intent, ANY.to_owned()), (ANY.to_owned(), state), (ANY.to_owned(), ANY.to_owned())];
        scopes.sort();
        scopes.dedup();
        let mut found: Vec<&PendingAction> = scopes.iter().filter_map(|it| self.0.get(it)).flatten().collect();
        found.sort_by_key(|it| (it.priority, it.id));
        found
    }
}

fn compile(row: &Row<'_>) -> Result<((String, String), PendingAction), Issue> {
    let part = |column: &str| row.code(column).ok_or_else(|| row.error(column, "is blank", "it names a bean and its methods"));
    let reference = format!("{}:{}", part("bean_name")?, part("method_names")?);
    let Some(task) = TaskName::parse(&reference) else {
        return Err(row.error("method_names", "names no method", "it names a method, or several with commas between"));
    };
    let code = |column| row.code(column).map_or_else(|| ANY.to_owned(), |it| upper(&it));
    let action = PendingAction {
        id: row.id(),
        key: row.code("action_key"),
        description: row.code("description"),
        reference,
        task,
        priority: row.integer("priority").unwrap_or(i64::MAX),
    };
    Ok(((code("intent_code"), code("state_code")), action))
}
