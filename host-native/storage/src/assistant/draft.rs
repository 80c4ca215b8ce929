//! `cs_assistant`: assistants and other documents by their keys, with their drafts.

use convengine_core::turn::Millis;
use serde_json::Value;

use crate::database::{Connection, Pool};
use crate::database_row::DatabaseRow;
use crate::schema;
use crate::statement::{SqlValue, Statement};

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

/// What a draft has to be for a change to apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// As it may be, or absent.
    Anything,
    /// Absent.
    Nothing,
    /// Present, at any revision.
    Draft,
    /// At this revision.
    Revision(i64),
}

impl Expected {
    /// Whether the draft at this revision is as expected.
    pub fn is_met_by(self, revision: i64) -> bool {
        match self {
            Expected::Anything | Expected::Draft => true,
            Expected::Nothing => false,
            Expected::Revision(expected) => expected == revision,
        }
    }

    /// The revision that statements compare: absent for anything, 0 for nothing, -1 for any draft.
    fn to_sql(self) -> SqlValue<'static> {
        SqlValue::OptionalInteger(match self {
            Expected::Anything => None,
            Expected::Nothing => Some(0),
            Expected::Draft => Some(-1),
            Expected::Revision(revision) => Some(revision),
        })
    }
}

/// Inserts or replaces the draft of an assistant. Returns the new revision, or nothing if the draft was not as expected.
pub async fn save(pool: &Pool, id: &str, name: &str, document: &str, expected: Expected, at: Millis) -> sqlx::Result<Option<i64>> {
    let values = [SqlValue::Text(id), SqlValue::Text(name), SqlValue::Text(document), SqlValue::Integer(at), expected.to_sql()];
    pool.fetch_optional(&SAVE, &values).await?.map(|it| it.integer("revision")).transpose()
}

/// Like [`save`], inside the caller's transaction.
pub async fn save_in_transaction(
    connection: &mut Connection,
    id: &str,
    name: &str,
    document: &str,
    expected: Expected,
    at: Millis,
) -> sqlx::Result<Option<i64>> {
    let values = [SqlValue::Text(id), SqlValue::Text(name), SqlValue::Text(document), SqlValue::Integer(at), expected.to_sql()];
    connection.fetch_optional(&SAVE, &values).await?.map(|it| it.integer("revision")).transpose()
}

/// Returns the draft document as JSON text, inside the caller's transaction.
pub async fn find_document(connection: &mut Connection, id: &str) -> sqlx::Result<Option<String>> {
    let sql = Statement::portable("select draft from cs_assistant where id = $1");
    connection.fetch_optional(&sql, &[SqlValue::Text(id)]).await?.map(|it| it.text("draft")).transpose()
}

const SAVE: Statement = Statement::portable(
    "insert into cs_assistant (id, name, revision, draft, updated_at)
       select $1, $2, 1, $3, $4 where $5 is null or $5 = 0 or exists (select 1 from cs_assistant where id = $1)
     on conflict (id) do update set name = excluded.name, revision = cs_assistant.revision + 1, draft = excluded.draft,
       updated_at = excluded.updated_at
       where $5 is null or $5 < 0 or cs_assistant.revision = $5
     returning revision",
);

/// Returns whether the table exists.
pub async fn has_table(connection: &mut Connection) -> sqlx::Result<bool> {
    Ok(schema::list_tables(connection).await?.contains("cs_assistant"))
}

/// Returns all drafts as JSON text, ordered by id.
pub async fn list_documents(connection: &mut Connection) -> sqlx::Result<Vec<String>> {
    let sql =
        Statement::per_dialect("select draft from cs_assistant order by id", "select draft from cs_assistant order by id collate \"C\"");
    connection.fetch_all(&sql, &[]).await?.iter().map(|it| it.text("draft")).collect()
}

/// Returns whether any draft or version has a node of the type `python`.
pub async fn has_scripts(pool: &Pool) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "select 1 as found where exists (select 1 from cs_assistant where draft like $1)
           or exists (select 1 from cs_version where document like $1)",
    );
    Ok(pool.fetch_optional(&sql, &[SqlValue::Text("%\"type\":\"python\"%")]).await?.is_some())
}

