//! Writes the rows of a batch of turns with one statement per table.
//!
//! Each statement takes a JSON array rendered by [`super::turn_rows`].

use serde_json::json;

use super::assistant::{handoff, session};
use super::audit;
use super::call_log::CallLogColumns;
use super::chain::run;
use super::database::{Connection, SqlValue, Statement};
use super::owner;
use super::turn_rows::{JsonRows, TurnRows};

/// Writes the rows of one or more turns. The caller holds the transaction, unless [`needs_no_transaction`] returns true.
///
/// Turn rows are written first, so that a lost race fails before any other work.
///
/// # Errors
/// Returns any database error; [`sqlx::Error::RowNotFound`] when another process has taken over a turn.
pub async fn write(connection: &mut Connection, rows: &TurnRows, log: CallLogColumns) -> sqlx::Result<()> {
    let mut next = match rows.reserved_audit_ids() {
        0 => 0,
        count => audit::reserve_ids(connection, count).await?,
    };
    if let Some(batch) = json_array(connection, &rows.turn) {
        let inserted = insert_turns(connection, &batch, &first_audit_ids(&rows.reserved_by_turn, &mut next)).await?;
        // A turn that is already closed must not insert its other rows again.
        if rows.ended_turns > 0 {
            ensure_all_written(&rows.turn, inserted)?;
        }
    }
    // Rows that require an open turn precede its close, which may be in the same batch.
    if let Some(batch) = json_array(connection, &rows.effect) {
        ensure_all_written(&rows.effect, upsert_effects(connection, &batch).await?)?;
    }
    if let Some(batch) = json_array(connection, &rows.audit_progress) {
        ensure_all_written(&rows.audit_progress, update_audit_progress(connection, &batch).await?)?;
    }
    if let Some(batch) = json_array(connection, &rows.closed_turns) {
        ensure_all_written(
            &rows.closed_turns,
            close_turns(connection, &batch, &first_audit_ids(&rows.reserved_by_closed_turn, &mut next)).await?,
        )?;
    }
    if let Some(batch) = json_array(connection, &rows.conversation) {
        upsert_conversations(connection, &batch).await?;
    }
    if let Some(batch) = json_array(connection, &rows.created_conversations) {
        create_conversations(connection, &batch).await?;
    }
    if let Some(batch) = json_array(connection, &rows.audit) {
        insert_audit(connection, &batch).await?;
    }
    if let Some(batch) = json_array(connection, &rows.history) {
        insert_history(connection, &batch).await?;
    }
    if let Some(batch) = json_array(connection, &rows.llm) {
        log.insert(connection, &batch).await?;
    }
    if let Some(batch) = json_array(connection, &rows.deleted_memory) {
        delete_memory(connection, &batch).await?;
    }
    if let Some(batch) = json_array(connection, &rows.memory) {
        upsert_memory(connection, &batch).await?;
    }
    if let Some(batch) = json_array(connection, &rows.session) {
        session::save(connection, &batch).await?;
    }
    if let Some(batch) = json_array(connection, &rows.new_runs) {
        run::create(connection, &batch).await?;
    }
    if let Some(batch) = json_array(connection, &rows.run) {
        run::save(connection, &batch).await?;
    }
    if let Some(batch) = json_array(connection, &rows.handoff) {
        handoff::save(connection, &batch).await?;
    }
    if let Some(batch) = json_array(connection, &rows.usage) {
        session::add_usage(connection, &batch).await?;
    }
    if let Some(batch) = json_array(connection, &rows.owner) {
        owner::insert(connection, &batch).await?;
    }
    Ok(())
}

/// Returns whether rows that must not be written twice are already stored: the end of a turn, or the audit rows of an open one. Used
/// after a lost connection, when the outcome of a commit is unknown.
///
/// # Errors
/// Returns any database error.
pub async fn is_stored(connection: &mut Connection, rows: &TurnRows) -> sqlx::Result<bool> {
    if rows.ended_turns == 0 {
        return is_audit_progress_stored(connection, &rows.audit_progress).await;
    }
    let ends = if rows.closed_turns.count() > 0 { &rows.closed_turns } else { &rows.turn };
    let Some(batch) = json_array(connection, ends) else { return Ok(false) };
    let sql = Statement::per_dialect(
        "select count(*) as stored from ce_turn join json_each($1)
           on turn_id = value->>'$[0][0]' and status = value->>'$[0][3]' and state_hash = value->>'$[2][1]'
             and closed_at = value->>'$[3][1]'",
        "select count(*) as stored from ce_turn join json_array_elements($1::json) r
           on turn_id = (r->0->>0)::uuid and status = r->0->>3 and state_hash = r->2->>1
             and closed_at = to_timestamp((r->3->>1)::float8 / 1000)",
    );
    let row = connection.fetch_optional(&sql, &[SqlValue::Text(&batch)]).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(u64::try_from(row.integer("stored")?).unwrap_or(0) == ends.count())
}

