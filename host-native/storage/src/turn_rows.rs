//! The rows a turn writes, rendered by table before they are queued for the writer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use convengine_core::flow::active_state;
use convengine_core::json;
use convengine_core::turn::{AuditPayload, ConversationRow, HistoryRow, LlmCallRow, MemoryRow, Millis, Notice, NoticeBody};
use serde_json::Value;

use super::rows::Rows;
pub use super::turn_row::{EffectRow, SessionRow, TurnRow};
use convengine_host_base::clock;

/// Characters of a message in the list of the desk.
const PREVIEW_CHARS: usize = 120;

/// A table that turns write. Rows are written in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// New rows of `ce_turn`: turns that open, and turns that end without having been opened. They come first, so that a lost race fails
    /// before any other work.
    Turn,
    /// `ce_turn_effect`. Rows that require an open turn precede its close, which may be in the same batch.
    Effect,
    /// Updates of `ce_turn.audited` for open turns whose audit rows are stored.
    AuditProgress,
    /// Updates of `ce_turn` that close open turns.
    ClosedTurn,
    /// `ce_conversation`.
    Conversation,
    /// New rows of `ce_conversation`, created before the first turn ends.
    CreatedConversation,
    /// `ce_audit`.
    Audit,
    /// `ce_conversation_history`.
    History,
    /// `ce_llm_call_log`.
    LlmCall,
    /// Conversations whose memory is deleted.
    DeletedMemory,
    /// `ce_memory`.
    Memory,
    /// `cs_session`.
    Session,
    /// `cs_timer`.
    Timer,
    /// New rows of `cs_session`, `cs_timer`, `cs_run` and `cs_run_key`: runs that have not begun.
    NewRun,
    /// `cs_run`.
    Run,
    /// `cs_handoff`.
    Handoff,
    /// `cs_usage_events`.
    Usage,
    /// New rows of `cv_conversation_owner`.
    Owner,
}

/// The rows of one or more turns.
#[derive(Debug, Clone, Default)]
pub struct TurnRows {
    tables: BTreeMap<Table, Rows>,
    /// The number of audit ids reserved for each row of [`Table::Turn`].
    pub reserved_by_turn: Vec<u32>,
    /// The number of audit ids reserved for each row of [`Table::ClosedTurn`].
    pub reserved_by_closed_turn: Vec<u32>,
    /// The number of turns that end with these rows.
    pub ended_turns: u32,
    /// Whether the commit must be flushed to disk.
    pub durable: bool,
}

impl TurnRows {
    /// Adds the rows of another turn.
    pub fn extend(&mut self, other: &TurnRows) {
        other.tables.iter().for_each(|(table, rows)| self.table(*table).extend(rows));
        self.reserved_by_turn.extend_from_slice(&other.reserved_by_turn);
        self.reserved_by_closed_turn.extend_from_slice(&other.reserved_by_closed_turn);
        self.ended_turns += other.ended_turns;
        self.durable |= other.durable;
    }

    /// The tables with rows, in the order in which they are written.
    pub fn tables(&self) -> impl Iterator<Item = (Table, &Rows)> {
        self.tables.iter().map(|(table, rows)| (*table, rows)).filter(|pair| pair.1.count() > 0)
    }

    /// The rows of a table, if there are any.
    pub fn find(&self, table: Table) -> Option<&Rows> {
        self.tables.get(&table).filter(|rows| rows.count() > 0)
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.tables().next().is_none()
    }

    /// Whether a turn opens with these rows.
    pub(super) fn opens_turns(&self) -> bool {
        self.reserved_by_turn.len() + self.reserved_by_closed_turn.len() > usize::try_from(self.ended_turns).unwrap_or(usize::MAX)
    }

    /// Replaces a text in all rows by one of the same length.
    pub fn replace(&mut self, text: &str, by: &str) {
        self.tables.values_mut().for_each(|it| it.replace(text, by));
    }

