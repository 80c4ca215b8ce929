//! `cv_classifier`: trained classifiers by the hash of what they were trained with. A cache: a missing one is trained again.

use convengine_core::turn::Millis;

use super::database::Connection;
use super::statement::{SqlValue as Sql, Statement};

/// Returns a classifier as the core encodes it, and records the day on which it was read.
pub async fn find(connection: &mut Connection, hash: &str, day: Millis) -> sqlx::Result<Option<Vec<u8>>> {
    let sql = Statement::portable("select used_at, bytes from cv_classifier where hash = $1");
    let Some(row) = connection.fetch_optional(&sql, &[Sql::Text(hash)]).await? else { return Ok(None) };
    if row.integer("used_at")? < day {
        let sql = Statement::portable("update cv_classifier set used_at = $2 where hash = $1");
        connection.execute(&sql, &[Sql::Text(hash), Sql::Integer(day)]).await?;
    }
    row.bytes("bytes").map(Some)
}

/// Stores a classifier; replaces one that could not be decoded.
pub async fn store(connection: &mut Connection, hash: &str, bytes: &[u8], at: Millis, day: Millis) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "insert into cv_classifier (hash, created_at, used_at, bytes) values ($1, $2, $3, $4)
         on conflict (hash) do update set created_at = excluded.created_at, used_at = excluded.used_at, bytes = excluded.bytes",
    );
    connection.execute(&sql, &[Sql::Text(hash), Sql::Integer(at), Sql::Integer(day), Sql::Bytes(bytes)]).await.map(|_| ())
}

/// Deletes the classifiers that were last read before a day. Returns their number.
pub async fn delete_unused(connection: &mut Connection, before: Millis) -> sqlx::Result<u64> {
    connection.execute(&Statement::portable("delete from cv_classifier where used_at < $1"), &[Sql::Integer(before)]).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::each_database;

    #[tokio::test]
    async fn a_classifier_is_kept_as_long_as_it_is_read() {
        for mut database in each_database().await {
            let connection = &mut database.connection;
            assert_eq!(find(connection, "a", 10).await.expect("an answer"), None);
            store(connection, "a", &[0, 255], 11, 10).await.expect("stored");
            store(connection, "b", &[1], 12, 10).await.expect("stored");
            assert_eq!(find(connection, "a", 20).await.expect("an answer"), Some(vec![0, 255]));
            assert_eq!(find(connection, "a", 10).await.expect("an answer"), Some(vec![0, 255]), "an earlier day changes nothing");
            assert_eq!(delete_unused(connection, 20).await.expect("an answer"), 1);
            assert_eq!(find(connection, "b", 20).await.expect("an answer"), None);
            store(connection, "a", &[2], 21, 20).await.expect("stored");
            assert_eq!(find(connection, "a", 20).await.expect("an answer"), Some(vec![2]));
        }
    }
}
