//! `cs_tool`: the tools of the workspace, which documents name.

use convengine_core::turn::Millis;
use serde_json::json;

use crate::database::{Connection, Pool};
use crate::schema;
use crate::statement::{SqlValue, Statement};

/// Inserts or replaces a tool.
pub async fn save(pool: &Pool, id: &str, document: &str, at: Millis) -> sqlx::Result<()> {
    pool.execute(&SAVE, &[SqlValue::Text(id), SqlValue::Text(document), SqlValue::Integer(at)]).await.map(|_| ())
}

/// Like [`save`], inside the caller's transaction.
pub async fn save_in_transaction(connection: &mut Connection, id: &str, document: &str, at: Millis) -> sqlx::Result<()> {
    connection.execute(&SAVE, &[SqlValue::Text(id), SqlValue::Text(document), SqlValue::Integer(at)]).await.map(|_| ())
}

const SAVE: Statement = Statement::portable(
    "insert into cs_tool (id, document, updated_at) values ($1, $2, $3)
     on conflict (id) do update set document = excluded.document, updated_at = excluded.updated_at",
);

/// Returns a tool as JSON text.
pub async fn find(pool: &Pool, id: &str) -> sqlx::Result<Option<String>> {
    let sql = Statement::portable("select document from cs_tool where id = $1");
    pool.fetch_optional(&sql, &[SqlValue::Text(id)]).await?.map(|it| it.text("document")).transpose()
}

/// Returns those of these tools that exist, as JSON texts ordered by id.
pub async fn find_all(pool: &Pool, ids: impl IntoIterator<Item = &str>) -> sqlx::Result<Vec<String>> {
    let sql = Statement::per_dialect(
        "select document from cs_tool where id in (select value from json_each($1)) order by id",
        "select document from cs_tool where id in (select it from json_array_elements_text($1::json) it) order by id collate \"C\"",
    );
    let ids = json!(ids.into_iter().collect::<Vec<_>>()).to_string();
    pool.fetch_all(&sql, &[SqlValue::Text(&ids)]).await?.iter().map(|it| it.text("document")).collect()
}

/// Returns all tools as JSON texts, ordered by id.
pub async fn list(connection: &mut Connection) -> sqlx::Result<Vec<String>> {
    let sql = Statement::per_dialect("select document from cs_tool order by id", "select document from cs_tool order by id collate \"C\"");
    connection.fetch_all(&sql, &[]).await?.iter().map(|it| it.text("document")).collect()
}

/// Returns whether the table exists.
pub async fn has_table(connection: &mut Connection) -> sqlx::Result<bool> {
    Ok(schema::list_tables(connection).await?.contains("cs_tool"))
}

/// Deletes a tool. Returns whether it existed.
pub async fn delete(pool: &Pool, id: &str) -> sqlx::Result<bool> {
    Ok(pool.execute(&Statement::portable("delete from cs_tool where id = $1"), &[SqlValue::Text(id)]).await? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::each_database;

    #[tokio::test]
    async fn tools_are_found_by_their_ids() {
        for mut database in each_database().await {
            let pool = &database.pool;
            for (id, document) in [("b", "{\"b\":0}"), ("a", "{}"), ("B", "{\"B\":1}"), ("b", "{\"b\":\"it's\"}")] {
                save(pool, id, document, 5).await.expect("saved");
            }
            assert_eq!(find(pool, "b").await.expect("an answer").as_deref(), Some("{\"b\":\"it's\"}"));
            assert_eq!(find_all(pool, ["b", "c", "B"]).await.expect("tools"), ["{\"B\":1}", "{\"b\":\"it's\"}"]);
            assert_eq!(find_all(pool, []).await.expect("tools"), [""; 0]);
            assert!(delete(pool, "B").await.expect("an answer") && !delete(pool, "B").await.expect("an answer"));
            save_in_transaction(&mut database.connection, "c", "{\"c\":1}", 6).await.expect("saved");
            assert_eq!(list(&mut database.connection).await.expect("tools"), ["{}", "{\"b\":\"it's\"}", "{\"c\":1}"]);
            assert!(has_table(&mut database.connection).await.expect("an answer"));
        }
    }
}