    fn table(&mut self, table: Table) -> &mut Rows {
        self.tables.entry(table).or_default()
    }

    /// Adds a session row with its timers.
    pub fn add_session(&mut self, row: &SessionRow<'_>) {
        let text = |value: &'_ Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let timers: Vec<&Value> = row.state.get("timers").and_then(Value::as_array).into_iter().flatten().collect();
        let kept: Vec<String> = timers.iter().map(|it| text(it, "id")).collect();
        let rows = self.table(Table::Session);
        rows.text(row.session);
        rows.text(row.assistant);
        rows.optional_text(row.deployment);
        rows.optional_integer(row.version);
        rows.text(row.snapshot);
        rows.text(&text(row.state, "status"));
        rows.optional_integer(row.state.get("seq").and_then(Value::as_i64));
        rows.json_text(|out| json::text::write(row.state, out));
        rows.integer(row.at);
        rows.json(&kept);
        rows.end_row();
        for timer in timers {
            let rows = self.table(Table::Timer);
            rows.text(row.session);
            rows.text(&text(timer, "id"));
            rows.integer(clock::parse(&text(timer, "due")).unwrap_or(0));
            rows.text(&text(timer, "purpose"));
            rows.end_row();
        }
    }

    /// Adds a run that has not begun, with its timer, unless its key has started another run.
    pub fn add_new_run(&mut self, row: &SessionRow<'_>, chain: &str, key: Option<(&str, &str, &str)>, valid_since: Millis) {
        let rows = self.table(Table::NewRun);
        rows.text(row.session);
        rows.text(chain);
        rows.text(row.assistant);
        rows.optional_integer(row.version);
        rows.text(row.snapshot);
        rows.json_text(|out| json::text::write(row.state, out));
        rows.integer(row.at);
        rows.optional_text(key.map(|it| it.0));
        rows.optional_text(key.map(|it| it.1));
        rows.optional_text(key.map(|it| it.2));
        rows.integer(valid_since);
        rows.end_row();
    }

    /// Adds the row of a run after a turn.
    pub fn add_run(&mut self, row: &SessionRow<'_>) {
        let text = |key: &str| row.state.get(key).and_then(Value::as_str);
        let rows = self.table(Table::Run);
        rows.text(row.session);
        rows.optional_text(text("chain"));
        rows.optional_text(text("status"));
        rows.optional_text(text("branch_taken"));
        rows.integer(row.at);
        rows.end_row();
    }

    /// Adds the row of the desk for a session that is handed off, or whose row of the turn before is deleted.
    pub fn add_handoff(&mut self, row: &SessionRow<'_>, was_handed_off: bool) {
        let handoff = row.state.get("handoff").filter(|it| it.is_object());
        if handoff.is_none() && !was_handed_off {
            return;
        }
        let text = |key: &str| handoff.and_then(|handoff| handoff.get(key)?.as_str());
        let state = handoff.map(|_| if text("state") == Some("queued") { "waiting" } else { "running" });
        let (preview, unread) = summarize_history(active_state(row.state));
        let rows = self.table(Table::Handoff);
        rows.text(row.session);
        rows.text(row.assistant);
        // A row without a state only deletes the old one.
        rows.optional_text(state);
        rows.text(text("queue").unwrap_or_default());
        rows.text(text("reason").unwrap_or_default());
        rows.optional_text(text("ticket"));
        rows.optional_text(text("author"));
        rows.integer(text("requested_at").and_then(clock::parse).unwrap_or(row.at));
        rows.integer(row.at);
        rows.text(&preview);
        rows.integer(unread);
        rows.end_row();
    }

    /// Adds metered usage of a turn.
    pub fn add_usage(&mut self, workspace: &str, kind: &str, at: Millis, amount: u64, reference: &str) {
        let rows = self.table(Table::Usage);
        rows.text(workspace);
        rows.text(kind);
        rows.integer(at);
        rows.integer(i64::try_from(amount).unwrap_or(i64::MAX));
        rows.text(reference);
        rows.end_row();
    }

