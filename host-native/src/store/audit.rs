//! `ce_audit`: reads and writes audit rows, and reserves ids for rows that are derived instead of stored.

use convengine_core::turn::Millis;
use serde::Serialize;

use super::commit::without_nul;
use super::database::{Connection, Pool, Row, Statement, Value};
use super::turn_rows::Rows;
use crate::clock;

/// A row of `ce_audit` as the API returns it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditRow {
    /// The row id.
    pub audit_id: i64,
    /// The conversation.
    pub conversation_id: String,
    /// The stage.
    pub stage: String,
    /// The payload, JSON text.
    pub payload_json: String,
    /// ISO 8601 with `Z`.
    pub created_at: String,
}

/// Returns the stored audit rows of a conversation, oldest first.
///
/// # Errors
/// Returns any database error.
pub async fn of_conversation(pool: &Pool, conversation: &str) -> sqlx::Result<Vec<AuditRow>> {
    let sql = Statement::of(
        "select audit_id, conversation_id, stage, payload_json, cast(created_at as text) as created_at
         from ce_audit where conversation_id = $1 order by ce_audit.created_at, audit_id",
        "select audit_id, conversation_id::text, stage, payload_json::text,
           (extract(epoch from created_at) * 1000)::bigint::text as created_at
         from ce_audit where conversation_id = $1::uuid order by ce_audit.created_at, audit_id",
    );
    pool.all(&sql, &[Value::Text(conversation)]).await?.iter().map(found).collect()
}

fn found(row: &Row) -> sqlx::Result<AuditRow> {
    let stored = row.text("created_at")?;
    Ok(AuditRow {
        audit_id: row.int("audit_id")?,
        conversation_id: row.text("conversation_id")?,
        stage: row.text("stage")?,
        payload_json: row.text("payload_json")?,
        created_at: clock::parse(&stored).map_or(stored, clock::iso_text),
    })
}

/// Attempts to reserve consecutive ids while concurrent writers take some in between.
const ATTEMPTS: usize = 100;

/// Reserves `count` consecutive ids of `ce_audit`. Returns the first. On SQLite the caller must hold a transaction.
///
/// # Errors
/// Returns any database error, or [`sqlx::Error::PoolTimedOut`] when the attempts are exhausted.
pub async fn keep_numbers(connection: &mut Connection, count: i64) -> sqlx::Result<i64> {
    // PostgreSQL: reservations exclude each other, but inserts take no lock and may consume ids in between.
    let sql = Statement::of(
        "update sqlite_sequence set seq = max(seq, coalesce((select max(audit_id) from ce_audit), 0)) + $1 where name = 'ce_audit'
         returning seq - $1 + 1 as first, seq as last",
        "with alone as materialized (select pg_advisory_lock(726174652)),
           numbers as materialized (select min(it) as first, max(it) as last
             from (select nextval(pg_get_serial_sequence('ce_audit', 'audit_id')) as it from alone, generate_series(1, $1)) n),
           done as materialized (select first, last, pg_advisory_unlock(726174652) from numbers)
         select first, last from done",
    );
    for _ in 0..ATTEMPTS {
        let Some(row) = connection.first(&sql, &[Value::Int(count)]).await? else { return begin_numbers(connection, count).await };
        // Null when the table has no sequence.
        let (first, last) = (row.maybe_int("first")?.ok_or(sqlx::Error::ColumnNotFound("audit_id".to_owned()))?, row.int("last")?);
        if last - first + 1 == count {
            return Ok(first);
        }
    }
    Err(sqlx::Error::PoolTimedOut)
}

/// Like [`keep_numbers`], for an SQLite table that never had a row.
async fn begin_numbers(connection: &mut Connection, count: i64) -> sqlx::Result<i64> {
    let sql = Statement::both(
        "insert into sqlite_sequence (name, seq) select 'ce_audit', coalesce(max(audit_id), 0) + $1 from ce_audit
         returning seq - $1 + 1 as first",
    );
    connection.first(&sql, &[Value::Int(count)]).await?.ok_or(sqlx::Error::RowNotFound)?.int("first")
}

/// Returns payloads as the database would return them after storing: PostgreSQL rejects NUL, and a `jsonb` column reformats JSON.
///
/// # Errors
/// Returns any database error.
pub async fn as_stored(pool: &Pool, payloads: Vec<String>) -> sqlx::Result<Vec<String>> {
    if payloads.is_empty() || !pool.is_shared() {
        return Ok(payloads);
    }
    let payloads: Vec<String> = payloads.into_iter().map(without_nul).collect();
    let sql = Statement::both(
        "select 1 from pg_attribute where attrelid = 'ce_audit'::regclass and attname = 'payload_json' and atttypid = 'jsonb'::regtype",
    );
    if pool.first(&sql, &[]).await?.is_none() {
        return Ok(payloads);
    }
    let sql = Statement::both("select r::jsonb::text as payload from json_array_elements($1::json) with ordinality x (r, n) order by n");
    pool.all(&sql, &[Value::Text(&format!("[{}]", payloads.join(",")))]).await?.iter().map(|it| it.text("payload")).collect()
}

/// Inserts audit rows, given as stage and payload. Does nothing when the conversation does not exist.
///
/// # Errors
/// Returns any database error.
pub async fn tell(pool: &Pool, conversation: &str, rows: &[(&str, serde_json::Value)], at: Millis) -> sqlx::Result<u64> {
    let sql = Statement::of(
        "insert into ce_audit (conversation_id, stage, payload_json, created_at)
         select $1, value->>0, value->1, $3 from json_each($2)
         where exists (select 1 from ce_conversation where conversation_id = $1)",
        "insert into ce_audit (conversation_id, stage, payload_json, created_at)
         select $1::uuid, r->>0, r->1, ($3 || 'Z')::timestamptz from json_array_elements($2::json) r
         where exists (select 1 from ce_conversation where conversation_id = $1::uuid)",
    );
    let rows = serde_json::json!(rows).to_string();
    pool.run(&sql, &[Value::Text(conversation), Value::Text(&rows), Value::Text(&clock::audit_text(at))]).await
}

/// Inserts rows with reserved ids, each a JSON array `[id, conversation, stage, payload, time]`.
///
/// # Errors
/// Returns any database error.
pub async fn insert(connection: &mut Connection, rows: &Rows) -> sqlx::Result<u64> {
    let Some(rows) = rows.array() else { return Ok(0) };
    let rows = if matches!(connection, Connection::Postgres(_)) { without_nul(rows) } else { rows };
    let sql = Statement::of(
        "insert into ce_audit (audit_id, conversation_id, stage, payload_json, created_at)
         select value->>0, value->>1, value->>2, value->3, value->>4 from json_each($1)",
        "insert into ce_audit (audit_id, conversation_id, stage, payload_json, created_at)
         select (r->>0)::bigint, (r->>1)::uuid, r->>2, r->3, (r->>4 || 'Z')::timestamptz from json_array_elements($1::json) r",
    );
    connection.run(&sql, &[Value::Text(&rows)]).await
}
