//! `cv_conversation_owner`: the callers that conversations and sessions belong to.

use super::casts::with_casts;
use super::database::Pool;
use super::rows::Column::Text;
use super::rows::RowStatement;
use super::statement::SqlValue;

/// Returns the owner of a conversation; `None` if it does not exist or belongs to nobody.
pub async fn find(pool: &Pool, conversation: &str) -> sqlx::Result<Option<String>> {
    let sql = with_casts!("select owner from cv_conversation_owner where conversation_id = $1::uuid");
    pool.fetch_optional(&sql, &[SqlValue::Text(conversation)]).await?.map(|it| it.text("owner")).transpose()
}

/// Inserts the owners of new conversations.
pub(super) const INSERT: [RowStatement; 1] = [RowStatement {
    sqlite: "insert into cv_conversation_owner (conversation_id, owner) values ($1, $2) on conflict (conversation_id) do nothing",
    postgres: "insert into cv_conversation_owner (conversation_id, owner)
         select r.id::uuid, r.owner from unnest($1::text[], $2::text[]) r (id, owner) on conflict (conversation_id) do nothing",
    columns: &[Text, Text],
}];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_log::CallLogColumns;
    use crate::commit::write;
    use crate::testing::each_database;
    use crate::turn_rows::TurnRows;

    const ID: &str = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69";

    #[tokio::test]
    async fn the_first_owner_stays() {
        for mut database in each_database().await {
            assert_eq!(find(&database.pool, ID).await.expect("an answer"), None);
            for owner in ["ada", "eve"] {
                let mut rows = TurnRows::default();
                rows.add_owner(ID, owner);
                write(&mut database.connection, &rows, CallLogColumns::Plain).await.expect("written");
                assert_eq!(find(&database.pool, ID).await.expect("an answer").as_deref(), Some("ada"));
            }
        }
    }
}
