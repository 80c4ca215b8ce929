//! `cs_assistant`: assistants and other documents by their keys, with their drafts.

use convengine_core::turn::Millis;
use serde_json::Value;

use crate::storage::database::{Connection, DatabaseRow, Pool, SqlValue, Statement};
use crate::storage::schema;

use super::program_key::{DocumentKind, ProgramKey};

/// An assistant, or another document, without its draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assistant {
    /// Its key.
    pub key: ProgramKey,
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

/// Returns the display name of a document, as it can be stored: NUL, which text columns cannot hold, stays in the document only.
pub fn display_name(document: &Value) -> String {
    document.get("name").and_then(Value::as_str).unwrap_or_default().replace('\0', "\u{fffd}")
}

/// Inserts or replaces the draft of an assistant. Returns the new revision.
///
/// # Errors
/// Returns any database error.
pub async fn save(pool: &Pool, id: &str, name: &str, document: &str, at: Millis) -> sqlx::Result<i64> {
    let values = [SqlValue::Text(id), SqlValue::Text(name), SqlValue::Text(document), SqlValue::Integer(at)];
    pool.fetch_optional(&SAVE, &values).await?.ok_or(sqlx::Error::RowNotFound)?.integer("revision")
}

/// Like [`save`], inside the caller's transaction.
///
/// # Errors
/// Returns any database error.
pub async fn save_in_transaction(connection: &mut Connection, id: &str, name: &str, document: &str, at: Millis) -> sqlx::Result<()> {
    let values = [SqlValue::Text(id), SqlValue::Text(name), SqlValue::Text(document), SqlValue::Integer(at)];
    connection.fetch_optional(&SAVE, &values).await.map(|_| ())
}

/// Returns the draft document as JSON text, inside the caller's transaction.
///
/// # Errors
/// Returns any database error.
pub async fn find_document(connection: &mut Connection, id: &str) -> sqlx::Result<Option<String>> {
    let sql = Statement::portable("select draft from cs_assistant where id = $1");
    connection.fetch_optional(&sql, &[SqlValue::Text(id)]).await?.map(|it| it.text("draft")).transpose()
}

const SAVE: Statement = Statement::portable(
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
    Ok(schema::list_tables(connection).await?.contains("cs_assistant"))
}

/// Returns all drafts as JSON text, ordered by id.
///
/// # Errors
/// Returns any database error.
pub async fn list_documents(connection: &mut Connection) -> sqlx::Result<Vec<String>> {
    let sql =
        Statement::per_dialect("select draft from cs_assistant order by id", "select draft from cs_assistant order by id collate \"C\"");
    connection.fetch_all(&sql, &[]).await?.iter().map(|it| it.text("draft")).collect()
}

/// Returns whether any draft or version has a node of the type `python`.
///
/// # Errors
/// Returns any database error.
pub async fn has_scripts(pool: &Pool) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "select 1 as found where exists (select 1 from cs_assistant where draft like $1)
           or exists (select 1 from cs_version where document like $1)",
    );
    Ok(pool.fetch_optional(&sql, &[SqlValue::Text("%\"type\":\"python\"%")]).await?.is_some())
}

/// Returns the draft of an assistant.
///
/// # Errors
/// Returns any database error.
pub async fn find(pool: &Pool, id: &str) -> sqlx::Result<Option<Draft>> {
    let sql = Statement::portable("select revision, draft from cs_assistant where id = $1");
    let row = pool.fetch_optional(&sql, &[SqlValue::Text(id)]).await?;
    row.map(|it| Ok(Draft { revision: it.integer("revision")?, document: it.text("draft")? })).transpose()
}

/// An assistant without its draft document.
///
/// # Errors
/// Returns any database error.
pub async fn find_assistant(pool: &Pool, id: &str) -> sqlx::Result<Option<Assistant>> {
    let sql = Statement::portable("select id, name, revision, live_version from cs_assistant where id = $1");
    pool.fetch_optional(&sql, &[SqlValue::Text(id)]).await?.as_ref().map(assistant_from_row).transpose()
}

/// Returns all documents of a kind, ordered by id.
///
/// # Errors
/// Returns any database error.
pub async fn list(pool: &Pool, kind: DocumentKind) -> sqlx::Result<Vec<Assistant>> {
    let sql = Statement::per_dialect(
        "select id, name, revision, live_version from cs_assistant order by id",
        "select id, name, revision, live_version from cs_assistant order by id collate \"C\"",
    );
    let all: Vec<Assistant> = pool.fetch_all(&sql, &[]).await?.iter().map(assistant_from_row).collect::<sqlx::Result<_>>()?;
    Ok(all.into_iter().filter(|it| it.key.kind() == kind).collect())
}

fn assistant_from_row(row: &DatabaseRow) -> sqlx::Result<Assistant> {
    Ok(Assistant {
        key: ProgramKey::parse(&row.text("id")?),
        name: row.text("name")?,
        revision: row.integer("revision")?,
        live_version: row.optional_integer("live_version")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::testing::each_database;

    #[tokio::test]
    async fn each_save_increments_the_revision() {
        for database in each_database().await {
            let pool = &database.pool;
            assert_eq!(find(pool, "desk").await.expect("an answer"), None);
            for (expected, document) in [(1, r#"{"z":1,"a":"it's"}"#), (2, r#"{"z":2}"#)] {
                assert_eq!(save(pool, "desk", "Desk", document, 5).await.expect("saved"), expected);
                let found = find(pool, "desk").await.expect("an answer").expect("a draft");
                assert_eq!((found.revision, found.document.as_str()), (expected, document));
            }
            for key in ["Zoo", "workflow:Zoo"] {
                assert_eq!(save(pool, key, "Zoo", "{}", 6).await.expect("saved"), 1);
            }
            let workflows = list(pool, DocumentKind::Workflow).await.expect("workflows");
            assert_eq!(workflows.iter().map(|it| it.key.id()).collect::<Vec<_>>(), ["Zoo"]);
            let all = list(pool, DocumentKind::Assistant).await.expect("assistants");
            let shown: Vec<_> = all.iter().map(|it| (it.key.id(), it.revision, it.live_version)).collect();
            assert_eq!(shown, [("Zoo", 1, None), ("desk", 2, None)]);
            assert_eq!(find_assistant(pool, "Zoo").await.expect("an answer").as_ref(), all.first());
        }
    }
}
