//! The size of the database.

use super::database::Pool;
use super::database_config::DatabaseConfig;
use super::statement::Statement;

/// Returns the size of the database in bytes; on SQLite without the log of what is not yet in the file.
pub async fn database_bytes(pool: &Pool) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()",
        "select pg_database_size(current_database()) as bytes",
    );
    let row = pool.fetch_optional(&sql, &[]).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(u64::try_from(row.integer("bytes")?).unwrap_or(0))
}

/// Returns the bytes that are free on the disk of an SQLite file.
pub fn free_bytes(config: &DatabaseConfig) -> Option<u64> {
    let disk = rustix::fs::statvfs(&config.sqlite_file()?).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::each_database;

    #[tokio::test]
    async fn a_database_has_a_size_and_a_file_a_disk() {
        for database in each_database().await {
            let bytes = database_bytes(&database.pool).await.expect("a size");
            assert!((100_000..1_000_000_000).contains(&bytes), "{bytes}");
            assert_eq!(free_bytes(&database.config).is_some_and(|it| it > 0), !database.config.is_postgres());
        }
    }
}
