//! Reads audit rows.

use serde::Serialize;
use sqlx::Row;
use sqlx::sqlite::SqlitePool;

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
/// What SQLite says.
pub async fn of_conversation(pool: &SqlitePool, conversation: &str) -> sqlx::Result<Vec<AuditRow>> {
    let sql = "select audit_id, conversation_id, stage, payload_json, cast(created_at as text) as created_at
               from ce_audit where conversation_id = $1 order by ce_audit.created_at, audit_id";
    let rows = sqlx::query(sql).bind(conversation).fetch_all(pool).await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let stored: String = row.try_get("created_at")?;
        found.push(AuditRow {
            audit_id: row.try_get("audit_id")?,
            conversation_id: row.try_get("conversation_id")?,
            stage: row.try_get("stage")?,
            payload_json: row.try_get("payload_json")?,
            created_at: clock::parse(&stored).map_or(stored, clock::iso_text),
        });
    }
    Ok(found)
}
