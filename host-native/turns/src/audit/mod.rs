//! Reads audit rows, stored or derived. (docs/decisions/0020-audit-persistence.md)
//!
//! With `convengine.audit.persistence.mode=DERIVED` a turn stores only its journal and reserves the ids of its audit rows. The audit
//! rows and the model call log are derived by replaying the journal. Readers get the same rows in both modes.

pub mod derive;
pub mod materialise;
pub mod meta;
pub mod trace;

use std::collections::BTreeSet;

use convengine_core::Stage;
use convengine_core::turn::{AuditPayload, Millis, Notice, NoticeBody};
use serde_json::json;

use convengine_host_base::clock;
use convengine_storage::Pool;
use convengine_storage::audit::{AuditRow, list_for_conversation, normalize_payloads};
use convengine_storage::turn::{StoredTurn, list_to_derive};
use derive::{ConfigCache, DerivedRow};

/// The stage of the row that replaces the rows of a turn that cannot be derived.
pub const NOT_DERIVABLE: &str = "AUDIT_NOT_DERIVABLE";

/// Returns the stored and derived audit rows of a conversation, oldest first.
///
/// A turn whose rows cannot be derived (its journal or configuration cannot be read, or this build replays it differently) has a single
/// row with stage [`NOT_DERIVABLE`] and the members `turn`, `turnId` and `reason`, at the turn's start and with its first reserved id.
/// Readers that filter by stage skip it.
pub async fn list_rows(pool: &Pool, conversation: &str, mut configs: ConfigCache) -> sqlx::Result<Vec<AuditRow>> {
    // In this order no row is missed while another process materialises these turns; duplicates are removed below.
    let turns = list_to_derive(pool, conversation).await?;
    let stored = list_for_conversation(pool, conversation).await?;
    if turns.is_empty() {
        return Ok(stored);
    }
    let known: BTreeSet<i64> = stored.iter().map(|it| it.audit_id).collect();
    let mut found = Vec::new();
    for (turn, rows) in derive::derive_all(pool, &mut configs, turns).await? {
        found.extend(rows.map_or_else(|reason| vec![not_derivable_row(&turn, &reason)], |it| it.audits));
    }
    found.retain(|it| !known.contains(&it.audit_id));
    found.sort_by_key(|it| (it.at, it.audit_id));
    let payloads = normalize_payloads(pool, found.iter_mut().map(|it| std::mem::take(&mut it.payload)).collect()).await?;
    let row = |(it, payload_json): (DerivedRow, String)| AuditRow {
        audit_id: it.audit_id,
        conversation_id: conversation.to_owned(),
        stage: it.stage,
        payload_json,
        created_at: clock::format_iso(it.at),
    };
    Ok(merge_rows(stored, found.into_iter().zip(payloads).map(row)))
}

/// Adds the rows that a running turn has published and not stored yet, with the ids that come next. The turn begins after the last stored row
/// of the turn before it.
pub fn add_published(rows: &mut Vec<AuditRow>, conversation: &str, notices: &[Notice]) {
    let Some(began_at) = notices.first().map(|it| clock::format_iso(it.at)) else { return };
    let stored = rows.iter().rev().take_while(|it| it.created_at >= began_at);
    // Feedback belongs to no turn.
    let stored = stored.filter(|row| row.stage != Stage::McpUserFeedback.name()).count();
    let last_id = rows.iter().map(|it| it.audit_id).max().unwrap_or(0);
    let published = notices.iter().filter_map(|notice| {
        if let NoticeBody::Audit { stage, payload } = &notice.body { Some((notice.at, &**stage, payload)) } else { None }
    });
    let row = |(id, (at, stage, payload)): (i64, (Millis, &str, &AuditPayload))| AuditRow {
        audit_id: id,
        conversation_id: conversation.to_owned(),
        stage: stage.to_owned(),
        payload_json: payload.to_string(),
        created_at: clock::format_iso(at),
    };
    rows.extend((last_id + 1..).zip(published.skip(stored)).map(row));
}

fn not_derivable_row(turn: &StoredTurn, reason: &str) -> DerivedRow {
    let payload = json!({"turn": turn.number, "turnId": turn.turn_id, "reason": reason}).to_string();
    DerivedRow { audit_id: turn.first_audit_id.unwrap_or(0), stage: NOT_DERIVABLE.to_owned(), payload, at: turn.created_at }
}

/// Merges both lists by time and id. Stored rows keep the database's order.
fn merge_rows(stored: Vec<AuditRow>, derived: impl Iterator<Item = AuditRow>) -> Vec<AuditRow> {
    let mut all = Vec::with_capacity(stored.len());
    let mut derived = derived.peekable();
    for row in stored {
        while let Some(earlier) = derived.next_if(|it| (&it.created_at, it.audit_id) < (&row.created_at, row.audit_id)) {
            all.push(earlier);
        }
        all.push(row);
    }
    all.extend(derived);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_rows_are_merged_with_stored_rows() {
        let row = |audit_id, at: &str| AuditRow {
            audit_id,
            conversation_id: "c".to_owned(),
            stage: "S".to_owned(),
            payload_json: "{}".to_owned(),
            created_at: at.to_owned(),
        };
        // Stored rows keep their position regardless of their time.
        let stored = vec![row(9, "2027"), row(1, "2024"), row(4, "2026")];
        let all = merge_rows(stored, [row(3, "2026"), row(5, "2026"), row(2, "2028")].into_iter());
        assert_eq!(all.iter().map(|it| it.audit_id).collect::<Vec<_>>(), [3, 5, 9, 1, 4, 2]);
        assert_eq!(merge_rows(Vec::new(), [row(1, "2024")].into_iter()).len(), 1);
    }
}
