//! `cs_knowledge_chunk`, `cs_knowledge_index` and `cs_knowledge_vector`: the chunks of sources and what finds them.

use convengine_core::knowledge::Chunk;
use convengine_core::turn::Passage;
use serde_json::json;

use super::source::SourceVersion;
use crate::database::{Connection, Pool};
use crate::database_row::DatabaseRow;
use crate::statement::{SqlValue, Statement};

/// The largest position in a `tsvector`, which holds a count. A chunk has fewer terms.
const MAX_COUNT: u32 = 16_383;

/// Stores chunks with their terms; `first` is the number of the first one, and `base` is the knowledge base.
pub async fn insert(connection: &mut Connection, key: &SourceVersion<'_>, base: i64, first: usize, chunks: &[Chunk]) -> sqlx::Result<()> {
    insert_chunks(connection, key, first, chunks).await?;
    insert_terms(connection, key, base, first, chunks).await
}

async fn insert_chunks(connection: &mut Connection, key: &SourceVersion<'_>, first: usize, chunks: &[Chunk]) -> sqlx::Result<()> {
    let sql = Statement::per_dialect(
        "insert into cs_knowledge_chunk (assistant_id, source_id, version, number, length, title, url, text)
         select $1, $2, $3, value ->> 'number', value ->> 'length', value ->> 'title', value ->> 'url', value ->> 'text'
         from json_each($4)",
        "insert into cs_knowledge_chunk (assistant_id, source_id, version, number, length, title, url, text)
         select $1, $2, $3, c.number, c.length, c.title, c.url, c.text
         from json_to_recordset($4::json) as c(number bigint, length bigint, title text, url text, text text)",
    );
    let row = |(number, chunk): (usize, &Chunk)| json!({"number": number, "length": chunk.length, "title": chunk.title, "url": chunk.url, "text": chunk.text});
    let rows = json!((first..).zip(chunks).map(row).collect::<Vec<_>>()).to_string();
    let values = [SqlValue::Text(key.assistant), SqlValue::Text(key.source), SqlValue::Integer(key.version), SqlValue::Text(&rows)];
    connection.execute(&sql, &values).await.map(|_| ())
}

async fn insert_terms(connection: &mut Connection, key: &SourceVersion<'_>, base: i64, first: usize, chunks: &[Chunk]) -> sqlx::Result<()> {
    let sql = Statement::per_dialect(
        "insert into cs_knowledge_index (rowid, terms) select c.id, t.value ->> 'terms' from json_each($4) t
         join cs_knowledge_chunk c on c.assistant_id = $1 and c.source_id = $2 and c.version = $3 and c.number = t.value ->> 'number'",
        "insert into cs_knowledge_index (rowid, terms) select c.id, t.terms::tsvector
         from json_to_recordset($4::json) as t(number bigint, terms text)
         join cs_knowledge_chunk c on c.assistant_id = $1 and c.source_id = $2 and c.version = $3 and c.number = t.number",
    );
    let is_postgres = matches!(connection, Connection::Postgres(_));
    let terms = |chunk: &Chunk| if is_postgres { tsvector(base, chunk) } else { repeated_terms(base, chunk) };
    let rows: Vec<_> = (first..).zip(chunks).map(|(number, chunk)| json!({"number": number, "terms": terms(chunk)})).collect();
    let rows = json!(rows).to_string();
    let values = [SqlValue::Text(key.assistant), SqlValue::Text(key.source), SqlValue::Integer(key.version), SqlValue::Text(&rows)];
    connection.execute(&sql, &values).await.map(|_| ())
}

/// The terms as FTS5 counts them.
fn repeated_terms(base: i64, chunk: &Chunk) -> String {
    let mut text = String::new();
    for (term, count) in &chunk.terms {
        let token = token(base, term);
        for _ in 0..*count {
            text.push_str(&token);
            text.push(' ');
        }
    }
    text
}

fn tsvector(base: i64, chunk: &Chunk) -> String {
    let lexeme = |(term, count): &(String, u32)| format!("{}:{}", quote(&token(base, term)), (*count).clamp(1, MAX_COUNT));
    chunk.terms.iter().map(lexeme).collect::<Vec<_>>().join(" ")
}

