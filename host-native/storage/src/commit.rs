//! Writes the rows of a batch of turns, with one statement for each table.

use std::fmt::Write as _;

use super::assistant::{handoff, session};
use super::audit;
use super::call_log::CallLogColumns;
use super::casts::with_casts;
use super::chain::run;
use super::database::Connection;
use super::owner;
use super::rows::{RowStatement, Rows, Step};
use super::statement::{SqlValue, Statement};
use super::turn_rows::{Table, TurnRows};
use super::turn_statements::{
    CLOSE_TURNS, CREATE_CONVERSATIONS, DELETE_MEMORY, INSERT_AUDIT, INSERT_HISTORY, INSERT_TURNS, UPDATE_AUDIT_PROGRESS,
    UPSERT_CONVERSATIONS, UPSERT_EFFECTS, UPSERT_MEMORY,
};

/// Writes the rows of one or more turns, table by table. The caller holds a transaction.
///
/// # Errors
/// Returns any database error; [`sqlx::Error::RowNotFound`] when another process has taken over a turn.
pub async fn write(connection: &mut Connection, rows: &TurnRows, log: CallLogColumns) -> sqlx::Result<()> {
    let first_id = reserve_audit_ids(connection, rows).await?;
    for step in steps(rows, log, first_id) {
        let written = connection.execute_rows(step.statement, step.rows, step.last.as_deref()).await?;
        // Another process has taken over a turn.
        if step.must_write_all && written != u64::try_from(step.rows.count()).unwrap_or(u64::MAX) {
            return Err(sqlx::Error::RowNotFound);
        }
    }
    Ok(())
}

/// Writes the rows like [`write`](fn@write), with one statement that is a transaction by itself; for rows for which [`fit_one_statement`] returns true.
///
/// # Errors
/// Returns the errors of [`write`](fn@write).
pub async fn write_at_once(connection: &mut Connection, rows: &TurnRows, log: CallLogColumns) -> sqlx::Result<()> {
    let first_id = reserve_audit_ids(connection, rows).await?;
    let steps = steps(rows, log, first_id);
    let written = connection.execute_at_once(&join_statements(&steps), &steps).await;
    // The division by zero of a missing row.
    let is_taken_over =
        |error: &sqlx::Error| error.as_database_error().is_some_and(|error| error.code().is_some_and(|code| code == "22012"));
    written.map_err(|error| if is_taken_over(&error) { sqlx::Error::RowNotFound } else { error })
}

/// Returns whether the rows may be written by one statement of PostgreSQL, whose parts see none of each other's changes: no row is written
/// by two of them, and none depends on another, as what is written for a turn that opens with the same rows does.
pub fn fit_one_statement(connection: &Connection, rows: &TurnRows) -> bool {
    let has = |table| rows.find(table).is_some();
    let has_both = |one, other| has(one) && has(other);
    let needs_open_turn = [Table::Effect, Table::AuditProgress, Table::ClosedTurn].into_iter().any(has);
    let depends = (rows.opens_turns() && needs_open_turn)
        || has(Table::NewRun)
        || has_both(Table::AuditProgress, Table::ClosedTurn)
        || has_both(Table::CreatedConversation, Table::Conversation)
        || has_both(Table::DeletedMemory, Table::Memory);
    matches!(connection, Connection::Postgres(_)) && !rows.is_empty() && !depends
}

/// Joins statements into one. It fails with a division by zero when rows that must be written are not.
fn join_statements(steps: &[Step<'_>]) -> String {
    let (mut parts, mut checks, mut offset) = (String::from("with "), Vec::new(), 0);
    for (number, step) in steps.iter().enumerate() {
        if number > 0 {
            parts.push_str(", ");
        }
        // Writing into a string cannot fail.
        let _ = write!(parts, "s{number} as ({} returning 1)", shift_parameters(step.statement.postgres, offset));
        offset += step.statement.columns.len();
        if step.must_write_all {
            checks.push(format!("1 / ((select count(*) from s{number}) = {})::int", step.rows.count()));
        }
    }
    let checks = if checks.is_empty() { "1".to_owned() } else { checks.join(" + ") };
    format!("{parts} select {checks}")
}

/// Adds `offset` to the number of each parameter of a statement.
fn shift_parameters(sql: &str, offset: usize) -> String {
    let mut parts = sql.split('$');
    let mut shifted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let number = number.parse::<usize>().map_or(0, |it| it + offset);
        let _ = write!(shifted, "${number}{rest}");
    }
    shifted
}

