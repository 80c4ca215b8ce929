//! Creates what is missing and never alters what is there.

use std::collections::BTreeSet;

use sqlx::sqlite::SqliteConnection;

const MIGRATIONS: [&str; 5] = [
    include_str!("../../../migrations/0001_control_tables.sql"),
    include_str!("../../../migrations/0002_runtime_tables.sql"),
    include_str!("../../../migrations/0003_turn_journal.sql"),
    include_str!("../../../migrations/0004_steps.sql"),
    include_str!("../../../migrations/0005_tools.sql"),
];

/// Without these no turn can be stored; the other tables are optional.
const REQUIRED: [&str; 8] = [
    "ce_conversation",
    "ce_audit",
    "ce_conversation_history",
    "ce_llm_call_log",
    "ce_turn",
    "ce_turn_effect",
    "ce_config_snapshot",
    "ce_memory",
];

/// The tables of a database.
///
/// # Errors
/// What SQLite says.
pub async fn tables(connection: &mut SqliteConnection) -> sqlx::Result<BTreeSet<String>> {
    let sql = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'";
    let names: Vec<String> = sqlx::query_scalar(sql).fetch_all(connection).await?;
    Ok(names.into_iter().collect())
}

/// Whether turns can be stored.
pub fn is_ready(tables: &BTreeSet<String>) -> bool {
    REQUIRED.iter().all(|it| tables.contains(*it))
}

/// Creates the missing tables with their indexes, in one transaction; returns the names of the new ones.
///
/// # Errors
/// What SQLite says; nothing is created then.
pub async fn migrate(connection: &mut SqliteConnection) -> sqlx::Result<Vec<&'static str>> {
    sqlx::query("begin immediate").execute(&mut *connection).await?;
    match create_missing(connection).await {
        Ok(created) => sqlx::query("commit").execute(connection).await.map(|_| created),
        Err(error) => {
            sqlx::query("rollback").execute(connection).await?;
            Err(error)
        }
    }
}

async fn create_missing(connection: &mut SqliteConnection) -> sqlx::Result<Vec<&'static str>> {
    let existing = tables(connection).await?;
    let mut created = Vec::new();
    for statement in MIGRATIONS.iter().flat_map(|it| it.split_inclusive(";\n")) {
        if let Some((table, column)) = column_of(statement) {
            add(connection, table, column, statement).await?;
            continue;
        }
        let Some(table) = table_of(statement) else { continue };
        // The indexes of a table that was there are left out as well: it may lack their columns.
        if existing.contains(table) {
            continue;
        }
        sqlx::query(statement).execute(&mut *connection).await?;
        if !created.contains(&table) {
            created.push(table);
        }
    }
    Ok(created)
}

/// Adds a column to a table of ours that was made by an earlier version.
async fn add(connection: &mut SqliteConnection, table: &str, column: &str, statement: &'static str) -> sqlx::Result<()> {
    let sql = "select count(*) from pragma_table_info($1) where name = $2";
    let there: i64 = sqlx::query_scalar(sql).bind(table).bind(column).fetch_one(&mut *connection).await?;
    if there == 0 {
        sqlx::query(statement).execute(connection).await?;
    }
    Ok(())
}

/// The table and the column that an `alter` statement adds.
fn column_of(statement: &'static str) -> Option<(&'static str, &'static str)> {
    let (table, column) = statement.split_once("alter table ")?.1.split_once(" add column ")?;
    Some((table, column.split(' ').next()?))
}

/// The table that a statement is about, or fills.
fn table_of(statement: &'static str) -> Option<&'static str> {
    let name = |text: &'static str| text.split([' ', '(']).next();
    if let Some((_, rest)) = statement.split_once("create trigger if not exists ") {
        // A trigger has the name of the table that it fills, and the event after it.
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
        let statements: Vec<&str> = MIGRATIONS.iter().flat_map(|it| it.split_inclusive(";\n")).filter(|it| !it.trim().is_empty()).collect();
        let table = |it: &&'static str| table_of(it).or_else(|| column_of(it).map(|it| it.0));
        assert!(statements.iter().all(|it| table(it).is_some_and(|table| ["ce_", "cv_"].contains(&&table[..3]))));
        assert!(statements.iter().filter_map(|it| column_of(it)).all(|it| it == ("ce_task", "binding")));
        let tables: BTreeSet<&str> = statements.iter().filter_map(|it| table_of(it)).collect();
        assert_eq!(tables.len(), 57);
    }
}
