//! Full-text search in `cv_document`.

use super::database::Pool;
use super::database_row::DatabaseRow;
use super::statement::{SqlValue, Statement};

/// A search hit.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentHit {
    /// Its key.
    pub id: i64,
    /// The title.
    pub title: Option<String>,
    /// The whole text.
    pub body: String,
    /// Author-supplied JSON.
    pub metadata: Option<String>,
    /// The relevance score; higher is better.
    pub score: f64,
}

/// Returns the best matches for any of the words, in one collection or in all.
pub async fn search(pool: &Pool, words: &[String], collection: Option<&str>, limit: u32) -> sqlx::Result<Vec<DocumentHit>> {
    // Title words have double weight. Words are quoted so that none is parsed as an operator.
    let sql = Statement::per_dialect(
        "select d.document_id, d.title, d.body, d.metadata, -bm25(cv_document_index, 2.0, 1.0) as score
         from cv_document_index join cv_document d on d.document_id = cv_document_index.rowid
         where cv_document_index match $1 and ($2 is null or d.collection = $2)
         order by score desc, d.document_id limit $3",
        "select document_id::bigint as document_id, title, body, metadata, ts_rank('{0.5,0,0,1}', words, asked, 1)::float8 as score
         from (select *, setweight(to_tsvector('english', coalesce(title, '')), 'A') || setweight(to_tsvector('english', body), 'D') as words
               from cv_document where $2::text is null or collection = $2) d,
           to_tsquery('english', $1) asked
         where words @@ asked order by score desc, document_id limit $3",
    );
    let (quote, or) = if pool.is_shared() { ('\'', " | ") } else { ('"', " OR ") };
    let terms: Vec<String> = words.iter().map(|it| format!("{quote}{it}{quote}")).collect();
    let rows = pool
        .fetch_all(&sql, &[SqlValue::Text(&terms.join(or)), SqlValue::OptionalText(collection), SqlValue::Integer(limit.into())])
        .await?;
    rows.iter().map(hit_from_row).collect()
}

fn hit_from_row(row: &DatabaseRow) -> sqlx::Result<DocumentHit> {
    Ok(DocumentHit {
        id: row.integer("document_id")?,
        title: row.optional_text("title")?,
        body: row.text("body")?,
        metadata: row.optional_text("metadata")?,
        score: row.float("score")?,
    })
}
