//! `cv_conversation_owner`: the callers that conversations and sessions belong to.

use super::database::{Connection, Pool, SqlValue, Statement};

/// Returns the owner of a conversation; `None` if it does not exist or belongs to nobody.
///
/// # Errors
/// Returns any database error.
pub async fn find(pool: &Pool, conversation: &str) -> sqlx::Result<Option<String>> {
    let sql = Statement::per_dialect(
        "select owner from cv_conversation_owner where conversation_id = $1",
        "select owner from cv_conversation_owner where conversation_id = $1::uuid",
    );
    pool.fetch_optional(&sql, &[SqlValue::Text(conversation)]).await?.map(|it| it.text("owner")).transpose()
}

/// Inserts the owners of new conversations. `rows` is a JSON array of `[conversation, owner]`.
///
/// # Errors
/// Returns any database error.
pub(super) async fn insert(connection: &mut Connection, rows: &str) -> sqlx::Result<()> {
    let sql = Statement::per_dialect(
        "insert into cv_conversation_owner (conversation_id, owner) select value->>0, value->>1 from json_each($1) where true
         on conflict (conversation_id) do nothing",
        "insert into cv_conversation_owner (conversation_id, owner)
         select (r->>0)::uuid, r->>1 from json_array_elements($1::json) r on conflict (conversation_id) do nothing",
    );
    connection.execute(&sql, &[SqlValue::Text(rows)]).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::call_log::CallLogColumns;
    use crate::storage::commit::{needs_no_transaction, write};
    use crate::storage::testing::each_database;
    use crate::storage::turn_rows::TurnRows;

    const ID: &str = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69";

    #[tokio::test]
    async fn the_first_owner_stays() {
        for mut database in each_database().await {
            assert_eq!(find(&database.pool, ID).await.expect("an answer"), None);
            for owner in ["ada", "eve"] {
                let mut rows = TurnRows::default();
                rows.owner.push(&(ID, owner));
                assert!(!needs_no_transaction(&rows), "stored together with the first turn or not at all");
                write(&mut database.connection, &rows, CallLogColumns::Plain).await.expect("written");
                assert_eq!(find(&database.pool, ID).await.expect("an answer").as_deref(), Some("ada"));
            }
        }
    }
}
