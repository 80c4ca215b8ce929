//! Audit rows, stored or not. (`decisions.md` 4)
//!
//! With `convengine.audit.persistence.mode=DERIVED` a turn stores its journal and keeps the numbers that its audit rows would have
//! had; the texts of its model calls are in the journal, so that their log is derived as well. Whoever reads audit rows reads them here and gets the same rows, whether they are stored or derived by replay.

pub mod derive;
pub mod materialise;
pub mod meta;
pub mod trace;

use std::collections::BTreeSet;

use serde_json::json;

use crate::clock;
use crate::store::Pool;
use crate::store::audit::{AuditRow, as_stored, of_conversation};
use crate::store::turn::{StoredTurn, to_derive};
use derive::{Configs, DerivedRow};

/// The stage of the row that stands for those of a turn that cannot be derived.
pub const NOT_DERIVABLE: &str = "AUDIT_NOT_DERIVABLE";

/// The audit rows of a conversation, oldest first, stored and derived ones.
///
/// A turn whose rows cannot be derived (its journal or its configuration cannot be read, or this build runs it differently) has one row
/// in their place, at the turn's beginning and under the number of its first: stage [`NOT_DERIVABLE`], with `turn`, `turnId` and
/// `reason`. Its shape is that of every row, so that readers who look for the stages that they know pass over it; nobody is told of
/// steps that this turn may not have taken.
///
/// # Errors
/// What the database says.
pub async fn rows_of(pool: &Pool, conversation: &str, mut configs: Configs) -> sqlx::Result<Vec<AuditRow>> {
    // In this order nothing is missed while somebody stores the rows of these turns; then they are found twice.
    let turns = to_derive(pool, conversation).await?;
    let stored = of_conversation(pool, conversation).await?;
    if turns.is_empty() {
        return Ok(stored);
    }
    let known: BTreeSet<i64> = stored.iter().map(|it| it.audit_id).collect();
    let mut found = Vec::new();
    for (turn, rows) in derive::all(pool, &mut configs, turns).await? {
        found.extend(rows.map_or_else(|reason| vec![not_derivable(&turn, &reason)], |it| it.audits));
    }
    found.retain(|it| !known.contains(&it.audit_id));
    found.sort_by_key(|it| (it.at, it.audit_id));
    let payloads = as_stored(pool, found.iter_mut().map(|it| std::mem::take(&mut it.payload)).collect()).await?;
    let row = |(it, payload_json): (DerivedRow, String)| AuditRow {
        audit_id: it.audit_id,
        conversation_id: conversation.to_owned(),
        stage: it.stage,
        payload_json,
        created_at: clock::iso_text(it.at),
    };
    Ok(merged(stored, found.into_iter().zip(payloads).map(row)))
}

fn not_derivable(turn: &StoredTurn, reason: &str) -> DerivedRow {
    let payload = json!({"turn": turn.number, "turnId": turn.turn_id, "reason": reason}).to_string();
    DerivedRow { audit_id: turn.audit_id.unwrap_or(0), stage: NOT_DERIVABLE.to_owned(), payload, at: turn.created_at }
}

/// Both in the order of time and number; the stored rows keep the order that the database gave them.
fn merged(stored: Vec<AuditRow>, derived: impl Iterator<Item = AuditRow>) -> Vec<AuditRow> {
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
    fn derived_rows_take_their_places_among_stored_ones() {
        let row = |audit_id, at: &str| AuditRow {
            audit_id,
            conversation_id: "c".to_owned(),
            stage: "S".to_owned(),
            payload_json: "{}".to_owned(),
            created_at: at.to_owned(),
        };
        // The first stands where the database has put it, whatever its time.
        let stored = vec![row(9, "2027"), row(1, "2024"), row(4, "2026")];
        let all = merged(stored, [row(3, "2026"), row(5, "2026"), row(2, "2028")].into_iter());
        assert_eq!(all.iter().map(|it| it.audit_id).collect::<Vec<_>>(), [3, 5, 9, 1, 4, 2]);
        assert_eq!(merged(Vec::new(), [row(1, "2024")].into_iter()).len(), 1);
    }
}
