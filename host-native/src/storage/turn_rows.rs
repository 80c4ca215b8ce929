//! The rows a turn writes, rendered as one JSON array per table before they are queued for the writer.
//!
//! JSON columns are embedded as JSON, so that nothing is escaped twice.

use std::borrow::Cow;

use convengine_core::flow::active_state;
use convengine_core::turn::{ConversationRow, HistoryRow, JournalEntry, LlmCallRow, MemoryRow, Millis, Notice, NoticeBody};
use serde::Serialize;
use serde_json::Value;

use crate::clock;

/// Characters of a message in the list of the desk.
const PREVIEW_CHARS: usize = 120;

const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

/// Rows of one table as comma-separated JSON values.
#[derive(Debug, Clone, Default)]
pub struct JsonRows {
    text: Vec<u8>,
    count: u64,
}

impl JsonRows {
    /// Adds a row.
    pub fn push<T: Serialize>(&mut self, row: &T) {
        self.push_separator();
        // Serializing strings, numbers and JSON values into memory cannot fail.
        let _ = serde_json::to_writer(&mut self.text, row);
        self.count += 1;
    }

    /// Adds rendered rows.
    pub fn extend(&mut self, other: &JsonRows) {
        if other.count > 0 {
            self.push_separator();
            self.text.extend_from_slice(&other.text);
            self.count += other.count;
        }
    }

    /// The rendered rows, separated by commas.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.text).unwrap_or_default()
    }

    /// Creates rows from rendered text, separated by commas.
    pub fn from_rendered(text: String, count: u64) -> JsonRows {
        JsonRows { text: text.into_bytes(), count }
    }

    /// The number of rows.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn push_separator(&mut self) {
        if self.count > 0 {
            self.text.push(b',');
        }
    }

    /// The rows as a JSON array; `None` when there are none.
    pub(super) fn to_json_array(&self) -> Option<String> {
        if self.count == 0 { None } else { Some(format!("[{}]", self.text())) }
    }
}

/// The rendered rows of one or more turns.
#[derive(Debug, Clone, Default)]
pub struct TurnRows {
    /// `ce_conversation`.
    pub conversation: JsonRows,
    /// New rows of `ce_conversation`, created before the first turn ends.
    pub created_conversations: JsonRows,
    /// `ce_audit`.
    pub audit: JsonRows,
    /// `ce_conversation_history`.
    pub history: JsonRows,
    /// `ce_llm_call_log`.
    pub llm: JsonRows,
    /// New rows of `ce_turn`: turns that open, and turns that end without having been opened.
    pub turn: JsonRows,
    /// Updates of `ce_turn` that close open turns.
    pub closed_turns: JsonRows,
    /// The number of audit ids reserved for each row of `turn`.
    pub reserved_by_turn: Vec<u32>,
    /// The number of audit ids reserved for each row of `closed`.
    pub reserved_by_closed_turn: Vec<u32>,
    /// `ce_turn_effect`.
    pub effect: JsonRows,
    /// Updates of `ce_turn.audited` for open turns whose audit rows are stored.
    pub audit_progress: JsonRows,
    /// The number of turns that end with these rows.
    pub ended_turns: u32,
    /// Whether the commit must be flushed to disk.
    pub durable: bool,
    /// `ce_memory`.
    pub memory: JsonRows,
    /// Conversations whose memory is deleted.
    pub deleted_memory: JsonRows,
    /// `cs_session`, with the rows of `cs_timer`.
    pub session: JsonRows,
    /// New rows of `cs_session`, `cs_timer`, `cs_run` and `cs_run_key`: runs that have not begun.
    pub new_runs: JsonRows,
    /// `cs_run`.
    pub run: JsonRows,
    /// `cs_handoff`.
    pub handoff: JsonRows,
    /// `cs_usage_events`.
    pub usage: JsonRows,
    /// New rows of `cv_conversation_owner`.
    pub owner: JsonRows,
}

