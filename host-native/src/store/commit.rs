//! The rows of finished turns: one statement a table, whatever the number of turns.
//!
//! Each statement takes one JSON array of rows. Texts that are JSON travel as JSON (`->` takes them out as text again),
//! so that nothing is escaped twice.

use std::borrow::Cow;

use convengine_core::turn::{ConversationRow, HistoryRow, LlmCallRow, MemoryRow, Millis, Notice, NoticeBody};
use serde::Serialize;
use serde_json::Value;
use sqlx::sqlite::SqliteConnection;

use super::call_log::CallLog;
use crate::clock;

const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

/// Rows of one table as the inside of a JSON array.
#[derive(Debug, Clone, Default)]
pub struct Rows(Vec<u8>);

impl Rows {
    /// Adds a row.
    pub fn push<T: Serialize>(&mut self, row: &T) {
        self.separate();
        // Rows are texts, numbers and JSON values: writing them into memory has no way to fail.
        let _ = serde_json::to_writer(&mut self.0, row);
    }

    /// Adds rows that are rendered already.
    pub fn extend(&mut self, other: &Rows) {
        if !other.0.is_empty() {
            self.separate();
            self.0.extend_from_slice(&other.0);
        }
    }

    /// The rows as text, separated by commas.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    fn separate(&mut self) {
        if !self.0.is_empty() {
            self.0.push(b',');
        }
    }

    fn array(&self) -> Option<String> {
        if self.0.is_empty() { None } else { Some(format!("[{}]", self.text())) }
    }
}

impl From<String> for Rows {
    fn from(text: String) -> Self {
        Rows(text.into_bytes())
    }
}

/// What one turn writes, rendered before it waits for the writer.
#[derive(Debug, Clone, Default)]
pub struct TurnRows {
    /// `ce_conversation`.
    pub conversation: Rows,
    /// `ce_audit`.
    pub audit: Rows,
    /// `ce_conversation_history`.
    pub history: Rows,
    /// `ce_llm_call_log`.
    pub llm: Rows,
    /// `ce_turn`.
    pub turn: Rows,
    /// `ce_memory`.
    pub memory: Rows,
    /// Conversations whose memory goes without a new one.
    pub forgotten: Rows,
}

impl TurnRows {
    /// Adds the rows of another turn.
    pub fn extend(&mut self, other: &TurnRows) {
        self.conversation.extend(&other.conversation);
        self.audit.extend(&other.audit);
        self.history.extend(&other.history);
        self.llm.extend(&other.llm);
        self.turn.extend(&other.turn);
        self.memory.extend(&other.memory);
        self.forgotten.extend(&other.forgotten);
    }

    /// Adds the conversation's row.
    pub fn conversation(&mut self, row: &ConversationRow) {
        let assistant = row.last_assistant.as_deref();
        self.conversation.push(&(
            (&row.conversation_id, &row.status, &row.intent_code, &row.state_code),
            (&row.context, &row.params),
            (&row.last_user_text, assistant),
            (row.created_at, row.updated_at),
        ));
    }

    /// Adds a history row.
    pub fn history(&mut self, conversation: &str, row: &HistoryRow) {
        self.history.push(&(conversation, &row.user_input, &row.assistant_output, row.created_at));
    }

    /// Adds a row of the call log; blanks become what readers of the table expect.
    pub fn llm_call(&mut self, conversation: &str, row: &LlmCallRow) {
        let or = |text: &str, blank: &str| if text.trim().is_empty() { blank.to_owned() } else { text.to_owned() };
        self.llm.push(&(
            (conversation, or(&row.intent_code, "UNKNOWN"), or(&row.state_code, "UNKNOWN")),
            (or(&row.provider, "UNKNOWN"), or(&row.model, "UNKNOWN")),
            (or(&row.prompt_text, "[missing prompt]"), or(&row.user_context, "{}")),
            (&row.response_text, row.success, &row.error_message, row.created_at),
            (row.input_tokens, row.output_tokens, row.cost_micros),
        ));
    }

    /// Adds what is remembered of a conversation.
    pub fn memory(&mut self, conversation: &str, row: &MemoryRow) {
        self.memory.push(&(conversation, &row.store, &row.summary, row.turns, row.updated_at));
    }

    /// Lets go of what is remembered of a conversation.
    pub fn forget(&mut self, conversation: &str) {
        self.forgotten.push(&conversation);
    }

    /// Adds the audit rows among the notices of a turn.
    ///
    /// `total_ms` is the host's measurement; see [`completed`].
    pub fn audit(&mut self, conversation: &str, notices: &[Notice], total_ms: Millis) {
        // The notices between two answers have one time.
        let mut time = (Millis::MIN, String::new());
        for notice in notices {
            let NoticeBody::Audit { stage, payload } = &notice.body else { continue };
            if time.0 != notice.at {
                time = (notice.at, clock::audit_text(notice.at));
            }
            let at = &time.1;
            self.audit.push(&(conversation, stage, completed(stage, payload, total_ms), at));
        }
    }

    /// Adds the turn itself; the journal is compressed already.
    pub fn turn(&mut self, turn: &TurnRow<'_>) {
        let mut journal = String::with_capacity(turn.journal.len() * 2);
        for byte in turn.journal {
            journal.push(HEX[usize::from(byte >> 4)]);
            journal.push(HEX[usize::from(byte & 15)]);
        }
        self.turn.push(&(
            (turn.turn_id, turn.conversation_id, turn.number, turn.status),
            (turn.protocol, turn.engine, turn.config_hash),
            (journal, turn.state_hash, turn.reset),
            (turn.created_at, turn.closed_at),
        ));
    }
}

