//! `ce_turn` and `ce_turn_effect`: reads turns and journals.

use std::collections::BTreeSet;
use std::sync::Arc;

use convengine_core::turn::{Journal, JournalEntry, Millis, Outcome, SessionAfter};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::casts::with_casts;
use super::database::{Connection, Pool};
use super::database_row::DatabaseRow;
use super::statement::{SqlValue, Statement};

/// A stored turn.
#[derive(Debug, Clone)]
pub struct StoredTurn {
    /// The turn.
    pub turn_id: String,
    /// Its conversation.
    pub conversation_id: String,
    /// Its number within the conversation.
    pub number: u32,
    /// `open`, `closed` or `lost`.
    pub status: String,
    /// The hash of the configuration it ran on.
    pub config_hash: String,
    /// The compressed journal.
    pub journal: Vec<u8>,
    /// The state hash that a replay must produce.
    pub state_hash: String,
    /// When the message arrived.
    pub created_at: Millis,
    /// Milliseconds from receiving the message to committing.
    pub total_ms: i64,
    /// The id of its first audit row, when its audit rows are derived.
    pub first_audit_id: Option<i64>,
    /// The number of leading notices whose audit rows are stored while the turn is open or its audit rows are derived.
    pub audited_notices: u32,
    /// The idempotency key of the message.
    pub message_key: Option<String>,
}

impl StoredTurn {
    /// Returns whether it was closed as lost without an outcome, because its journal could not be read or run.
    pub fn is_unrecoverable(&self) -> bool {
        self.status == "lost" && self.state_hash.is_empty()
    }
}

/// Builds a statement that selects turns, or one that changes and returns them.
macro_rules! select_turns {
    ($both:literal) => {
        select_turns!($both, $both)
    };
    ($sqlite:literal, $postgres:literal) => {
        select_turns!("select ", $sqlite, "select ", $postgres)
    };
    (returning $sqlite:literal, $postgres:literal) => {
        select_turns!(concat!($sqlite, " returning "), "", concat!($postgres, " returning "), "")
    };
    ($before_sqlite:expr, $sqlite:literal, $before_postgres:expr, $postgres:literal) => {
        Statement::per_dialect(
            $crate::casts::without_casts!(concat!(
                $before_sqlite,
                "turn_id, conversation_id, number, status, config_hash, journal, state_hash, created_at, total_ms, audit_id, audited,
                   message_key ",
                $sqlite
            )),
            concat!(
                $before_postgres,
                "turn_id::text, conversation_id::text, number::bigint, status, config_hash, journal, state_hash,
                   (extract(epoch from created_at) * 1000)::bigint as created_at, total_ms, audit_id, audited::bigint, message_key ",
                $postgres
            ),
        )
    };
}
pub(super) use select_turns;

/// Returns the ended turns of a conversation in order.
pub async fn list_ended(pool: &Pool, conversation: &str) -> sqlx::Result<Vec<StoredTurn>> {
    let sql = select_turns!("from ce_turn where conversation_id = $1::uuid and status <> 'open' order by number");
    pool.fetch_all(&sql, &[SqlValue::Text(conversation)]).await?.iter().map(turn_from_row).collect()
}

/// Returns at most `most` ended turns of a conversation with a number above `number`, in order.
pub async fn list_ended_after(pool: &Pool, conversation: &str, number: u32, most: i64) -> sqlx::Result<Vec<StoredTurn>> {
    let sql = select_turns!(
        "from ce_turn where conversation_id = $1::uuid and status <> 'open' and ce_turn.number > $2 order by ce_turn.number limit $3"
    );
    let values = [SqlValue::Text(conversation), SqlValue::Integer(i64::from(number)), SqlValue::Integer(most)];
    pool.fetch_all(&sql, &values).await?.iter().map(turn_from_row).collect()
}

/// Returns the ended turns of a conversation whose audit rows are derived, in order. Empty when the conversation was deleted.
pub async fn list_to_derive(pool: &Pool, conversation: &str) -> sqlx::Result<Vec<StoredTurn>> {
    let sql = select_turns!(
        "from ce_turn where conversation_id = $1::uuid and audit_id is not null and status <> 'open'
           and exists (select 1 from ce_conversation where conversation_id = $1::uuid) order by number"
    );
    pool.fetch_all(&sql, &[SqlValue::Text(conversation)]).await?.iter().map(turn_from_row).collect()
}

