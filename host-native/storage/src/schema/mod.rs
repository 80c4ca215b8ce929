//! Migrations: each file of `migrations/` runs once and is recorded in `cv_migration`. Databases that are older than that table, also those
//! of the original engine, are adopted first.

mod adoption;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use include_dir::{Dir, File, include_dir};
use sqlx::SqlStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

use super::database::{Connection, writes_turns_only};
use super::statement::{SqlValue, Statement};

/// The table of applied migrations.
const VERSION_TABLE: &str = "cv_migration";

static SQLITE_FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../migrations/sqlite");
static POSTGRES_FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../migrations/postgres");

static SQLITE: LazyLock<Migrator> = LazyLock::new(|| prepare(&SQLITE_FILES));
static POSTGRES: LazyLock<Migrator> = LazyLock::new(|| prepare(&POSTGRES_FILES));

fn prepare(folder: &'static Dir<'static>) -> Migrator {
    let mut migrator = Migrator::with_migrations(folder.files().filter_map(read_migration).collect());
    migrator.dangerous_set_table_name(VERSION_TABLE);
    // During an upgrade, a process of the earlier release may start on the tables of the later one: migrations only add.
    migrator.set_ignore_missing(true);
    // The lock of `lock_migrations` covers adoption too.
    migrator.set_locking(false);
    migrator
}

/// Reads a migration from a file such as `0003_turn_journal.sql`.
fn read_migration(file: &'static File<'static>) -> Option<Migration> {
    let (version, description) = file.path().file_stem()?.to_str()?.split_once('_')?;
    let sql = SqlStr::from_static(file.contents_utf8()?);
    // One transaction holds all of them, so none has its own.
    Some(Migration::new(version.parse().ok()?, description.replace('_', " ").into(), MigrationType::Simple, sql, true))
}

fn migrator(connection: &Connection) -> &'static Migrator {
    match connection {
        Connection::Sqlite(_) | Connection::LocalSqlite(_) => &SQLITE,
        Connection::Postgres(_) => &POSTGRES,
    }
}

/// Returns the table names of a database.
pub async fn list_tables(connection: &mut Connection) -> sqlx::Result<BTreeSet<String>> {
    let sql = Statement::per_dialect(
        "select name from pragma_table_list where schema = 'main' and type in ('table', 'virtual') and name not like 'sqlite_%'",
        "select c.relname::text as name from pg_class c where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace",
    );
    connection.fetch_all(&sql, &[]).await?.iter().map(|it| it.text("name")).collect()
}

/// Returns whether every migration of this release is applied.
pub async fn is_ready(connection: &mut Connection, tables: &BTreeSet<String>) -> sqlx::Result<bool> {
    if !tables.contains(VERSION_TABLE) {
        return Ok(false);
    }
    let rows = connection.fetch_all(&Statement::portable("select version from cv_migration where success"), &[]).await?;
    let applied = rows.iter().map(|it| it.integer("version")).collect::<sqlx::Result<BTreeSet<i64>>>()?;
    Ok(migrator(connection).iter().all(|it| applied.contains(&it.version)))
}

/// Applies the missing migrations in one transaction. Returns the names of new tables.
///
/// # Errors
/// Returns any database error, also for an applied migration that differs from ours; nothing is changed then.
pub async fn migrate(connection: &mut Connection) -> sqlx::Result<Vec<String>> {
    connection.begin().await?;
    match apply_missing(connection).await {
        Ok(created) => connection.commit().await.map(|()| created),
        Err(error) => {
            connection.rollback().await?;
            Err(error)
        }
    }
}

async fn apply_missing(connection: &mut Connection) -> sqlx::Result<Vec<String>> {
    lock_migrations(connection).await?;
    let existing = list_tables(connection).await?;
    let migrator = migrator(connection);
    if !existing.is_empty() && !existing.contains(VERSION_TABLE) {
        adoption::create_missing(connection, migrator, &existing).await?;
        match connection {
            Connection::Sqlite(to) => migrator.run_direct(Some(adoption::LAST_VERSION), to.as_mut(), true).await?,
            Connection::LocalSqlite(_) => return Err(writes_turns_only()),
            Connection::Postgres(to) => migrator.run_direct(Some(adoption::LAST_VERSION), to.as_mut(), true).await?,
        }
    }
    // A tenant may be started by a task, whose future changes its thread; those of `run` and `skip` cannot.
    match connection {
        Connection::Sqlite(to) => migrator.run_direct(None, to.as_mut(), false).await?,
        Connection::LocalSqlite(_) => return Err(writes_turns_only()),
        Connection::Postgres(to) => migrator.run_direct(None, to.as_mut(), false).await?,
    }
    change_own_tables(connection).await?;
    Ok(list_tables(connection).await?.difference(&existing).cloned().collect())
}