/// Returns the statements for rows, in order. `first_id` is the first reserved audit id.
fn steps(rows: &TurnRows, log: CallLogColumns, first_id: i64) -> Vec<Step<'_>> {
    let mut next = first_id;
    let mut steps = Vec::new();
    for (table, of_table) in rows.tables() {
        let last = match table {
            Table::Turn => Some(first_audit_ids(&rows.reserved_by_turn, &mut next)),
            Table::ClosedTurn => Some(first_audit_ids(&rows.reserved_by_closed_turn, &mut next)),
            _ => None,
        };
        let must_write_all = match table {
            // A turn that is already closed must not insert its other rows again.
            Table::Turn => rows.ended_turns > 0,
            Table::Effect | Table::AuditProgress | Table::ClosedTurn => true,
            _ => false,
        };
        for statement in statements(table, log) {
            steps.push(Step { statement, rows: of_table, last: last.clone(), must_write_all });
        }
    }
    steps
}

fn statements(table: Table, log: CallLogColumns) -> &'static [RowStatement] {
    match table {
        Table::Turn => &INSERT_TURNS,
        Table::Effect => &UPSERT_EFFECTS,
        Table::AuditProgress => &UPDATE_AUDIT_PROGRESS,
        Table::ClosedTurn => &CLOSE_TURNS,
        Table::Conversation => &UPSERT_CONVERSATIONS,
        Table::CreatedConversation => &CREATE_CONVERSATIONS,
        Table::Audit => &INSERT_AUDIT,
        Table::History => &INSERT_HISTORY,
        Table::LlmCall => log.insert(),
        Table::DeletedMemory => &DELETE_MEMORY,
        Table::Memory => &UPSERT_MEMORY,
        Table::Session => &session::SAVE,
        Table::Timer => &session::SAVE_TIMERS,
        Table::NewRun => &run::CREATE,
        Table::Run => &run::SAVE,
        Table::Handoff => &handoff::SAVE,
        Table::Usage => &session::ADD_USAGE,
        Table::Owner => &owner::INSERT,
    }
}

/// Returns whether rows that must not be written twice are already stored: the end of a turn, or the audit rows of an open one. Used
/// after a lost connection, when the outcome of a commit is unknown.
pub async fn is_stored(connection: &mut Connection, rows: &TurnRows) -> sqlx::Result<bool> {
    if rows.ended_turns == 0 {
        return is_audit_progress_stored(connection, rows.find(Table::AuditProgress)).await;
    }
    let Some(ends) = rows.find(Table::ClosedTurn).or(rows.find(Table::Turn)) else { return Ok(false) };
    let sql = Statement::per_dialect(
        "select count(*) as stored from ce_turn where turn_id = $1 and status = $2 and state_hash = $3 and closed_at = $4",
        "select count(*) as stored from ce_turn where turn_id = $1::uuid and status = $2 and state_hash = $3
           and closed_at = to_timestamp($4::float8 / 1000)",
    );
    is_each_stored(connection, &sql, ends, &[0, 3, 8, 13]).await
}

async fn is_audit_progress_stored(connection: &mut Connection, rows: Option<&Rows>) -> sqlx::Result<bool> {
    let Some(rows) = rows else { return Ok(false) };
    let sql =
        with_casts!("select count(*) as stored from ce_turn where turn_id = $1::uuid and status = 'open' and owner = $2 and audited >= $3");
    is_each_stored(connection, &sql, rows, &[0, 1, 2]).await
}

/// Returns whether a statement that counts stored rows finds each of `rows` by some of its columns.
async fn is_each_stored(connection: &mut Connection, sql: &Statement, rows: &Rows, columns: &[usize]) -> sqlx::Result<bool> {
    for row in rows.iter() {
        let row: Vec<SqlValue<'_>> = row.collect();
        let values: Vec<SqlValue<'_>> = columns.iter().filter_map(|index| row.get(*index).copied()).collect();
        let found = connection.fetch_optional(sql, &values).await?.ok_or(sqlx::Error::RowNotFound)?;
        if found.integer("stored")? == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn reserve_audit_ids(connection: &mut Connection, rows: &TurnRows) -> sqlx::Result<i64> {
    match rows.reserved_audit_ids() {
        0 => Ok(0),
        count => audit::reserve_ids(connection, count).await,
    }
}

/// Returns the first reserved audit id of each turn, allocated from `next`; `None` for a turn that reserves none.
fn first_audit_ids(counts: &[u32], next: &mut i64) -> Vec<Option<i64>> {
    let first = |count: &u32| {
        let first = *next;
        *next += i64::from(*count);
        (*count > 0).then_some(first)
    };
    counts.iter().map(first).collect()
}

#[cfg(test)]
mod tests {
    use convengine_core::turn::{ConversationRow, HistoryRow};

    use super::*;
    use crate::load;
    use crate::testing::each_database;
    use std::sync::Arc;

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
                context: Arc::default(),
                last_user_text: None,
                last_assistant: Some(answer.clone()),
                params: Arc::default(),
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
    fn parameters_are_counted_on() {
        assert_eq!(shift_parameters("values ($1, $12)", 0), "values ($1, $12)");
        assert_eq!(shift_parameters("values ($1, $12)", 19), "values ($20, $31)");
    }
}
