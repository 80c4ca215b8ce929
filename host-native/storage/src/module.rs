//! `cv_module`: WebAssembly modules of extensions, keyed by SHA-256.

use std::collections::BTreeMap;

use super::database::{Connection, Pool};
use super::database_row::DatabaseRow;
use super::schema;
use super::statement::{SqlValue, Statement};

/// Returns whether the extension tables exist.
pub async fn has_tables(connection: &mut Connection) -> sqlx::Result<bool> {
    let tables = schema::list_tables(connection).await?;
    Ok(["cv_extension", "cv_module"].iter().all(|it| tables.contains(*it)))
}

/// Loads the modules that extensions reference.
pub async fn load(connection: &mut Connection) -> sqlx::Result<BTreeMap<String, Vec<u8>>> {
    let sql = Statement::portable("select sha256, bytes from cv_module where sha256 in (select module from cv_extension)");
    connection.fetch_all(&sql, &[]).await?.iter().map(module_from_row).collect()
}

/// Loads the modules that a snapshot references.
pub async fn load_for_snapshot(pool: &Pool, hash: &str) -> sqlx::Result<BTreeMap<String, Vec<u8>>> {
    let sql = Statement::portable(
        "select sha256, bytes from cv_module
           where exists (select 1 from ce_config_snapshot where hash = $1 and body like '%' || sha256 || '%')",
    );
    pool.fetch_all(&sql, &[SqlValue::Text(hash)]).await?.iter().map(module_from_row).collect()
}

fn module_from_row(row: &DatabaseRow) -> sqlx::Result<(String, Vec<u8>)> {
    Ok((row.text("sha256")?, row.bytes("bytes")?))
}

/// Stores a module unless it exists.
pub async fn insert_if_absent(connection: &mut Connection, sha256: &str, bytes: &[u8]) -> sqlx::Result<()> {
    let sql = Statement::portable("insert into cv_module (sha256, bytes) values ($1, $2) on conflict (sha256) do nothing");
    connection.execute(&sql, &[SqlValue::Text(sha256), SqlValue::Bytes(bytes)]).await.map(|_| ())
}

/// Deletes the modules that neither an extension nor a snapshot references.
pub async fn delete_unused(connection: &mut Connection) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "delete from cv_module where sha256 not in (select module from cv_extension)
           and not exists (select 1 from ce_config_snapshot where body like '%' || sha256 || '%')",
    );
    connection.execute(&sql, &[]).await.map(|_| ())
}

/// Returns the names of extensions whose module is missing.
pub async fn list_missing(connection: &mut Connection) -> sqlx::Result<Vec<String>> {
    let sql = Statement::portable("select name from cv_extension where module not in (select sha256 from cv_module) order by name");
    connection.fetch_all(&sql, &[]).await?.iter().map(|it| it.text("name")).collect()
}
