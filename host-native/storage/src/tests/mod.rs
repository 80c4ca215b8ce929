//! Runs every statement on every database.

use std::sync::Arc;

use convengine_core::turn::{
    ConversationRow, EffectId, EffectResult, Exchange, HistoryRow, JournalEntry, LlmCallRow, Map, MemoryRow, Millis, Notice, NoticeBody,
    Reply,
};
use serde_json::{Value, json};

use super::call_log::CallLogColumns;
use super::commit::{fit_one_statement, is_stored, write, write_at_once};
use super::testing::{Database, each_database};
use super::turn_rows::{EffectRow, TurnRow, TurnRows};
use super::{audit, lease, load, open_writer, turn};

mod audit_rows;

const CONVERSATION: &str = "0b7b6d0e-5a0f-4c56-8a52-0f5a0f6f4d01";
const FIRST: &str = "11111111-0000-4000-8000-000000000001";
const SECOND: &str = "11111111-0000-4000-8000-000000000002";
const THIRD: &str = "11111111-0000-4000-8000-000000000003";
const AT: Millis = 1_767_323_045_678;

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap_or_default()
}

fn turn_row<'a>(id: &'a str, number: u32, status: &'a str) -> TurnRow<'a> {
    TurnRow {
        turn_id: id,
        conversation_id: CONVERSATION,
        number,
        status,
        protocol: 1,
        engine: "test",
        config_hash: "c",
        journal: b"\x00\xff",
        state_hash: "s",
        created_at: AT,
        closed_at: AT + 5,
        total_ms: 5,
        owner: "me",
        ..TurnRow::default()
    }
}

fn conversation() -> ConversationRow {
    ConversationRow {
        conversation_id: CONVERSATION.to_owned(),
        status: "RUNNING".to_owned(),
        intent_code: "A".to_owned(),
        state_code: "B".to_owned(),
        context: Arc::new(map(json!({"zeta": 2.0, "alpha": [1, null], "text": "a\"b\\n\u{1F600}"}))),
        last_user_text: Some("it's".to_owned()),
        last_assistant: Some("{\"type\":\"TEXT\",\"value\":\"x\"}".to_owned()),
        params: Arc::new(map(json!({"b": true, "a": 1}))),
        created_at: AT,
        updated_at: AT + 1,
    }
}

fn call() -> LlmCallRow {
    LlmCallRow {
        intent_code: "A".to_owned(),
        state_code: "B".to_owned(),
        provider: "p".to_owned(),
        model: "m".to_owned(),
        prompt_text: "x".to_owned(),
        user_context: "{}".to_owned(),
        response_text: Some("y".to_owned()),
        success: true,
        error_message: None,
        created_at: AT,
        input_tokens: Some(12),
        output_tokens: None,
        cost_micros: None,
    }
}

/// The answer to the first effect of a turn.
fn answer() -> JournalEntry {
    JournalEntry { effect: EffectId(0), at: AT, fingerprint: "f".to_owned(), request: None, outcome: EffectResult::Ok(Reply::Slept) }
}

/// Stores rows as the writers do.
async fn store_rows(database: &mut Database, rows: &TurnRows) -> sqlx::Result<()> {
    let mut connection = open_writer(&database.config).await?;
    let log = CallLogColumns::detect(&mut connection).await;
    if fit_one_statement(&connection, rows) {
        return write_at_once(&mut connection, rows, log).await;
    }
    connection.begin().await?;
    match write(&mut connection, rows, log).await {
        Ok(()) => connection.commit().await,
        Err(error) => {
            connection.rollback().await?;
            Err(error)
        }
    }
}

