//! Renders the rows of a finished turn.

use convengine_core::turn::{Millis, Notice, Outcome, Turn, Write, state_hash};

use crate::clock;
use crate::store::commit::{TurnRow, TurnRows};
use crate::store::turn::compress;

/// The rows of a turn that has ended; `total_ms` is how long it took so far.
///
/// # Errors
/// When the journal cannot be serialised.
pub fn of_turn(turn: &Turn, outcome: &Outcome, notices: &[Notice], total_ms: Millis) -> std::io::Result<TurnRows> {
    let journal = turn.journal();
    let conversation = journal.input.conversation.as_str();
    let mut rows = TurnRows::default();
    let mut reset = false;
    for write in &outcome.writes {
        match write {
            Write::Conversation(row) => rows.conversation(row),
            Write::History(row) => rows.history(conversation, row),
            Write::LlmCall(row) => rows.llm_call(conversation, row),
            Write::Memory(row) => rows.memory(conversation, row),
            Write::Reset => reset = true,
        }
    }
    rows.turn(&TurnRow {
        turn_id: &journal.input.turn,
        conversation_id: conversation,
        number: journal.input.session.turns + 1,
        status: "closed",
        protocol: journal.header.protocol,
        engine: &journal.header.engine,
        config_hash: &journal.header.config,
        journal: &compress(journal)?,
        state_hash: &state_hash(outcome, notices),
        reset,
        created_at: journal.input.at,
        closed_at: clock::now(),
    });
    if reset && !outcome.writes.iter().any(|it| matches!(it, Write::Memory(_))) {
        rows.forget(conversation);
    }
    rows.audit(conversation, notices, total_ms);
    Ok(rows)
}
