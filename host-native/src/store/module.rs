//! The modules of extensions, by the hash of their content.

use std::collections::BTreeMap;

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::schema;

/// Whether the database has the tables of extensions.
///
/// # Errors
/// What SQLite says.
pub async fn has_tables(connection: &mut SqliteConnection) -> sqlx::Result<bool> {
    let tables = schema::tables(connection).await?;
    Ok(["cv_extension", "cv_module"].iter().all(|it| tables.contains(*it)))
}

/// Loads the modules that an extension names.
///
/// # Errors
/// What SQLite says.
pub async fn load(connection: &mut SqliteConnection) -> sqlx::Result<BTreeMap<String, Vec<u8>>> {
    let sql = "select sha256, bytes from cv_module where sha256 in (select module from cv_extension)";
    let rows = sqlx::query(sql).fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get("sha256")?, row.try_get("bytes")?))).collect()
}

/// Keeps a module; one that is there already stays.
///
/// # Errors
/// What SQLite says.
pub async fn keep(connection: &mut SqliteConnection, sha256: &str, bytes: &[u8]) -> sqlx::Result<()> {
    let sql = "insert into cv_module (sha256, bytes) values ($1, $2) on conflict (sha256) do nothing";
    sqlx::query(sql).bind(sha256).bind(bytes).execute(connection).await.map(|_| ())
}

/// Drops the modules that no extension names.
///
/// # Errors
/// What SQLite says.
pub async fn drop_unused(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    let sql = "delete from cv_module where sha256 not in (select module from cv_extension)";
    sqlx::query(sql).execute(connection).await.map(|_| ())
}

/// The names of the extensions whose module is not there.
///
/// # Errors
/// What SQLite says.
pub async fn without(connection: &mut SqliteConnection) -> sqlx::Result<Vec<String>> {
    let sql = "select name from cv_extension where module not in (select sha256 from cv_module) order by name";
    sqlx::query_scalar(sql).fetch_all(connection).await
}
