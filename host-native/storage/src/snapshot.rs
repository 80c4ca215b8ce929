//! `ce_config_snapshot`: lists and reads configuration snapshots.

use serde_json::Value as Json;

use super::database::{Connection, Pool};
use super::statement::{SqlValue, Statement};
use convengine_core::turn::Millis;
use convengine_host_base::clock;

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
pub async fn list(connection: &mut Connection) -> sqlx::Result<Vec<Snapshot>> {
    let sql = Statement::per_dialect(
        "select hash, cast(created_at as text) as kept_at from ce_config_snapshot order by created_at desc, hash",
        "select hash, (extract(epoch from created_at) * 1000)::bigint::text as kept_at from ce_config_snapshot
         order by created_at desc, hash collate \"C\"",
    );
    let rows = connection.fetch_all(&sql, &[]).await?;
    rows.iter().map(|row| Ok(Snapshot { hash: row.text("hash")?, stored_at: clock::parse(&row.text("kept_at")?).unwrap_or(0) })).collect()
}

/// Returns the usage of each snapshot. Scans all turns.
pub async fn list_usage(connection: &mut Connection) -> sqlx::Result<Vec<SnapshotUsage>> {
    let sql = Statement::portable(
        "select config_hash, count(*) as turns, count(distinct conversation_id) as conversations from ce_turn group by config_hash",
    );
    let rows = connection.fetch_all(&sql, &[]).await?;
    let ran = |row: &super::database_row::DatabaseRow| {
        Ok(SnapshotUsage { hash: row.text("config_hash")?, turns: row.integer("turns")?, conversations: row.integer("conversations")? })
    };
    rows.iter().map(ran).collect()
}

/// Returns at most two hashes that start with a prefix.
pub async fn find_by_prefix(connection: &mut Connection, digits: &str) -> sqlx::Result<Vec<String>> {
    let sql = Statement::portable("select hash from ce_config_snapshot where substr(hash, 1, length($1)) = $1 order by hash limit 2");
    connection.fetch_all(&sql, &[SqlValue::Text(digits)]).await?.iter().map(|it| it.text("hash")).collect()
}

/// Returns the content of a snapshot; `None` when it is not stored or is not JSON.
pub async fn find_content(connection: &mut Connection, hash: &str) -> sqlx::Result<Option<Json>> {
    let sql = Statement::portable("select body from ce_config_snapshot where hash = $1");
    let body = connection.fetch_optional(&sql, &[SqlValue::Text(hash)]).await?.map(|it| it.text("body")).transpose()?;
    Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
}

/// Records that turns may begin on a snapshot on the day of `at`. Returns whether it is stored.
pub async fn record_use(connection: &mut Connection, hash: &str, at: Millis) -> sqlx::Result<bool> {
    let sql = Statement::portable("select used_at from ce_config_snapshot where hash = $1");
    let Some(row) = connection.fetch_optional(&sql, &[SqlValue::Text(hash)]).await? else { return Ok(false) };
    let day = clock::start_of_day(at);
    if row.optional_integer("used_at")?.is_some_and(|it| it >= day) {
        return Ok(true);
    }
    let sql = Statement::portable("update ce_config_snapshot set used_at = $2 where hash = $1");
    // It may have been deleted in the meantime.
    Ok(connection.execute(&sql, &[SqlValue::Text(hash), SqlValue::Integer(day)]).await? > 0)
}

/// Returns whether a snapshot is stored, and its use on the day of `at` is recorded.
pub async fn is_use_recorded(pool: &Pool, hash: &str, at: Millis) -> sqlx::Result<bool> {
    let sql = Statement::portable("select 1 as found from ce_config_snapshot where hash = $1 and used_at >= $2");
    let values = [SqlValue::Text(hash), SqlValue::Integer(clock::start_of_day(at))];
    pool.fetch_optional(&sql, &values).await.map(|it| it.is_some())
}

