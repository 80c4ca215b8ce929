//! What a search reads: the chunks of a knowledge base, and where terms occur. Both name the revision that they belong to.

use std::collections::BTreeMap;

use serde_json::json;

use super::chunk::{quote, token};
use crate::database::Pool;
use crate::database_row::DatabaseRow;
use crate::statement::{SqlValue, Statement};

/// A searchable source and its chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryRow {
    /// The number of the knowledge base.
    pub base: i64,
    /// The revision of the knowledge base.
    pub revision: i64,
    /// The source; absent if no source is searchable.
    pub source: Option<String>,
    /// The locale of its terms.
    pub locale: String,
    /// The model whose vectors all its chunks have.
    pub embedding_model: Option<String>,
    /// The database id and the length of each chunk in order.
    pub chunks: Vec<(i64, u32)>,
}

/// The occurrences of a term.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Posting {
    /// The place of the term in the query.
    pub term: usize,
    /// The database ids of chunks with a count; an id may be repeated, its counts are added.
    pub counts: Vec<(i64, u32)>,
}

/// Returns the searchable sources of an assistant; none if there is no knowledge base.
pub async fn load_directory(pool: &Pool, assistant: &str) -> sqlx::Result<Vec<DirectoryRow>> {
    let sql = Statement::per_dialect(
        "select b.id as base, b.revision, s.source_id, s.indexed_locale, s.embedding_model,
           (select group_concat(c.id || ':' || c.length, ' ' order by c.number) from cs_knowledge_chunk c
            where c.assistant_id = s.assistant_id and c.source_id = s.source_id and c.version = s.indexed_version) as chunks
         from cs_knowledge_base b left join cs_knowledge_source s on s.assistant_id = b.assistant_id and s.indexed_version is not null
         where b.assistant_id = $1",
        "select b.id as base, b.revision, s.source_id, s.indexed_locale, s.embedding_model,
           (select string_agg(c.id || ':' || c.length, ' ' order by c.number) from cs_knowledge_chunk c
            where c.assistant_id = s.assistant_id and c.source_id = s.source_id and c.version = s.indexed_version) as chunks
         from cs_knowledge_base b left join cs_knowledge_source s on s.assistant_id = b.assistant_id and s.indexed_version is not null
         where b.assistant_id = $1",
    );
    let row = |row: &DatabaseRow| {
        Ok(DirectoryRow {
            base: row.integer("base")?,
            revision: row.integer("revision")?,
            source: row.optional_text("source_id")?,
            locale: row.optional_text("indexed_locale")?.unwrap_or_default(),
            embedding_model: row.optional_text("embedding_model")?,
            chunks: parse_pairs(row.optional_text("chunks")?.as_deref().unwrap_or_default())?,
        })
    };
    pool.fetch_all(&sql, &[SqlValue::Text(assistant)]).await?.iter().map(row).collect()
}

/// Returns the revision of a knowledge base, 0 if there is none.
pub async fn find_revision(pool: &Pool, assistant: &str) -> sqlx::Result<i64> {
    let sql = Statement::portable("select revision from cs_knowledge_base where assistant_id = $1");
    let row = pool.fetch_optional(&sql, &[SqlValue::Text(assistant)]).await?;
    row.map_or(Ok(0), |it| it.integer("revision"))
}

/// Returns the revision of a knowledge base, 0 if there is none, and where terms occur in it.
pub async fn find_postings(pool: &Pool, assistant: &str, base: i64, terms: &[String]) -> sqlx::Result<(i64, Vec<Posting>)> {
    if terms.is_empty() {
        return Ok((find_revision(pool, assistant).await?, Vec::new()));
    }
    let tokens: Vec<String> = terms.iter().map(|it| token(base, it)).collect();
    match pool.is_shared() {
        false => find_in_sqlite(pool, assistant, &tokens).await,
        true => find_in_postgres(pool, assistant, &tokens).await,
    }
}

async fn find_in_sqlite(pool: &Pool, assistant: &str, tokens: &[String]) -> sqlx::Result<(i64, Vec<Posting>)> {
    // One row for each term, because transferring a row costs more than reading a posting.
    let sql = Statement::portable(
        "select (select revision from cs_knowledge_base where assistant_id = $1) as revision, null as term, null as chunks
         union all
         select null, q.value, (select group_concat(p.doc, ' ') from cs_knowledge_posting p where p.term = q.value) from json_each($2) q",
    );
    let rows = pool.fetch_all(&sql, &[SqlValue::Text(assistant), SqlValue::Text(&json!(tokens).to_string())]).await?;
    let (mut revision, mut postings) = (0, Vec::with_capacity(tokens.len()));
    for row in &rows {
        let Some(token) = row.optional_text("term")? else {
            revision = row.optional_integer("revision")?.unwrap_or(0);
            continue;
        };
        let Some(term) = tokens.iter().position(|it| *it == token) else { continue };
        postings.push(Posting { term, counts: parse_pairs(row.optional_text("chunks")?.as_deref().unwrap_or_default())? });
    }
    Ok((revision, postings))
}

