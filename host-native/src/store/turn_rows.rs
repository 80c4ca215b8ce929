//! The rows of turns, rendered before they wait for the writer: one JSON array a table.
//!
//! Texts that are JSON travel as JSON, so that nothing is escaped twice.

use std::borrow::Cow;

use convengine_core::turn::{ConversationRow, Entry, HistoryRow, LlmCallRow, MemoryRow, Millis, Notice, NoticeBody};
use serde::Serialize;
use serde_json::Value;

use crate::clock;

const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

/// Rows of one table as the inside of a JSON array.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    text: Vec<u8>,
    count: u64,
}

impl Rows {
    /// Adds a row.
    pub fn push<T: Serialize>(&mut self, row: &T) {
        self.separate();
        // Rows are texts, numbers and JSON values: writing them into memory has no way to fail.
        let _ = serde_json::to_writer(&mut self.text, row);
        self.count += 1;
    }

    /// Adds rows that are rendered already.
    pub fn extend(&mut self, other: &Rows) {
        if other.count > 0 {
            self.separate();
            self.text.extend_from_slice(&other.text);
            self.count += other.count;
        }
    }

    /// The rows as text, separated by commas.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.text).unwrap_or_default()
    }

    /// Rows that somebody else has rendered, separated by commas.
    pub fn rendered(text: String, count: u64) -> Rows {
        Rows { text: text.into_bytes(), count }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn separate(&mut self) {
        if self.count > 0 {
            self.text.push(b',');
        }
    }

    /// The rows as a JSON array; nothing when there are none.
    pub(super) fn array(&self) -> Option<String> {
        if self.count == 0 { None } else { Some(format!("[{}]", self.text())) }
    }
}

/// What one turn writes, rendered before it waits for the writer.
#[derive(Debug, Clone, Default)]
pub struct TurnRows {
    /// `ce_conversation`.
    pub conversation: Rows,
    /// Conversations that are created before their first turn ends.
    pub created: Rows,
    /// `ce_audit`.
    pub audit: Rows,
    /// `ce_conversation_history`.
    pub history: Rows,
    /// `ce_llm_call_log`.
    pub llm: Rows,
    /// New rows of `ce_turn`, of turns that begin and of those that end without having begun before.
    pub turn: Rows,
    /// Rows of `ce_turn` of turns that have begun and end now.
    pub closed: Rows,
    /// How many numbers of `ce_audit` are kept for each turn of `turn`.
    pub kept_by_turn: Vec<u32>,
    /// How many are kept for each of `closed`.
    pub kept_by_closed: Vec<u32>,
    /// `ce_turn_effect`.
    pub effect: Rows,
    /// Turns of which audit rows are stored before they end.
    pub told: Rows,
    /// How many turns end with these rows.
    pub ends: u32,
    /// Whether it must survive a power cut before anything follows.
    pub durable: bool,
    /// `ce_memory`.
    pub memory: Rows,
    /// Conversations whose memory goes without a new one.
    pub forgotten: Rows,
    /// What models have cost.
    pub spend: Rows,
    /// `cs_session`, with the rows of `cs_timer`.
    pub session: Rows,
    /// `cs_usage_events`.
    pub usage: Rows,
}

/// What a turn leaves of an assistant's session.
#[derive(Debug, Clone, Copy)]
pub struct SessionRow<'a> {
    /// The session.
    pub session: &'a str,
    /// Its assistant.
    pub assistant: &'a str,
    /// The deployment that began it; absent in the simulator.
    pub deployment: Option<&'a str>,
    /// The version that it runs on; absent for a draft.
    pub version: Option<i64>,
    /// The hash of what it runs on, `sha256:…`.
    pub snapshot: &'a str,
    /// Its state.
    pub state: &'a Value,
    /// When the turn ended.
    pub at: Millis,
}

impl TurnRows {
    /// Adds the rows of another turn.
    pub fn extend(&mut self, other: &TurnRows) {
        self.conversation.extend(&other.conversation);
        self.created.extend(&other.created);
        self.audit.extend(&other.audit);
        self.history.extend(&other.history);
        self.llm.extend(&other.llm);
        self.turn.extend(&other.turn);
        self.closed.extend(&other.closed);
        self.kept_by_turn.extend_from_slice(&other.kept_by_turn);
        self.kept_by_closed.extend_from_slice(&other.kept_by_closed);
        self.effect.extend(&other.effect);
        self.told.extend(&other.told);
        self.ends += other.ends;
        self.durable |= other.durable;
        self.memory.extend(&other.memory);
        self.forgotten.extend(&other.forgotten);
        self.spend.extend(&other.spend);
        self.session.extend(&other.session);
        self.usage.extend(&other.usage);
    }