    /// Adds the owner of a new conversation.
    pub fn add_owner(&mut self, conversation: &str, owner: &str) {
        let rows = self.table(Table::Owner);
        rows.text(conversation);
        rows.text(owner);
        rows.end_row();
    }

    /// Adds a conversation row.
    pub fn add_conversation(&mut self, row: &ConversationRow) {
        let rows = self.table(Table::Conversation);
        rows.text(&row.conversation_id);
        rows.text(&row.status);
        rows.text(&row.intent_code);
        rows.text(&row.state_code);
        rows.json_text(|out| json::text::write_map(&row.context, out));
        rows.json_text(|out| json::text::write_map(&row.params, out));
        rows.optional_text(row.last_user_text.as_deref());
        rows.optional_text(row.last_assistant.as_deref());
        rows.integer(row.created_at);
        rows.integer(row.updated_at);
        rows.end_row();
    }

    /// Adds a conversation that must exist before its first turn ends; an existing row is kept.
    pub fn add_created_conversation(&mut self, conversation: &str, at: Millis) {
        let rows = self.table(Table::CreatedConversation);
        rows.text(conversation);
        rows.integer(at);
        rows.end_row();
    }

    /// Adds a history row.
    pub fn add_history(&mut self, conversation: &str, row: &HistoryRow) {
        let rows = self.table(Table::History);
        rows.text(conversation);
        rows.text(&row.user_input);
        rows.text(&row.assistant_output);
        rows.integer(row.created_at);
        rows.end_row();
    }

    /// Adds a row of the call log. Blank columns get the placeholders that readers expect.
    pub fn add_llm_call(&mut self, conversation: &str, row: &LlmCallRow) {
        let rows = self.table(Table::LlmCall);
        let mut or = |text: &str, blank: &str| rows.text(if text.trim().is_empty() { blank } else { text });
        or(conversation, "");
        or(&row.intent_code, "UNKNOWN");
        or(&row.state_code, "UNKNOWN");
        or(&row.provider, "UNKNOWN");
        or(&row.model, "UNKNOWN");
        or(&row.prompt_text, "[missing prompt]");
        or(&row.user_context, "{}");
        rows.optional_text(row.response_text.as_deref());
        rows.integer(row.success.into());
        rows.optional_text(row.error_message.as_deref());
        rows.integer(row.created_at);
        for count in [row.input_tokens, row.output_tokens, row.cost_micros] {
            rows.optional_integer(count.map(|count| i64::try_from(count).unwrap_or(i64::MAX)));
        }
        rows.end_row();
    }

    /// Adds the memory of a conversation.
    pub fn add_memory(&mut self, conversation: &str, row: &MemoryRow) {
        let rows = self.table(Table::Memory);
        rows.text(conversation);
        rows.text(&row.store);
        rows.text(&row.summary);
        rows.integer(row.turns.into());
        rows.integer(row.updated_at);
        rows.end_row();
    }

    /// Deletes the memory of a conversation.
    pub fn delete_memory(&mut self, conversation: &str) {
        let rows = self.table(Table::DeletedMemory);
        rows.text(conversation);
        rows.end_row();
    }

    /// Adds audit rows for the audit notices of a turn.
    ///
    /// `total_ms` is measured by the host; see [`with_total_ms`].
    pub fn add_audit(&mut self, conversation: &str, notices: &[Notice], total_ms: Millis) {
        // The notices of one slice share a timestamp.
        let mut time = (Millis::MIN, String::new());
        let rows = self.table(Table::Audit);
        for notice in notices {
            let NoticeBody::Audit { stage, payload } = &notice.body else { continue };
            if time.0 != notice.at {
                time = (notice.at, clock::format_audit(notice.at));
            }
            rows.text(conversation);
            rows.text(stage);
            rows.json_text(|out| with_total_ms(stage, payload, total_ms).write_text(out));
            rows.text(&time.1);
            rows.end_row();
        }
    }

