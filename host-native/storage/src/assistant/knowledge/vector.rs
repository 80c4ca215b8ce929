//! `cs_knowledge_vector`: the embeddings of chunks, with the model that made them.

use convengine_core::knowledge::embedding_text;
use convengine_core::turn::Millis;
use serde_json::json;

use super::source::SourceVersion;
use crate::database::{Connection, Pool};
use crate::database_row::DatabaseRow;
use crate::statement::{SqlValue, Statement};

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
    row.map(|row| {
        Ok(EmbeddingJob { assistant: row.text("assistant_id")?, source: row.text("source_id")?, version: row.integer("indexed_version")? })
    })
    .transpose()
}

/// Renews the lease of a source.
pub async fn renew(pool: &Pool, key: &SourceVersion<'_>, until: Millis) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "update cs_knowledge_source set embedding_retry_at = $4 where assistant_id = $1 and source_id = $2 and indexed_version = $3",
    );
    let [assistant, source, version] = key.values();
    pool.execute(&sql, &[assistant, source, version, SqlValue::Integer(until)]).await.map(|_| ())
}

/// Returns the database ids and the texts to embed of chunks that have no vector of `model`.
pub async fn list_missing(pool: &Pool, key: &SourceVersion<'_>, model: &str, limit: i64) -> sqlx::Result<Vec<(i64, String)>> {
    let sql = Statement::portable(
        "select c.id, c.title, c.text from cs_knowledge_chunk c left join cs_knowledge_vector v on v.chunk_id = c.id and v.model = $4
         where c.assistant_id = $1 and c.source_id = $2 and c.version = $3 and v.chunk_id is null order by c.number limit $5",
    );
    let [assistant, source, version] = key.values();
    let rows = pool.fetch_all(&sql, &[assistant, source, version, SqlValue::Text(model), SqlValue::Integer(limit)]).await?;
    rows.iter().map(|row| Ok((row.integer("id")?, embedding_text(&row.text("title")?, &row.text("text")?)))).collect()
}

/// Stores the vectors of chunks in one statement; all have the same length. Chunks that are gone are left out.
pub async fn put(connection: &mut Connection, model: &str, vectors: &[ChunkVector]) -> sqlx::Result<()> {
    let sql = Statement::per_dialect(
        "insert into cs_knowledge_vector (chunk_id, model, vector)
         select i.value, $1, substr($3, i.key * $4 * 4 + 1, $4 * 4) from json_each($2) i
         where exists (select 1 from cs_knowledge_chunk c where c.id = i.value)
         on conflict (chunk_id) do update set model = excluded.model, vector = excluded.vector",
        "insert into cs_knowledge_vector (chunk_id, model, vector)
         select i.id::bigint, $1, ($3::real[])[((i.place - 1) * $4 + 1)::int : (i.place * $4)::int]
         from json_array_elements_text($2::json) with ordinality as i (id, place)
         where exists (select 1 from cs_knowledge_chunk c where c.id = i.id::bigint)
         on conflict (chunk_id) do update set model = excluded.model, vector = excluded.vector",
    );
    let ids = json!(vectors.iter().map(|it| it.chunk).collect::<Vec<_>>()).to_string();
    let numbers: Vec<f32> = vectors.iter().flat_map(|it| &it.vector).copied().collect();
    let length = vectors.first().map_or(0, |first| i64::try_from(first.vector.len()).unwrap_or(i64::MAX));
    let values = [SqlValue::Text(model), SqlValue::Text(&ids), SqlValue::Vector(&numbers), SqlValue::Integer(length)];
    connection.execute(&sql, &values).await.map(|_| ())
}

/// Records that all chunks of a version have vectors of `model`. Returns `false` if the version has been replaced or deleted.
pub async fn finish(connection: &mut Connection, key: &SourceVersion<'_>, model: &str) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "update cs_knowledge_source set embedding_model = $4, embedding_error = null, embedding_retry_at = 0
         where assistant_id = $1 and source_id = $2 and indexed_version = $3",
    );
    let [assistant, source, version] = key.values();
    Ok(connection.execute(&sql, &[assistant, source, version, SqlValue::Text(model)]).await? > 0)
}

