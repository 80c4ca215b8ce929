//! Compiles the configuration that is stored in a database.

use std::sync::Arc;

use convengine_core::config::{Config, Issue, Reuse, Tables};
use convengine_core::lint;
use serde_json::Value;

use convengine_effects::mcp;
use convengine_effects::sql;
use convengine_effects::sql::guard::Dialect;
use convengine_storage::run_blocking;
use convengine_storage::{self as storage, Connection};

/// A compiled configuration.
#[derive(Debug)]
pub struct Compiled {
    /// The configuration.
    pub config: Config,
    /// The issues of its rows.
    pub issues: Vec<Issue>,
    /// How much of an earlier configuration it shares.
    pub reuse: Reuse,
}

/// Compiles the authors' rows of a database with the settings below `convengine`, outside the threads that run turns. Shares with an earlier
/// configuration what did not change.
///
/// # Errors
/// The failure of the database.
pub async fn compile_database(connection: &mut Connection, settings: &Value, earlier: Option<Arc<Config>>) -> sqlx::Result<Compiled> {
    let tables = storage::config::load_tables(connection).await?;
    let (dialect, settings) = (dialect(connection, settings), settings.clone());
    run_blocking(move || compile_tables(tables, &settings, dialect, earlier.as_deref())).await
}

/// Compiles rows that were already read from a database.
pub fn compile_tables(tables: Tables, settings: &Value, dialect: Dialect, earlier: Option<&Config>) -> Compiled {
    let refused = sql::lint::check(&tables, dialect);
    let (config, mut issues, reuse) = Config::recompile(tables, settings, earlier);
    issues.extend(refused);
    issues.extend(mcp::catalog::lint(|it| config.source_rows(it), |it| names_command(settings, it)));
    Compiled { config, issues, reuse }
}

/// Returns the issues of compiling and linting the authors' rows of a database. `replies` are known replies of their tasks.
///
/// # Errors
/// The failure of the database.
pub async fn lint_database(connection: &mut Connection, settings: &Value, replies: Vec<Value>) -> sqlx::Result<Vec<Issue>> {
    let tables = storage::config::load_tables(connection).await?;
    let (dialect, settings) = (dialect(connection, settings), settings.clone());
    let check = move || {
        let (config, mut issues) = Config::compile(&tables, &settings);
        issues.extend(lint::check_with_replies(&tables, config.settings.profile, &issues, &replies));
        issues.extend(sql::lint::check(&tables, dialect));
        issues.extend(mcp::catalog::lint(|it| config.source_rows(it), |it| names_command(&settings, it)));
        issues
    };
    run_blocking(check).await
}

/// Whether the settings name the command of an MCP server.
fn names_command(settings: &Value, server: &str) -> bool {
    settings.get("mcp").and_then(|mcp| mcp.get("servers")?.get(server)?.get("command")).is_some()
}

/// Returns the dialect of tool queries, which is that of the database they run on.
pub fn dialect(connection: &Connection, settings: &Value) -> Dialect {
    match (settings.pointer("/tool-database/url").and_then(Value::as_str), connection) {
        (Some(url), _) => Dialect::from_url(url),
        (None, Connection::Sqlite(_) | Connection::LocalSqlite(_)) => Dialect::Sqlite,
        (None, Connection::Postgres(_)) => Dialect::Postgres,
    }
}
