//! Renders the database rows of a turn.

use std::collections::BTreeMap;

use convengine_content::spend_cap::cost_micros;
use convengine_core::turn::{Map, Millis, Notice, NoticeBody, Outcome, ProgramRef, Turn, Write, state_hash};
use convengine_host_base::clock;
use convengine_storage::assistant::ProgramKey;
use convengine_storage::turn::{compress, compress_answer};
use convengine_storage::turn_rows::{SessionRow, TurnRow, TurnRows};
use serde_json::Value;

use crate::audit::meta;

/// Values of a turn's row that are not part of the turn.
#[derive(Debug, Clone, Copy)]
pub struct RowContext<'a> {
    /// `closed` or `lost`.
    pub status: &'a str,
    /// The process that runs it.
    pub owner: &'a str,
    /// The idempotency key of the message.
    pub idempotency_key: Option<&'a str>,
    /// Whether its row is already stored, because it waited for effects.
    pub is_started: bool,
    /// The number of leading notices whose audit rows are stored.
    pub stored_notices: usize,
    /// Whether the other audit rows and the model call log are derived later.
    pub derives_audit: bool,
    /// The workspace of the assistants.
    pub workspace: &'a str,
    /// The `_meta` of each notice, if it is stored with audit rows.
    pub audit_metas: Option<&'a BTreeMap<u32, Map>>,
}

impl Default for RowContext<'_> {
    fn default() -> Self {
        RowContext {
            status: "closed",
            owner: "",
            idempotency_key: None,
            is_started: false,
            stored_notices: 0,
            derives_audit: false,
            workspace: "",
            audit_metas: None,
        }
    }
}

/// Renders the rows of an ended turn. `total_ms` is its duration so far.
///
/// # Errors
/// Returns an error when the journal cannot be serialized.
pub fn render_turn(
    turn: &Turn,
    outcome: &Outcome,
    notices: &[Notice],
    total_ms: Millis,
    about: RowContext<'_>,
) -> std::io::Result<TurnRows> {
    let journal = turn.journal();
    let conversation = journal.input.conversation.as_str();
    let unstored = notices.get(about.stored_notices..).unwrap_or_default();
    let reserved = if about.derives_audit { count_audit_notices(unstored) } else { 0 };
    let mut rows = TurnRows::default();
    let mut reset = false;
    for write in &outcome.writes {
        match write {
            Write::Conversation(row) => rows.add_conversation(row),
            Write::History(row) => rows.add_history(conversation, row),
            // Derived together with the audit rows.
            Write::LlmCall(_) if reserved > 0 => {}
            Write::Session { state } => render_session(&mut rows, turn, state, about.workspace),
            Write::LlmCall(row) => rows.add_llm_call(conversation, row),
            Write::Memory(row) => rows.add_memory(conversation, row),
            Write::Reset => reset = true,
        }
    }
    if journal.input.session.turns == 0 && !outcome.writes.iter().any(|write| matches!(write, Write::Conversation(_))) {
        // Whatever has a turn has a conversation row, so that retention and deletion apply to it.
        rows.add_created_conversation(conversation, journal.input.at);
    }
    let text = if reserved > 0 && !journal.entries.is_empty() { compress(&journal.without_requests())? } else { compress(journal)? };
    let hash = state_hash(outcome, notices);
    let fault = outcome.fault.as_ref().map(|it| it.code.as_str());
    let answer = if about.idempotency_key.is_some() { compress_answer(outcome)? } else { None };
    let row = TurnRow {
        status: about.status,
        state_hash: &hash,
        reset,
        fault,
        answer: answer.as_deref(),
        total_ms,
        reserved_audit_ids: reserved,
        ..open_turn_row(turn, &text, about)
    };
    if about.is_started {
        rows.close_turn(&row);
    } else {
        rows.add_turn(&row);
    }
    if reset && !outcome.writes.iter().any(|write| matches!(write, Write::Memory(_))) {
        rows.delete_memory(conversation);
    }
    if !about.derives_audit {
        match about.audit_metas {
            Some(metas) => rows.add_audit(conversation, &meta::notices_with_meta(&journal.input, unstored, metas), total_ms),
            None => rows.add_audit(conversation, unstored, total_ms),
        }
    }
    Ok(rows)
}

/// Adds the session row of an assistant or workflow and its metered usage.
fn render_session(rows: &mut TurnRows, turn: &Turn, state: &Value, workspace: &str) {
    let journal = turn.journal();
    let input = &journal.input;
    let event = input.event.flow.as_deref();
    let text = |key: &str| event.and_then(|event| event.get(key)?.as_str());
    let at = turn.now();
    let program = event.and_then(ProgramKey::from_event);
    let assistant = program.as_ref().map_or("", ProgramKey::as_str);
    let row = SessionRow {
        session: &input.conversation,
        assistant,
        deployment: text("deployment"),
        version: event.and_then(|event| event.get("version")?.as_i64()),
        snapshot: state.get("snapshot").and_then(Value::as_str).unwrap_or_default(),
        state,
        at,
    };
    rows.add_session(&row);
    if input.program == ProgramRef::Chain {
        rows.add_run(&row);
    }
    rows.add_handoff(&row, input.session.flow.as_ref().and_then(|it| it.get("handoff")).is_some_and(Value::is_object));
    let micros: u64 = journal.entries.iter().map(|it| cost_micros(&it.outcome)).sum();
    if micros > 0 {
        // A millionth of a currency unit is 100 microcents.
        rows.add_usage(workspace, "llm", at, micros.saturating_mul(100), assistant);
    }
}

/// Counts the audit notices.
fn count_audit_notices(notices: &[Notice]) -> u32 {
    let count = notices.iter().filter(|it| matches!(it.body, NoticeBody::Audit { .. })).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns the row of an open turn. `journal` is already compressed.
pub fn open_turn_row<'r>(turn: &'r Turn, journal: &'r [u8], about: RowContext<'r>) -> TurnRow<'r> {
    let source = turn.journal();
    TurnRow {
        turn_id: &source.input.turn,
        conversation_id: &source.input.conversation,
        number: source.input.session.turns + 1,
        status: "open",
        protocol: source.header.protocol,
        engine: &source.header.engine,
        config_hash: &source.header.config,
        journal,
        state_hash: "",
        reset: false,
        fault: None,
        answer: None,
        created_at: source.input.at,
        closed_at: clock::now(),
        total_ms: 0,
        owner: about.owner,
        lease_ms: None,
        message_key: about.idempotency_key,
        reserved_audit_ids: 0,
    }
}