/// Returns the chunks that are gone and have vectors: those of a source that was replaced while it was embedded; at most `limit`.
pub async fn list_orphans(connection: &mut Connection, limit: i64) -> sqlx::Result<Vec<i64>> {
    let sql = Statement::portable(
        "select v.chunk_id from cs_knowledge_vector v where not exists (select 1 from cs_knowledge_chunk c where c.id = v.chunk_id) limit $1",
    );
    connection.fetch_all(&sql, &[SqlValue::Integer(limit)]).await?.iter().map(|it| it.integer("chunk_id")).collect()
}

/// Records why a version is not embedded, and when to try again.
pub async fn fail(pool: &Pool, key: &SourceVersion<'_>, error: &str, retry_at: Millis) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "update cs_knowledge_source set embedding_error = $4, embedding_retry_at = $5
         where assistant_id = $1 and source_id = $2 and indexed_version = $3",
    );
    let [assistant, source, version] = key.values();
    pool.execute(&sql, &[assistant, source, version, SqlValue::Text(error), SqlValue::Integer(retry_at)]).await.map(|_| ())
}

/// Returns the number of vectors of the sources that are embedded by `model`, and how many numbers they have in all.
pub async fn measure(pool: &Pool, assistant: &str, model: &str) -> sqlx::Result<(u64, u64)> {
    let sql = Statement::per_dialect(
        "select count(*) as vectors, coalesce(sum(length(v.vector) / 4), 0) as numbers from cs_knowledge_source s
         join cs_knowledge_chunk c on c.assistant_id = s.assistant_id and c.source_id = s.source_id and c.version = s.indexed_version
         join cs_knowledge_vector v on v.chunk_id = c.id and v.model = s.embedding_model
         where s.assistant_id = $1 and s.embedding_model = $2",
        "select count(*) as vectors, coalesce(sum(cardinality(v.vector)), 0)::bigint as numbers from cs_knowledge_source s
         join cs_knowledge_chunk c on c.assistant_id = s.assistant_id and c.source_id = s.source_id and c.version = s.indexed_version
         join cs_knowledge_vector v on v.chunk_id = c.id and v.model = s.embedding_model
         where s.assistant_id = $1 and s.embedding_model = $2",
    );
    let row = pool.fetch_optional(&sql, &[SqlValue::Text(assistant), SqlValue::Text(model)]).await?.ok_or(sqlx::Error::RowNotFound)?;
    let count = |name| Ok::<_, sqlx::Error>(u64::try_from(row.integer(name)?).unwrap_or(0));
    Ok((count("vectors")?, count("numbers")?))
}

/// Returns the vectors of the sources that are embedded by `model`, ordered by chunk, from the first one after the chunk `after` on; at most
/// `limit`.
pub async fn load(pool: &Pool, assistant: &str, model: &str, after: i64, limit: i64) -> sqlx::Result<Vec<ChunkVector>> {
    let sql = Statement::portable(
        "select v.chunk_id, v.vector from cs_knowledge_source s
         join cs_knowledge_chunk c on c.assistant_id = s.assistant_id and c.source_id = s.source_id and c.version = s.indexed_version
         join cs_knowledge_vector v on v.chunk_id = c.id and v.model = s.embedding_model
         where s.assistant_id = $1 and s.embedding_model = $2 and v.chunk_id > $3 order by v.chunk_id limit $4",
    );
    let values = [SqlValue::Text(assistant), SqlValue::Text(model), SqlValue::Integer(after), SqlValue::Integer(limit)];
    pool.fetch_all(&sql, &values).await?.iter().map(chunk_vector).collect()
}

