//! Migrations: creates missing tables, indexes and columns. Tables of the original engine are never altered.

use std::collections::BTreeSet;

use super::database::{Connection, SqlValue, Statement};

const SQLITE_MIGRATIONS: [&str; 16] = [
    include_str!("../../../migrations/sqlite/0001_control_tables.sql"),
    include_str!("../../../migrations/sqlite/0002_runtime_tables.sql"),
    include_str!("../../../migrations/sqlite/0003_turn_journal.sql"),
    include_str!("../../../migrations/sqlite/0004_steps.sql"),
    include_str!("../../../migrations/sqlite/0005_tools.sql"),
    include_str!("../../../migrations/sqlite/0006_recovery.sql"),
    include_str!("../../../migrations/sqlite/0007_operations.sql"),
    include_str!("../../../migrations/sqlite/0009_access.sql"),
    include_str!("../../../migrations/sqlite/0010_activations.sql"),
    include_str!("../../../migrations/sqlite/0011_assistants.sql"),
    include_str!("../../../migrations/sqlite/0012_knowledge.sql"),
    include_str!("../../../migrations/sqlite/0013_desk.sql"),
    include_str!("../../../migrations/sqlite/0014_programs.sql"),
    include_str!("../../../migrations/sqlite/0015_chains.sql"),
    include_str!("../../../migrations/sqlite/0018_claims.sql"),
    include_str!("../../../migrations/sqlite/0019_counters.sql"),
];

const POSTGRES_MIGRATIONS: [&str; 16] = [
    include_str!("../../../migrations/postgres/0001_control_tables.sql"),
    include_str!("../../../migrations/postgres/0002_runtime_tables.sql"),
    include_str!("../../../migrations/postgres/0003_turn_journal.sql"),
    include_str!("../../../migrations/postgres/0004_steps.sql"),
    include_str!("../../../migrations/postgres/0005_tools.sql"),
    include_str!("../../../migrations/postgres/0006_recovery.sql"),
    include_str!("../../../migrations/postgres/0007_operations.sql"),
    include_str!("../../../migrations/postgres/0009_access.sql"),
    include_str!("../../../migrations/postgres/0010_activations.sql"),
    include_str!("../../../migrations/postgres/0011_assistants.sql"),
    include_str!("../../../migrations/postgres/0012_knowledge.sql"),
    include_str!("../../../migrations/postgres/0013_desk.sql"),
    include_str!("../../../migrations/postgres/0014_programs.sql"),
    include_str!("../../../migrations/postgres/0015_chains.sql"),
    include_str!("../../../migrations/postgres/0018_claims.sql"),
    include_str!("../../../migrations/postgres/0019_counters.sql"),
];

/// Tables with a `ce_` name that belong to this engine and may be altered. (docs/decisions/0022-sqlite-and-postgresql-are-equals.md)
const OWN_CE_TABLES: [&str; 9] = [
    "ce_turn",
    "ce_turn_effect",
    "ce_config_snapshot",
    "ce_state_graph",
    "ce_memory",
    "ce_tool",
    "ce_http_tool",
    "ce_mcp_server",
    "ce_task",
];

/// The tables required to store turns and assistants; all others are optional.
const REQUIRED_TABLES: [&str; 30] = [
    "ce_conversation",
    "ce_audit",
    "ce_conversation_history",
    "ce_llm_call_log",
    "ce_turn",
    "ce_turn_effect",
    "ce_config_snapshot",
    "ce_memory",
    "cv_api_key",
    "cv_spend",
    "cv_activation",
    "cs_assistant",
    "cs_version",
    "cs_deployment",
    "cs_secret",
    "cs_tool",
    "cs_usage_events",
    "cs_counter",
    "cs_session",
    "cs_timer",
    "cs_handoff",
    "cs_chain",
    "cs_run",
    "cs_run_key",
    "cs_resume_token",
    "cs_knowledge_base",
    "cs_knowledge_source",
    "cs_knowledge_chunk",
    "cs_knowledge_index",
    "cs_knowledge_vector",
];

/// Returns the table names of a database.
///
/// # Errors
/// Returns any database error.
pub async fn list_tables(connection: &mut Connection) -> sqlx::Result<BTreeSet<String>> {
    let sql = Statement::per_dialect(
        "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
        "select c.relname::text as name from pg_class c where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace",
    );
    connection.fetch_all(&sql, &[]).await?.iter().map(|it| it.text("name")).collect()
}

/// Returns whether all required tables exist and our tables have all columns.
///
/// # Errors
/// Returns any database error.
pub async fn is_ready(connection: &mut Connection, tables: &BTreeSet<String>) -> sqlx::Result<bool> {
    if !REQUIRED_TABLES.iter().all(|it| tables.contains(*it)) {
        return Ok(false);
    }
    for (table, column) in migration_statements(connection).filter_map(added_column) {
        if tables.contains(table) && !has_column(connection, table, column).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Creates missing tables, indexes and columns in one transaction. Returns the names of new tables.
///
/// # Errors
/// Returns any database error; nothing is created then.
pub async fn migrate(connection: &mut Connection) -> sqlx::Result<Vec<&'static str>> {
    connection.begin().await?;
    match create_missing(connection).await {
        Ok(created) => connection.commit().await.map(|()| created),
        Err(error) => {
            connection.rollback().await?;
            Err(error)
        }
    }
}

async fn create_missing(connection: &mut Connection) -> sqlx::Result<Vec<&'static str>> {
    lock_migrations(connection).await?;
    let existing = list_tables(connection).await?;
    let mut created = Vec::new();
    for statement in migration_statements(connection) {
        if let Some((table, column)) = added_column(statement) {
            add_column(connection, table, column, statement).await?;
            continue;
        }
        let Some(table) = statement_table(statement) else { continue };
        // Indexes on an existing foreign table are skipped too, because it may lack their columns.
        if existing.contains(table) && !(is_own_table(table) && is_index(statement)) {
            continue;
        }
        execute(connection, statement).await?;
        if !existing.contains(table) && !created.contains(&table) {
            created.push(table);
        }
    }
    Ok(created)
}

