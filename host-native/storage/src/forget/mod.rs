//! Deletes conversations. This is the only list of tables that reference conversations.

mod search;

use convengine_core::turn::Millis;
use serde_json::json;

pub use search::{StoredJournal, StoredValues, find_without_rows, list_journals, list_values};

use super::database::Connection;
use super::database_row::DatabaseRow;
use super::schema;
use super::statement::{SqlValue, Statement};

/// A table with the statement that deletes the rows in which a column is one of the conversations `$1`.
macro_rules! rows_of {
    ($table:literal, $column:literal) => {
        (
            $table,
            Statement::per_dialect(
                concat!("delete from ", $table, " where ", $column, " in (select value from json_each($1))"),
                concat!("delete from ", $table, " where ", $column, " in (select r::uuid from json_array_elements_text($1::json) r)"),
            ),
        )
    };
}

/// Tables that reference conversations, in deletion order.
const CONVERSATION_TABLES: [(&str, Statement); 18] = [
    (
        "ce_turn_effect",
        Statement::per_dialect(
            "delete from ce_turn_effect where turn_id in
               (select turn_id from ce_turn where conversation_id in (select value from json_each($1)))",
            "delete from ce_turn_effect where turn_id in
               (select turn_id from ce_turn where conversation_id in (select r::uuid from json_array_elements_text($1::json) r))",
        ),
    ),
    rows_of!("ce_turn", "conversation_id"),
    rows_of!("ce_memory", "conversation_id"),
    rows_of!("ce_audit", "conversation_id"),
    rows_of!("ce_conversation_history", "conversation_id"),
    rows_of!("ce_llm_call_log", "conversation_id"),
    rows_of!("ce_mcp_user_feedback", "conversation_id"),
    rows_of!("ce_user_query_knowledge", "conversation_id"),
    rows_of!("ce_semantic_query_failures", "conversation_id"),
    rows_of!("cs_timer", "session_id"),
    rows_of!("cs_handoff", "session_id"),
    rows_of!("cs_run", "run_id"),
    rows_of!("cs_run_key", "run_id"),
    rows_of!("cs_resume_token", "run_id"),
    rows_of!("cs_session", "session_id"),
    rows_of!("ce_conversation", "conversation_id"),
    rows_of!("cv_conversation_owner", "conversation_id"),
    // Rows of a turn that ended after the first statement.
    rows_of!("ce_turn", "conversation_id"),
];

/// Deletes all rows of the conversations, inside the caller's transaction. Returns the number of deleted rows.
pub async fn delete_conversations(connection: &mut Connection, conversations: &[String]) -> sqlx::Result<u64> {
    let existing = schema::list_tables(connection).await?;
    let ids = json!(conversations).to_string();
    lock_turns(connection, &ids).await?;
    let mut deleted = 0;
    for (_, sql) in CONVERSATION_TABLES.iter().filter(|it| existing.contains(it.0)) {
        deleted += connection.execute(sql, &[SqlValue::Text(&ids)]).await?;
    }
    Ok(deleted)
}

/// Waits for turns that are being committed. Later turns do not find their predecessor and are rejected.
async fn lock_turns(connection: &mut Connection, ids: &str) -> sqlx::Result<()> {
    let sql = Statement::per_dialect(
        "select 1 where $1 is null",
        "select 1 as found from ce_turn where conversation_id in (select r::uuid from json_array_elements_text($1::json) r) for update",
    );
    connection.fetch_all(&sql, &[SqlValue::Text(ids)]).await.map(|_| ())
}

/// Returns the conversations that have an open turn with a live lease. SQLite leases are not renewed, so there a turn counts as orphaned
/// after ten minutes.
pub async fn list_running(connection: &mut Connection, conversations: &[String]) -> sqlx::Result<Vec<String>> {
    let sql = Statement::per_dialect(
        "select conversation_id from ce_turn where status = 'open' and conversation_id in (select value from json_each($1))
           and lease_until > cast(unixepoch('subsec') * 1000 as integer) - 600000",
        "select conversation_id::text from ce_turn where status = 'open' and lease_until >= now()
           and conversation_id in (select r::uuid from json_array_elements_text($1::json) r)",
    );
    let ids = json!(conversations).to_string();
    connection.fetch_all(&sql, &[SqlValue::Text(&ids)]).await?.iter().map(|it| it.text("conversation_id")).collect()
}