    /// The number of audit ids the turns reserve.
    pub(super) fn reserved_audit_ids(&self) -> i64 {
        self.reserved_by_turn.iter().chain(&self.reserved_by_closed_turn).copied().map(i64::from).sum()
    }

    /// Adds a turn that opens, or one that ends without having been opened.
    pub fn add_turn(&mut self, turn: &TurnRow<'_>) {
        self.ended_turns += u32::from(turn.status != "open");
        push_turn(self.table(Table::Turn), turn);
        self.reserved_by_turn.push(turn.reserved_audit_ids);
    }

    /// Closes an open turn.
    pub fn close_turn(&mut self, turn: &TurnRow<'_>) {
        self.ended_turns += 1;
        push_turn(self.table(Table::ClosedTurn), turn);
        self.reserved_by_closed_turn.push(turn.reserved_audit_ids);
    }

    /// Adds an effect of an open turn: its dispatch marker, or its completion.
    pub fn add_effect(&mut self, effect: &EffectRow<'_>) {
        let rows = self.table(Table::Effect);
        rows.text(effect.turn_id);
        rows.text(effect.owner);
        rows.integer(effect.effect_id.into());
        rows.integer(i64::try_from(effect.position).unwrap_or(i64::MAX));
        match effect.entry {
            Some(entry) => rows.json(&entry.without_request()),
            None => rows.text(""),
        }
        rows.integer(effect.at);
        rows.end_row();
    }

    /// Records that the audit rows of the notices before `seq` are stored.
    pub fn add_audit_progress(&mut self, turn_id: &str, owner: &str, seq: u32) {
        let rows = self.table(Table::AuditProgress);
        rows.text(turn_id);
        rows.text(owner);
        rows.integer(seq.into());
        rows.end_row();
    }
}

/// Returns the beginning of the last message, and the number of messages of the user since the last answer.
fn summarize_history(state: &Value) -> (String, i64) {
    let history = state.get("history").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let last = history.last().and_then(|message| message.get("text")?.as_str()).unwrap_or_default();
    let text: String = last.chars().map(|character| if character.is_control() { ' ' } else { character }).take(PREVIEW_CHARS).collect();
    let is_of_user = |message: &&Value| message.get("role").is_some_and(|role| role == "user");
    (text.trim().to_owned(), i64::try_from(history.iter().rev().take_while(is_of_user).count()).unwrap_or(i64::MAX))
}

/// Adds a turn row. Its last column, the first reserved audit id, is added when it is written.
fn push_turn(rows: &mut Rows, turn: &TurnRow<'_>) {
    rows.text(turn.turn_id);
    rows.text(turn.conversation_id);
    rows.integer(turn.number.into());
    rows.text(turn.status);
    rows.integer(turn.protocol.into());
    rows.text(turn.engine);
    rows.text(turn.config_hash);
    rows.optional_bytes(Some(turn.journal));
    rows.text(turn.state_hash);
    rows.integer(turn.reset.into());
    rows.optional_text(turn.fault);
    rows.optional_bytes(turn.answer);
    rows.integer(turn.created_at);
    rows.integer(turn.closed_at);
    rows.integer(turn.total_ms);
    rows.text(turn.owner);
    rows.optional_integer(turn.lease_ms);
    rows.optional_text(turn.message_key);
    rows.end_row();
}

/// Returns an audit payload, with the host's total for `PIPELINE_TIMING`, because the core cannot measure the commit.
pub fn with_total_ms<'p>(stage: &str, payload: &'p AuditPayload, total_ms: Millis) -> Cow<'p, AuditPayload> {
    if stage != "PIPELINE_TIMING" {
        return Cow::Borrowed(payload);
    }
    let mut payload = payload.to_value().into_owned();
    if let Some(total) = payload.get_mut("totalMs") {
        *total = total_ms.into();
    }
    Cow::Owned(payload.into())
}
