//! `cs_knowledge_base` and `cs_knowledge_source`: the sources and the state of their indexing.

use convengine_core::knowledge::{Source, SourceFormat};
use convengine_core::turn::Millis;

use crate::database::{Connection, Pool};
use crate::database_row::DatabaseRow;
use crate::statement::{SqlValue, Statement};

/// The knowledge base of an assistant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Base {
    /// Its number, which prefixes the terms in the index.
    pub id: i64,
    /// Incremented by every change.
    pub revision: i64,
}

/// A source without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRow {
    /// The source without its text.
    pub source: Source,
    /// `indexing`, `ready`, `partial` (searchable, but part of the document could not be read) or `failed`.
    pub status: String,
    /// The number of characters that could not be read.
    pub unreadable_characters: i64,
    /// Why it failed.
    pub error: Option<String>,
    /// Whether searches find a version of it.
    pub is_searchable: bool,
    /// The number of chunks stored so far.
    pub chunks: i64,
    /// The number of chunks that there will be.
    pub total_chunks: i64,
    /// The model whose vectors all chunks have.
    pub embedding_model: Option<String>,
    /// Why the chunks could not be embedded.
    pub embedding_error: Option<String>,
    /// When it was stored.
    pub updated_at: Millis,
}

/// A version of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceVersion<'a> {
    /// The assistant.
    pub assistant: &'a str,
    /// The id of the source.
    pub source: &'a str,
    /// The version.
    pub version: i64,
}

impl SourceRow {
    /// Says what could not be read, such as `12 characters and 1 page cannot be read`; `None` if everything could.
    pub fn describe_unreadable(&self) -> Option<String> {
        let count = |count: i64, noun: &str| (count > 0).then(|| format!("{count} {noun}{}", if count == 1 { "" } else { "s" }));
        let counts = [count(self.unreadable_characters, "character"), count(i64::from(self.source.unreadable_pages), "page")];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        (!counts.is_empty()).then(|| format!("{} cannot be read", counts.join(" and ")))
    }
}

impl<'a> SourceVersion<'a> {
    pub(super) fn values(&self) -> [SqlValue<'a>; 3] {
        [SqlValue::Text(self.assistant), SqlValue::Text(self.source), SqlValue::Integer(self.version)]
    }
}

/// A source that is to be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexingJob {
    /// The assistant.
    pub assistant: String,
    /// The source.
    pub source: Source,
    /// The version to index.
    pub version: i64,
}

/// Increments the revision of a knowledge base, which is created if it does not exist. The row stays locked until the transaction ends.
pub async fn increment_revision(connection: &mut Connection, assistant: &str) -> sqlx::Result<Base> {
    let sql = Statement::portable(
        "insert into cs_knowledge_base (assistant_id, revision) values ($1, 1)
         on conflict (assistant_id) do update set revision = cs_knowledge_base.revision + 1 returning id, revision",
    );
    let row = connection.fetch_optional(&sql, &[SqlValue::Text(assistant)]).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(Base { id: row.integer("id")?, revision: row.integer("revision")? })
}

/// Returns the knowledge base of an assistant.
pub async fn find_base(connection: &mut Connection, assistant: &str) -> sqlx::Result<Option<Base>> {
    let sql = Statement::portable("select id, revision from cs_knowledge_base where assistant_id = $1");
    let row = connection.fetch_optional(&sql, &[SqlValue::Text(assistant)]).await?;
    row.map(|row| Ok(Base { id: row.integer("id")?, revision: row.integer("revision")? })).transpose()
}

/// Stores a source that is to be indexed as `version`, from `not_before` on; searches find its previous version meanwhile.
pub async fn put(
    connection: &mut Connection,
    assistant: &str,
    source: &Source,
    version: i64,
    now: Millis,
    not_before: Millis,
) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "insert into cs_knowledge_source (assistant_id, source_id, title, url, locale, format, status, version, chunks, total_chunks,
           updated_at, leased_until, text, unreadable_characters, unreadable_pages)
         values ($1, $2, $3, $4, $5, $6, 'indexing', $7, 0, 0, $8, $9, $10, $11, $12)
         on conflict (assistant_id, source_id) do update set title = excluded.title, url = excluded.url, locale = excluded.locale,
           format = excluded.format, status = excluded.status, error = null, version = excluded.version, chunks = 0, total_chunks = 0,
           leased_until = excluded.leased_until, updated_at = excluded.updated_at, text = excluded.text,
           unreadable_characters = excluded.unreadable_characters, unreadable_pages = excluded.unreadable_pages",
    );
    let values = [
        SqlValue::Text(assistant),
        SqlValue::Text(&source.id),
        SqlValue::Text(&source.title),
        SqlValue::OptionalText(source.url.as_deref()),
        SqlValue::Text(&source.locale),
        SqlValue::Text(format_name(source.format)),
        SqlValue::Integer(version),
        SqlValue::Integer(now),
        SqlValue::Integer(not_before),
        SqlValue::Text(&source.text),
        SqlValue::Integer(i64::try_from(source.unreadable_characters()).unwrap_or(i64::MAX)),
        SqlValue::Integer(i64::from(source.unreadable_pages)),
    ];
    connection.execute(&sql, &values).await.map(|_| ())
}