async fn is_audit_progress_stored(connection: &mut Connection, rows: &JsonRows) -> sqlx::Result<bool> {
    let Some(batch) = json_array(connection, rows) else { return Ok(false) };
    let sql = Statement::per_dialect(
        "select count(*) as stored from ce_turn join json_each($1)
           on turn_id = value->>0 and status = 'open' and owner = value->>1 and audited >= value->>2",
        "select count(*) as stored from ce_turn join json_array_elements($1::json) r
           on turn_id = (r->>0)::uuid and status = 'open' and owner = r->>1 and audited >= (r->>2)::int",
    );
    let row = connection.fetch_optional(&sql, &[SqlValue::Text(&batch)]).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(u64::try_from(row.integer("stored")?).unwrap_or(0) == rows.count())
}

/// Returns whether there is nothing to write.
pub fn is_empty(rows: &TurnRows) -> bool {
    let turns = [&rows.turn, &rows.closed_turns, &rows.effect, &rows.audit_progress];
    let others =
        [&rows.conversation, &rows.created_conversations, &rows.audit, &rows.history, &rows.llm, &rows.deleted_memory, &rows.memory];
    let of_sessions = [&rows.session, &rows.new_runs, &rows.run, &rows.handoff, &rows.usage, &rows.owner];
    turns.into_iter().chain(others).chain(of_sessions).all(|it| it.count() == 0)
}

/// Returns whether the rows only open turns and record their effects. These statements need no transaction: the effect is dispatched
/// only after both its turn and its dispatch marker are stored.
pub fn needs_no_transaction(rows: &TurnRows) -> bool {
    let others = [&rows.new_runs, &rows.owner, &rows.audit_progress, &rows.deleted_memory];
    rows.ended_turns == 0 && others.into_iter().all(|it| it.count() == 0)
}

/// Returns the first reserved audit id of each turn as a JSON array, allocated from `next`; null for a turn that reserves none.
fn first_audit_ids(counts: &[u32], next: &mut i64) -> String {
    let mut first = |count: &u32| {
        let first = *next;
        *next += i64::from(*count);
        (*count > 0).then_some(first)
    };
    json!(counts.iter().map(&mut first).collect::<Vec<_>>()).to_string()
}

/// Fails when fewer rows were written than given: another process has taken over a turn.
fn ensure_all_written(rows: &JsonRows, written: u64) -> sqlx::Result<()> {
    if written == rows.count() { Ok(()) } else { Err(sqlx::Error::RowNotFound) }
}

/// Returns the rows as a JSON array the database accepts.
fn json_array(connection: &Connection, rows: &JsonRows) -> Option<String> {
    let rows = rows.to_json_array()?;
    Some(match connection {
        Connection::Sqlite(_) => rows,
        Connection::Postgres(_) => replace_nul(rows),
    })
}

/// Replaces escaped NUL characters, which PostgreSQL cannot store, with U+FFFD.
pub fn replace_nul(json: String) -> String {
    if !json.contains("\\u0000") {
        return json;
    }
    let mut replaced = String::with_capacity(json.len());
    let mut rest = json.as_str();
    while let Some(at) = rest.find('\\') {
        let (before, from) = rest.split_at(at);
        // Skip whole escapes: an escaped backslash does not start another escape.
        let length = if from.starts_with("\\u") { 6 } else { 2 };
        let (escape, after) = from.split_at_checked(length).unwrap_or((from, ""));
        replaced.push_str(before);
        replaced.push_str(if escape == "\\u0000" { "\\ufffd" } else { escape });
        rest = after;
    }
    replaced.push_str(rest);
    replaced
}

