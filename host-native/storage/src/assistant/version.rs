//! `cs_version`: published, immutable versions of assistants.

use convengine_core::turn::Millis;

use crate::database::{Connection, Pool};
use crate::database_row::DatabaseRow;
use crate::statement::{SqlValue, Statement};

/// A version without its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The version number, from 1.
    pub number: i64,
    /// The snapshot hash of the document.
    pub snapshot: String,
    /// Publication time.
    pub published_at: Millis,
    /// Whether it is the live version.
    pub live: bool,
}

/// A version to be published.
#[derive(Debug, Clone, Copy)]
pub struct NewVersion<'p> {
    /// The assistant.
    pub assistant: &'p str,
    /// The draft revision being published.
    pub revision: i64,
    /// The snapshot hash of the document.
    pub snapshot: &'p str,
    /// The document as JSON.
    pub document: &'p str,
}

/// Publishes a draft as the new live version. Returns the version number, or `None` when the draft's revision has changed.
///
/// # Errors
/// Returns any database error; nothing is published then.
pub async fn publish(connection: &mut Connection, published: &NewVersion<'_>, at: Millis) -> sqlx::Result<Option<i64>> {
    connection.begin().await?;
    let done = match allocate_number(connection, published).await {
        Ok(Some(number)) => insert(connection, published, number, at).await.map(|()| Some(number)),
        other => other,
    };
    match done {
        Ok(Some(number)) => connection.commit().await.map(|()| Some(number)),
        other => {
            connection.rollback().await?;
            other
        }
    }
}

/// Allocates the next version number. Locks the assistant's row until the transaction ends.
async fn allocate_number(connection: &mut Connection, published: &NewVersion<'_>) -> sqlx::Result<Option<i64>> {
    let sql = Statement::portable(
        "update cs_assistant set live_version = coalesce(live_version, 0) + 1 where id = $1 and revision = $2 returning live_version",
    );
    let values = [SqlValue::Text(published.assistant), SqlValue::Integer(published.revision)];
    connection.fetch_optional(&sql, &values).await?.map(|it| it.integer("live_version")).transpose()
}

async fn insert(connection: &mut Connection, published: &NewVersion<'_>, number: i64, at: Millis) -> sqlx::Result<()> {
    let sql =
        Statement::portable("insert into cs_version (assistant_id, version, snapshot, document, published_at) values ($1, $2, $3, $4, $5)");
    let values = [
        SqlValue::Text(published.assistant),
        SqlValue::Integer(number),
        SqlValue::Text(published.snapshot),
        SqlValue::Text(published.document),
        SqlValue::Integer(at),
    ];
    connection.execute(&sql, &values).await.map(|_| ())
}

/// Returns the versions of an assistant, newest first.
pub async fn list(pool: &Pool, assistant: &str) -> sqlx::Result<Vec<Version>> {
    let sql = Statement::portable(
        "select v.version, v.snapshot, v.published_at, v.version = a.live_version as live
         from cs_version v join cs_assistant a on a.id = v.assistant_id where v.assistant_id = $1 order by v.version desc",
    );
    let version = |row: &DatabaseRow| {
        Ok(Version {
            number: row.integer("version")?,
            snapshot: row.text("snapshot")?,
            published_at: row.integer("published_at")?,
            live: row.boolean("live")?,
        })
    };
    pool.fetch_all(&sql, &[SqlValue::Text(assistant)]).await?.iter().map(version).collect()
}

/// Returns the content hash of a version.
pub async fn find_snapshot(pool: &Pool, assistant: &str, number: i64) -> sqlx::Result<Option<String>> {
    let sql = Statement::portable("select snapshot from cs_version where assistant_id = $1 and version = $2");
    let row = pool.load_row(&sql, &[SqlValue::Text(assistant), SqlValue::Integer(number)]).await?;
    row.map(|it| it.text("snapshot")).transpose()
}

/// Returns the document of a version as JSON text.
pub async fn find_document(pool: &Pool, assistant: &str, number: i64) -> sqlx::Result<Option<String>> {
    let sql = Statement::portable("select document from cs_version where assistant_id = $1 and version = $2");
    let row = pool.fetch_optional(&sql, &[SqlValue::Text(assistant), SqlValue::Integer(number)]).await?;
    row.map(|it| it.text("document")).transpose()
}

/// Returns the content hash of a version and its document as JSON text.
pub async fn find_with_snapshot(pool: &Pool, assistant: &str, number: i64) -> sqlx::Result<Option<(String, String)>> {
    let sql = Statement::portable("select snapshot, document from cs_version where assistant_id = $1 and version = $2");
    let row = pool.fetch_optional(&sql, &[SqlValue::Text(assistant), SqlValue::Integer(number)]).await?;
    row.map(|row| Ok((row.text("snapshot")?, row.text("document")?))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assistant::draft;
    use crate::testing::each_database;

    #[tokio::test]
    async fn a_version_is_published_only_from_the_expected_revision() {
        for mut database in each_database().await {
            draft::save(&database.pool, "desk", "Desk", "{}", draft::Expected::Anything, 5).await.expect("saved");
            let version = |assistant: &'static str, revision, document| NewVersion { assistant, revision, snapshot: "sha256:a", document };
            let connection = &mut database.connection;
            assert_eq!(publish(connection, &version("desk", 2, "{}"), 6).await.expect("an answer"), None, "the revision differs");
            assert_eq!(publish(connection, &version("shop", 1, "{}"), 6).await.expect("an answer"), None);
            for (number, document) in [(1, r#"{"a":1}"#), (2, r#"{"a":2}"#)] {
                assert_eq!(publish(connection, &version("desk", 1, document), 6 + number).await.expect("published"), Some(number));
                assert_eq!(document_of(&database.pool, number).await.as_deref(), Some(document));
            }
            assert_eq!(document_of(&database.pool, 3).await, None);
            let all = list(&database.pool, "desk").await.expect("versions");
            let shown: Vec<_> = all.iter().map(|it| (it.number, it.published_at, it.live)).collect();
            assert_eq!(shown, [(2, 8, true), (1, 7, false)]);
            assert_eq!(draft::find_assistant(&database.pool, "desk").await.expect("an answer").and_then(|it| it.live_version), Some(2));
        }
    }

    async fn document_of(pool: &Pool, number: i64) -> Option<String> {
        find_document(pool, "desk", number).await.expect("an answer")
    }
}