/// The payload of an audit, for `PIPELINE_TIMING` with the host's total: what the core knows ends before the rows are written.
pub fn completed<'p>(stage: &str, payload: &'p Value, total_ms: Millis) -> Cow<'p, Value> {
    if stage != "PIPELINE_TIMING" {
        return Cow::Borrowed(payload);
    }
    let mut payload = payload.clone();
    if let Some(total) = payload.get_mut("totalMs") {
        *total = total_ms.into();
    }
    Cow::Owned(payload)
}

/// A row of `ce_turn`.
#[derive(Debug, Clone)]
pub struct TurnRow<'a> {
    /// The turn.
    pub turn_id: &'a str,
    /// Its conversation.
    pub conversation_id: &'a str,
    /// Its number within the conversation, from 1; unique, so that of two turns on one session one loses.
    pub number: u32,
    /// `closed`.
    pub status: &'a str,
    /// Shape of the journal.
    pub protocol: u16,
    /// The build that wrote it.
    pub engine: &'a str,
    /// The configuration it ran under.
    pub config_hash: &'a str,
    /// Compressed JSON.
    pub journal: &'a [u8],
    /// What a replay must reach.
    pub state_hash: &'a str,
    /// Whether earlier history is not loaded any more.
    pub reset: bool,
    /// When the message arrived.
    pub created_at: Millis,
    /// When the rows were made.
    pub closed_at: Millis,
}

/// Writes the rows of one or more turns; the caller holds the transaction.
///
/// The turns come first: a lost race shows before anything else is done.
///
/// # Errors
/// What SQLite says.
pub async fn write(connection: &mut SqliteConnection, rows: &TurnRows, log: CallLog) -> sqlx::Result<()> {
    if let Some(rows) = rows.turn.array() {
        insert_turns(connection, rows).await?;
    }
    if let Some(rows) = rows.conversation.array() {
        upsert_conversations(connection, rows).await?;
    }
    if let Some(rows) = rows.audit.array() {
        insert_audit(connection, rows).await?;
    }
    if let Some(rows) = rows.history.array() {
        insert_history(connection, rows).await?;
    }
    if let Some(rows) = rows.llm.array() {
        log.insert(connection, rows).await?;
    }
    if let Some(rows) = rows.forgotten.array() {
        delete_memory(connection, rows).await?;
    }
    if let Some(rows) = rows.memory.array() {
        upsert_memory(connection, rows).await?;
    }
    Ok(())
}

async fn insert_turns(connection: &mut SqliteConnection, rows: String) -> sqlx::Result<()> {
    let sql = "insert into ce_turn (turn_id, conversation_id, number, status, protocol, engine, config_hash, journal, state_hash,
                 reset, created_at, closed_at)
               select value->>'$[0][0]', value->>'$[0][1]', value->>'$[0][2]', value->>'$[0][3]',
                 value->>'$[1][0]', value->>'$[1][1]', value->>'$[1][2]',
                 unhex(value->>'$[2][0]'), value->>'$[2][1]', value->>'$[2][2]', value->>'$[3][0]', value->>'$[3][1]'
               from json_each($1)";
    sqlx::query(sql).bind(rows).execute(connection).await.map(|_| ())
}

async fn upsert_conversations(connection: &mut SqliteConnection, rows: String) -> sqlx::Result<()> {
    let sql = "insert into ce_conversation (conversation_id, status, intent_code, state_code, context_json, input_params_json,
                 last_user_text, last_assistant_json, created_at, updated_at)
               select value->>'$[0][0]', value->>'$[0][1]', value->>'$[0][2]', value->>'$[0][3]',
                 value->'$[1][0]', value->'$[1][1]', value->>'$[2][0]', value->>'$[2][1]', value->>'$[3][0]', value->>'$[3][1]'
               from json_each($1) where true
               on conflict (conversation_id) do update set status = excluded.status, intent_code = excluded.intent_code,
                 state_code = excluded.state_code, context_json = excluded.context_json,
                 input_params_json = excluded.input_params_json, last_user_text = excluded.last_user_text,
                 last_assistant_json = excluded.last_assistant_json, updated_at = excluded.updated_at";
    sqlx::query(sql).bind(rows).execute(connection).await.map(|_| ())
}

async fn insert_audit(connection: &mut SqliteConnection, rows: String) -> sqlx::Result<()> {
    let sql = "insert into ce_audit (conversation_id, stage, payload_json, created_at)
               select value->>0, value->>1, value->2, value->>3 from json_each($1)";
    sqlx::query(sql).bind(rows).execute(connection).await.map(|_| ())
}

async fn insert_history(connection: &mut SqliteConnection, rows: String) -> sqlx::Result<()> {
    let sql = "insert into ce_conversation_history (conversation_id, user_input, assistant_output, created_at, modified_at)
               select value->>0, value->>1, value->>2, value->>3, value->>3 from json_each($1)";
    sqlx::query(sql).bind(rows).execute(connection).await.map(|_| ())
}

async fn upsert_memory(connection: &mut SqliteConnection, rows: String) -> sqlx::Result<()> {
    let sql = "insert into ce_memory (conversation_id, store, summary, turns, updated_at)
               select value->>0, value->>1, value->>2, value->>3, value->>4 from json_each($1) where true
               on conflict (conversation_id, store) do update set summary = excluded.summary, turns = excluded.turns,
                 updated_at = excluded.updated_at";
    sqlx::query(sql).bind(rows).execute(connection).await.map(|_| ())
}

async fn delete_memory(connection: &mut SqliteConnection, rows: String) -> sqlx::Result<()> {
    let sql = "delete from ce_memory where conversation_id in (select value from json_each($1))";
    sqlx::query(sql).bind(rows).execute(connection).await.map(|_| ())
}
