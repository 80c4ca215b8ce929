//! `cs_assistant`: assistants and their draft documents.

use convengine_core::turn::Millis;

use crate::store::database::{Connection, Pool, Row, Statement, Value};
use crate::store::schema;

/// An assistant without its draft document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assistant {
    /// Its id.
    pub id: String,
    /// The display name.
    pub name: String,
    /// The draft revision, incremented on every save.
    pub revision: i64,
    /// The live version; absent before the first publication.
    pub live_version: Option<i64>,
}

/// The latest saved draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The revision, incremented on every save.
    pub revision: i64,
    /// The document as JSON.
    pub document: String,
}

/// Inserts or replaces the draft of an assistant. Returns the new revision.
///
/// # Errors
/// Returns any database error.
pub async fn save(pool: &Pool, id: &str, name: &str, document: &str, at: Millis) -> sqlx::Result<i64> {
    let values = [Value::Text(id), Value::Text(name), Value::Text(document), Value::Int(at)];
    pool.first(&SAVE, &values).await?.ok_or(sqlx::Error::RowNotFound)?.int("revision")
}

/// Like [`save`], inside the caller's transaction.
///
/// # Errors
/// Returns any database error.
pub async fn put(connection: &mut Connection, id: &str, name: &str, document: &str, at: Millis) -> sqlx::Result<()> {
    let values = [Value::Text(id), Value::Text(name), Value::Text(document), Value::Int(at)];
    connection.first(&SAVE, &values).await.map(|_| ())
}

/// Returns the draft document as JSON text, inside the caller's transaction.
///
/// # Errors
/// Returns any database error.
pub async fn text(connection: &mut Connection, id: &str) -> sqlx::Result<Option<String>> {
    let sql = Statement::both("select draft from cs_assistant where id = $1");
    connection.first(&sql, &[Value::Text(id)]).await?.map(|it| it.text("draft")).transpose()
}

const SAVE: Statement = Statement::both(
    "insert into cs_assistant (id, name, revision, draft, updated_at) values ($1, $2, 1, $3, $4)
     on conflict (id) do update set name = excluded.name, revision = cs_assistant.revision + 1, draft = excluded.draft,
       updated_at = excluded.updated_at
     returning revision",
);

/// Returns whether the table exists.
///
/// # Errors
/// Returns any database error.
pub async fn has_table(connection: &mut Connection) -> sqlx::Result<bool> {
    Ok(schema::tables(connection).await?.contains("cs_assistant"))
}

/// Returns all drafts as JSON text, ordered by id.
///
/// # Errors
/// Returns any database error.
pub async fn documents(connection: &mut Connection) -> sqlx::Result<Vec<String>> {
    let sql = Statement::of("select draft from cs_assistant order by id", "select draft from cs_assistant order by id collate \"C\"");
    connection.all(&sql, &[]).await?.iter().map(|it| it.text("draft")).collect()
}

/// Returns the draft of an assistant.
///
/// # Errors
/// Returns any database error.
pub async fn find(pool: &Pool, id: &str) -> sqlx::Result<Option<Draft>> {
    let sql = Statement::both("select revision, draft from cs_assistant where id = $1");
    let row = pool.first(&sql, &[Value::Text(id)]).await?;
    row.map(|it| Ok(Draft { revision: it.int("revision")?, document: it.text("draft")? })).transpose()
}

/// An assistant without its draft document.
///
/// # Errors
/// Returns any database error.
pub async fn about(pool: &Pool, id: &str) -> sqlx::Result<Option<Assistant>> {
    let sql = Statement::both("select id, name, revision, live_version from cs_assistant where id = $1");
    pool.first(&sql, &[Value::Text(id)]).await?.as_ref().map(assistant).transpose()
}

/// Returns all assistants, ordered by id.
///
/// # Errors
/// Returns any database error.
pub async fn all(pool: &Pool) -> sqlx::Result<Vec<Assistant>> {
    let sql = Statement::of(
        "select id, name, revision, live_version from cs_assistant order by id",
        "select id, name, revision, live_version from cs_assistant order by id collate \"C\"",
    );
    pool.all(&sql, &[]).await?.iter().map(assistant).collect()
}

fn assistant(row: &Row) -> sqlx::Result<Assistant> {
    Ok(Assistant {
        id: row.text("id")?,
        name: row.text("name")?,
        revision: row.int("revision")?,
        live_version: row.maybe_int("live_version")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::each;

    #[tokio::test]
    async fn each_saving_is_a_revision() {
        for database in each().await {
            let pool = &database.pool;
            assert_eq!(find(pool, "desk").await.expect("an answer"), None);
            for (expected, document) in [(1, r#"{"z":1,"a":"it's"}"#), (2, r#"{"z":2}"#)] {
                assert_eq!(save(pool, "desk", "Desk", document, 5).await.expect("saved"), expected);
                let found = find(pool, "desk").await.expect("an answer").expect("a draft");
                assert_eq!((found.revision, found.document.as_str()), (expected, document));
            }
            assert_eq!(save(pool, "Zoo", "Zoo", "{}", 6).await.expect("saved"), 1);
            let all = all(pool).await.expect("assistants");
            let shown: Vec<_> = all.iter().map(|it| (it.id.as_str(), it.revision, it.live_version)).collect();
            assert_eq!(shown, [("Zoo", 1, None), ("desk", 2, None)]);
            assert_eq!(about(pool, "Zoo").await.expect("an answer").as_ref(), all.first());
        }
    }
}
