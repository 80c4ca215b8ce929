//! Prompts of the model that repairs a SQL query rejected by its database. (docs/spec/tools.md#4.1)

use super::built_in::{ComponentConfig, PromptPair};
use super::issue::Issue;
use super::tables::ConfigRows;

const SYSTEM: &str = "You correct one SQL query that its database refused. Change as little as you can: keep what it asks for, keep the \
    named parameters (:name) as they are, and invent no table and no column. It stays one query that only reads. Reply with JSON: \
    {\"sql\": \"the corrected query\"}.";

const USER: &str = "The query:\n{{sql_before}}\n\nIts parameters:\n{{params_json}}\n\nWhat the database said:\n{{error_message}}\n";

/// Compiles the repair prompts; `ce_config` rows of `McpDbExecutor` override the built-in ones.
pub(super) fn compile_prompts(rows: &ConfigRows, issues: &mut Vec<Issue>) -> PromptPair {
    ComponentConfig { rows, name: "McpDbExecutor", issues }.prompt_pair("DB_SQL_PREFLIGHT_", SYSTEM, USER)
}