/// Quotes a lexeme of a `tsvector` or `tsquery`.
pub(super) fn quote(lexeme: &str) -> String {
    format!("'{}'", lexeme.replace('\\', "\\\\").replace('\'', "''"))
}

/// The form of a term in the index: only searches of the same knowledge base look it up.
pub(super) fn token(base: i64, term: &str) -> String {
    format!("{base}_{term}")
}

/// Returns the database ids of chunks of a source that no search finds and no process stores any more: those of versions that have been
/// replaced or deleted; at most `limit`.
pub async fn list_obsolete_of(connection: &mut Connection, assistant: &str, source: &str, limit: i64) -> sqlx::Result<Vec<i64>> {
    let sql = Statement::portable(
        "select c.id from cs_knowledge_chunk c where c.assistant_id = $1 and c.source_id = $2 and not exists
           (select 1 from cs_knowledge_source s where s.assistant_id = c.assistant_id and s.source_id = c.source_id
              and (s.version = c.version or s.indexed_version = c.version)) limit $3",
    );
    let values = [SqlValue::Text(assistant), SqlValue::Text(source), SqlValue::Integer(limit)];
    connection.fetch_all(&sql, &values).await?.iter().map(|it| it.integer("id")).collect()
}

/// Returns the database ids of chunks of all sources that no search finds and no process stores any more, at most `limit`.
pub async fn list_obsolete(connection: &mut Connection, limit: i64) -> sqlx::Result<Vec<i64>> {
    let sql = Statement::portable(
        "select c.id from cs_knowledge_chunk c where not exists
           (select 1 from cs_knowledge_source s where s.assistant_id = c.assistant_id and s.source_id = c.source_id
              and (s.version = c.version or s.indexed_version = c.version)) limit $1",
    );
    connection.fetch_all(&sql, &[SqlValue::Integer(limit)]).await?.iter().map(|it| it.integer("id")).collect()
}

/// Returns the database ids of the chunks of one version of a source, at most `limit`.
pub async fn list_version(connection: &mut Connection, key: &SourceVersion<'_>, limit: i64) -> sqlx::Result<Vec<i64>> {
    let sql = Statement::portable("select id from cs_knowledge_chunk where assistant_id = $1 and source_id = $2 and version = $3 limit $4");
    let [assistant, source, version] = key.values();
    connection.fetch_all(&sql, &[assistant, source, version, SqlValue::Integer(limit)]).await?.iter().map(|it| it.integer("id")).collect()
}

/// Deletes chunks by their database ids, with what finds them.
pub async fn delete(connection: &mut Connection, ids: &[i64]) -> sqlx::Result<()> {
    let ids = json!(ids).to_string();
    for (sqlite, postgres) in [
        (
            "delete from cs_knowledge_index where rowid in (select value from json_each($1))",
            "delete from cs_knowledge_index where rowid in (select value::bigint from json_array_elements_text($1::json))",
        ),
        (
            "delete from cs_knowledge_vector where chunk_id in (select value from json_each($1))",
            "delete from cs_knowledge_vector where chunk_id in (select value::bigint from json_array_elements_text($1::json))",
        ),
        (
            "delete from cs_knowledge_chunk where id in (select value from json_each($1))",
            "delete from cs_knowledge_chunk where id in (select value::bigint from json_array_elements_text($1::json))",
        ),
    ] {
        connection.execute(&Statement::per_dialect(sqlite, postgres), &[SqlValue::Text(&ids)]).await?;
    }
    Ok(())
}

/// Returns the passages of chunks by their database ids, in any order.
pub async fn find_passages(pool: &Pool, ids: &[i64]) -> sqlx::Result<Vec<Passage>> {
    let sql = Statement::per_dialect(
        "select source_id, number, title, url, text from cs_knowledge_chunk where id in (select value from json_each($1))",
        "select source_id, number, title, url, text from cs_knowledge_chunk
         where id in (select value::bigint from json_array_elements_text($1::json))",
    );
    let passage = |row: &DatabaseRow| {
        let source = row.text("source_id")?;
        let chunk = format!("{source}#{}", row.integer("number")?);
        Ok(Passage { chunk, source, title: row.text("title")?, url: row.optional_text("url")?, text: row.text("text")? })
    };
    pool.fetch_all(&sql, &[SqlValue::Text(&json!(ids).to_string())]).await?.iter().map(passage).collect()
}
