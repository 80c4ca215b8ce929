//! Prompts that have a model mend a query which its database does not understand. (`spec/mcp-and-semantic.md` 4.1)

use super::built_in::{Component, PromptPair};
use super::issue::Issue;
use super::tables::ConfigRows;

const SYSTEM: &str = "You correct one SQL query that its database refused. Change as little as you can: keep what it asks for, keep the \
    named parameters (:name) as they are, and invent no table and no column. It stays one query that only reads. Reply with JSON: \
    {\"sql\": \"the corrected query\"}.";

const USER: &str = "The query:\n{{sql_before}}\n\nIts parameters:\n{{params_json}}\n\nWhat the database said:\n{{error_message}}\n";

/// The prompts; `ce_config` rows of `McpDbExecutor` replace them.
pub(super) fn prompts(rows: &ConfigRows, issues: &mut Vec<Issue>) -> PromptPair {
    Component { rows, name: "McpDbExecutor", issues }.pair("DB_SQL_PREFLIGHT_", SYSTEM, USER)
}