/// The rows of a turn without effects, written twice to exercise the upserts.
#[tokio::test]
async fn a_turn_is_loaded_as_it_was_stored() {
    for mut database in each_database().await {
        let mut rows = TurnRows::default();
        rows.add_turn(&TurnRow { reset: true, ..turn_row(FIRST, 1, "closed") });
        rows.add_conversation(&ConversationRow { state_code: "OLD".to_owned(), ..conversation() });
        rows.add_llm_call(CONVERSATION, &call());
        let memory = MemoryRow { store: "session".to_owned(), summary: "so far".to_owned(), turns: 1, updated_at: AT };
        rows.add_memory(CONVERSATION, &memory);
        store_rows(&mut database, &rows).await.expect("the first turn");

        let mut rows = TurnRows::default();
        rows.add_turn(&turn_row(SECOND, 2, "closed"));
        rows.add_conversation(&conversation());
        for (user, assistant) in [("one", "{\"type\":\"TEXT\",\"value\":\"1\"}"), ("two", "{\"value\":\"2\"}")] {
            let row = HistoryRow { user_input: user.to_owned(), assistant_output: assistant.to_owned(), created_at: AT + 1 };
            rows.add_history(CONVERSATION, &row);
        }
        let notice = |seq, stage: &str, payload| Notice {
            seq,
            at: AT,
            body: NoticeBody::Audit { stage: stage.to_owned().into(), payload: Value::into(payload) },
        };
        let notices = [notice(0, "USER_INPUT", json!({"z": 1, "a": "é\u{0}"})), notice(1, "PIPELINE_TIMING", json!({"totalMs": 0}))];
        rows.add_audit(CONVERSATION, &notices, 9);
        rows.add_memory(CONVERSATION, &MemoryRow { summary: "later".to_owned(), ..memory.clone() });
        store_rows(&mut database, &rows).await.expect("the second turn");
        assert!(is_stored(&mut database.connection, &rows).await.expect("an answer"));

        let found = load::load_conversation(&database.pool, CONVERSATION, 20, None).await.expect("a conversation");
        assert!(!found.has_open_turn);
        let session = found.session;
        assert_eq!(session.conversation, Some(conversation()));
        assert_eq!(json!(session.conversation.as_ref().map(|it| &it.context)).to_string(), json!(conversation().context).to_string());
        let exchange = |user: &str, assistant: &str| Exchange { user: user.to_owned(), assistant: assistant.to_owned() };
        assert_eq!(session.history, [exchange("two", "2"), exchange("one", "1")]);
        assert_eq!((session.turns, session.turns_since_reset), (2, 2));
        assert_eq!(session.memory.map(|it| it.summary), Some("later".to_owned()));

        let audit = audit::list_for_conversation(&database.pool, CONVERSATION).await.expect("audit rows");
        let nul = if database.pool.is_shared() { "{\"z\":1,\"a\":\"é\\ufffd\"}" } else { "{\"z\":1,\"a\":\"é\\u0000\"}" };
        let payloads: Vec<&str> = audit.iter().map(|it| it.payload_json.as_str()).collect();
        assert_eq!(payloads, [nul, "{\"totalMs\":9}"]);
        assert_eq!((audit[0].audit_id, audit[0].created_at.as_str()), (1, "2026-01-02T03:04:05.678Z"));

        let turns = turn::list_ended(&database.pool, CONVERSATION).await.expect("turns");
        let after = |number| turn::list_ended_after(&database.pool, CONVERSATION, number, 1);
        assert_eq!((after(0).await.expect("turns").len(), after(9).await.expect("turns").len()), (1, 0));
        assert_eq!(
            turns.iter().map(|it| (it.number, it.journal.as_slice())).collect::<Vec<_>>(),
            [(1, &b"\x00\xff"[..]), (2, b"\x00\xff")]
        );
        assert_eq!((turns[0].turn_id.as_str(), turns[0].total_ms), (FIRST, 5));

        let mut rows = TurnRows::default();
        rows.delete_memory(CONVERSATION);
        store_rows(&mut database, &rows).await.expect("no conflict");
        let found = load::load_conversation(&database.pool, CONVERSATION, 1, None).await.expect("a conversation");
        assert_eq!((found.session.memory, found.session.history.len()), (None, 1));
    }
}

