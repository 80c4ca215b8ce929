//! Copies an SQLite database, and counts what a copy holds.

use super::database::Connection;
use super::statement::{SqlValue, Statement};

/// What a copy holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupContents {
    /// Conversations, sessions and runs.
    pub conversations: i64,
    /// Turns with their journals.
    pub turns: i64,
    /// API keys, as hashes.
    pub keys: i64,
    /// Sealed secrets.
    pub sealed_secrets: i64,
    /// Secrets that are not sealed.
    pub plain_secrets: i64,
}

/// Copies a database to a file that does not exist or is empty, consistently while it is written to.
///
/// # Errors
/// Returns any database error; always on PostgreSQL.
pub async fn copy(connection: &mut Connection, file: &str) -> sqlx::Result<()> {
    connection.execute(&Statement::portable("vacuum into $1"), &[SqlValue::Text(file)]).await.map(|_| ())
}

/// Counts what a copy holds.
///
/// # Errors
/// Returns any database error; always on PostgreSQL.
pub async fn count(connection: &mut Connection, file: &str) -> sqlx::Result<BackupContents> {
    connection.execute(&Statement::portable("attach database $1 as copy"), &[SqlValue::Text(file)]).await?;
    let sql = Statement::portable(
        "select (select count(distinct conversation_id) from copy.ce_turn) as conversations, (select count(*) from copy.ce_turn) as turns,
           (select count(*) from copy.cv_api_key) as api_keys,
           (select count(*) from copy.cs_secret where revoked_at is null and key_id is not null) as sealed,
           (select count(*) from copy.cs_secret where revoked_at is null and key_id is null) as plain",
    );
    let row = connection.fetch_optional(&sql, &[]).await?.ok_or(sqlx::Error::RowNotFound)?;
    let contents = BackupContents {
        conversations: row.integer("conversations")?,
        turns: row.integer("turns")?,
        keys: row.integer("api_keys")?,
        sealed_secrets: row.integer("sealed")?,
        plain_secrets: row.integer("plain")?,
    };
    connection.execute(&Statement::portable("detach database copy"), &[]).await?;
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sqlite;

    #[tokio::test]
    async fn a_copy_holds_the_rows_of_its_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("copy's.db").display().to_string();
        let mut database = sqlite().await;
        let insert = Statement::portable("insert into cs_secret (name, value, prefix, updated_at) values ($1, 'x', '', 1)");
        database.connection.execute(&insert, &[SqlValue::Text("A")]).await.expect("a row");
        copy(&mut database.connection, &file).await.expect("a copy");
        database.connection.execute(&insert, &[SqlValue::Text("B")]).await.expect("a later row");
        let contents = count(&mut database.connection, &file).await.expect("numbers");
        let expected = BackupContents { conversations: 0, turns: 0, keys: 0, sealed_secrets: 0, plain_secrets: 1 };
        assert_eq!(contents, expected);
        assert!(copy(&mut database.connection, &file).await.is_err(), "a file that exists is not replaced");
    }
}