/// Returns the draft of an assistant.
pub async fn find(pool: &Pool, id: &str) -> sqlx::Result<Option<Draft>> {
    let sql = Statement::portable("select revision, draft from cs_assistant where id = $1");
    let row = pool.fetch_optional(&sql, &[SqlValue::Text(id)]).await?;
    row.map(|row| Ok(Draft { revision: row.integer("revision")?, document: row.text("draft")? })).transpose()
}

/// An assistant without its draft document.
pub async fn find_assistant(pool: &Pool, id: &str) -> sqlx::Result<Option<Assistant>> {
    let sql = Statement::portable("select id, name, revision, live_version from cs_assistant where id = $1");
    pool.load_row(&sql, &[SqlValue::Text(id)]).await?.as_ref().map(assistant_from_row).transpose()
}

/// Returns all documents of a kind, ordered by id.
pub async fn list(pool: &Pool, kind: DocumentKind) -> sqlx::Result<Vec<Assistant>> {
    let sql = Statement::per_dialect(
        "select id, name, revision, live_version from cs_assistant order by id",
        "select id, name, revision, live_version from cs_assistant order by id collate \"C\"",
    );
    let all: Vec<Assistant> = pool.fetch_all(&sql, &[]).await?.iter().map(assistant_from_row).collect::<sqlx::Result<_>>()?;
    Ok(all.into_iter().filter(|assistant| assistant.key.kind() == kind).collect())
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
    use crate::testing::each_database;

    #[tokio::test]
    async fn each_save_increments_the_revision() {
        for database in each_database().await {
            let pool = &database.pool;
            assert_eq!(find(pool, "desk").await.expect("an answer"), None);
            for (expected, document) in [(1, r#"{"z":1,"a":"it's"}"#), (2, r#"{"z":2}"#)] {
                let saved = save(pool, "desk", "Desk", document, Expected::Anything, 5).await.expect("an answer");
                assert_eq!(saved, Some(expected));
                let found = find(pool, "desk").await.expect("an answer").expect("a draft");
                assert_eq!((found.revision, found.document.as_str()), (expected, document));
            }
            for key in ["Zoo", "workflow:Zoo"] {
                assert_eq!(save(pool, key, "Zoo", "{}", Expected::Anything, 6).await.expect("an answer"), Some(1));
            }
            let workflows = list(pool, DocumentKind::Workflow).await.expect("workflows");
            assert_eq!(workflows.iter().map(|it| it.key.id()).collect::<Vec<_>>(), ["Zoo"]);
            let all = list(pool, DocumentKind::Assistant).await.expect("assistants");
            let shown: Vec<_> = all.iter().map(|it| (it.key.id(), it.revision, it.live_version)).collect();
            assert_eq!(shown, [("Zoo", 1, None), ("desk", 2, None)]);
            assert_eq!(find_assistant(pool, "Zoo").await.expect("an answer").as_ref(), all.first());
        }
    }

    #[tokio::test]
    async fn a_draft_that_is_not_as_expected_stays() {
        for database in each_database().await {
            let attempts = [
                (Expected::Draft, None),
                (Expected::Revision(1), None),
                (Expected::Nothing, Some(1)),
                (Expected::Nothing, None),
                (Expected::Revision(2), None),
                (Expected::Revision(1), Some(2)),
                (Expected::Revision(1), None),
                (Expected::Draft, Some(3)),
            ];
            for (number, (expected, saved)) in attempts.into_iter().enumerate() {
                let text = number.to_string();
                let answer = save(&database.pool, "desk", "Desk", &text, expected, 5).await.expect("an answer");
                assert_eq!(answer, saved, "{expected:?}");
                let found = find(&database.pool, "desk").await.expect("an answer");
                assert_eq!(found.is_some_and(|it| it.document == text), saved.is_some(), "{expected:?}");
            }
        }
    }
}
