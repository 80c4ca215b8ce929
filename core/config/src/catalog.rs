//! The tables that authors write, found by name.

use super::column::TableShape;
use super::issue::Issue;
use super::profile::Profile;
use super::row::TableRow;
use super::tables::{CONFIG, Tables};
use super::{
    classifier, container, extension, intent_resolver, pending_action, planner, policy, prompt, response, rule, schema, state_graph, task,
    tool, tool_request, verbose,
};

/// The compiled tables; other tables are stored untouched.
pub static TABLES: [&TableShape; 22] = [
    &CONFIG,
    &intent_resolver::INTENT,
    &classifier::CLASSIFIER,
    &policy::POLICY,
    &rule::RULE,
    &response::RESPONSE,
    &verbose::VERBOSE,
    &prompt::PROMPT_TEMPLATE,
    &schema::OUTPUT_SCHEMA,
    &pending_action::PENDING_ACTION,
    &container::CONTAINER,
    &tool::TOOL,
    &tool::DB_TOOL,
    &planner::PLANNER,
    &state_graph::STATE_GRAPH,
    &tool_request::TOOL_REQUEST,
    &task::TASK,
    &tool::HTTP_TOOL,
    &tool::TOOL_SPEC,
    &extension::EXTENSION,
    &tool::SERVER,
    &tool::MCP_TOOL,
];

/// Tables that authors write and turns do not depend on.
pub static OTHER_TABLES: [&TableShape; 1] = [&tool::DOCUMENT];

/// Returns the declaration of a table that authors write.
///
/// ```
/// use convengine_config::table_shape;
///
/// let rules = table_shape("ce_rule").ok_or("no such table")?;
/// assert_eq!(rules.key(), "rule_id");
/// assert!(rules.column("match_pattern").is_some() && rules.column("pattern").is_none());
/// assert!(table_shape("ce_conversation").is_none(), "turns write it");
/// # Ok::<(), &str>(())
/// ```
pub fn table_shape(name: &str) -> Option<&'static TableShape> {
    TABLES.iter().chain(&OTHER_TABLES).copied().find(|it| it.name == name)
}

impl Tables {
    /// Returns the rows of a compiled table, in their order; none for another table.
    pub fn rows(&self, table: &str) -> Vec<TableRow<'_>> {
        TABLES.into_iter().find(|it| it.name == table).map(|it| self.rows_of(it)).unwrap_or_default()
    }

    /// Returns the enabled rows of a compiled table.
    pub fn enabled_rows(&self, table: &str) -> Vec<TableRow<'_>> {
        self.rows(table).into_iter().filter(TableRow::is_enabled).collect()
    }

    /// Removes the tables that a profile does not read, with a warning for those that have enabled rows.
    pub(super) fn remove_unread(&mut self, profile: &Profile, issues: &mut Vec<Issue>) {
        for table in profile.unread_tables() {
            let rows = self.enabled_rows(table).len();
            self.0.remove(table);
            if rows > 0 {
                let reason = format!("the profile '{}' does not read this table (enabled rows: {rows})", profile.name);
                issues.push(Issue::warning(table, reason, profile.hint("disable its rows")));
            }
        }
    }
}
