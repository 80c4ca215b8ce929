//! Who runs the open turns of `ce_turn`: claims orphaned ones and renews leases.
//!
//! No statement waits for a row that another transaction has locked: the loser of a race, and a row that another one has locked, are left
//! out.

use serde_json::json;

use super::casts::with_casts;
use super::database::{Connection, Pool};
use super::statement::{SqlValue, Statement};
use super::turn::{StoredTurn, select_turns, turn_from_row};

/// A claimed open turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedTurn {
    /// The turn.
    pub turn_id: String,
    /// Its conversation.
    pub conversation_id: String,
}

/// Claims at most `most` orphaned open turns, oldest first: those with an expired lease, or on SQLite, those of another owner. Turns in
/// `running` are left out, because this process runs them.
pub async fn claim_orphans(pool: &Pool, running: &[String], owner: &str, lease_ms: i64, most: i64) -> sqlx::Result<Vec<ClaimedTurn>> {
    let sql = Statement::per_dialect(
        "update ce_turn set owner = $1, lease_until = cast(unixepoch('subsec') * 1000 as integer) + $2
         where turn_id in (select turn_id from ce_turn where status = 'open' and owner <> $1
           and turn_id not in (select value from json_each($4)) order by created_at limit $3)
         returning turn_id, conversation_id",
        "with orphan as materialized (select turn_id from ce_turn where status = 'open' and lease_until < now()
           and turn_id not in (select r::uuid from json_array_elements_text($4::json) r)
           order by created_at limit $3 for update skip locked)
         update ce_turn t set owner = $1, lease_until = now() + $2 * interval '1 millisecond' from orphan where t.turn_id = orphan.turn_id
         returning t.turn_id::text as turn_id, t.conversation_id::text as conversation_id",
    );
    let running = json!(running).to_string();
    let values = [SqlValue::Text(owner), SqlValue::Integer(lease_ms), SqlValue::Integer(most), SqlValue::Text(&running)];
    let rows = pool.fetch_all(&sql, &values).await?;
    rows.iter().map(|row| Ok(ClaimedTurn { turn_id: row.text("turn_id")?, conversation_id: row.text("conversation_id")? })).collect()
}

/// Claims the open turn of a conversation if it is orphaned or the owner's. The caller must hold the conversation's gate permit, so that it
/// does not run the turn itself.
pub async fn claim_open(pool: &Pool, conversation: &str, owner: &str, lease_ms: i64) -> sqlx::Result<Option<StoredTurn>> {
    let sql = select_turns!(returning
        "update ce_turn set owner = $2, lease_until = cast(unixepoch('subsec') * 1000 as integer) + $3
         where conversation_id = $1 and status = 'open'",
        "update ce_turn set owner = $2, lease_until = now() + $3 * interval '1 millisecond'
         where turn_id = (select turn_id from ce_turn where conversation_id = $1::uuid and status = 'open'
           and (lease_until < now() or owner = $2) for update skip locked)"
    );
    let values = [SqlValue::Text(conversation), SqlValue::Text(owner), SqlValue::Integer(lease_ms)];
    pool.fetch_optional(&sql, &values).await?.as_ref().map(turn_from_row).transpose()
}

/// Returns whether a conversation has an open turn.
pub async fn has_open(pool: &Pool, conversation: &str) -> sqlx::Result<bool> {
    let sql = with_casts!("select count(*) as open from ce_turn where conversation_id = $1::uuid and status = 'open'");
    Ok(pool.fetch_optional(&sql, &[SqlValue::Text(conversation)]).await?.ok_or(sqlx::Error::RowNotFound)?.integer("open")? > 0)
}

/// Renews the leases of open turns that the owner still holds. Those that a transaction has locked are renewed the next time.
pub async fn renew(connection: &mut Connection, turns: &[String], owner: &str, lease_ms: i64) -> sqlx::Result<()> {
    let sql = Statement::per_dialect(
        "update ce_turn set lease_until = cast(unixepoch('subsec') * 1000 as integer) + $2
         where status = 'open' and owner = $3 and turn_id in (select value from json_each($1))",
        "with held as materialized (select turn_id from ce_turn where status = 'open' and owner = $3
           and turn_id in (select r::uuid from json_array_elements_text($1::json) r) for no key update skip locked)
         update ce_turn t set lease_until = now() + $2 * interval '1 millisecond' from held where t.turn_id = held.turn_id",
    );
    let turns = json!(turns).to_string();
    connection.execute(&sql, &[SqlValue::Text(&turns), SqlValue::Integer(lease_ms), SqlValue::Text(owner)]).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_log::CallLogColumns;
    use crate::commit::write;
    use crate::testing::{each_database, lock_turn, postgres};
    use crate::turn_rows::{TurnRow, TurnRows};

    fn id(number: u32) -> String {
        format!("11111111-0000-4000-8000-{number:012}")
    }

    fn open_turns(count: u32) -> TurnRows {
        let mut rows = TurnRows::default();
        for number in 1..=count {
            let id = id(number);
            let row = TurnRow {
                turn_id: &id,
                conversation_id: &id,
                number: 1,
                status: "open",
                protocol: 1,
                engine: "test",
                ..TurnRow::default()
            };
            rows.add_turn(&TurnRow { owner: "dead", lease_ms: Some(-1), created_at: number.into(), journal: b"\x00", ..row });
        }
        rows
    }

    #[tokio::test]
    async fn orphaned_turns_are_claimed_in_batches_and_each_by_one_process() {
        for mut database in each_database().await {
            write(&mut database.connection, &open_turns(7), CallLogColumns::Plain).await.expect("open turns");
            let claim = async |owner, running: &[String], most| {
                let found = claim_orphans(&database.pool, running, owner, 60_000, most).await.expect("turns");
                found.into_iter().map(|turn| turn.turn_id).collect::<Vec<_>>()
            };
            let mut first = claim("a", &[], 3).await;
            first.sort();
            assert_eq!(first, [id(1), id(2), id(3)], "the oldest");
            assert_eq!(claim("a", &[id(4)], 2).await.len(), 2, "without the turns it runs itself");
            if !database.pool.is_shared() {
                continue;
            }
            // Processes that claim at the same time get different turns, and wait for none.
            let (one, other) = tokio::join!(claim("b", &[], 9), claim("c", &[], 9));
            assert_eq!((one.len() + other.len(), claim("d", &[], 9).await.len()), (2, 0), "{one:?} {other:?}");
        }
    }

    #[tokio::test]
    async fn a_row_that_a_stranger_has_locked_stops_neither_claims_nor_renewals() {
        let mut database = postgres().await;
        write(&mut database.connection, &open_turns(2), CallLogColumns::Plain).await.expect("open turns");
        let mut other_transaction = lock_turn(&database.config, &id(1)).await;
        assert!(claim_open(&database.pool, &id(1), "a", 60_000).await.expect("an answer").is_none());
        let claimed = claim_orphans(&database.pool, &[], "a", -1, 9).await.expect("turns");
        assert_eq!(claimed.iter().map(|it| it.turn_id.clone()).collect::<Vec<_>>(), [id(2)]);
        renew(&mut database.connection, &[id(1), id(2)], "a", 60_000).await.expect("renewed");
        other_transaction.rollback().await.expect("an end");
        let left = claim_orphans(&database.pool, &[], "b", 60_000, 9).await.expect("turns");
        assert_eq!(left.iter().map(|it| it.turn_id.clone()).collect::<Vec<_>>(), [id(1)], "the other lease is renewed");
    }
}