/// Serializes migrations of concurrent processes until the transaction ends.
async fn lock_migrations(connection: &mut Connection) -> sqlx::Result<()> {
    let sql = Statement::per_dialect("select 1", "select pg_advisory_xact_lock(726174651)");
    connection.fetch_all(&sql, &[]).await.map(|_| ())
}

fn migration_statements(connection: &Connection) -> impl Iterator<Item = &'static str> + use<> {
    let migrations = match connection {
        Connection::Sqlite(_) => &SQLITE_MIGRATIONS,
        Connection::Postgres(_) => &POSTGRES_MIGRATIONS,
    };
    migrations.iter().flat_map(|it| it.split_inclusive(";\n"))
}

async fn execute(connection: &mut Connection, statement: &'static str) -> sqlx::Result<()> {
    connection.execute(&Statement::portable(statement), &[]).await.map(|_| ())
}

fn is_index(statement: &str) -> bool {
    statement.contains("create index ") || statement.contains("create unique index ")
}

fn is_own_table(table: &str) -> bool {
    table.starts_with("cv_") || table.starts_with("cs_") || OWN_CE_TABLES.contains(&table)
}

/// Adds a column to a table created by an earlier version.
async fn add_column(connection: &mut Connection, table: &str, column: &str, statement: &'static str) -> sqlx::Result<()> {
    if has_column(connection, table, column).await? { Ok(()) } else { execute(connection, statement).await }
}

/// Returns whether a table has a column.
///
/// # Errors
/// Returns any database error.
pub async fn has_column(connection: &mut Connection, table: &str, column: &str) -> sqlx::Result<bool> {
    let sql = Statement::per_dialect(
        "select name from pragma_table_info($1) where name = $2",
        "select column_name::text from information_schema.columns
         where table_schema = current_schema() and table_name = $1 and column_name = $2",
    );
    Ok(connection.fetch_optional(&sql, &[SqlValue::Text(table), SqlValue::Text(column)]).await?.is_some())
}

/// Returns the table and column of an `alter table … add column` statement.
fn added_column(statement: &'static str) -> Option<(&'static str, &'static str)> {
    let (table, column) = statement.split_once("alter table ")?.1.split_once(" add column ")?;
    Some((table, column.split(' ').next()?))
}

/// Returns the table that a statement creates, indexes or fills.
fn statement_table(statement: &'static str) -> Option<&'static str> {
    let name = |text: &'static str| text.split([' ', '(', '\n']).next();
    if let Some((_, rest)) = statement.split_once("create trigger if not exists ") {
        // A trigger is named after the table it fills, followed by the event.
        return name(rest)?.rsplit_once('_').map(|it| it.0);
    }
    for create in ["create table if not exists ", "create virtual table if not exists ", "insert into "] {
        if let Some((_, rest)) = statement.split_once(create) {
            return name(rest);
        }
    }
    name(statement.split_once(" on ")?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_names_its_table() {
        let mut found = Vec::new();
        for migrations in [SQLITE_MIGRATIONS, POSTGRES_MIGRATIONS] {
            let statements: Vec<&str> =
                migrations.iter().flat_map(|it| it.split_inclusive(";\n")).filter(|it| !it.trim().is_empty()).collect();
            let table = |it: &&'static str| statement_table(it).or_else(|| added_column(it).map(|it| it.0));
            assert!(statements.iter().all(|it| table(it).is_some_and(|table| ["ce_", "cv_", "cs_"].contains(&&table[..3]))));
            assert!(statements.iter().filter_map(|it| added_column(it)).all(|it| is_own_table(it.0)));
            found.push(statements.iter().filter_map(|it| statement_table(it)).collect::<BTreeSet<&str>>());
        }
        // PostgreSQL uses an index instead of these virtual tables.
        found[0].remove("cv_document_index");
        found[0].remove("cs_knowledge_posting");
        assert_eq!(found[0].len(), 78);
        assert_eq!(found[0], found[1]);
    }

    #[tokio::test]
    async fn a_second_migration_has_nothing_to_do() {
        for mut database in crate::storage::testing::each_database().await {
            assert_eq!(migrate(&mut database.connection).await.expect("an answer"), [""; 0]);
            assert!(has_column(&mut database.connection, "ce_task", "binding").await.expect("an answer"));
            assert!(!has_column(&mut database.connection, "ce_task", "nothing").await.expect("an answer"));
            let tables = list_tables(&mut database.connection).await.expect("tables");
            assert!(tables.contains("cv_document"), "{tables:?}");
            assert!(is_ready(&mut database.connection, &tables).await.expect("an answer"));
        }
    }
}
