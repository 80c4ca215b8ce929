//! Audit rows whose ids are reserved, and payloads as each database returns them.

use convengine_core::turn::{Notice, NoticeBody};
use serde_json::json;

use super::{AT, CONVERSATION, FIRST, SECOND, THIRD, conversation, store_rows, turn_row};
use crate::audit::{self, AuditRow};
use crate::casts::with_casts;
use crate::rows::Rows;
use crate::statement::{SqlValue as Sql, Statement};
use crate::testing::each_database;
use crate::turn;
use crate::turn_rows::{TurnRow, TurnRows};

/// Turns whose audit rows are derived.
#[tokio::test]
async fn ids_are_reserved_for_derived_rows() {
    for mut database in each_database().await {
        assert_eq!(audit::reserve_ids(&mut database.connection, 3).await.expect("numbers"), 1, "of a table without rows");
        let mut rows = TurnRows::default();
        rows.add_conversation(&conversation());
        let body = NoticeBody::Audit { stage: "A".into(), payload: json!({"b": 1}).into() };
        rows.add_audit(CONVERSATION, &[Notice { seq: 0, at: AT, body }], 0);
        rows.add_turn(&TurnRow { reserved_audit_ids: 2, ..turn_row(FIRST, 1, "closed") });
        let mut next = [TurnRows::default(), TurnRows::default()];
        next[0].add_turn(&TurnRow { reserved_audit_ids: 0, ..turn_row(SECOND, 2, "closed") });
        let open = TurnRow { lease_ms: Some(60_000), reserved_audit_ids: 0, ..turn_row(THIRD, 3, "open") };
        next[1].add_turn(&open);
        for rows in [&rows, &next[0], &next[1]] {
            store_rows(&mut database, rows).await.expect("a turn");
        }
        let mut rows = TurnRows::default();
        rows.close_turn(&TurnRow { reserved_audit_ids: 4, status: "lost", ..open });
        store_rows(&mut database, &rows).await.expect("the end");
        // One row and two turns were written in between.
        let turns = turn::list_to_derive(&database.pool, CONVERSATION).await.expect("turns");
        let found: Vec<_> = turns.iter().map(|it| (it.turn_id.as_str(), it.first_audit_id, it.created_at)).collect();
        assert_eq!(found, [(FIRST, Some(4), AT), (THIRD, Some(7), AT)]);
        let ids = |rows: Vec<AuditRow>| rows.into_iter().map(|row| (row.audit_id, row.payload_json)).collect::<Vec<_>>();
        let of_conversation = async || ids(audit::list_for_conversation(&database.pool, CONVERSATION).await.expect("rows"));
        assert_eq!(of_conversation().await, [(6, "{\"b\":1}".to_owned())]);

        let nil = "00000000-0000-0000-0000-000000000000";
        for (from, to, after, count, expected) in [
            (0, AT + 1, nil, 9, vec![FIRST, THIRD]),
            (AT, AT + 1, nil, 1, vec![FIRST]),
            (AT, AT + 1, FIRST, 1, vec![THIRD]),
            (AT + 1, AT + 2, nil, 9, vec![]),
            (0, AT, nil, 9, vec![]),
        ] {
            let turns = turn::list_to_derive_between(&database.pool, from, to, after, count).await.expect("turns");
            assert_eq!(turns.iter().map(|it| it.turn_id.as_str()).collect::<Vec<_>>(), expected, "{from} {to} {after} {count}");
        }
        let noted = turn::mark_audited(&mut database.connection, &[FIRST, SECOND]).await.expect("an answer");
        assert_eq!(noted.into_iter().collect::<Vec<_>>(), [FIRST]);
        assert!(turn::mark_audited(&mut database.connection, &[FIRST]).await.expect("an answer").is_empty());
        let mut row = Rows::default();
        row.integer(4);
        for text in [CONVERSATION, "B", "{\"x\":\"\\u0000\"}", "2026-01-02 03:04:05.678"] {
            row.text(text);
        }
        row.end_row();
        assert_eq!(database.connection.execute_rows(&audit::INSERT_WITH_IDS, &row, None).await.expect("a row"), 1);
        let nul = if database.pool.is_shared() { "{\"x\":\"\\ufffd\"}" } else { "{\"x\":\"\\u0000\"}" };
        assert_eq!(of_conversation().await, [(4, nul.to_owned()), (6, "{\"b\":1}".to_owned())]);
        assert_eq!(audit::reserve_ids(&mut database.connection, 1).await.expect("numbers"), 11);

        let delete = with_casts!("delete from ce_conversation where conversation_id = $1::uuid");
        database.connection.execute(&delete, &[Sql::Text(CONVERSATION)]).await.expect("an answer");
        assert!(turn::list_to_derive(&database.pool, CONVERSATION).await.expect("turns").is_empty(), "its audit rows are deleted");
        assert!(
            turn::list_to_derive_between(&database.pool, 0, AT + 1, nil, 9).await.expect("turns").is_empty(),
            "its audit rows are deleted"
        );
    }
}

#[tokio::test]
async fn payloads_are_normalized_as_the_database_returns_them() {
    for mut database in each_database().await {
        let shared = database.pool.is_shared();
        let payloads = vec!["{\"z\":1.50,\"a\":\"\\u0000\"}".to_owned(), "{}".to_owned()];
        let found = audit::normalize_payloads(&database.pool, payloads.clone()).await.expect("payloads");
        assert_eq!(found[0], if shared { "{\"z\":1.50,\"a\":\"\\ufffd\"}" } else { payloads[0].as_str() });
        if shared {
            let alter = Statement::portable("alter table ce_audit alter column payload_json type jsonb");
            database.connection.execute(&alter, &[]).await.expect("a column of another type");
            let found = audit::normalize_payloads(&database.pool, payloads).await.expect("payloads");
            assert_eq!(found, ["{\"a\": \"\u{fffd}\", \"z\": 1.50}", "{}"]);
        }
        assert!(audit::normalize_payloads(&database.pool, Vec::new()).await.expect("nothing").is_empty());
    }
}