/// A row of `cs_session`.
#[derive(Debug, Clone, Copy)]
pub struct SessionRow<'a> {
    /// The session.
    pub session: &'a str,
    /// Its assistant.
    pub assistant: &'a str,
    /// The deployment that started it; absent in the simulator.
    pub deployment: Option<&'a str>,
    /// The published version it runs on; absent for a draft.
    pub version: Option<i64>,
    /// The snapshot hash, `sha256:…`.
    pub snapshot: &'a str,
    /// The state document.
    pub state: &'a Value,
    /// When the turn ended.
    pub at: Millis,
}

impl TurnRows {
    /// Adds the rows of another turn.
    pub fn extend(&mut self, other: &TurnRows) {
        self.conversation.extend(&other.conversation);
        self.created_conversations.extend(&other.created_conversations);
        self.audit.extend(&other.audit);
        self.history.extend(&other.history);
        self.llm.extend(&other.llm);
        self.turn.extend(&other.turn);
        self.closed_turns.extend(&other.closed_turns);
        self.reserved_by_turn.extend_from_slice(&other.reserved_by_turn);
        self.reserved_by_closed_turn.extend_from_slice(&other.reserved_by_closed_turn);
        self.effect.extend(&other.effect);
        self.audit_progress.extend(&other.audit_progress);
        self.ended_turns += other.ended_turns;
        self.durable |= other.durable;
        self.memory.extend(&other.memory);
        self.deleted_memory.extend(&other.deleted_memory);
        self.session.extend(&other.session);
        self.new_runs.extend(&other.new_runs);
        self.run.extend(&other.run);
        self.handoff.extend(&other.handoff);
        self.usage.extend(&other.usage);
        self.owner.extend(&other.owner);
    }

    /// Adds a session row with its timers.
    pub fn add_session(&mut self, row: &SessionRow<'_>) {
        let text = |value: &'_ Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let timers = row.state.get("timers").and_then(Value::as_array).into_iter().flatten();
        let timer = |it: &Value| (text(it, "id"), clock::parse(&text(it, "due")).unwrap_or(0), text(it, "purpose"));
        self.session.push(&(
            (row.session, row.assistant, row.deployment, row.version),
            (row.snapshot, text(row.state, "status"), row.state.get("seq")),
            row.state,
            row.at,
            timers.map(timer).collect::<Vec<_>>(),
        ));
    }

    /// Adds a run that has not begun, with its timer, unless its key has started another run.
    pub fn add_new_run(&mut self, row: &SessionRow<'_>, chain: &str, key: Option<(&str, &str, &str)>, valid_since: Millis) {
        self.new_runs.push(&((row.session, chain, row.assistant, row.version, row.snapshot), row.state, row.at, key, valid_since));
    }

    /// Adds the row of a run after a turn.
    pub fn add_run(&mut self, row: &SessionRow<'_>) {
        let text = |key: &str| row.state.get(key).and_then(Value::as_str);
        self.run.push(&(row.session, text("chain"), text("status"), text("branch_taken"), row.at));
    }

    /// Adds the row of the desk for a session that is handed off, or whose row of the turn before is deleted.
    pub fn add_handoff(&mut self, row: &SessionRow<'_>, was_handed_off: bool) {
        let Some(handoff) = row.state.get("handoff").filter(|it| it.is_object()) else {
            if was_handed_off {
                self.handoff.push(&(row.session, row.assistant, Value::Null));
            }
            return;
        };
        let text = |key: &str| handoff.get(key).and_then(Value::as_str);
        let state = if text("state") == Some("queued") { "waiting" } else { "running" };
        let about = (text("queue").unwrap_or_default(), text("reason").unwrap_or_default(), text("ticket"), text("author"));
        let requested_at = text("requested_at").and_then(clock::parse).unwrap_or(row.at);
        let (preview, unread) = summarize_history(active_state(row.state));
        self.handoff.push(&(row.session, row.assistant, state, about, requested_at, row.at, preview, unread));
    }