    /// Adds what is left of a session.
    pub fn session(&mut self, row: &SessionRow<'_>) {
        let text = |of: &'_ Value, key: &str| of.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
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

    /// Adds what a turn has used of a plan.
    pub fn usage(&mut self, workspace: &str, kind: &str, at: Millis, amount: u64, of: &str) {
        self.usage.push(&(workspace, kind, at, amount, of));
    }

    /// Adds what models have cost on a day, in millionths.
    pub fn spend(&mut self, day: &str, micros: u64) {
        self.spend.push(&(day, micros));
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

    /// Adds the conversation of a first turn before that ends; one that is there stays.
    pub fn created(&mut self, conversation: &str, at: Millis) {
        self.created.push(&(conversation, at));
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

    /// How many numbers of `ce_audit` the turns keep.
    pub(super) fn kept(&self) -> i64 {
        self.kept_by_turn.iter().chain(&self.kept_by_closed).copied().map(i64::from).sum()
    }

    /// Adds a turn that begins, or one that ends without having begun before.
    pub fn turn(&mut self, turn: &TurnRow<'_>) {
        self.ends += u32::from(turn.status != "open");
        push_turn(&mut self.turn, turn);
        self.kept_by_turn.push(turn.kept);
    }

    /// Adds the end of a turn that has begun.
    pub fn close(&mut self, turn: &TurnRow<'_>) {
        self.ends += 1;
        push_turn(&mut self.closed, turn);
        self.kept_by_closed.push(turn.kept);
    }

    /// Adds an effect of an open turn: that it leaves now, or what it was answered.
    pub fn effect(&mut self, effect: &EffectRow<'_>) {
        let entry = effect.entry.map(Entry::lean);
        self.effect.push(&(effect.turn_id, effect.owner, effect.effect_id, effect.position, entry, effect.at));
    }

    /// Notes that the audit rows of the notices before `seq` are stored.
    pub fn told(&mut self, turn_id: &str, owner: &str, seq: u32) {
        self.told.push(&(turn_id, owner, seq));
    }
}

/// The journal is compressed already.
fn push_turn(rows: &mut Rows, turn: &TurnRow<'_>) {
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
#[derive(Debug, Clone, Default)]
pub struct TurnRow<'a> {
    /// The turn.
    pub turn_id: &'a str,
    /// Its conversation.
    pub conversation_id: &'a str,
    /// Its number within the conversation, from 1; unique, so that of two turns on one session one loses.
    pub number: u32,
    /// `open`, `closed` or `lost`.
    pub status: &'a str,
    /// Shape of the journal.
    pub protocol: u16,
    /// The build that wrote it.
    pub engine: &'a str,
    /// The configuration it ran under.
    pub config_hash: &'a str,
    /// Compressed JSON.
    pub journal: &'a [u8],
    /// What a replay must reach; empty while the turn is open.
    pub state_hash: &'a str,
    /// Whether earlier history is not loaded any more.
    pub reset: bool,
    /// The error code, when the turn has failed.
    pub fault: Option<&'a str>,
    /// When the message arrived.
    pub created_at: Millis,
    /// When the rows were made.
    pub closed_at: Millis,
    /// Milliseconds from the message to the rows.
    pub total_ms: Millis,
    /// Who runs it while it is open.
    pub owner: &'a str,
    /// How long it is theirs alone; nothing once it has ended.
    pub lease_ms: Option<i64>,
    /// The client's name for the message.
    pub message_key: Option<&'a str>,
    /// How many numbers of `ce_audit` are kept for its audit rows, because these are not stored.
    pub kept: u32,
}

/// A row of `ce_turn_effect`.
#[derive(Debug, Clone)]
pub struct EffectRow<'a> {
    /// Its turn.
    pub turn_id: &'a str,
    /// Who runs the turn: nobody else may add to it.
    pub owner: &'a str,
    /// Its number within the turn.
    pub effect_id: u32,
    /// The place of its answer among those of the turn.
    pub position: usize,
    /// The journal's entry; nothing while it has left and is not answered.
    pub entry: Option<&'a Entry>,
    /// When it left, or when it was answered.
    pub at: Millis,
}
