//! `cv_module`: WebAssembly modules of extensions, keyed by SHA-256.

use std::collections::BTreeMap;

use super::database::{Connection, Pool, Row, Statement, Value};
use super::schema;

/// Returns whether the extension tables exist.
///
/// # Errors
/// Returns any database error.
pub async fn has_tables(connection: &mut Connection) -> sqlx::Result<bool> {
    let tables = schema::tables(connection).await?;
    Ok(["cv_extension", "cv_module"].iter().all(|it| tables.contains(*it)))
}

/// Loads the modules that extensions reference.
///
/// # Errors
/// Returns any database error.
pub async fn load(connection: &mut Connection) -> sqlx::Result<BTreeMap<String, Vec<u8>>> {
    let sql = Statement::both("select sha256, bytes from cv_module where sha256 in (select module from cv_extension)");
    connection.all(&sql, &[]).await?.iter().map(found).collect()
}

/// Loads the modules that a snapshot references.
///
/// # Errors
/// Returns any database error.
pub async fn of_snapshot(pool: &Pool, hash: &str) -> sqlx::Result<BTreeMap<String, Vec<u8>>> {
    let sql = Statement::both(
        "select sha256, bytes from cv_module
           where exists (select 1 from ce_config_snapshot where hash = $1 and body like '%' || sha256 || '%')",
    );
    pool.all(&sql, &[Value::Text(hash)]).await?.iter().map(found).collect()
}

fn found(row: &Row) -> sqlx::Result<(String, Vec<u8>)> {
    Ok((row.text("sha256")?, row.bytes("bytes")?))
}

/// Stores a module unless it exists.
///
/// # Errors
/// Returns any database error.
pub async fn keep(connection: &mut Connection, sha256: &str, bytes: &[u8]) -> sqlx::Result<()> {
    let sql = Statement::both("insert into cv_module (sha256, bytes) values ($1, $2) on conflict (sha256) do nothing");
    connection.run(&sql, &[Value::Text(sha256), Value::Bytes(bytes)]).await.map(|_| ())
}

/// Deletes the modules that neither an extension nor a snapshot references.
///
/// # Errors
/// Returns any database error.
pub async fn drop_unused(connection: &mut Connection) -> sqlx::Result<()> {
    let sql = Statement::both(
        "delete from cv_module where sha256 not in (select module from cv_extension)
           and not exists (select 1 from ce_config_snapshot where body like '%' || sha256 || '%')",
    );
    connection.run(&sql, &[]).await.map(|_| ())
}

/// Returns the names of extensions whose module is missing.
///
/// # Errors
/// Returns any database error.
pub async fn without(connection: &mut Connection) -> sqlx::Result<Vec<String>> {
    let sql = Statement::both("select name from cv_extension where module not in (select sha256 from cv_module) order by name");
    connection.all(&sql, &[]).await?.iter().map(|it| it.text("name")).collect()
}
