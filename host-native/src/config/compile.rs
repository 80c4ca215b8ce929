//! Compiles the configuration that is stored in a database.

use convengine_core::config::{Config, Issue, Tables};
use convengine_core::lint;
use serde_json::Value;

use crate::effects::mcp;
use crate::effects::sql::{self, guard::Dialect};
use crate::storage::{self, Connection};

/// Compiles the authors' rows of a database with the settings below `convengine`.
///
/// # Errors
/// The failure of the database.
pub async fn compile_database(connection: &mut Connection, settings: &Value) -> sqlx::Result<(Config, Vec<Issue>)> {
    let tables = storage::config::load_tables(connection).await?;
    Ok(compile_tables(connection, &tables, settings))
}

/// Compiles rows that were already read from a database.
pub fn compile_tables(connection: &Connection, tables: &Tables, settings: &Value) -> (Config, Vec<Issue>) {
    let (config, mut issues) = Config::compile(tables, settings);
    issues.extend(sql::lint::check(tables, dialect(connection, settings)));
    issues.extend(mcp::catalog::lint(config.source(), |it| names_command(settings, it)));
    (config, issues)
}

/// Returns the issues of compiling and linting the authors' rows of a database.
///
/// # Errors
/// The failure of the database.
pub async fn lint_database(connection: &mut Connection, settings: &Value) -> sqlx::Result<Vec<Issue>> {
    let tables = storage::config::load_tables(connection).await?;
    let (config, mut issues) = Config::compile(&tables, settings);
    issues.extend(lint::check(&tables, config.settings.profile, &issues));
    issues.extend(sql::lint::check(&tables, dialect(connection, settings)));
    issues.extend(mcp::catalog::lint(config.source(), |it| names_command(settings, it)));
    Ok(issues)
}

/// Whether the settings name the command of an MCP server.
fn names_command(settings: &Value, server: &str) -> bool {
    settings.get("mcp").and_then(|it| it.get("servers")?.get(server)?.get("command")).is_some()
}

/// Returns the dialect of tool queries, which is that of the database they run on.
fn dialect(connection: &Connection, settings: &Value) -> Dialect {
    match (settings.pointer("/tool-database/url").and_then(Value::as_str), connection) {
        (Some(url), _) => Dialect::from_url(url),
        (None, Connection::Sqlite(_) | Connection::LocalSqlite(_)) => Dialect::Sqlite,
        (None, Connection::Postgres(_)) => Dialect::Postgres,
    }
}
