//! `cs_knowledge_vector`: the embeddings of chunks, with the model that made them.

use convengine_core::knowledge::embedding_text;
use convengine_core::turn::Millis;

use super::source::SourceVersion;
use crate::storage::database::{Connection, DatabaseRow, Pool, SqlValue, Statement};

/// A source whose chunks have no vectors of the current model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingJob {
    /// The assistant.
    pub assistant: String,
    /// The id of the source.
    pub source: String,
    /// Its indexed version.
    pub version: i64,
}

/// The vector of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkVector {
    /// The database id of the chunk.
    pub chunk: i64,
    /// The vector.
    pub vector: Vec<f32>,
}

/// Leases a searchable source that is not embedded by `model`, if any, until `until`.
///
/// # Errors
/// Returns any database error.
pub async fn lease_next(pool: &Pool, model: &str, now: Millis, until: Millis) -> sqlx::Result<Option<EmbeddingJob>> {
    let sql = Statement::per_dialect(
        "update cs_knowledge_source set embedding_retry_at = $3 where rowid =
           (select rowid from cs_knowledge_source where indexed_version is not null and embedding_retry_at < $2
              and (embedding_model is null or embedding_model <> $1) order by embedding_retry_at, updated_at limit 1)
         returning assistant_id, source_id, indexed_version",
        "update cs_knowledge_source set embedding_retry_at = $3 where (assistant_id, source_id) =
           (select assistant_id, source_id from cs_knowledge_source where indexed_version is not null and embedding_retry_at < $2
              and (embedding_model is null or embedding_model <> $1) order by embedding_retry_at, updated_at limit 1
            for update skip locked)
         returning assistant_id, source_id, indexed_version",
    );
    let row = pool.fetch_optional(&sql, &[SqlValue::Text(model), SqlValue::Integer(now), SqlValue::Integer(until)]).await?;
    row.map(|it| {
        Ok(EmbeddingJob { assistant: it.text("assistant_id")?, source: it.text("source_id")?, version: it.integer("indexed_version")? })
    })
    .transpose()
}

/// Renews the lease of a source.
///
/// # Errors
/// Returns any database error.
pub async fn renew(pool: &Pool, of: &SourceVersion<'_>, until: Millis) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "update cs_knowledge_source set embedding_retry_at = $4 where assistant_id = $1 and source_id = $2 and indexed_version = $3",
    );
    let [assistant, source, version] = of.values();
    pool.execute(&sql, &[assistant, source, version, SqlValue::Integer(until)]).await.map(|_| ())
}

/// Returns the database ids and the texts to embed of chunks that have no vector of `model`.
///
/// # Errors
/// Returns any database error.
pub async fn list_missing(pool: &Pool, of: &SourceVersion<'_>, model: &str, limit: i64) -> sqlx::Result<Vec<(i64, String)>> {
    let sql = Statement::portable(
        "select c.id, c.title, c.text from cs_knowledge_chunk c left join cs_knowledge_vector v on v.chunk_id = c.id and v.model = $4
         where c.assistant_id = $1 and c.source_id = $2 and c.version = $3 and v.chunk_id is null order by c.number limit $5",
    );
    let [assistant, source, version] = of.values();
    let rows = pool.fetch_all(&sql, &[assistant, source, version, SqlValue::Text(model), SqlValue::Integer(limit)]).await?;
    rows.iter().map(|it| Ok((it.integer("id")?, embedding_text(&it.text("title")?, &it.text("text")?)))).collect()
}

/// Stores the vector of a chunk.
///
/// # Errors
/// Returns any database error.
pub async fn put(connection: &mut Connection, model: &str, one: &ChunkVector) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "insert into cs_knowledge_vector (chunk_id, model, vector) values ($1, $2, $3)
         on conflict (chunk_id) do update set model = excluded.model, vector = excluded.vector",
    );
    let bytes: Vec<u8> = one.vector.iter().flat_map(|it| it.to_le_bytes()).collect();
    connection.execute(&sql, &[SqlValue::Integer(one.chunk), SqlValue::Text(model), SqlValue::Bytes(&bytes)]).await.map(|_| ())
}

/// Records that all chunks of a version have vectors of `model`. Returns `false` if the version has been replaced or deleted.
///
/// # Errors
/// Returns any database error.
pub async fn finish(connection: &mut Connection, of: &SourceVersion<'_>, model: &str) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "update cs_knowledge_source set embedding_model = $4, embedding_error = null, embedding_retry_at = 0
         where assistant_id = $1 and source_id = $2 and indexed_version = $3",
    );
    let [assistant, source, version] = of.values();
    Ok(connection.execute(&sql, &[assistant, source, version, SqlValue::Text(model)]).await? > 0)
}

/// Deletes the vectors whose chunks are gone: those of a source that was replaced while it was embedded.
///
/// # Errors
/// Returns any database error.
pub async fn delete_orphans(connection: &mut Connection) -> sqlx::Result<u64> {
    let sql = Statement::portable("delete from cs_knowledge_vector where chunk_id not in (select id from cs_knowledge_chunk)");
    connection.execute(&sql, &[]).await
}

/// Records why a version is not embedded, and when to try again.
///
/// # Errors
/// Returns any database error.
pub async fn fail(pool: &Pool, of: &SourceVersion<'_>, error: &str, retry_at: Millis) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "update cs_knowledge_source set embedding_error = $4, embedding_retry_at = $5
         where assistant_id = $1 and source_id = $2 and indexed_version = $3",
    );
    let [assistant, source, version] = of.values();
    pool.execute(&sql, &[assistant, source, version, SqlValue::Text(error), SqlValue::Integer(retry_at)]).await.map(|_| ())
}

/// Returns the vectors of the sources that are embedded by `model`, at most `limit`.
///
/// # Errors
/// Returns any database error.
pub async fn load(pool: &Pool, assistant: &str, model: &str, limit: i64) -> sqlx::Result<Vec<ChunkVector>> {
    let sql = Statement::portable(
        "select v.chunk_id, v.vector from cs_knowledge_source s
         join cs_knowledge_chunk c on c.assistant_id = s.assistant_id and c.source_id = s.source_id and c.version = s.indexed_version
         join cs_knowledge_vector v on v.chunk_id = c.id and v.model = s.embedding_model
         where s.assistant_id = $1 and s.embedding_model = $2 limit $3",
    );
    let vector = |it: &DatabaseRow| {
        let bytes = it.bytes("vector")?;
        let vector = bytes.as_chunks::<4>().0.iter().map(|it| f32::from_le_bytes(*it)).collect();
        Ok(ChunkVector { chunk: it.integer("chunk_id")?, vector })
    };
    pool.fetch_all(&sql, &[SqlValue::Text(assistant), SqlValue::Text(model), SqlValue::Integer(limit)]).await?.iter().map(vector).collect()
}
