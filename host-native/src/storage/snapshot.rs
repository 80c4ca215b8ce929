//! `ce_config_snapshot`: lists and reads configuration snapshots.

use serde_json::Value as Json;

use super::database::{Connection, SqlValue, Statement};
use crate::clock;
use convengine_core::turn::Millis;

/// A snapshot without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// SHA-256 of its content.
    pub hash: String,
    /// When it was first stored.
    pub stored_at: Millis,
}

/// The usage of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotUsage {
    /// The snapshot.
    pub hash: String,
    /// The number of turns.
    pub turns: i64,
    /// The number of conversations with such a turn.
    pub conversations: i64,
}

/// Returns all snapshots, newest first.
///
/// # Errors
/// Returns any database error.
pub async fn list(connection: &mut Connection) -> sqlx::Result<Vec<Snapshot>> {
    let sql = Statement::per_dialect(
        "select hash, cast(created_at as text) as kept_at from ce_config_snapshot order by created_at desc, hash",
        "select hash, (extract(epoch from created_at) * 1000)::bigint::text as kept_at from ce_config_snapshot
         order by created_at desc, hash collate \"C\"",
    );
    let rows = connection.fetch_all(&sql, &[]).await?;
    rows.iter().map(|it| Ok(Snapshot { hash: it.text("hash")?, stored_at: clock::parse(&it.text("kept_at")?).unwrap_or(0) })).collect()
}

/// Returns the usage of each snapshot. Scans all turns.
///
/// # Errors
/// Returns any database error.
pub async fn list_usage(connection: &mut Connection) -> sqlx::Result<Vec<SnapshotUsage>> {
    let sql = Statement::portable(
        "select config_hash, count(*) as turns, count(distinct conversation_id) as conversations from ce_turn group by config_hash",
    );
    let rows = connection.fetch_all(&sql, &[]).await?;
    let ran = |it: &super::database::DatabaseRow| {
        Ok(SnapshotUsage { hash: it.text("config_hash")?, turns: it.integer("turns")?, conversations: it.integer("conversations")? })
    };
    rows.iter().map(ran).collect()
}

/// Returns at most two hashes that start with a prefix.
///
/// # Errors
/// Returns any database error.
pub async fn find_by_prefix(connection: &mut Connection, digits: &str) -> sqlx::Result<Vec<String>> {
    let sql = Statement::portable("select hash from ce_config_snapshot where substr(hash, 1, length($1)) = $1 order by hash limit 2");
    connection.fetch_all(&sql, &[SqlValue::Text(digits)]).await?.iter().map(|it| it.text("hash")).collect()
}

/// Returns the content of a snapshot; `None` when it is not stored or is not JSON.
///
/// # Errors
/// Returns any database error.
pub async fn find_content(connection: &mut Connection, hash: &str) -> sqlx::Result<Option<Json>> {
    let sql = Statement::portable("select body from ce_config_snapshot where hash = $1");
    let body = connection.fetch_optional(&sql, &[SqlValue::Text(hash)]).await?.map(|it| it.text("body")).transpose()?;
    Ok(body.and_then(|it| serde_json::from_str(&it).ok()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::storage::config::store_snapshot;
    use crate::storage::testing::each_database;

    #[tokio::test]
    async fn snapshots_are_found_by_prefix() {
        for mut database in each_database().await {
            let connection = &mut database.connection;
            for (hash, at) in [("aab1", 1000), ("aab2", 2000), ("c3", 1500)] {
                store_snapshot(connection, hash, &json!({"settings": {"at": at}}), at).await.expect("kept");
            }
            let found = list(connection).await.expect("snapshots");
            let found: Vec<_> = found.iter().map(|it| (it.hash.as_str(), it.stored_at)).collect();
            assert_eq!(found, [("aab2", 2000), ("c3", 1500), ("aab1", 1000)]);
            assert_eq!(find_by_prefix(connection, "aab").await.expect("two"), ["aab1", "aab2"]);
            assert_eq!(find_by_prefix(connection, "c").await.expect("one"), ["c3"]);
            assert_eq!(find_by_prefix(connection, "%").await.expect("none"), [""; 0]);
            assert_eq!(find_content(connection, "c3").await.expect("a body"), Some(json!({"settings": {"at": 1500}})));
            assert_eq!(find_content(connection, "c").await.expect("none"), None);
            assert_eq!(list_usage(connection).await.expect("nothing ran"), []);
        }
    }
}