/// Deletes at most `most` snapshots that were last used before a time and that nothing names: no turn, no session, no published version and
/// none of the newest `activations` activations. Returns their number.
pub async fn delete_unused(connection: &mut Connection, before: Millis, activations: i64, most: i64) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "delete from ce_config_snapshot where hash in (select s.hash from ce_config_snapshot s where s.used_at < $1
           and s.hash not in (select hash from cv_activation order by number desc limit $2)
           and not exists (select 1 from ce_turn t where t.config_hash = s.hash)
           and 'sha256:' || s.hash not in (select snapshot from cs_session)
           and 'sha256:' || s.hash not in (select snapshot from cs_version) limit $3)",
        "delete from ce_config_snapshot where hash in (select s.hash from ce_config_snapshot s where s.used_at < $1
           and s.hash not in (select hash from cv_activation order by number desc limit $2)
           and not exists (select 1 from ce_turn t where t.config_hash = s.hash)
           and not exists (select 1 from cs_session o where o.snapshot = 'sha256:' || s.hash)
           and not exists (select 1 from cs_version v where v.snapshot = 'sha256:' || s.hash) limit $3)",
    );
    connection.execute(&sql, &[SqlValue::Integer(before), SqlValue::Integer(activations), SqlValue::Integer(most)]).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::activation::{self, Activation};
    use crate::assistant::draft;
    use crate::assistant::version::{NewVersion, publish};
    use crate::call_log::CallLogColumns;
    use crate::commit::write;
    use crate::config::store_snapshot;
    use crate::testing::each_database;
    use crate::turn_rows::{SessionRow, TurnRow, TurnRows};

    const ID: &str = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69";
    const DAY: Millis = 86_400_000;

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

    #[tokio::test]
    async fn a_snapshot_is_kept_as_long_as_something_names_it() {
        let all = ["new", "session", "turn", "unused", "used", "version", "activated", "replaced"];
        for mut database in each_database().await {
            let connection = &mut database.connection;
            for hash in all {
                store_snapshot(connection, hash, &json!({"hash": hash}), if hash == "new" { 40 * DAY } else { DAY + 5 })
                    .await
                    .expect("kept");
            }
            assert!(record_use(connection, "used", 39 * DAY + 7).await.expect("an answer"));
            assert!(!record_use(connection, "none", 39 * DAY).await.expect("an answer"));
            for (hash, at, is_recorded) in [("used", 39 * DAY + 9, true), ("used", 40 * DAY, false), ("none", 0, false)] {
                assert_eq!(is_use_recorded(&database.pool, hash, at).await.expect("an answer"), is_recorded, "{hash} {at}");
            }
            let mut rows = TurnRows::default();
            let state = json!({"status": "completed", "seq": 1});
            rows.add_session(&SessionRow {
                session: ID,
                assistant: "desk",
                deployment: None,
                version: None,
                snapshot: "sha256:session",
                state: &state,
                at: 5,
            });
            rows.add_turn(&TurnRow {
                turn_id: ID,
                conversation_id: ID,
                number: 1,
                status: "closed",
                config_hash: "turn",
                ..TurnRow::default()
            });
            write(connection, &rows, CallLogColumns::Plain).await.expect("written");
            let version = NewVersion { assistant: "desk", revision: 1, snapshot: "sha256:version", document: "{}" };
            draft::save(&database.pool, "desk", "Desk", "{}", draft::Expected::Anything, 5).await.expect("saved");
            publish(connection, &version, 6).await.expect("published");
            for hash in ["replaced", "activated"] {
                let (hash, rows_hash, cause) = (hash.to_owned(), hash.to_owned(), "import".to_owned());
                activation::insert(connection, &Activation { number: 0, hash, rows_hash, cause, restores: None }, 7).await.expect("stored");
            }
            assert_eq!(delete_unused(connection, 39 * DAY, 1, 1).await.expect("deleted"), 1, "one at a time");
            assert_eq!(delete_unused(connection, 39 * DAY, 1, 9).await.expect("deleted"), 1);
            assert_eq!(delete_unused(connection, 39 * DAY, 1, 9).await.expect("deleted"), 0);
            let mut left: Vec<String> = list(connection).await.expect("snapshots").into_iter().map(|it| it.hash).collect();
            left.sort_unstable();
            assert_eq!(left, ["activated", "new", "session", "turn", "used", "version"]);
            // Of an earlier release, which does not record its use.
            let unknown = Statement::portable("update ce_config_snapshot set used_at = null");
            connection.execute(&unknown, &[]).await.expect("updated");
            assert_eq!(delete_unused(connection, 99 * DAY, 0, 9).await.expect("deleted"), 0);
        }
    }
}