/// Inserts a turn only if its predecessor exists: a turn that loaded a conversation deleted since is rejected.
async fn insert_turns(connection: &mut Connection, rows: &str, firsts: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "insert into ce_turn (turn_id, conversation_id, number, status, protocol, engine, config_hash, journal, state_hash, reset,
           fault, answer, created_at, closed_at, total_ms, owner, lease_until, message_key, audit_id)
         select value->>'$[0][0]', value->>'$[0][1]', value->>'$[0][2]', value->>'$[0][3]',
           value->>'$[1][0]', value->>'$[1][1]', value->>'$[1][2]',
           unhex(value->>'$[2][0]'), value->>'$[2][1]', value->>'$[2][2]', value->>'$[2][3]', unhex(value->>'$[2][4]'), value->>'$[3][0]', value->>'$[3][1]', value->>'$[3][2]',
           value->>'$[4][0]', cast(unixepoch('subsec') * 1000 as integer) + (value->>'$[4][1]'), value->>'$[4][2]', $2->>key
         from json_each($1) where (value->>'$[0][2]') = 1 or exists (select 1 from ce_turn p
           where p.conversation_id = value->>'$[0][1]' and p.number = (value->>'$[0][2]') - 1)
         on conflict (turn_id) do nothing",
        "insert into ce_turn (turn_id, conversation_id, number, status, protocol, engine, config_hash, journal, state_hash, reset,
           fault, answer, created_at, closed_at, total_ms, owner, lease_until, message_key, audit_id)
         select (a->>0)::uuid, (a->>1)::uuid, (a->>2)::int, a->>3, (b->>0)::int, b->>1, b->>2,
           decode(c->>0, 'hex'), c->>1, c->>2 = '1', c->>3, decode(c->>4, 'hex'), to_timestamp((d->>0)::float8 / 1000), to_timestamp((d->>1)::float8 / 1000),
           (d->>2)::bigint, e->>0, now() + (e->>1)::float8 * interval '1 millisecond', e->>2, ($2::json->>(n::int - 1))::bigint
         from (select r->0 as a, r->1 as b, r->2 as c, r->3 as d, r->4 as e, n
           from json_array_elements($1::json) with ordinality x (r, n) offset 0) s
         where (a->>2)::int = 1 or exists (select 1 from ce_turn p
           where p.conversation_id = (a->>1)::uuid and p.number = (a->>2)::int - 1 for key share)
         on conflict (turn_id) do nothing",
    );
    connection.execute(&sql, &[SqlValue::Text(rows), SqlValue::Text(firsts)]).await
}

async fn close_turns(connection: &mut Connection, rows: &str, firsts: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "update ce_turn set status = value->>'$[0][3]', journal = unhex(value->>'$[2][0]'), state_hash = value->>'$[2][1]',
           reset = value->>'$[2][2]', fault = value->>'$[2][3]', answer = unhex(value->>'$[2][4]'), closed_at = value->>'$[3][1]', config_hash = value->>'$[1][2]', total_ms = value->>'$[3][2]',
           audit_id = $2->>key, owner = null, lease_until = null
         from json_each($1)
         where turn_id = value->>'$[0][0]' and status = 'open' and owner = value->>'$[4][0]'",
        "update ce_turn set status = a->>3, journal = decode(c->>0, 'hex'), state_hash = c->>1, reset = c->>2 = '1', fault = c->>3,
           answer = decode(c->>4, 'hex'), closed_at = to_timestamp((d->>1)::float8 / 1000), config_hash = b->>2, total_ms = (d->>2)::bigint,
           audit_id = ($2::json->>(n::int - 1))::bigint, owner = null, lease_until = null
         from (select r->0 as a, r->1 as b, r->2 as c, r->3 as d, r->4 as e, n
           from json_array_elements($1::json) with ordinality x (r, n) offset 0) s
         where turn_id = (a->>0)::uuid and status = 'open' and owner = e->>0",
    );
    connection.execute(&sql, &[SqlValue::Text(rows), SqlValue::Text(firsts)]).await
}