const COLUMNS_OF_ONE: &str = "select source_id, title, url, locale, format, status, error, indexed_version, chunks, total_chunks,
       embedding_model, embedding_error, updated_at, unreadable_characters, unreadable_pages
     from cs_knowledge_source where assistant_id = $1 and source_id = $2";

/// Returns a source without its text.
pub async fn find(pool: &Pool, assistant: &str, source: &str) -> sqlx::Result<Option<SourceRow>> {
    let sql = Statement::portable(COLUMNS_OF_ONE);
    pool.fetch_optional(&sql, &[SqlValue::Text(assistant), SqlValue::Text(source)]).await?.as_ref().map(source_row).transpose()
}

/// Returns the sources of an assistant without their texts, ordered by id.
pub async fn list(pool: &Pool, assistant: &str) -> sqlx::Result<Vec<SourceRow>> {
    let sql = Statement::per_dialect(
        "select source_id, title, url, locale, format, status, error, indexed_version, chunks, total_chunks, embedding_model,
           embedding_error, updated_at, unreadable_characters, unreadable_pages
         from cs_knowledge_source where assistant_id = $1 order by source_id",
        "select source_id, title, url, locale, format, status, error, indexed_version, chunks, total_chunks, embedding_model,
           embedding_error, updated_at, unreadable_characters, unreadable_pages
         from cs_knowledge_source where assistant_id = $1 order by source_id collate \"C\"",
    );
    pool.fetch_all(&sql, &[SqlValue::Text(assistant)]).await?.iter().map(source_row).collect()
}

/// Returns all sources with their texts and assistants, ordered by assistant and id.
pub async fn list_texts(connection: &mut Connection) -> sqlx::Result<Vec<(String, Source)>> {
    let sql = Statement::per_dialect(
        "select assistant_id, source_id, title, url, locale, format, unreadable_pages, text from cs_knowledge_source
         order by assistant_id, source_id",
        "select assistant_id, source_id, title, url, locale, format, unreadable_pages, text from cs_knowledge_source
         order by assistant_id collate \"C\", source_id collate \"C\"",
    );
    let source = |row: &DatabaseRow| Ok((row.text("assistant_id")?, Source { text: row.text("text")?, ..source_without_text(row)? }));
    connection.fetch_all(&sql, &[]).await?.iter().map(source).collect()
}

/// Returns whether the table exists.
pub async fn has_table(connection: &mut Connection) -> sqlx::Result<bool> {
    Ok(crate::schema::list_tables(connection).await?.contains("cs_knowledge_source"))
}

/// Deletes a source. Returns whether it existed; its chunks are obsolete then, and deleted with [`super::chunk::delete`].
pub async fn delete(connection: &mut Connection, assistant: &str, source: &str) -> sqlx::Result<bool> {
    let sql = Statement::portable("delete from cs_knowledge_source where assistant_id = $1 and source_id = $2");
    Ok(connection.execute(&sql, &[SqlValue::Text(assistant), SqlValue::Text(source)]).await? > 0)
}

/// Leases a source that waits to be indexed, if any, until `until`.
pub async fn lease_next(pool: &Pool, now: Millis, until: Millis) -> sqlx::Result<Option<IndexingJob>> {
    let sql = Statement::per_dialect(
        "update cs_knowledge_source set leased_until = $2 where rowid =
           (select rowid from cs_knowledge_source where status = 'indexing' and leased_until < $1 order by updated_at limit 1)
         returning assistant_id, source_id, title, url, locale, format, unreadable_pages, version, text",
        "update cs_knowledge_source set leased_until = $2 where (assistant_id, source_id) =
           (select assistant_id, source_id from cs_knowledge_source where status = 'indexing' and leased_until < $1
            order by updated_at limit 1 for update skip locked)
         returning assistant_id, source_id, title, url, locale, format, unreadable_pages, version, text",
    );
    let row = pool.fetch_optional(&sql, &[SqlValue::Integer(now), SqlValue::Integer(until)]).await?;
    row.map(|row| {
        let source = Source { text: row.text("text")?, ..source_without_text(&row)? };
        Ok(IndexingJob { assistant: row.text("assistant_id")?, source, version: row.integer("version")? })
    })
    .transpose()
}

