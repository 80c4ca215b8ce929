use std::sync::Arc;

use convengine_core::turn::{ConversationRow, Notice, NoticeBody};
use serde_json::json;

use super::*;
use crate::call_log::CallLogColumns;
use crate::commit;
use crate::testing::{Database, each_database};
use crate::turn_rows::{SessionRow, TurnRow, TurnRows};

const OLD: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0001";
const NEW: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0002";
const FAILED: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0003";
const QUEUED: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0004";
const LOST: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0005";

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
async fn values_are_found_and_deleted_conversations_do_not_return() {
    for mut database in each_database().await {
        store_two_conversations(&mut database).await;
        let connection = &mut database.connection;
        for (text, expected) in [("C-17", vec![OLD]), ("c-17", vec![]), ("17", vec![OLD, NEW]), ("", vec![OLD, NEW]), ("%", vec![])] {
            let mut found = Vec::new();
            while let Some(next) = list_values(connection, text, found.last().map(String::as_str), 1).await.expect("an answer").pop() {
                assert!(next.params.contains("customerId") && next.context == "{}" && next.state.is_none(), "{next:?}");
                found.push(next.conversation);
            }
            assert_eq!(found, expected, "{text}");
        }
        let journals = list_journals(connection, None, 10).await.expect("an answer");
        assert_eq!(journals.iter().map(|it| it.conversation.as_str()).collect::<Vec<_>>(), [OLD, NEW]);
        assert_eq!(list_journals(connection, Some(&journals[0].turn), 10).await.expect("an answer"), journals[1..]);
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

#[tokio::test]
async fn a_conversation_is_idle_when_its_newest_turn_is_old_and_it_awaits_nothing() {
    let id = |number: u32| format!("5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a01{number:02}");
    let timer = |purpose: &str| json!([{"id": purpose, "due": "2030-01-01T00:00:00Z", "purpose": purpose}]);
    // The state, the time of the newest turn, and whether it is idle since the time 3,000.
    let all = [
        (json!({"status": "active", "seq": 1}), 2_000, true),
        (json!({"status": "active", "seq": 1}), 5_000, false),
        (json!({"status": "active", "seq": 1, "timers": timer("session")}), 2_000, true),
        (json!({"status": "active", "seq": 1, "timers": timer("delay")}), 2_000, false),
        (json!({"status": "handed_off", "seq": 1, "handoff": {"state": "queued"}}), 2_000, false),
        (json!({"status": "sleeping", "seq": 1, "chain": "daily"}), 2_000, false),
        (json!({"status": "succeeded", "seq": 1, "chain": "daily"}), 2_000, true),
    ];
    for mut database in each_database().await {
        let mut rows = TurnRows::default();
        let ids: Vec<String> = (0..7).map(id).collect();
        for (session, (state, at, _)) in ids.iter().zip(&all) {
            let row = SessionRow { session, assistant: "desk", deployment: None, version: None, snapshot: "sha256:a", state, at: *at };
            rows.add_created_conversation(session, 1_000);
            rows.add_session(&row);
            rows.add_handoff(&row, false);
            if state.get("chain").is_some() {
                rows.add_run(&row);
            }
        }
        // Conversations of tables whose newest turn has failed or was lost, and a run that has not begun.
        let failed =
            TurnRow { closed_at: 5_000, fault: Some("LLM_FAILED"), ..turn("11111111-0000-4000-8000-000000000006", FAILED, 1, "closed") };
        rows.add_created_conversation(FAILED, 1_000);
        rows.add_turn(&failed);
        rows.add_created_conversation(LOST, 1_000);
        rows.add_turn(&TurnRow { closed_at: 5_000, ..turn("11111111-0000-4000-8000-000000000007", LOST, 1, "lost") });
        let state = json!({"status": "queued", "seq": 0});
        let queued = SessionRow {
            session: QUEUED,
            assistant: "chain:daily",
            deployment: None,
            version: None,
            snapshot: "sha256:a",
            state: &state,
            at: 1_000,
        };
        rows.add_new_run(&queued, "daily", None, 0);
        store_rows(&mut database, &rows).await.expect("conversations");
        let idle: Vec<&String> = ids.iter().zip(&all).filter(|it| it.1.2).map(|it| it.0).collect();
        let connection = &mut database.connection;
        let mut found = list_idle_since(connection, 3_000, 20).await.expect("an answer");
        found.sort_unstable();
        assert_eq!(found.iter().collect::<Vec<_>>(), idle);
        // What was listed before a turn is not deleted after it.
        let listed: Vec<String> = ids.iter().map(String::as_str).chain([FAILED, QUEUED, LOST]).map(str::to_owned).collect();
        connection.begin().await.expect("a transaction");
        let mut deleted = delete_idle(connection, &listed, 3_000).await.expect("deleted");
        connection.commit().await.expect("committed");
        deleted.sort_unstable();
        assert_eq!(deleted, found);
        assert_eq!(
            list_idle_since(connection, 9_000, 20).await.expect("an answer").len(),
            3,
            "the one in use, and those whose turn failed or was lost"
        );
        let left = Statement::portable("select (select count(*) from cs_session) as sessions, (select count(*) from cs_run) as runs");
        let left = connection.fetch_optional(&left, &[]).await.expect("an answer").expect("a row");
        assert_eq!((left.integer("sessions").expect("a count"), left.integer("runs").expect("a count")), (5, 2));
    }
}

#[tokio::test]
async fn every_table_that_names_conversations_is_in_the_list() {
    let sql = Statement::per_dialect(
        "select distinct t.name from pragma_table_list t, pragma_table_info(t.name) c
         where t.schema = 'main' and t.type = 'table' and c.name in ('conversation_id', 'session_id', 'run_id')",
        "select distinct table_name::text as name from information_schema.columns
         where table_schema = current_schema() and column_name in ('conversation_id', 'session_id', 'run_id')",
    );
    for mut database in each_database().await {
        let found = database.connection.fetch_all(&sql, &[]).await.expect("tables");
        assert!(found.len() > 10, "{}", found.len());
        for table in found {
            let name = table.text("name").expect("a name");
            assert!(CONVERSATION_TABLES.iter().any(|it| it.0 == name), "rows of {name} stay when a conversation is deleted");
        }
    }
}
