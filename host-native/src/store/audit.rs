//! Reads audit rows.

use serde::Serialize;

use super::database::{Pool, Row, Statement, Value};
use crate::clock;

/// A row of `ce_audit` as clients get it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditRow {
    /// The row's number.
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

/// The audit rows of a conversation, oldest first.
///
/// # Errors
/// What the database says.
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
