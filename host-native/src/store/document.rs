//! Finds documents by their words.

use sqlx::Row;
use sqlx::sqlite::{SqlitePool, SqliteRow};

/// A document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its key.
    pub id: i64,
    /// What it is called.
    pub title: Option<String>,
    /// The whole text.
    pub body: String,
    /// JSON that its author added.
    pub metadata: Option<String>,
    /// How well it fits; more is better.
    pub score: f64,
}

/// The best documents of one collection, or of all; `words` is an expression of FTS5.
///
/// # Errors
/// What SQLite says.
pub async fn search(pool: &SqlitePool, words: &str, collection: Option<&str>, limit: u32) -> sqlx::Result<Vec<Found>> {
    // A word in the title counts twice.
    let sql = "select d.document_id, d.title, d.body, d.metadata, -bm25(cv_document_index, 2.0, 1.0) as score \
        from cv_document_index join cv_document d on d.document_id = cv_document_index.rowid \
        where cv_document_index match $1 and ($2 is null or d.collection = $2) \
        order by score desc, d.document_id limit $3";
    let rows = sqlx::query(sql).bind(words).bind(collection).bind(limit).fetch_all(pool).await?;
    rows.iter().map(found).collect()
}

fn found(row: &SqliteRow) -> sqlx::Result<Found> {
    Ok(Found {
        id: row.try_get("document_id")?,
        title: row.try_get("title")?,
        body: row.try_get("body")?,
        metadata: row.try_get("metadata")?,
        score: row.try_get("score")?,
    })
}