/// Makes turns cheaper on tables that the original engine has too, if they are not of the original engine: an index in the order of the
/// history, and on PostgreSQL no foreign key of the audit, for which each audit row of a turn would look up its conversation. Who deletes a
/// conversation deletes its audit rows by name.
async fn change_own_tables(connection: &mut Connection) -> sqlx::Result<()> {
    // In an adopted database migration 2 was skipped, which takes no time.
    let sql = Statement::portable("select version from cv_migration where version = 2 and execution_time > 0");
    if connection.fetch_optional(&sql, &[]).await?.is_none() {
        return Ok(());
    }
    let sql = Statement::per_dialect(
        "create index if not exists idx_ce_conversation_history_order on ce_conversation_history (conversation_id, history_id, created_at)",
        "create index if not exists idx_ce_conversation_history_order on ce_conversation_history (conversation_id, history_id desc)",
    );
    connection.execute(&sql, &[]).await?;
    let sql = Statement::per_dialect("select 1", "alter table ce_audit drop constraint if exists ce_audit_conversation_id_fkey");
    connection.execute(&sql, &[]).await.map(|_| ())
}

/// Serializes migrations of concurrent processes until the transaction ends.
async fn lock_migrations(connection: &mut Connection) -> sqlx::Result<()> {
    let sql = Statement::per_dialect("select 1", "select pg_advisory_xact_lock(726174651)");
    connection.fetch_all(&sql, &[]).await.map(|_| ())
}

/// Returns whether a table has a column.
pub async fn has_column(connection: &mut Connection, table: &str, column: &str) -> sqlx::Result<bool> {
    let sql = Statement::per_dialect(
        "select name from pragma_table_info($1) where name = $2",
        "select column_name::text from information_schema.columns
         where table_schema = current_schema() and table_name = $1 and column_name = $2",
    );
    Ok(connection.fetch_optional(&sql, &[SqlValue::Text(table), SqlValue::Text(column)]).await?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::each_database;

    #[tokio::test]
    async fn a_second_migration_has_nothing_to_do() {
        for mut database in each_database().await {
            let connection = &mut database.connection;
            assert_eq!(migrate(connection).await.expect("an answer"), [""; 0]);
            assert!(has_column(connection, "ce_task", "binding").await.expect("an answer"));
            assert!(!has_column(connection, "ce_task", "nothing").await.expect("an answer"));
            let tables = list_tables(connection).await.expect("tables");
            assert!(tables.contains("cv_document"), "{tables:?}");
            assert!(is_ready(connection, &tables).await.expect("an answer"));
        }
    }

    #[tokio::test]
    async fn tables_of_the_original_engine_are_not_changed() {
        for mut database in each_database().await {
            let connection = &mut database.connection;
            let index = Statement::per_dialect(
                "select name from sqlite_schema where name = 'idx_ce_conversation_history_order'",
                "select indexname::text from pg_indexes where indexname = 'idx_ce_conversation_history_order' and schemaname = current_schema()",
            );
            assert!(connection.fetch_optional(&index, &[]).await.expect("an answer").is_some(), "these are our own");
            let undo = ["drop index idx_ce_conversation_history_order", "update cv_migration set execution_time = -1 where version = 2"];
            for sql in undo {
                connection.execute(&Statement::portable(sql), &[]).await.expect(sql);
            }
            migrate(connection).await.expect("nothing to do");
            assert!(connection.fetch_optional(&index, &[]).await.expect("an answer").is_none(), "these are adopted");
        }
    }

    #[tokio::test]
    async fn a_migration_that_was_changed_after_it_ran_is_refused() {
        for mut database in each_database().await {
            let connection = &mut database.connection;
            let change = Statement::per_dialect(
                "update cv_migration set checksum = x'00' where version = 3",
                "update cv_migration set checksum = decode('00', 'hex') where version = 3",
            );
            connection.execute(&change, &[]).await.expect("an update");
            let error = migrate(connection).await.expect_err("another checksum");
            assert!(error.to_string().contains("migration 3 was previously applied"), "{error}");
            // The transaction has ended.
            connection.begin().await.expect("a transaction");
            connection.rollback().await.expect("a rollback");
        }
    }

    #[tokio::test]
    async fn a_release_starts_on_the_tables_of_a_later_one() {
        for mut database in each_database().await {
            let connection = &mut database.connection;
            let sql = "insert into cv_migration (version, description, success, checksum, execution_time)
                       select 9999, 'later', success, checksum, 0 from cv_migration where version = 1";
            connection.execute(&Statement::portable(sql), &[]).await.expect("a row");
            let tables = list_tables(connection).await.expect("tables");
            assert!(is_ready(connection, &tables).await.expect("an answer"));
            assert_eq!(migrate(connection).await.expect("nothing to do"), [""; 0]);
            connection.execute(&Statement::portable("delete from cv_migration where version = 15"), &[]).await.expect("a deletion");
            assert!(!is_ready(connection, &tables).await.expect("an answer"));
        }
    }
}