    /// Adds metered usage of a turn.
    pub fn add_usage(&mut self, workspace: &str, kind: &str, at: Millis, amount: u64, reference: &str) {
        self.usage.push(&(workspace, kind, at, amount, reference));
    }

    /// Adds a conversation row.
    pub fn add_conversation(&mut self, row: &ConversationRow) {
        let assistant = row.last_assistant.as_deref();
        self.conversation.push(&(
            (&row.conversation_id, &row.status, &row.intent_code, &row.state_code),
            (&row.context, &row.params),
            (&row.last_user_text, assistant),
            (row.created_at, row.updated_at),
        ));
    }

    /// Adds a conversation that must exist before its first turn ends; an existing row is kept.
    pub fn add_created_conversation(&mut self, conversation: &str, at: Millis) {
        self.created_conversations.push(&(conversation, at));
    }

    /// Adds a history row.
    pub fn add_history(&mut self, conversation: &str, row: &HistoryRow) {
        self.history.push(&(conversation, &row.user_input, &row.assistant_output, row.created_at));
    }

    /// Adds a row of the call log. Blank columns get the placeholders that readers expect.
    pub fn add_llm_call(&mut self, conversation: &str, row: &LlmCallRow) {
        let or = |text: &str, blank: &str| if text.trim().is_empty() { blank.to_owned() } else { text.to_owned() };
        self.llm.push(&(
            (conversation, or(&row.intent_code, "UNKNOWN"), or(&row.state_code, "UNKNOWN")),
            (or(&row.provider, "UNKNOWN"), or(&row.model, "UNKNOWN")),
            (or(&row.prompt_text, "[missing prompt]"), or(&row.user_context, "{}")),
            (&row.response_text, row.success, &row.error_message, row.created_at),
            (row.input_tokens, row.output_tokens, row.cost_micros),
        ));
    }

    /// Adds the memory of a conversation.
    pub fn add_memory(&mut self, conversation: &str, row: &MemoryRow) {
        self.memory.push(&(conversation, &row.store, &row.summary, row.turns, row.updated_at));
    }

    /// Deletes the memory of a conversation.
    pub fn delete_memory(&mut self, conversation: &str) {
        self.deleted_memory.push(&conversation);
    }

    /// Adds audit rows for the audit notices of a turn.
    ///
    /// `total_ms` is measured by the host; see [`completed`].
    pub fn add_audit(&mut self, conversation: &str, notices: &[Notice], total_ms: Millis) {
        // The notices of one slice share a timestamp.
        let mut time = (Millis::MIN, String::new());
        for notice in notices {
            let NoticeBody::Audit { stage, payload } = &notice.body else { continue };
            if time.0 != notice.at {
                time = (notice.at, clock::format_audit(notice.at));
            }
            let at = &time.1;
            self.audit.push(&(conversation, stage, with_total_ms(stage, payload, total_ms), at));
        }
    }

    /// The number of audit ids the turns reserve.
    pub(super) fn reserved_audit_ids(&self) -> i64 {
        self.reserved_by_turn.iter().chain(&self.reserved_by_closed_turn).copied().map(i64::from).sum()
    }

    /// Adds a turn that opens, or one that ends without having been opened.
    pub fn add_turn(&mut self, turn: &TurnRow<'_>) {
        self.ended_turns += u32::from(turn.status != "open");
        push_turn(&mut self.turn, turn);
        self.reserved_by_turn.push(turn.reserved_audit_ids);
    }

    /// Closes an open turn.
    pub fn close_turn(&mut self, turn: &TurnRow<'_>) {
        self.ended_turns += 1;
        push_turn(&mut self.closed_turns, turn);
        self.reserved_by_closed_turn.push(turn.reserved_audit_ids);
    }

    /// Adds an effect of an open turn: its dispatch marker, or its completion.
    pub fn add_effect(&mut self, effect: &EffectRow<'_>) {
        let entry = effect.entry.map(JournalEntry::without_request);
        self.effect.push(&(effect.turn_id, effect.owner, effect.effect_id, effect.position, entry, effect.at));
    }