/// Builds a statement that selects conversations whose newest turn is older than `$1`, which `$2` is as text, and that await nothing.
///
/// A conversation of tables is updated by each turn but one that failed or was lost, whose own row has its time; a session or run has the time of
/// its newest turn in `cs_session`. Timers that end the wait for a user who is silent are nothing that is awaited. The original engine stored
/// timestamps as numbers or text; each form is a range of the index.
macro_rules! select_idle {
    ($sqlite:literal, $postgres:literal) => {
        Statement::per_dialect(
            concat!(
                "select c.conversation_id from ce_conversation c where (c.updated_at < $1 or c.updated_at >= '' and c.updated_at < $2)
                   and not exists (select 1 from cs_session s where s.session_id = c.conversation_id and s.updated_at >= $1)
                   and not exists (select 1 from ce_turn t where t.conversation_id = c.conversation_id and t.status = 'open')
                   and not exists (select 1 from ce_turn t where t.conversation_id = c.conversation_id
                     and (t.fault is not null or t.status = 'lost') and t.closed_at >= $1)
                   and not exists (select 1 from cs_timer d where d.session_id = c.conversation_id and d.purpose not in ('session', 'no_input'))
                   and not exists (select 1 from cs_handoff h where h.session_id = c.conversation_id)
                   and not exists (select 1 from cs_run r where r.run_id = c.conversation_id
                     and r.status not in ('succeeded', 'failed', 'cancelled'))",
                $sqlite
            ),
            concat!(
                "select c.conversation_id::text from ce_conversation c where c.updated_at < to_timestamp($1 / 1000.0) and $2 <> ''
                   and not exists (select 1 from cs_session s where s.session_id = c.conversation_id and s.updated_at >= $1)
                   and not exists (select 1 from ce_turn t where t.conversation_id = c.conversation_id and t.status = 'open')
                   and not exists (select 1 from ce_turn t where t.conversation_id = c.conversation_id
                     and (t.fault is not null or t.status = 'lost') and t.closed_at >= to_timestamp($1 / 1000.0))
                   and not exists (select 1 from cs_timer d where d.session_id = c.conversation_id and d.purpose not in ('session', 'no_input'))
                   and not exists (select 1 from cs_handoff h where h.session_id = c.conversation_id)
                   and not exists (select 1 from cs_run r where r.run_id = c.conversation_id
                     and r.status not in ('succeeded', 'failed', 'cancelled'))",
                $postgres
            ),
        )
    };
}

/// Returns at most `most` conversations whose newest turn is older than a time and that await nothing: no open turn, no timer, no desk and
/// no step of a chain. Oldest first. Locks them on PostgreSQL.
pub async fn list_idle_since(connection: &mut Connection, before: Millis, most: i64) -> sqlx::Result<Vec<String>> {
    let sql = select_idle!(" order by c.updated_at limit $3", " order by c.updated_at limit $3 for update of c skip locked");
    let text = convengine_host_base::clock::format_audit(before);
    let rows = connection.fetch_all(&sql, &[SqlValue::Integer(before), SqlValue::Text(&text), SqlValue::Integer(most)]).await?;
    rows.iter().map(|it| it.text("conversation_id")).collect()
}

/// Deletes all rows of the conversations that have had no turn since they were listed, inside the caller's transaction. Returns these.
pub async fn delete_idle(connection: &mut Connection, conversations: &[String], before: Millis) -> sqlx::Result<Vec<String>> {
    let sql = select_idle!(
        " and c.conversation_id in (select value from json_each($3))",
        " and c.conversation_id in (select i::uuid from json_array_elements_text($3::json) i)"
    );
    let (ids, text) = (json!(conversations).to_string(), convengine_host_base::clock::format_audit(before));
    // A turn that is being committed may be the newest.
    lock_turns(connection, &ids).await?;
    let rows = connection.fetch_all(&sql, &[SqlValue::Integer(before), SqlValue::Text(&text), SqlValue::Text(&ids)]).await?;
    let idle = rows.iter().map(|it| it.text("conversation_id")).collect::<sqlx::Result<Vec<String>>>()?;
    delete_conversations(connection, &idle).await?;
    Ok(idle)
}

/// Tries to take the sweep lock until the transaction ends. Returns whether it was acquired.
pub async fn try_lock_sweep(connection: &mut Connection) -> sqlx::Result<bool> {
    let sql = Statement::per_dialect("select true as alone", "select pg_try_advisory_xact_lock(726174654) as alone");
    connection.fetch_optional(&sql, &[]).await?.ok_or(sqlx::Error::RowNotFound)?.boolean("alone")
}

/// Row kinds with their own retention period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// Audit rows.
    Audit,
    /// User feedback.
    Feedback,
    /// The log of model calls.
    ModelCalls,
}

