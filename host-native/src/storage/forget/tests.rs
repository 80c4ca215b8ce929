use std::sync::Arc;

use convengine_core::turn::{ConversationRow, Notice, NoticeBody};
use serde_json::json;

use super::*;
use crate::storage::call_log::CallLogColumns;
use crate::storage::commit;
use crate::storage::testing::{Database, each_database};
use crate::storage::turn_rows::{TurnRow, TurnRows};

const OLD: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0001";
const NEW: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0002";

fn turn(id: &'static str, conversation: &'static str, number: u32, status: &'static str) -> TurnRow<'static> {
    TurnRow {
        turn_id: id,
        conversation_id: conversation,
        number,
        status,
        protocol: 1,
        engine: "test",
        config_hash: "c",
        journal: b"j",
        state_hash: "s",
        owner: "me",
        lease_ms: (status == "open").then_some(60_000),
        ..TurnRow::default()
    }
}

async fn store_rows(database: &mut Database, rows: &TurnRows) -> sqlx::Result<()> {
    let connection = &mut database.connection;
    connection.begin().await?;
    match commit::write(connection, rows, CallLogColumns::Plain).await {
        Ok(()) => connection.commit().await,
        Err(error) => connection.rollback().await.and(Err(error)),
    }
}

async fn store_two_conversations(database: &mut Database) {
    let mut rows = TurnRows::default();
    for (id, customer, at) in [(OLD, json!("C-17"), 1_000), (NEW, json!(17), 2_000_000_000_000)] {
        let params = json!({"customerId": customer, "vip": id == OLD});
        rows.add_conversation(&ConversationRow {
            conversation_id: id.to_owned(),
            status: "RUNNING".to_owned(),
            intent_code: "A".to_owned(),
            state_code: "B".to_owned(),
            context: Arc::default(),
            last_user_text: None,
            last_assistant: None,
            params: Arc::new(params.as_object().cloned().unwrap_or_default()),
            created_at: at,
            updated_at: at,
        });
        rows.add_audit(id, &[Notice { seq: 0, at, body: NoticeBody::Audit { stage: "S".into(), payload: json!({}).into() } }], 0);
    }
    rows.add_turn(&turn("11111111-0000-4000-8000-000000000001", OLD, 1, "closed"));
    rows.add_turn(&turn("11111111-0000-4000-8000-000000000002", NEW, 1, "closed"));
    store_rows(database, &rows).await.expect("two conversations");
}

#[tokio::test]
async fn conversations_of_a_person_are_found_and_deleted_ones_do_not_return() {
    for mut database in each_database().await {
        store_two_conversations(&mut database).await;
        let connection = &mut database.connection;
        for (member, value, expected) in [
            ("customerId", "C-17", vec![OLD]),
            ("customerId", "17", vec![NEW]),
            ("vip", "true", vec![OLD]),
            ("vip", "C-17", vec![]),
            ("other", "C-17", vec![]),
            ("no\0", "C-17\0", vec![]),
        ] {
            assert_eq!(list_by_param(connection, member, value).await.expect("an answer"), expected, "{member}={value}");
        }
        let ids = [OLD.to_owned()];
        connection.begin().await.expect("a transaction");
        assert_eq!(delete_conversations(connection, &ids).await.expect("deleted"), 3);
        connection.commit().await.expect("committed");
        assert_eq!(delete_conversations(connection, &ids).await.expect("nothing"), 0);
        // A turn that loaded the conversation before the deletion is rejected.
        let mut late = TurnRows::default();
        late.add_turn(&turn("11111111-0000-4000-8000-000000000003", OLD, 2, "closed"));
        assert!(matches!(store_rows(&mut database, &late).await, Err(sqlx::Error::RowNotFound)));
        let mut next = TurnRows::default();
        next.add_turn(&turn("11111111-0000-4000-8000-000000000004", NEW, 2, "open"));
        store_rows(&mut database, &next).await.expect("the other conversation continues");
        let all = [OLD.to_owned(), NEW.to_owned()];
        assert_eq!(list_running(&mut database.connection, &all).await.expect("an answer"), [NEW]);
        assert!(vacuum(&mut database.connection).await.expect("an answer"));
        assert!(truncate_wal(&mut database.connection).await.expect("an answer"));
    }
}

#[tokio::test]
async fn old_rows_are_deleted_and_running_turns_stay() {
    for mut database in each_database().await {
        store_two_conversations(&mut database).await;
        let now = 2_000_000_000_001;
        let mut open = TurnRows::default();
        open.add_turn(&turn("11111111-0000-4000-8000-000000000005", NEW, 2, "open"));
        store_rows(&mut database, &open).await.expect("an open turn");
        let connection = &mut database.connection;
        connection.begin().await.expect("a transaction");
        assert!(try_lock_sweep(connection).await.expect("an answer"));
        assert_eq!(list_idle_since(connection, now, 10).await.expect("an answer"), [OLD]);
        assert_eq!(list_idle_since(connection, 1_000, 10).await.expect("an answer"), [""; 0]);
        for (kind, deleted) in [(RowKind::Audit, 1), (RowKind::Feedback, 0), (RowKind::ModelCalls, 0)] {
            assert_eq!(delete_aged(connection, kind, 2_000, 10).await.expect("deleted"), deleted, "{kind:?}");
        }
        connection.commit().await.expect("committed");
        assert_eq!(delete_aged(connection, RowKind::Audit, 2_000, 10).await.expect("nothing"), 0);
    }
}
