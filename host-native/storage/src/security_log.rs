//! `cv_security_log`: who has done what that matters to security. Rows are only added, and deleted by age alone.

use convengine_core::turn::Millis;

use super::casts::with_casts;
use super::database::{Connection, Pool};
use super::database_row::DatabaseRow;
use super::statement::{SqlValue, Statement};

/// The name of the table.
pub const TABLE: &str = "cv_security_log";

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecurityLogRow {
    /// Its number, which grows.
    pub id: i64,
    /// The time.
    pub at: Millis,
    /// What was done, such as `secret.store`.
    pub action: String,
    /// Who did it: the id of a key, the subject of a token, `administrator`, `command` or `anonymous`.
    pub actor: String,
    /// The display name of the key or token.
    pub actor_name: Option<String>,
    /// What it was done to.
    pub subject: String,
    /// The address of the client; empty for commands.
    pub address: String,
    /// `started`, `succeeded`, `refused` or `failed`.
    pub outcome: String,
}

/// Which rows to list.
#[derive(Debug, Clone, Default)]
pub struct SecurityLogFilter {
    /// The id or the display name of who did it.
    pub actor: Option<String>,
    /// What was done.
    pub action: Option<String>,
    /// The earliest time.
    pub from: Option<Millis>,
    /// The time before which.
    pub to: Option<Millis>,
    /// The number before which, to continue a list.
    pub before: Option<i64>,
    /// The maximum number of rows.
    pub limit: i64,
}

/// Adds a row; its number is ignored.
pub async fn insert(pool: &Pool, row: &SecurityLogRow) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "insert into cv_security_log (at, action, actor, actor_name, subject, address, outcome) values ($1, $2, $3, $4, $5, $6, $7)",
    );
    let values = [
        SqlValue::Integer(row.at),
        SqlValue::Text(&row.action),
        SqlValue::Text(&row.actor),
        SqlValue::OptionalText(row.actor_name.as_deref()),
        SqlValue::Text(&row.subject),
        SqlValue::Text(&row.address),
        SqlValue::Text(&row.outcome),
    ];
    pool.execute(&sql, &values).await.map(|_| ())
}

/// Returns the rows that a filter selects, newest first.
pub async fn list(pool: &Pool, filter: &SecurityLogFilter) -> sqlx::Result<Vec<SecurityLogRow>> {
    let sql = with_casts!(
        "select id, at, action, actor, actor_name, subject, address, outcome from cv_security_log
         where ($1::text is null or actor = $1 or actor_name = $1) and ($2::text is null or action = $2) and at >= $3 and at < $4 and id < $5
         order by id desc limit $6"
    );
    let values = [
        SqlValue::OptionalText(filter.actor.as_deref()),
        SqlValue::OptionalText(filter.action.as_deref()),
        SqlValue::Integer(filter.from.unwrap_or(Millis::MIN)),
        SqlValue::Integer(filter.to.unwrap_or(Millis::MAX)),
        SqlValue::Integer(filter.before.unwrap_or(i64::MAX)),
        SqlValue::Integer(filter.limit),
    ];
    pool.fetch_all(&sql, &values).await?.iter().map(read_row).collect()
}

/// Deletes at most so many rows that are older than a time. Returns how many were deleted.
pub async fn delete_older(connection: &mut Connection, before: Millis, most: i64) -> sqlx::Result<u64> {
    let sql =
        Statement::portable("delete from cv_security_log where id in (select id from cv_security_log where at < $1 order by id limit $2)");
    connection.execute(&sql, &[SqlValue::Integer(before), SqlValue::Integer(most)]).await
}

fn read_row(row: &DatabaseRow) -> sqlx::Result<SecurityLogRow> {
    Ok(SecurityLogRow {
        id: row.integer("id")?,
        at: row.integer("at")?,
        action: row.text("action")?,
        actor: row.text("actor")?,
        actor_name: row.optional_text("actor_name")?,
        subject: row.text("subject")?,
        address: row.text("address")?,
        outcome: row.text("outcome")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::each_database;

    #[tokio::test]
    async fn rows_are_added_filtered_and_deleted_by_age() {
        let row = |at: Millis, action: &str, actor: &str| SecurityLogRow {
            id: 0,
            at,
            action: action.to_owned(),
            actor: actor.to_owned(),
            actor_name: (actor == "key a").then(|| "it's Ada".to_owned()),
            subject: "/v1/secrets".to_owned(),
            address: "192.0.2.1".to_owned(),
            outcome: "succeeded".to_owned(),
        };
        for mut database in each_database().await {
            let pool = &database.pool;
            for (at, action, actor) in [(1, "secret.store", "key a"), (2, "secret.delete", "key a"), (3, "secret.store", "command")] {
                insert(pool, &row(at, action, actor)).await.expect("a row");
            }
            let times = async |filter: SecurityLogFilter| {
                let rows = list(pool, &SecurityLogFilter { limit: 2, ..filter }).await.expect("rows");
                rows.iter().map(|row| row.at).collect::<Vec<_>>()
            };
            let all = SecurityLogFilter::default;
            assert_eq!(times(all()).await, [3, 2]);
            let second = list(pool, &SecurityLogFilter { limit: 2, ..all() }).await.expect("rows").remove(1);
            assert_eq!(SecurityLogRow { id: 0, ..second.clone() }, row(2, "secret.delete", "key a"));
            assert_eq!(times(SecurityLogFilter { before: Some(second.id), ..all() }).await, [1]);
            for actor in ["key a", "it's Ada"] {
                assert_eq!(times(SecurityLogFilter { actor: Some(actor.to_owned()), ..all() }).await, [2, 1]);
            }
            assert_eq!(times(SecurityLogFilter { action: Some("secret.store".to_owned()), ..all() }).await, [3, 1]);
            assert_eq!(times(SecurityLogFilter { from: Some(2), to: Some(3), ..all() }).await, [2]);
            assert_eq!(delete_older(&mut database.connection, 3, 1).await.expect("an answer"), 1);
            assert_eq!(delete_older(&mut database.connection, 3, 9).await.expect("an answer"), 1);
            assert_eq!(times(all()).await, [3]);
        }
    }
}