/// The statements that delete old rows. Each examines only the rows with the smallest ids, so a pass that deletes nothing is cheap.
const AGED_TABLES: [(RowKind, &str, Statement); 5] = [
    (
        RowKind::Audit,
        "ce_audit",
        Statement::per_dialect(
            "delete from ce_audit where audit_id in (select audit_id from (select audit_id, created_at from ce_audit order by audit_id limit $3)
               where created_at < $1 or created_at >= '' and created_at < $2)",
            "delete from ce_audit where audit_id in (select audit_id from (select audit_id, created_at from ce_audit order by audit_id limit $3) a
               where created_at < to_timestamp($1 / 1000.0) and $2 <> '')",
        ),
    ),
    (
        RowKind::Feedback,
        "ce_mcp_user_feedback",
        Statement::per_dialect(
            "delete from ce_mcp_user_feedback where feedback_id in
               (select feedback_id from (select feedback_id, created_at from ce_mcp_user_feedback order by feedback_id limit $3)
                where created_at < $1 or created_at >= '' and created_at < $2)",
            "delete from ce_mcp_user_feedback where feedback_id in
               (select feedback_id from (select feedback_id, created_at from ce_mcp_user_feedback order by feedback_id limit $3) a
                where created_at < to_timestamp($1 / 1000.0) and $2 <> '')",
        ),
    ),
    (
        RowKind::Feedback,
        "ce_user_query_knowledge",
        Statement::per_dialect(
            "delete from ce_user_query_knowledge where id in
               (select id from (select id, created_at from ce_user_query_knowledge where conversation_id is not null order by id limit $3)
                where created_at < $1 or created_at >= '' and created_at < $2)",
            "delete from ce_user_query_knowledge where id in
               (select id from (select id, created_at from ce_user_query_knowledge where conversation_id is not null order by id limit $3) a
                where created_at < to_timestamp($1 / 1000.0) and $2 <> '')",
        ),
    ),
    (
        RowKind::Feedback,
        "ce_semantic_query_failures",
        Statement::per_dialect(
            "delete from ce_semantic_query_failures where id in
               (select id from (select id, created_at from ce_semantic_query_failures where conversation_id is not null order by id limit $3)
                where created_at < $1 or created_at >= '' and created_at < $2)",
            "delete from ce_semantic_query_failures where id in
               (select id from (select id, created_at from ce_semantic_query_failures where conversation_id is not null order by id limit $3) a
                where created_at < to_timestamp($1 / 1000.0) and $2 <> '')",
        ),
    ),
    (
        RowKind::ModelCalls,
        "ce_llm_call_log",
        Statement::per_dialect(
            "delete from ce_llm_call_log where llm_call_id in
               (select llm_call_id from (select llm_call_id, created_at from ce_llm_call_log order by llm_call_id limit $3)
                where created_at < $1 or created_at >= '' and created_at < $2)",
            "delete from ce_llm_call_log where llm_call_id in
               (select llm_call_id from (select llm_call_id, created_at from ce_llm_call_log order by llm_call_id limit $3) a
                where created_at < to_timestamp($1 / 1000.0) and $2 <> '')",
        ),
    ),
];

/// Deletes rows of a kind older than a time, at most `most` per table. Returns the number of deleted rows.
pub async fn delete_aged(connection: &mut Connection, kind: RowKind, before: Millis, most: i64) -> sqlx::Result<u64> {
    let existing = schema::list_tables(connection).await?;
    let text = convengine_host_base::clock::format_audit(before);
    let mut deleted = 0;
    for (_, _, sql) in AGED_TABLES.iter().filter(|table| table.0 == kind && existing.contains(table.1)) {
        deleted += connection.execute(sql, &[SqlValue::Integer(before), SqlValue::Text(&text), SqlValue::Integer(most)]).await?;
    }
    Ok(deleted)
}

/// The largest SQLite file that is vacuumed while it is served.
const MAX_VACUUM_BYTES: i64 = 256 << 20;

/// Vacuums an SQLite file, because free pages keep copies of moved rows. Must run outside of a transaction. Returns `false` when the
/// file is too large.
pub async fn vacuum(connection: &mut Connection) -> sqlx::Result<bool> {
    let Connection::Sqlite(_) = connection else { return Ok(true) };
    let sql = Statement::portable("select page_count * page_size as bytes from pragma_page_count, pragma_page_size");
    if connection.fetch_optional(&sql, &[]).await?.ok_or(sqlx::Error::RowNotFound)?.integer("bytes")? > MAX_VACUUM_BYTES {
        return Ok(false);
    }
    connection.execute(&Statement::portable("vacuum"), &[]).await.map(|_| true)
}

/// Checkpoints and truncates the SQLite write-ahead log. Must run outside of a transaction. Returns `false` when a reader prevented it.
/// Does nothing on PostgreSQL, where vacuuming is the operator's task.
pub async fn truncate_wal(connection: &mut Connection) -> sqlx::Result<bool> {
    let Connection::Sqlite(_) = connection else { return Ok(true) };
    let row = connection.fetch_optional(&Statement::portable("pragma wal_checkpoint(truncate)"), &[]).await?;
    row.as_ref().map_or(Ok(true), |row: &DatabaseRow| row.integer("busy").map(|busy| busy == 0))
}

#[cfg(test)]
mod tests;