/// Returns a page of ended turns whose audit rows are derived, received in `from..to`, ordered by id, starting after `after`.
pub async fn list_to_derive_between(pool: &Pool, from: Millis, to: Millis, after: &str, count: i64) -> sqlx::Result<Vec<StoredTurn>> {
    let sql = select_turns!(
        "from ce_turn t where turn_id > $3 and audit_id is not null and status <> 'open' and created_at >= $1 and created_at < $2
           and exists (select 1 from ce_conversation c where c.conversation_id = t.conversation_id) order by turn_id limit $4",
        "from ce_turn t where turn_id > $3::uuid and audit_id is not null and status <> 'open'
           and created_at >= to_timestamp($1 / 1000.0) and created_at < to_timestamp($2 / 1000.0)
           and exists (select 1 from ce_conversation c where c.conversation_id = t.conversation_id) order by t.turn_id limit $4"
    );
    let values = [SqlValue::Integer(from), SqlValue::Integer(to), SqlValue::Text(after), SqlValue::Integer(count)];
    pool.fetch_all(&sql, &values).await?.iter().map(turn_from_row).collect()
}

/// Marks the audit rows of turns as stored. Returns the turns that were not marked before.
pub async fn mark_audited(connection: &mut Connection, turns: &[&str]) -> sqlx::Result<BTreeSet<String>> {
    let sql = Statement::per_dialect(
        "update ce_turn set audit_id = null where audit_id is not null and turn_id in (select value from json_each($1)) returning turn_id",
        "update ce_turn set audit_id = null where audit_id is not null
           and turn_id in (select r::uuid from json_array_elements_text($1::json) r) returning turn_id::text",
    );
    connection.fetch_all(&sql, &[SqlValue::Text(&json!(turns).to_string())]).await?.iter().map(|it| it.text("turn_id")).collect()
}

/// Returns the open turn of a conversation.
pub async fn find_open(pool: &Pool, conversation: &str) -> sqlx::Result<Option<StoredTurn>> {
    let sql = select_turns!("from ce_turn where conversation_id = $1::uuid and status = 'open'");
    pool.fetch_optional(&sql, &[SqlValue::Text(conversation)]).await?.as_ref().map(turn_from_row).transpose()
}

/// Returns a turn by id.
pub async fn find(pool: &Pool, turn: &str) -> sqlx::Result<Option<StoredTurn>> {
    let sql = select_turns!("from ce_turn where turn_id = $1::uuid");
    pool.fetch_optional(&sql, &[SqlValue::Text(turn)]).await?.as_ref().map(turn_from_row).transpose()
}

/// Returns the turn with an idempotency key.
pub async fn find_by_message_key(pool: &Pool, key: &str) -> sqlx::Result<Option<StoredTurn>> {
    let sql = select_turns!("from ce_turn where message_key = $1");
    pool.fetch_optional(&sql, &[SqlValue::Text(key)]).await?.as_ref().map(turn_from_row).transpose()
}

pub(super) fn turn_from_row(row: &DatabaseRow) -> sqlx::Result<StoredTurn> {
    let number = |column: &str| row.integer(column).map(|count| u32::try_from(count).unwrap_or(0));
    Ok(StoredTurn {
        turn_id: row.text("turn_id")?,
        conversation_id: row.text("conversation_id")?,
        number: number("number")?,
        status: row.text("status")?,
        config_hash: row.text("config_hash")?,
        journal: row.bytes("journal")?,
        state_hash: row.text("state_hash")?,
        created_at: row.integer("created_at")?,
        total_ms: row.integer("total_ms")?,
        first_audit_id: row.optional_integer("audit_id")?,
        audited_notices: number("audited")?,
        message_key: row.optional_text("message_key")?,
    })
}

/// Closes an unreadable turn as lost, with the code of its fault. Returns whether the owner still held it.
pub async fn close_as_lost(pool: &Pool, turn: &str, owner: &str, fault: Option<&str>) -> sqlx::Result<bool> {
    let sql = with_casts!(
        "update ce_turn set status = 'lost', fault = $3, owner = null, lease_until = null
         where turn_id = $1::uuid and status = 'open' and owner = $2"
    );
    Ok(pool.execute(&sql, &[SqlValue::Text(turn), SqlValue::Text(owner), SqlValue::OptionalText(fault)]).await? > 0)
}

/// Deletes the stored effects of ended turns. The cost depends on the number of effects, not of turns.
pub async fn delete_ended_effects(pool: &Pool) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "delete from ce_turn_effect where not exists
           (select 1 from ce_turn t where t.turn_id = ce_turn_effect.turn_id and t.status = 'open')",
    );
    pool.execute(&sql, &[]).await.map(|_| ())
}

/// A dispatched effect of an open turn.
#[derive(Debug, Clone)]
pub struct StoredEffect {
    /// Its number within the turn.
    pub effect_id: u32,
    /// The journal entry, once the effect is completed.
    pub entry: Option<JournalEntry>,
}