async fn upsert_effects(connection: &mut Connection, rows: &str) -> sqlx::Result<u64> {
    // Only for a turn this owner still holds; the row lock prevents a takeover that would not see the effect.
    let sql = Statement::per_dialect(
        "insert into ce_turn_effect (turn_id, effect_id, position, request_hash, outcome, at)
         select value->>0, value->>2, value->>3, '', coalesce(value->>4, ''), value->>5
         from json_each($1) join ce_turn t on t.turn_id = value->>0 and t.status = 'open' and t.owner = value->>1 where true
         on conflict (turn_id, effect_id) do update set position = excluded.position, outcome = excluded.outcome, at = excluded.at",
        "insert into ce_turn_effect (turn_id, effect_id, position, request_hash, outcome, at)
         select t.turn_id, (r->>2)::int, (r->>3)::int, '', coalesce(r->>4, ''), to_timestamp((r->>5)::float8 / 1000)
         from json_array_elements($1::json) r
         join ce_turn t on t.turn_id = (r->>0)::uuid and t.status = 'open' and t.owner = r->>1 for share of t
         on conflict (turn_id, effect_id) do update set position = excluded.position, outcome = excluded.outcome, at = excluded.at",
    );
    connection.execute(&sql, &[SqlValue::Text(rows)]).await
}

/// Upserts conversation rows. A reply is JSON text nested in the row's JSON, so on PostgreSQL NUL is replaced inside the reply as well.
async fn upsert_conversations(connection: &mut Connection, rows: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "insert into ce_conversation (conversation_id, status, intent_code, state_code, context_json, input_params_json,
           last_user_text, last_assistant_json, created_at, updated_at)
         select value->>'$[0][0]', value->>'$[0][1]', value->>'$[0][2]', value->>'$[0][3]',
           value->'$[1][0]', value->'$[1][1]', value->>'$[2][0]', value->>'$[2][1]', value->>'$[3][0]', value->>'$[3][1]'
         from json_each($1) where true
         on conflict (conversation_id) do update set status = excluded.status, intent_code = excluded.intent_code,
           state_code = excluded.state_code, context_json = excluded.context_json,
           input_params_json = excluded.input_params_json, last_user_text = excluded.last_user_text,
           last_assistant_json = excluded.last_assistant_json, updated_at = excluded.updated_at",
        "insert into ce_conversation (conversation_id, status, intent_code, state_code, context_json, input_params_json,
           last_user_text, last_assistant_json, created_at, updated_at)
         select (a->>0)::uuid, a->>1, a->>2, a->>3, b->0, b->1, c->>0,
           regexp_replace(c->>1, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1\\\\ufffd', 'g')::json,
           to_timestamp((d->>0)::float8 / 1000), to_timestamp((d->>1)::float8 / 1000)
         from (select r->0 as a, r->1 as b, r->2 as c, r->3 as d from json_array_elements($1::json) r offset 0) s
         on conflict (conversation_id) do update set status = excluded.status, intent_code = excluded.intent_code,
           state_code = excluded.state_code, context_json = excluded.context_json,
           input_params_json = excluded.input_params_json, last_user_text = excluded.last_user_text,
           last_assistant_json = excluded.last_assistant_json, updated_at = excluded.updated_at",
    );
    connection.execute(&sql, &[SqlValue::Text(rows)]).await
}

async fn create_conversations(connection: &mut Connection, rows: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "insert into ce_conversation (conversation_id, status, created_at, updated_at)
         select value->>0, 'RUNNING', value->>1, value->>1 from json_each($1) where true on conflict (conversation_id) do nothing",
        "insert into ce_conversation (conversation_id, status, created_at, updated_at)
         select (r->>0)::uuid, 'RUNNING', to_timestamp((r->>1)::float8 / 1000), to_timestamp((r->>1)::float8 / 1000)
         from json_array_elements($1::json) r on conflict (conversation_id) do nothing",
    );
    connection.execute(&sql, &[SqlValue::Text(rows)]).await
}

async fn update_audit_progress(connection: &mut Connection, rows: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "update ce_turn set audited = value->>2 from json_each($1)
         where turn_id = value->>0 and status = 'open' and owner = value->>1 and audited < value->>2",
        "update ce_turn set audited = (r->>2)::int from json_array_elements($1::json) r
         where turn_id = (r->>0)::uuid and status = 'open' and owner = r->>1 and audited < (r->>2)::int",
    );
    connection.execute(&sql, &[SqlValue::Text(rows)]).await
}

async fn insert_audit(connection: &mut Connection, rows: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "insert into ce_audit (conversation_id, stage, payload_json, created_at)
         select value->>0, value->>1, value->2, value->>3 from json_each($1)",
        "insert into ce_audit (conversation_id, stage, payload_json, created_at)
         select (r->>0)::uuid, r->>1, r->2, (r->>3 || 'Z')::timestamptz from json_array_elements($1::json) r",
    );
    connection.execute(&sql, &[SqlValue::Text(rows)]).await
}