/// Returns the revision of a knowledge base, 0 if there is none, and the chunks whose vectors have the smallest angles to `query`, at most
/// `limit`; only those of `sources`, unless it is `None`. Vectors of another length are left out.
///
/// # Errors
/// Returns any database error, also when the database [cannot compare vectors](prepare_search).
pub async fn find_nearest(
    pool: &Pool,
    assistant: &str,
    model: &str,
    query: &[f32],
    sources: Option<&[String]>,
    limit: i64,
) -> sqlx::Result<(i64, Vec<ChunkVector>)> {
    // A vector of zeros has no angle and counts as a right angle, as in the core.
    let sql = Statement::per_dialect(
        "select (select revision from cs_knowledge_base where assistant_id = $1) as revision, null as chunk_id, null as vector
         union all
         select null, n.chunk_id, v.vector from
           (select v.chunk_id from cs_knowledge_source s
            join cs_knowledge_chunk c on c.assistant_id = s.assistant_id and c.source_id = s.source_id and c.version = s.indexed_version
            join cs_knowledge_vector v on v.chunk_id = c.id and v.model = s.embedding_model
            where s.assistant_id = $1 and s.embedding_model = $2 and ($3 is null or s.source_id in (select value from json_each($3)))
              and length(v.vector) = length($4)
            order by coalesce(vec_distance_cosine(v.vector, $4), 1), v.chunk_id limit $5) n
         join cs_knowledge_vector v on v.chunk_id = n.chunk_id",
        "select (select revision from cs_knowledge_base where assistant_id = $1) as revision, null::bigint as chunk_id, null::real[] as vector
         union all
         select null, n.chunk_id, v.vector from
           (select v.chunk_id from cs_knowledge_source s
            join cs_knowledge_chunk c on c.assistant_id = s.assistant_id and c.source_id = s.source_id and c.version = s.indexed_version
            join cs_knowledge_vector v on v.chunk_id = c.id and v.model = s.embedding_model
            where s.assistant_id = $1 and s.embedding_model = $2
              and ($3::text is null or s.source_id in (select json_array_elements_text($3::json)))
              and cardinality(v.vector) = cardinality($4::real[])
            order by coalesce(nullif(v.vector::vector <=> $4::real[]::vector, 'NaN'), 1), v.chunk_id limit $5) n
         join cs_knowledge_vector v on v.chunk_id = n.chunk_id",
    );
    let sources = sources.map(|ids| json!(ids).to_string());
    let values = [
        SqlValue::Text(assistant),
        SqlValue::Text(model),
        SqlValue::OptionalText(sources.as_deref()),
        SqlValue::Vector(query),
        SqlValue::Integer(limit),
    ];
    let (mut revision, mut nearest) = (0, Vec::new());
    for row in &pool.fetch_all(&sql, &values).await? {
        match row.optional_integer("chunk_id")? {
            Some(_) => nearest.push(chunk_vector(row)?),
            None => revision = row.optional_integer("revision")?.unwrap_or(0),
        }
    }
    Ok((revision, nearest))
}

fn chunk_vector(row: &DatabaseRow) -> sqlx::Result<ChunkVector> {
    Ok(ChunkVector { chunk: row.integer("chunk_id")?, vector: row.vector("vector")? })
}

/// Where the nearest vectors are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorSearch {
    /// In the database: SQLite, and PostgreSQL with the extension `vector`.
    Database,
    /// In memory.
    Memory,
}

/// Returns where the nearest vectors are found. Creates the extension `vector` on a PostgreSQL server that has it, if the user may.
///
/// # Errors
/// Returns any database error, except that the extension cannot be created.
pub async fn prepare_search(connection: &mut Connection) -> sqlx::Result<VectorSearch> {
    if matches!(connection, Connection::Sqlite(_)) || has_vector_type(connection).await? {
        return Ok(VectorSearch::Database);
    }
    if let Err(error) = connection.execute(&Statement::portable("create extension if not exists vector"), &[]).await {
        tracing::debug!(%error, "cannot create the extension vector");
    }
    Ok(if has_vector_type(connection).await? { VectorSearch::Database } else { VectorSearch::Memory })
}

/// Returns whether statements can use the type `vector`: the extension exists in a schema that is searched.
async fn has_vector_type(connection: &mut Connection) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "select to_regtype('vector') is not null and exists (select 1 from pg_extension where extname = 'vector') as has_type",
    );
    connection.fetch_optional(&sql, &[]).await?.map_or(Ok(false), |it| it.boolean("has_type"))
}