async fn find_in_postgres(pool: &Pool, assistant: &str, tokens: &[String]) -> sqlx::Result<(i64, Vec<Posting>)> {
    // One line for each chunk: a text is built faster than a row for each term.
    let sql = Statement::portable(
        "select (select revision from cs_knowledge_base where assistant_id = $1) as revision,
           (select string_agg(i.rowid || ' ' || ts_filter(setweight(i.terms, 'A', array(select json_array_elements_text($2::json))), '{a}'),
              chr(10))
            from cs_knowledge_index i where i.terms @@ $3::text::tsquery) as chunks",
    );
    let any = tokens.iter().map(|it| quote(it)).collect::<Vec<_>>().join(" | ");
    let json = json!(tokens).to_string();
    let row = pool.fetch_optional(&sql, &[SqlValue::Text(assistant), SqlValue::Text(&json), SqlValue::Text(&any)]).await?;
    let Some(row) = row else { return Ok((0, Vec::new())) };
    let mut postings: Vec<Posting> = (0..tokens.len()).map(|term| Posting { term, counts: Vec::new() }).collect();
    let terms: BTreeMap<&str, usize> = tokens.iter().enumerate().map(|(term, it)| (it.as_str(), term)).collect();
    let chunks = row.optional_text("chunks")?.unwrap_or_default();
    for line in chunks.lines() {
        let parsed = line.split_once(' ').and_then(|(id, vector)| Some((id.parse::<i64>().ok()?, parse_vector(vector)?)));
        let (id, lexemes) = parsed.ok_or_else(|| sqlx::Error::Decode(format!("'{line}' is not a text search vector").into()))?;
        for (lexeme, count) in lexemes {
            if let Some(posting) = terms.get(lexeme.as_str()).and_then(|it| postings.get_mut(*it)) {
                posting.counts.push((id, count));
            }
        }
    }
    Ok((row.optional_integer("revision")?.unwrap_or(0), postings))
}

/// Parses the text of a vector, `'lexeme':3A …`: lexemes with their first positions. Quotes and backslashes in lexemes are doubled.
fn parse_vector(text: &str) -> Option<Vec<(String, u32)>> {
    let mut lexemes = Vec::new();
    let mut rest = text;
    while let Some(after) = rest.trim_start().strip_prefix('\'') {
        let (mut lexeme, mut chars) = (String::new(), after.char_indices());
        let end = loop {
            let (at, letter) = chars.next()?;
            match letter {
                '\'' | '\\' if after.get(at + 1..).is_some_and(|it| it.starts_with(letter)) => {
                    chars.next();
                    lexeme.push(letter);
                }
                '\'' => break at,
                _ => lexeme.push(letter),
            }
        };
        let place = after.get(end + 1..)?.strip_prefix(':')?;
        let digits = place.find(|it: char| !it.is_ascii_digit()).unwrap_or(place.len());
        lexemes.push((lexeme, place.get(..digits)?.parse().ok()?));
        rest = place.find(' ').and_then(|it| place.get(it..)).unwrap_or_default();
    }
    rest.trim().is_empty().then_some(lexemes)
}

/// Parses `id:number` pairs; a number that is absent is 1.
fn parse_pairs(text: &str) -> sqlx::Result<Vec<(i64, u32)>> {
    let pair = |pair: &str| {
        let (id, number) = pair.split_once(':').unwrap_or((pair, "1"));
        Some((id.parse().ok()?, number.parse().ok()?))
    };
    let parse = |text| pair(text).ok_or_else(|| sqlx::Error::Decode(format!("'{text}' is not a pair of numbers").into()));
    text.split_ascii_whitespace().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::parse_vector;

    #[test]
    fn vectors_are_parsed() {
        let pairs = |pairs: &[(&str, u32)]| Some(pairs.iter().map(|pair| (pair.0.to_owned(), pair.1)).collect::<Vec<_>>());
        assert_eq!(parse_vector("'1_fee':3A '1_it''s':16A '1_a\\\\b':1A,2A"), pairs(&[("1_fee", 3), ("1_it's", 16), ("1_a\\b", 1)]));
        assert_eq!(parse_vector(""), pairs(&[]));
        for broken in ["'1_fee", "'1_fee'", "'1_fee':A", "1_fee:3A"] {
            assert_eq!(parse_vector(broken), None, "{broken}");
        }
    }
}
