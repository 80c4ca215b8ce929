use convengine_core::turn::{ConversationRow, Map, Notice, NoticeBody};
use serde_json::json;

use super::*;
use crate::store::call_log::CallLog;
use crate::store::commit;
use crate::store::testing::{Database, each};
use crate::store::turn_rows::{TurnRow, TurnRows};

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

async fn stored(database: &mut Database, rows: &TurnRows) -> sqlx::Result<()> {
    let connection = &mut database.connection;
    connection.begin().await?;
    match commit::write(connection, rows, CallLog::Plain).await {
        Ok(()) => connection.commit().await,
        Err(error) => connection.rollback().await.and(Err(error)),
    }
}

async fn two_conversations(database: &mut Database) {
    let mut rows = TurnRows::default();
    for (id, customer, at) in [(OLD, json!("C-17"), 1_000), (NEW, json!(17), 2_000_000_000_000)] {
        let params = json!({"customerId": customer, "vip": id == OLD});
        rows.conversation(&ConversationRow {
            conversation_id: id.to_owned(),
            status: "RUNNING".to_owned(),
            intent_code: "A".to_owned(),
            state_code: "B".to_owned(),
            context: Map::new(),
            last_user_text: None,
            last_assistant: None,
            params: params.as_object().cloned().unwrap_or_default(),
            created_at: at,
            updated_at: at,
        });
        rows.audit(id, &[Notice { seq: 0, at, body: NoticeBody::Audit { stage: "S".to_owned(), payload: json!({}) } }], 0);
    }
    rows.turn(&turn("11111111-0000-4000-8000-000000000001", OLD, 1, "closed"));
    rows.turn(&turn("11111111-0000-4000-8000-000000000002", NEW, 1, "closed"));
    stored(database, &rows).await.expect("two conversations");
}

#[tokio::test]
async fn a_person_is_found_and_what_is_forgotten_does_not_come_back() {
    for mut database in each().await {
        two_conversations(&mut database).await;
        let connection = &mut database.connection;
        for (member, value, expected) in [
            ("customerId", "C-17", vec![OLD]),
            ("customerId", "17", vec![NEW]),
            ("vip", "true", vec![OLD]),
            ("vip", "C-17", vec![]),
            ("other", "C-17", vec![]),
            ("no\0", "C-17\0", vec![]),
        ] {
            assert_eq!(of_person(connection, member, value).await.expect("an answer"), expected, "{member}={value}");
        }
        let ids = [OLD.to_owned()];
        connection.begin().await.expect("a transaction");
        assert_eq!(delete(connection, &ids).await.expect("deleted"), 3);
        connection.commit().await.expect("committed");
        assert_eq!(delete(connection, &ids).await.expect("nothing"), 0);
        // A turn that loaded the conversation before the deletion is rejected.
        let mut late = TurnRows::default();
        late.turn(&turn("11111111-0000-4000-8000-000000000003", OLD, 2, "closed"));
        assert!(matches!(stored(&mut database, &late).await, Err(sqlx::Error::RowNotFound)));
        let mut next = TurnRows::default();
        next.turn(&turn("11111111-0000-4000-8000-000000000004", NEW, 2, "open"));
        stored(&mut database, &next).await.expect("the other conversation continues");
        let all = [OLD.to_owned(), NEW.to_owned()];
        assert_eq!(running(&mut database.connection, &all).await.expect("an answer"), [NEW]);
        assert!(rewrite(&mut database.connection).await.expect("an answer"));
        assert!(empty_log(&mut database.connection).await.expect("an answer"));
    }
}

#[tokio::test]
async fn what_is_old_goes_and_what_runs_stays() {
    for mut database in each().await {
        two_conversations(&mut database).await;
        let now = 2_000_000_000_001;
        let mut open = TurnRows::default();
        open.turn(&turn("11111111-0000-4000-8000-000000000005", NEW, 2, "open"));
        stored(&mut database, &open).await.expect("an open turn");
        let connection = &mut database.connection;
        connection.begin().await.expect("a transaction");
        assert!(alone(connection).await.expect("an answer"));
        assert_eq!(idle_since(connection, now, 10).await.expect("an answer"), [OLD]);
        assert_eq!(idle_since(connection, 1_000, 10).await.expect("an answer"), [""; 0]);
        for (kind, deleted) in [(Aged::Audit, 1), (Aged::Feedback, 0), (Aged::Calls, 0)] {
            assert_eq!(delete_aged(connection, kind, 2_000, 10).await.expect("deleted"), deleted, "{kind:?}");
        }
        connection.commit().await.expect("committed");
        assert_eq!(delete_aged(connection, Aged::Audit, 2_000, 10).await.expect("nothing"), 0);
    }
}
