//! `ce_audit`: reads and writes audit rows, and reserves ids for rows that are derived instead of stored.

use convengine_core::turn::Millis;
use serde::Serialize;

use super::database::{Connection, Pool};
use super::database_row::DatabaseRow;
use super::nul::replace_nul;
use super::rows::Column::{Integer, Json, Text};
use super::rows::RowStatement;
use super::statement::{SqlValue, Statement};
use convengine_host_base::clock;

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
pub async fn list_for_conversation(pool: &Pool, conversation: &str) -> sqlx::Result<Vec<AuditRow>> {
    let sql = Statement::per_dialect(
        "select audit_id, conversation_id, stage, payload_json, cast(created_at as text) as created_at
         from ce_audit where conversation_id = $1 order by ce_audit.created_at, audit_id",
        "select audit_id, conversation_id::text, stage, payload_json::text,
           (extract(epoch from created_at) * 1000)::bigint::text as created_at
         from ce_audit where conversation_id = $1::uuid order by ce_audit.created_at, audit_id",
    );
    pool.fetch_all(&sql, &[SqlValue::Text(conversation)]).await?.iter().map(audit_row_from_row).collect()
}

fn audit_row_from_row(row: &DatabaseRow) -> sqlx::Result<AuditRow> {
    let stored = row.text("created_at")?;
    Ok(AuditRow {
        audit_id: row.integer("audit_id")?,
        conversation_id: row.text("conversation_id")?,
        stage: row.text("stage")?,
        payload_json: row.text("payload_json")?,
        created_at: clock::parse(&stored).map_or(stored, clock::format_iso),
    })
}

/// Attempts to reserve consecutive ids while concurrent writers take some in between.
const RESERVE_ATTEMPTS: usize = 100;

/// Reserves `count` consecutive ids of `ce_audit`. Returns the first. On SQLite the caller must hold a transaction.
///
/// # Errors
/// Returns any database error, or [`sqlx::Error::PoolTimedOut`] when the attempts are exhausted.
pub async fn reserve_ids(connection: &mut Connection, count: i64) -> sqlx::Result<i64> {
    // PostgreSQL: reservations exclude each other, but inserts take no lock and may consume ids in between.
    let sql = Statement::per_dialect(
        "update sqlite_sequence set seq = max(seq, coalesce((select max(audit_id) from ce_audit), 0)) + $1 where name = 'ce_audit'
         returning seq - $1 + 1 as first, seq as last",
        "with alone as materialized (select pg_advisory_lock(726174652)),
           numbers as materialized (select min(it) as first, max(it) as last
             from (select nextval(pg_get_serial_sequence('ce_audit', 'audit_id')) as it from alone, generate_series(1, $1)) n),
           done as materialized (select first, last, pg_advisory_unlock(726174652) from numbers)
         select first, last from done",
    );
    for _ in 0..RESERVE_ATTEMPTS {
        let Some(row) = connection.fetch_optional(&sql, &[SqlValue::Integer(count)]).await? else {
            return reserve_first_ids(connection, count).await;
        };
        // Null when the table has no sequence.
        let (first, last) =
            (row.optional_integer("first")?.ok_or(sqlx::Error::ColumnNotFound("audit_id".to_owned()))?, row.integer("last")?);
        if last - first + 1 == count {
            return Ok(first);
        }
    }
    Err(sqlx::Error::PoolTimedOut)
}

/// Like [`reserve_ids`], for an SQLite table that never had a row.
async fn reserve_first_ids(connection: &mut Connection, count: i64) -> sqlx::Result<i64> {
    let sql = Statement::portable(
        "insert into sqlite_sequence (name, seq) select 'ce_audit', coalesce(max(audit_id), 0) + $1 from ce_audit
         returning seq - $1 + 1 as first",
    );
    connection.fetch_optional(&sql, &[SqlValue::Integer(count)]).await?.ok_or(sqlx::Error::RowNotFound)?.integer("first")
}

/// Returns payloads as the database would return them after storing: PostgreSQL rejects NUL, and a `jsonb` column reformats JSON.
pub async fn normalize_payloads(pool: &Pool, payloads: Vec<String>) -> sqlx::Result<Vec<String>> {
    if payloads.is_empty() || !pool.is_shared() {
        return Ok(payloads);
    }
    let payloads: Vec<String> = payloads.iter().map(|payload| replace_nul(payload).into_owned()).collect();
    let sql = Statement::portable(
        "select 1 from pg_attribute where attrelid = 'ce_audit'::regclass and attname = 'payload_json' and atttypid = 'jsonb'::regtype",
    );
    if pool.fetch_optional(&sql, &[]).await?.is_none() {
        return Ok(payloads);
    }
    let sql =
        Statement::portable("select r::jsonb::text as payload from json_array_elements($1::json) with ordinality x (r, n) order by n");
    pool.fetch_all(&sql, &[SqlValue::Text(&format!("[{}]", payloads.join(",")))]).await?.iter().map(|it| it.text("payload")).collect()
}

/// Inserts audit rows, given as stage and payload. Does nothing when the conversation does not exist.
pub async fn append(pool: &Pool, conversation: &str, rows: &[(&str, serde_json::Value)], at: Millis) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "insert into ce_audit (conversation_id, stage, payload_json, created_at)
         select $1, value->>0, value->1, $3 from json_each($2)
         where exists (select 1 from ce_conversation where conversation_id = $1)",
        "insert into ce_audit (conversation_id, stage, payload_json, created_at)
         select $1::uuid, r->>0, r->1, ($3 || 'Z')::timestamptz from json_array_elements($2::json) r
         where exists (select 1 from ce_conversation where conversation_id = $1::uuid)",
    );
    let rows = serde_json::json!(rows).to_string();
    pool.execute(&sql, &[SqlValue::Text(conversation), SqlValue::Text(&rows), SqlValue::Text(&clock::format_audit(at))]).await
}

/// Inserts rows with reserved ids.
pub const INSERT_WITH_IDS: RowStatement = RowStatement {
    sqlite: "insert into ce_audit (audit_id, conversation_id, stage, payload_json, created_at) values ($1, $2, $3, $4, $5)",
    postgres: "insert into ce_audit (audit_id, conversation_id, stage, payload_json, created_at)
         select r.audit_id, r.id::uuid, r.stage, r.payload::json, (r.at || 'Z')::timestamptz
         from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[]) r (audit_id, id, stage, payload, at)",
    columns: &[Integer, Text, Text, Json, Text],
};