#[tokio::test]
async fn an_open_turn_belongs_to_one_owner() {
    for mut database in each_database().await {
        let mut rows = TurnRows::default();
        let open = TurnRow { lease_ms: Some(60_000), message_key: Some("k"), ..turn_row(FIRST, 1, "open") };
        rows.add_turn(&open);
        rows.add_created_conversation(CONVERSATION, AT);
        rows.add_audit_progress(FIRST, "me", 1);
        let effect = |effect_id, position| EffectRow { turn_id: FIRST, owner: "me", effect_id, position, entry: None, at: AT };
        rows.add_effect(&effect(1, 9));
        store_rows(&mut database, &rows).await.expect("an open turn");
        let found = load::load_conversation(&database.pool, CONVERSATION, 1, Some("k")).await.expect("a conversation");
        assert!(found.has_open_turn && found.is_duplicate);
        let found = turn::find_open(&database.pool, CONVERSATION).await.expect("an answer").expect("a turn");
        assert_eq!((found.turn_id.as_str(), found.audited_notices, found.message_key.as_deref()), (FIRST, 1, Some("k")));
        assert_eq!(turn::find_by_message_key(&database.pool, "k").await.expect("an answer").map(|it| it.status), Some("open".to_owned()));
        assert!(turn::find_by_message_key(&database.pool, "other").await.expect("an answer").is_none());

        let answer = answer();
        let mut rows = TurnRows::default();
        rows.add_effect(&EffectRow { entry: Some(&answer), ..effect(0, 0) });
        store_rows(&mut database, &rows).await.expect("an answer");
        let effects = turn::list_effects(&database.pool, FIRST).await.expect("effects");
        assert_eq!(effects.iter().map(|it| (it.effect_id, it.entry.clone())).collect::<Vec<_>>(), [(0, Some(answer)), (1, None)]);

        // Another owner can claim it only after its lease expires; on SQLite there is no other owner.
        let theirs = lease::claim_open(&database.pool, CONVERSATION, "they", 60_000).await.expect("an answer");
        assert_eq!(theirs.is_some(), !database.pool.is_shared());
        lease::renew(&mut database.connection, &[FIRST.to_owned()], "me", -1_000).await.expect("a lease that is over");
        let claimed = lease::claim_open(&database.pool, CONVERSATION, "they", 60_000).await.expect("an answer").expect("the turn");
        assert_eq!((claimed.turn_id.as_str(), claimed.audited_notices, claimed.message_key.as_deref()), (FIRST, 1, Some("k")));
        assert!(lease::has_open(&database.pool, CONVERSATION).await.expect("an answer"));
        let mut rows = TurnRows::default();
        rows.close_turn(&TurnRow { state_hash: "mine", ..open.clone() });
        assert!(matches!(store_rows(&mut database, &rows).await, Err(sqlx::Error::RowNotFound)), "another owner holds it");
        let mut late = TurnRows::default();
        late.add_effect(&effect(2, 2));
        assert!(matches!(store_rows(&mut database, &late).await, Err(sqlx::Error::RowNotFound)), "another owner holds it");

        let mut rows = TurnRows::default();
        rows.close_turn(&TurnRow { owner: "they", status: "closed", ..open.clone() });
        store_rows(&mut database, &rows).await.expect("the end");
        turn::delete_ended_effects(&database.pool).await.expect("an answer");
        assert!(turn::list_effects(&database.pool, FIRST).await.expect("effects").is_empty());
        assert!(turn::find_open(&database.pool, CONVERSATION).await.expect("an answer").is_none());

        // Turn numbers and idempotency keys are unique.
        for again in
            [TurnRow { turn_id: SECOND, message_key: None, ..open.clone() }, TurnRow { turn_id: SECOND, number: 2, ..open.clone() }]
        {
            let mut rows = TurnRows::default();
            rows.add_turn(&again);
            let error = store_rows(&mut database, &rows).await.expect_err("it is there already");
            assert!(error.as_database_error().is_some_and(|it| it.is_unique_violation()), "{error}");
        }
        let mut rows = TurnRows::default();
        rows.add_turn(&TurnRow { turn_id: SECOND, number: 2, message_key: None, ..open });
        store_rows(&mut database, &rows).await.expect("an open turn");
        assert!(turn::close_as_lost(&database.pool, SECOND, "me", Some("TURN_LOST")).await.expect("an answer"));
        assert!(!turn::close_as_lost(&database.pool, SECOND, "me", Some("TURN_LOST")).await.expect("an answer"));
        let statuses: Vec<String> =
            turn::list_ended(&database.pool, CONVERSATION).await.expect("turns").into_iter().map(|it| it.status).collect();
        assert_eq!(statuses, ["closed", "lost"]);
    }
}

#[tokio::test]
async fn a_completion_and_the_end_of_its_turn_are_stored_together() {
    for mut database in each_database().await {
        let open = TurnRow { lease_ms: Some(60_000), ..turn_row(FIRST, 1, "open") };
        let mut rows = TurnRows::default();
        rows.add_turn(&open);
        store_rows(&mut database, &rows).await.expect("an open turn");
        let answer = answer();
        let mut rows = TurnRows::default();
        rows.add_effect(&EffectRow { turn_id: FIRST, owner: "me", effect_id: 0, position: 0, entry: Some(&answer), at: AT });
        rows.add_audit_progress(FIRST, "me", 1);
        rows.close_turn(&TurnRow { status: "closed", ..open });
        store_rows(&mut database, &rows).await.expect("both");
        let effects = turn::list_effects(&database.pool, FIRST).await.expect("effects");
        assert_eq!(effects.into_iter().map(|it| (it.effect_id, it.entry)).collect::<Vec<_>>(), [(0, Some(answer))]);
        let turns = turn::list_ended(&database.pool, CONVERSATION).await.expect("turns");
        let ended: Vec<_> = turns.iter().map(|turn| (turn.turn_id.as_str(), turn.status.as_str(), turn.audited_notices)).collect();
        assert_eq!(ended, [(FIRST, "closed", 1)]);
    }
}
