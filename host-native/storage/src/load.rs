//! Loads a conversation with its history in one statement.

use std::sync::Arc;

use convengine_core::turn::{ConversationRow, Exchange, HistoryRow, LoadedSession, Map, MemoryRow};
use serde_json::Value;

use super::database::Pool;
use super::database_row::DatabaseRow;
use super::statement::{SqlValue as Sql, Statement};
use convengine_host_base::clock;

/// A loaded conversation.
#[derive(Debug)]
pub struct LoadedConversation {
    /// The session the turn starts from.
    pub session: LoadedSession,
    /// Whether a turn with this idempotency key exists, in any conversation.
    pub is_duplicate: bool,
    /// Whether the conversation has an open turn, running elsewhere or orphaned. The session is then not current.
    pub has_open_turn: bool,
    /// The caller that the conversation belongs to, if any.
    pub owner: Option<String>,
}

/// Loads a conversation: its row, the number of turns, and the latest `history` exchanges since the last reset. `key` is the idempotency
/// key of the message.
pub async fn load_conversation(pool: &Pool, id: &str, history: usize, key: Option<&str>) -> sqlx::Result<LoadedConversation> {
    // Twice the limit, because exchanges with a blank side are dropped.
    let limit = i64::try_from(history.saturating_mul(2)).unwrap_or(i64::MAX);
    let row = fetch_conversation(pool, id, limit, key).await?;
    let number = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
    let turns = number(row.integer("turns")?);
    let turns_since_reset = row.optional_integer("reset_turn")?.map_or(turns, |reset| turns + 1 - number(reset));
    let memory = parse_memory(row.optional_text("memory")?);
    let conversation = conversation_row(id, &row)?;
    let history = if conversation.is_some() { parse_exchanges(row.optional_text("history")?, history) } else { Vec::new() };
    let session = LoadedSession { conversation, history, turns, turns_since_reset, memory, flow: None };
    let owner = row.optional_text("owner")?;
    Ok(LoadedConversation { session, is_duplicate: row.integer("sent")? > 0, has_open_turn: row.integer("open")? > 0, owner })
}

async fn fetch_conversation(pool: &Pool, id: &str, limit: i64, key: Option<&str>) -> sqlx::Result<DatabaseRow> {
    // Timestamps are read as text because the original engine stored integers and text in one column. The innermost query is covered
    // by the index, so a long history is cheap.
    let sql = Statement::per_dialect(
        "select c.conversation_id, c.status, c.intent_code, c.state_code, c.context_json, c.input_params_json, c.last_user_text,
           c.last_assistant_json, cast(c.created_at as text) as created_at, cast(c.updated_at as text) as updated_at,
           coalesce((select max(number) from ce_turn where conversation_id = $1), 0) as turns,
           (select max(number) from ce_turn where conversation_id = $1 and reset = 1) as reset_turn,
           (select count(*) from ce_turn where conversation_id = $1 and status = 'open') as open,
           (select count(*) from ce_turn where message_key = $3) as sent,
           (select owner from cv_conversation_owner where conversation_id = $1) as owner,
           (select json_array(store, summary, turns, updated_at) from ce_memory where conversation_id = $1 and store = 'session'
              and updated_at >= coalesce(r.reset_at, -9223372036854775807)) as memory,
           (select json_group_array(json_array(user_input, assistant_output) order by history_id desc)
              from ce_conversation_history where history_id in (
                select history_id from ce_conversation_history where conversation_id = $1
                  and case typeof(created_at) when 'text' then round((julianday(created_at) - 2440587.5) * 86400000.0)
                    else created_at end >= coalesce(r.reset_at, -9223372036854775807)
                order by history_id desc limit $2 + 0)) as history
         from (select (select max(created_at) from ce_turn where conversation_id = $1 and reset = 1) as reset_at) r
         left join ce_conversation c on c.conversation_id = $1",
        "select c.conversation_id::text, c.status, c.intent_code, c.state_code, c.context_json::text, c.input_params_json::text,
           c.last_user_text, c.last_assistant_json::text, (extract(epoch from c.created_at) * 1000)::bigint::text as created_at,
           (extract(epoch from c.updated_at) * 1000)::bigint::text as updated_at,
           coalesce((select max(number) from ce_turn where conversation_id = $1::uuid), 0)::bigint as turns,
           (select max(number) from ce_turn where conversation_id = $1::uuid and reset)::bigint as reset_turn,
           (select count(*) from ce_turn where conversation_id = $1::uuid and status = 'open') as open,
           (select count(*) from ce_turn where message_key = $3) as sent,
           (select owner from cv_conversation_owner where conversation_id = $1::uuid) as owner,
           (select json_build_array(store, summary, turns, (extract(epoch from updated_at) * 1000)::bigint)::text from ce_memory
              where conversation_id = $1::uuid and store = 'session' and updated_at >= coalesce(r.reset_at, '-infinity')) as memory,
           (select json_agg(json_build_array(user_input, assistant_output::text) order by history_id desc)::text
              from (select history_id, user_input, assistant_output from ce_conversation_history
                where conversation_id = $1::uuid and created_at >= coalesce(r.reset_at, '-infinity')
                order by history_id desc limit $2) h) as history
         from (select (select max(created_at) from ce_turn where conversation_id = $1::uuid and reset) as reset_at) r
         left join ce_conversation c on c.conversation_id = $1::uuid",
    );
    pool.load_row(&sql, &[Sql::Text(id), Sql::Integer(limit), Sql::OptionalText(key)]).await?.ok_or(sqlx::Error::RowNotFound)
}

fn conversation_row(id: &str, row: &DatabaseRow) -> sqlx::Result<Option<ConversationRow>> {
    if row.optional_text("conversation_id")?.is_none() {
        return Ok(None);
    }
    let time = |column: &str| row.optional_text(column).map(|time| time.and_then(|text| clock::parse(&text)).unwrap_or(0));
    Ok(Some(ConversationRow {
        conversation_id: id.to_owned(),
        status: row.text("status")?,
        intent_code: row.text("intent_code")?,
        state_code: row.text("state_code")?,
        context: Arc::new(parse_object(row.optional_text("context_json")?)),
        last_user_text: row.optional_text("last_user_text")?,
        last_assistant: row.optional_text("last_assistant_json")?,
        params: Arc::new(parse_object(row.optional_text("input_params_json")?)),
        created_at: time("created_at")?,
        updated_at: time("updated_at")?,
    }))
}

/// Parses the conversation summary from a JSON array of its columns.
fn parse_memory(columns: Option<String>) -> Option<MemoryRow> {
    let (store, summary, turns, updated_at) = serde_json::from_str(&columns?).ok()?;
    Some(MemoryRow { store, summary, turns, updated_at })
}

/// Parses a JSON object. Anything else becomes an empty object, as in the original engine.
fn parse_object(text: Option<String>) -> Map {
    match text.as_deref().map(serde_json::from_str) {
        Some(Ok(Value::Object(map))) => map,
        _ => Map::new(),
    }
}

/// Parses exchanges from a JSON array of pairs, dropping those with a blank side.
fn parse_exchanges(pairs: Option<String>, limit: usize) -> Vec<Exchange> {
    let pairs: Vec<(String, Option<String>)> = pairs.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let exchange = |(user_input, output): (String, Option<String>)| {
        HistoryRow { user_input, assistant_output: output.unwrap_or_default(), created_at: 0 }.to_exchange()
    };
    let blank = |exchange: &Exchange| exchange.user.trim().is_empty() || exchange.assistant.trim().is_empty();
    pairs.into_iter().map(exchange).filter(|it| !blank(it)).take(limit).collect()
}