async fn insert_history(connection: &mut Connection, rows: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "insert into ce_conversation_history (conversation_id, user_input, assistant_output, created_at, modified_at)
         select value->>0, value->>1, value->>2, value->>3, value->>3 from json_each($1)",
        "insert into ce_conversation_history (conversation_id, user_input, assistant_output, created_at, modified_at)
         select (r->>0)::uuid, r->>1, regexp_replace(r->>2, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1\\\\ufffd', 'g')::json, to_timestamp((r->>3)::float8 / 1000), to_timestamp((r->>3)::float8 / 1000)
         from json_array_elements($1::json) r",
    );
    connection.execute(&sql, &[SqlValue::Text(rows)]).await
}

async fn upsert_memory(connection: &mut Connection, rows: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "insert into ce_memory (conversation_id, store, summary, turns, updated_at)
         select value->>0, value->>1, value->>2, value->>3, value->>4 from json_each($1) where true
         on conflict (conversation_id, store) do update set summary = excluded.summary, turns = excluded.turns,
           updated_at = excluded.updated_at",
        "insert into ce_memory (conversation_id, store, summary, turns, updated_at)
         select (r->>0)::uuid, r->>1, r->>2, (r->>3)::int, to_timestamp((r->>4)::float8 / 1000) from json_array_elements($1::json) r
         on conflict (conversation_id, store) do update set summary = excluded.summary, turns = excluded.turns,
           updated_at = excluded.updated_at",
    );
    connection.execute(&sql, &[SqlValue::Text(rows)]).await
}

async fn delete_memory(connection: &mut Connection, rows: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "delete from ce_memory where conversation_id in (select value from json_each($1))",
        "delete from ce_memory where conversation_id in (select r::uuid from json_array_elements_text($1::json) r)",
    );
    connection.execute(&sql, &[SqlValue::Text(rows)]).await
}

#[cfg(test)]
mod tests {
    use convengine_core::turn::{ConversationRow, HistoryRow, Map};

    use super::*;
    use crate::storage::load;
    use crate::storage::testing::each_database;

    #[tokio::test]
    async fn a_reply_with_any_character_is_stored() {
        let id = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0009";
        // Escaped NUL, an escaped backslash before the same letters, and an escaped backslash before NUL.
        let answer = r#"{"type":"TEXT","value":"a\u0000 b\\u0000 c\\\u0000"}"#.to_owned();
        for mut database in each_database().await {
            let shared = database.pool.is_shared();
            if shared {
                for sql in [
                    "alter table ce_conversation alter column last_assistant_json type jsonb",
                    "alter table ce_conversation_history alter column assistant_output type jsonb",
                ] {
                    database.connection.execute(&Statement::portable(sql), &[]).await.expect("a column of the original");
                }
            }
            let mut rows = TurnRows::default();
            rows.add_conversation(&ConversationRow {
                conversation_id: id.to_owned(),
                status: "RUNNING".to_owned(),
                intent_code: "A".to_owned(),
                state_code: "B".to_owned(),
                context: Map::new(),
                last_user_text: None,
                last_assistant: Some(answer.clone()),
                params: Map::new(),
                created_at: 1,
                updated_at: 1,
            });
            rows.add_history(id, &HistoryRow { user_input: "x\0".to_owned(), assistant_output: answer.clone(), created_at: 1 });
            write(&mut database.connection, &rows, CallLogColumns::Plain).await.expect("rows");
            let found = load::load_conversation(&database.pool, id, 5, None).await.expect("a conversation").session;
            let stored = found.conversation.and_then(|it| it.last_assistant).expect("an answer");
            let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON")["value"].clone();
            let expected = if shared { "a\u{fffd} b\\u0000 c\\\u{fffd}" } else { "a\0 b\\u0000 c\\\0" };
            assert_eq!(value(&stored), expected);
            assert_eq!(found.history.len(), 1);
        }
    }

    #[test]
    fn only_nul_characters_are_replaced() {
        for (json, expected) in [
            (r#"["a\u0000b\u0000"]"#, r#"["a\ufffdb\ufffd"]"#),
            (r#"["\\u0000", "\\\u0000", "\n\u0001\u0000"]"#, r#"["\\u0000", "\\\ufffd", "\n\u0001\ufffd"]"#),
            (r#"["plain"]"#, r#"["plain"]"#),
        ] {
            assert_eq!(replace_nul(json.to_owned()), expected);
        }
    }
}