    /// Records that the audit rows of the notices before `seq` are stored.
    pub fn add_audit_progress(&mut self, turn_id: &str, owner: &str, seq: u32) {
        self.audit_progress.push(&(turn_id, owner, seq));
    }
}

/// Returns the beginning of the last message, and the number of messages of the user since the last answer.
fn summarize_history(state: &Value) -> (String, usize) {
    let history = state.get("history").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let last = history.last().and_then(|it| it.get("text")?.as_str()).unwrap_or_default();
    let text: String = last.chars().map(|it| if it.is_control() { ' ' } else { it }).take(PREVIEW_CHARS).collect();
    let is_of_user = |it: &&Value| it.get("role").is_some_and(|it| it == "user");
    (text.trim().to_owned(), history.iter().rev().take_while(is_of_user).count())
}

/// Renders a turn row. The journal is already compressed.
fn push_turn(rows: &mut JsonRows, turn: &TurnRow<'_>) {
    let mut journal = String::with_capacity(turn.journal.len() * 2);
    for byte in turn.journal {
        journal.push(HEX[usize::from(byte >> 4)]);
        journal.push(HEX[usize::from(byte & 15)]);
    }
    rows.push(&(
        (turn.turn_id, turn.conversation_id, turn.number, turn.status),
        (turn.protocol, turn.engine, turn.config_hash),
        (journal, turn.state_hash, i32::from(turn.reset), turn.fault),
        (turn.created_at, turn.closed_at, turn.total_ms),
        (turn.owner, turn.lease_ms, turn.message_key),
    ));
}

/// Returns an audit payload, with the host's total for `PIPELINE_TIMING`, because the core cannot measure the commit.
pub fn with_total_ms<'p>(stage: &str, payload: &'p Value, total_ms: Millis) -> Cow<'p, Value> {
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
#[derive(Debug, Clone, Default)]
pub struct TurnRow<'a> {
    /// The turn.
    pub turn_id: &'a str,
    /// Its conversation.
    pub conversation_id: &'a str,
    /// Its number within the conversation, from 1; unique, so that only one of two concurrent turns commits.
    pub number: u32,
    /// `open`, `closed` or `lost`.
    pub status: &'a str,
    /// The journal format version.
    pub protocol: u16,
    /// The engine build that wrote it.
    pub engine: &'a str,
    /// The hash of the configuration it ran on.
    pub config_hash: &'a str,
    /// The compressed journal.
    pub journal: &'a [u8],
    /// The state hash that a replay must produce; empty while the turn is open.
    pub state_hash: &'a str,
    /// Whether the turn reset the conversation, so that earlier history is no longer loaded.
    pub reset: bool,
    /// The error code of a failed turn.
    pub fault: Option<&'a str>,
    /// When the message arrived.
    pub created_at: Millis,
    /// When the rows were rendered.
    pub closed_at: Millis,
    /// Milliseconds from receiving the message to rendering the rows.
    pub total_ms: Millis,
    /// The process that runs it while it is open.
    pub owner: &'a str,
    /// The lease duration in milliseconds; absent once it has ended.
    pub lease_ms: Option<i64>,
    /// The idempotency key of the message.
    pub message_key: Option<&'a str>,
    /// The number of audit ids reserved for its derived audit rows.
    pub reserved_audit_ids: u32,
}

/// A row of `ce_turn_effect`.
#[derive(Debug, Clone)]
pub struct EffectRow<'a> {
    /// Its turn.
    pub turn_id: &'a str,
    /// The process that runs the turn; no other may add effects.
    pub owner: &'a str,
    /// Its number within the turn.
    pub effect_id: u32,
    /// Its completion order within the turn.
    pub position: usize,
    /// The journal entry; absent while the effect is dispatched and not completed.
    pub entry: Option<&'a JournalEntry>,
    /// When it was dispatched or completed.
    pub at: Millis,
}
