//! Adoption of databases that are older than the version table: those of the original engine and of our early releases. Creates the tables,
//! indexes and columns that they lack. Tables of the original engine are never altered.

use std::collections::BTreeSet;

use sqlx::migrate::Migrator;

use super::has_column;
use crate::database::Connection;
use crate::statement::Statement;

/// The last migration that such databases may have.
pub(super) const LAST_VERSION: i64 = 15;

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

/// Creates what the migrations up to [`LAST_VERSION`] create and the database lacks.
pub(super) async fn create_missing(
    connection: &mut Connection,
    migrator: &'static Migrator,
    existing: &BTreeSet<String>,
) -> sqlx::Result<()> {
    for statement in statements(migrator) {
        if let Some((table, column)) = added_column(statement) {
            if !has_column(connection, table, column).await? {
                execute(connection, statement).await?;
            }
            continue;
        }
        let Some(table) = statement_table(statement) else { continue };
        // Indexes on an existing foreign table are skipped too, because it may lack their columns.
        if !existing.contains(table) || is_own_table(table) && is_index(statement) {
            execute(connection, statement).await?;
        }
    }
    Ok(())
}

fn statements(migrator: &'static Migrator) -> impl Iterator<Item = &'static str> {
    migrator.iter().filter(|it| it.version <= LAST_VERSION).flat_map(|migration| migration.sql.as_str().split_inclusive(";\n"))
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
    use super::super::{POSTGRES, SQLITE, is_ready, list_tables, migrate};
    use super::*;
    use crate::testing::{each_database, revert_to_unversioned};

    #[test]
    fn every_statement_names_its_table() {
        let mut found = Vec::new();
        for migrator in [&*SQLITE, &*POSTGRES] {
            let statements: Vec<&str> = statements(migrator).filter(|statement| !statement.trim().is_empty()).collect();
            let table = |statement: &&'static str| statement_table(statement).or_else(|| added_column(statement).map(|added| added.0));
            assert!(statements.iter().all(|statement| table(statement).is_some_and(|table| ["ce_", "cv_", "cs_"].contains(&&table[..3]))));
            assert!(statements.iter().filter_map(|it| added_column(it)).all(|it| is_own_table(it.0)));
            found.push(statements.iter().filter_map(|it| statement_table(it)).collect::<BTreeSet<&str>>());
        }
        // PostgreSQL uses an index instead of these virtual tables.
        found[0].remove("cv_document_index");
        found[0].remove("cs_knowledge_posting");
        assert_eq!(found[0].len(), 77);
        assert_eq!(found[0], found[1]);
    }

    #[tokio::test]
    async fn a_database_without_versions_is_completed() {
        for mut database in each_database().await {
            let connection = &mut database.connection;
            revert_to_unversioned(connection).await;
            for sql in ["alter table ce_turn drop column total_ms", "drop table cs_run"] {
                execute(connection, sql).await.expect(sql);
            }
            let tables = list_tables(connection).await.expect("tables");
            assert!(!is_ready(connection, &tables).await.expect("an answer"));
            assert_eq!(
                migrate(connection).await.expect("a migration"),
                ["cs_counter", "cs_deployment_token", "cs_run", "cv_conversation_owner", "cv_migration", "cv_security_log"]
            );
            assert!(has_column(connection, "ce_turn", "total_ms").await.expect("an answer"));
            let tables = list_tables(connection).await.expect("tables");
            assert!(is_ready(connection, &tables).await.expect("an answer"));
        }
    }
}