/// Returns the effects of an open turn in completion order.
///
/// # Errors
/// Returns any database error; [`sqlx::Error::Decode`] for an unreadable entry.
pub async fn list_effects(pool: &Pool, turn: &str) -> sqlx::Result<Vec<StoredEffect>> {
    let sql = with_casts!("select effect_id::bigint, outcome from ce_turn_effect where turn_id = $1::uuid order by position, effect_id");
    let rows = pool.fetch_all(&sql, &[SqlValue::Text(turn)]).await?;
    rows.iter()
        .map(|row| {
            let outcome = row.text("outcome")?;
            let entry = (!outcome.is_empty()).then(|| serde_json::from_str(&outcome)).transpose();
            let effect_id = u32::try_from(row.integer("effect_id")?).unwrap_or(u32::MAX);
            Ok(StoredEffect { effect_id, entry: entry.map_err(|error| sqlx::Error::Decode(Box::new(error)))? })
        })
        .collect()
}

/// The largest uncompressed journal in bytes. A larger length indicates a damaged column.
const MAX_JOURNAL_BYTES: usize = 256 << 20;

/// Compresses a journal for its column: the length in four bytes, then one LZ4 block.
///
/// LZ4 is used because every turn pays for compression; its working state is a hundredth of Deflate's.
///
/// # Errors
/// Returns an error when the journal cannot be serialized.
pub fn compress(journal: &Journal) -> serde_json::Result<Vec<u8>> {
    compress_json(journal)
}

/// Compresses JSON.
///
/// # Errors
/// Returns an error when the value cannot be serialized.
pub fn compress_json<T: Serialize>(value: &T) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(value).map(|it| lz4_flex::compress_prepend_size(&it))
}

/// Compresses the answer of a turn for its column: the outcome without what clients do not see. Returns `None` for the rare outcome that
/// is not read back exactly; its answer is recomputed.
///
/// # Errors
/// Returns an error when the outcome cannot be serialized.
pub fn compress_answer(outcome: &Outcome) -> serde_json::Result<Option<Vec<u8>>> {
    let SessionAfter { intent, state, .. } = &outcome.session;
    let answer = Outcome {
        conversation_id: outcome.conversation_id.clone(),
        intent: outcome.intent.clone(),
        state: outcome.state.clone(),
        payload: outcome.payload.clone(),
        context: outcome.context.clone(),
        fault: outcome.fault.clone(),
        writes: Vec::new(),
        session: SessionAfter { intent: intent.clone(), state: state.clone(), context: Arc::default(), params: Arc::default() },
        flow: outcome.flow.clone(),
    };
    let text = serde_json::to_vec(&answer)?;
    let read_back = serde_json::from_slice::<Outcome>(&text).ok();
    let is_exact = read_back.is_some_and(|outcome| serde_json::to_vec(&outcome).is_ok_and(|written| written == text));
    Ok(is_exact.then(|| lz4_flex::compress_prepend_size(&text)))
}

/// Returns the stored answer of an ended turn; `None` when it has none.
///
/// # Errors
/// Returns any database error; [`sqlx::Error::Decode`] for an unreadable answer.
pub async fn find_answer(pool: &Pool, turn: &str) -> sqlx::Result<Option<Outcome>> {
    let sql = with_casts!("select answer from ce_turn where turn_id = $1::uuid and answer is not null");
    let Some(row) = pool.fetch_optional(&sql, &[SqlValue::Text(turn)]).await? else { return Ok(None) };
    decompress_json(&row.bytes("answer")?).map(Some).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// Decompresses a journal column.
///
/// # Errors
/// Returns an error when the bytes are not a journal.
pub fn decompress(bytes: &[u8]) -> std::io::Result<Journal> {
    decompress_json(bytes)
}

/// Reads compressed JSON.
///
/// # Errors
/// Returns an error when the bytes are not compressed, or not such a value.
pub fn decompress_json<T: DeserializeOwned>(bytes: &[u8]) -> std::io::Result<T> {
    Ok(serde_json::from_slice(&decompress_bytes(bytes)?)?)
}

/// Returns the text of compressed JSON.
///
/// # Errors
/// Returns an error when the bytes are not compressed text.
pub fn decompress_json_text(bytes: &[u8]) -> std::io::Result<String> {
    String::from_utf8(decompress_bytes(bytes)?).map_err(|error| invalid_data(error.to_string()))
}

fn decompress_bytes(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let (length, block) = lz4_flex::block::uncompressed_size(bytes).map_err(|error| invalid_data(error.to_string()))?;
    if length > MAX_JOURNAL_BYTES {
        return Err(invalid_data(format!("length of {length} bytes exceeds the limit")));
    }
    lz4_flex::decompress(block, length).map_err(|error| invalid_data(error.to_string()))
}

fn invalid_data(reason: String) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, reason)
}