/// Takes a source that was stored with the lease `leased_until`, for another one until `until`. Returns `false` if another process has taken
/// it, or if the version has been replaced or deleted.
pub async fn take(connection: &mut Connection, key: &SourceVersion<'_>, leased_until: Millis, until: Millis) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "update cs_knowledge_source set leased_until = $5
         where assistant_id = $1 and source_id = $2 and version = $3 and status = 'indexing' and leased_until = $4",
    );
    let [assistant, source, version] = key.values();
    let values = [assistant, source, version, SqlValue::Integer(leased_until), SqlValue::Integer(until)];
    Ok(connection.execute(&sql, &values).await? > 0)
}

/// Returns whether a version is still to be indexed: it has not been replaced or deleted.
pub async fn is_current(connection: &mut Connection, key: &SourceVersion<'_>) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "select version from cs_knowledge_source where assistant_id = $1 and source_id = $2 and version = $3 and status = 'indexing'",
    );
    Ok(connection.fetch_optional(&sql, &key.values()).await?.is_some())
}

/// Returns the number of sources that wait to be indexed or are being indexed.
pub async fn count_waiting(pool: &Pool) -> sqlx::Result<u32> {
    let sql = Statement::portable("select count(*) as waiting from cs_knowledge_source where status = 'indexing'");
    let row = pool.fetch_optional(&sql, &[]).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(u32::try_from(row.integer("waiting")?).unwrap_or(u32::MAX))
}

/// Records progress and renews the lease. Returns `false` if the version has been replaced or deleted.
pub async fn record_progress(
    connection: &mut Connection,
    key: &SourceVersion<'_>,
    chunks: i64,
    total: i64,
    until: Millis,
) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "update cs_knowledge_source set chunks = $4, total_chunks = $5, leased_until = $6
         where assistant_id = $1 and source_id = $2 and version = $3 and status = 'indexing'",
    );
    let [assistant, source, version] = key.values();
    let more = [SqlValue::Integer(chunks), SqlValue::Integer(total), SqlValue::Integer(until)];
    Ok(connection.execute(&sql, &[assistant, source, version, more[0], more[1], more[2]]).await? > 0)
}

/// Makes searches find a version, which is `ready`, or `partial` if part of its document could not be read. Returns `false` if it has been replaced or deleted.
pub async fn finish(connection: &mut Connection, key: &SourceVersion<'_>, chunks: i64) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "update cs_knowledge_source set
           status = case when unreadable_characters + unreadable_pages > 0 then 'partial' else 'ready' end, error = null, chunks = $4, total_chunks = $4, indexed_version = version,
           indexed_locale = locale, embedding_model = null, embedding_error = null, embedding_retry_at = 0, leased_until = 0
         where assistant_id = $1 and source_id = $2 and version = $3 and status = 'indexing'",
    );
    let [assistant, source, version] = key.values();
    Ok(connection.execute(&sql, &[assistant, source, version, SqlValue::Integer(chunks)]).await? > 0)
}

/// Records that a version cannot be indexed; searches go on to find the previous one.
pub async fn fail(pool: &Pool, key: &SourceVersion<'_>, error: &str) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "update cs_knowledge_source set status = 'failed', error = $4, leased_until = 0
         where assistant_id = $1 and source_id = $2 and version = $3 and status = 'indexing'",
    );
    let [assistant, source, version] = key.values();
    pool.execute(&sql, &[assistant, source, version, SqlValue::Text(error)]).await.map(|_| ())
}

fn source_row(row: &DatabaseRow) -> sqlx::Result<SourceRow> {
    Ok(SourceRow {
        source: source_without_text(row)?,
        status: row.text("status")?,
        unreadable_characters: row.integer("unreadable_characters")?,
        error: row.optional_text("error")?,
        is_searchable: row.optional_integer("indexed_version")?.is_some(),
        chunks: row.integer("chunks")?,
        total_chunks: row.integer("total_chunks")?,
        embedding_model: row.optional_text("embedding_model")?,
        embedding_error: row.optional_text("embedding_error")?,
        updated_at: row.integer("updated_at")?,
    })
}

fn source_without_text(row: &DatabaseRow) -> sqlx::Result<Source> {
    Ok(Source {
        id: row.text("source_id")?,
        title: row.text("title")?,
        text: String::new(),
        url: row.optional_text("url")?,
        locale: row.text("locale")?,
        format: if row.text("format")? == "markdown" { SourceFormat::Markdown } else { SourceFormat::Text },
        unreadable_pages: u32::try_from(row.integer("unreadable_pages")?).unwrap_or(u32::MAX),
    })
}

/// The name of a format, as documents and packs write it.
pub fn format_name(format: SourceFormat) -> &'static str {
    match format {
        SourceFormat::Text => "text",
        SourceFormat::Markdown => "markdown",
    }
}
