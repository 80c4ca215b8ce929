//! SQLite on the calling thread: the connections of the writer and of what a turn reads.
//!
//! A statement of a turn takes some ten microseconds, less than handing it to the thread of another driver and back. Everything else goes
//! through sqlx. (docs/decisions/0051-the-cost-of-a-turn.md)

use std::cell::Cell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{CachedStatement, OpenFlags, ToSql};

use super::rows::{RowStatement, Rows, with_last};
use super::sqlite_error::to_sqlx_error;
use super::statement::{SqlValue, vector_bytes};

/// More than the statements of the writer, so that each is prepared once.
const STATEMENT_CACHE: usize = 128;

thread_local! {
    /// The pages of the write-ahead log after the last commit of this thread.
    static WAL_PAGES: Cell<u32> = const { Cell::new(0) };
}

/// How to open connections to an SQLite file.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The file.
    pub file: PathBuf,
    /// How long a statement waits for a lock.
    pub busy_timeout: Duration,
    /// The pragmas of a new connection, as one script.
    pub pragmas: String,
}

/// A connection whose statements run on the calling thread.
pub struct LocalSqlite {
    /// Never locked: it makes the type shareable.
    connection: Mutex<rusqlite::Connection>,
    /// The statements so far.
    statements: HashMap<TextKey, Prepared>,
}

/// The address and length of a literal, which are quicker to hash than its text.
type TextKey = (usize, usize);

/// What is derived from a statement once.
struct Prepared {
    /// With numbered parameters, `?1` for `$1`.
    sql: String,
    columns: Arc<[String]>,
}

/// Idle connections for reading.
#[derive(Debug)]
pub struct SqliteReaders {
    options: SqliteOptions,
    /// `None` once they are closed.
    idle: Mutex<Option<Vec<LocalSqlite>>>,
}

/// A result row.
#[derive(Debug)]
pub struct LocalRow {
    columns: Arc<[String]>,
    values: Vec<Value>,
}

impl LocalSqlite {
    /// Opens a connection to a file that exists.
    pub(super) fn open(options: &SqliteOptions) -> sqlx::Result<LocalSqlite> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = rusqlite::Connection::open_with_flags(&options.file, flags).map_err(to_sqlx_error)?;
        connection.busy_timeout(options.busy_timeout).map_err(to_sqlx_error)?;
        connection.execute_batch(&options.pragmas).map_err(to_sqlx_error)?;
        connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
        Ok(LocalSqlite { connection: Mutex::new(connection), statements: HashMap::new() })
    }

    /// Leaves copying the write-ahead log into the database to others; [`wal_pages`] tells its length.
    pub(super) fn disable_checkpoints(&mut self) {
        self.parts().0.wal_hook(Some(|_, pages| {
            WAL_PAGES.set(u32::try_from(pages).unwrap_or(0));
            Ok(())
        }));
    }

    /// Fetches at most `most` rows.
    pub(super) fn fetch(&mut self, sql: &'static str, values: &[SqlValue<'_>], most: usize) -> sqlx::Result<Vec<LocalRow>> {
        tracing::debug!(target: "sqlx::query", sql);
        let (connection, statements) = self.parts();
        let prepared = prepare(connection, statements, sql)?;
        let columns = &prepared.columns;
        let mut statement = connection.prepare_cached(&prepared.sql).map_err(to_sqlx_error)?;
        bind(&mut statement, values.iter().copied())?;
        let mut found = Vec::new();
        let mut rows = statement.raw_query();
        while found.len() < most
            && let Some(row) = rows.next().map_err(to_sqlx_error)?
        {
            let values = (0..columns.len()).map(|index| row.get_ref(index).map(Value::try_from)).collect::<Result<Result<_, _>, _>>();
            let values = values.map_err(to_sqlx_error)?.map_err(|error| sqlx::Error::Decode(error.into()))?;
            found.push(LocalRow { columns: Arc::clone(columns), values });
        }
        Ok(found)
    }

    /// Executes a statement that returns no rows. Returns the number of affected rows.
    pub(super) fn execute(&mut self, sql: &'static str, values: &[SqlValue<'_>]) -> sqlx::Result<u64> {
        tracing::debug!(target: "sqlx::query", sql);
        let (connection, statements) = self.parts();
        let prepared = prepare(connection, statements, sql)?;
        let mut statement = connection.prepare_cached(&prepared.sql).map_err(to_sqlx_error)?;
        bind(&mut statement, values.iter().copied())?;
        statement.raw_execute().map(affected).map_err(to_sqlx_error)
    }

    /// Executes a statement for each row. Returns the number of affected rows.
    pub(super) fn execute_rows(&mut self, row_statement: &RowStatement, rows: &Rows, last: Option<&[Option<i64>]>) -> sqlx::Result<u64> {
        tracing::debug!(target: "sqlx::query", sql = row_statement.sqlite);
        let (connection, statements) = self.parts();
        let prepared = prepare(connection, statements, row_statement.sqlite)?;
        let mut statement = connection.prepare_cached(&prepared.sql).map_err(to_sqlx_error)?;
        let mut written = 0;
        for (index, row) in rows.iter().enumerate() {
            bind(&mut statement, with_last(row, last, index).take(row_statement.columns.len()))?;
            written += statement.raw_execute().map(affected).map_err(to_sqlx_error)?;
        }
        Ok(written)
    }

    /// Closes the connection.
    pub(super) fn close(self) -> sqlx::Result<()> {
        self.connection.into_inner().unwrap_or_else(PoisonError::into_inner).close().map_err(|(_, error)| to_sqlx_error(error))
    }

    /// Returns how often SQLite has compiled statements again since they were prepared, and the steps of its machine.
    #[cfg(test)]
    fn counters(&mut self) -> (i32, i32) {
        use rusqlite::StatementStatus::{RePrepare, VmStep};
        let (connection, statements) = self.parts();
        let count = |status| move |statement: &Prepared| connection.prepare_cached(&statement.sql).expect("a statement").get_status(status);
        (statements.values().map(count(RePrepare)).sum(), statements.values().map(count(VmStep)).sum())
    }

    fn parts(&mut self) -> (&rusqlite::Connection, &mut HashMap<TextKey, Prepared>) {
        (self.connection.get_mut().unwrap_or_else(PoisonError::into_inner), &mut self.statements)
    }
}

/// Returns what is known of a statement, which is prepared the first time.
fn prepare<'s>(
    connection: &rusqlite::Connection,
    statements: &'s mut HashMap<TextKey, Prepared>,
    sql: &'static str,
) -> sqlx::Result<&'s Prepared> {
    match statements.entry((sql.as_ptr().addr(), sql.len())) {
        Entry::Occupied(found) => Ok(found.into_mut()),
        Entry::Vacant(free) => {
            let sql = number_parameters(sql);
            let columns = connection.prepare_cached(&sql).map_err(to_sqlx_error)?.column_names().into_iter().map(str::to_owned).collect();
            Ok(free.insert(Prepared { sql, columns }))
        }
    }
}

/// Replaces `$1` by `?1`, because SQLite numbers the former in the order in which they appear.
fn number_parameters(sql: &str) -> String {
    let mut numbered = String::with_capacity(sql.len());
    let mut characters = sql.chars().peekable();
    while let Some(character) = characters.next() {
        let is_parameter = character == '$' && characters.peek().is_some_and(char::is_ascii_digit);
        numbered.push(if is_parameter { '?' } else { character });
    }
    numbered
}

/// Returns the pages of the write-ahead log after the last commit of this thread on a connection without checkpoints.
pub(super) fn wal_pages() -> u32 {
    WAL_PAGES.get()
}

impl SqliteReaders {
    /// Creates an empty pool. A connection is opened when none is idle, so there are as many as threads that read.
    pub(super) fn new(options: SqliteOptions) -> SqliteReaders {
        SqliteReaders { options, idle: Mutex::new(Some(Vec::new())) }
    }

    /// Fetches the first row, if any.
    pub(super) fn fetch_optional(&self, sql: &'static str, values: &[SqlValue<'_>]) -> sqlx::Result<Option<LocalRow>> {
        let mut connection = match self.idle().as_mut().ok_or(sqlx::Error::PoolClosed)?.pop() {
            Some(connection) => connection,
            None => LocalSqlite::open(&self.options)?,
        };
        let found = connection.fetch(sql, values, 1)?;
        if let Some(idle) = self.idle().as_mut() {
            idle.push(connection);
        }
        Ok(found.into_iter().next())
    }

    /// Closes the connections.
    pub(super) fn close(&self) {
        *self.idle() = None;
    }

    fn idle(&self) -> MutexGuard<'_, Option<Vec<LocalSqlite>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LocalRow {
    fn value(&self, column: &str) -> sqlx::Result<&Value> {
        let index = self.columns.iter().position(|it| it == column);
        index.and_then(|it| self.values.get(it)).ok_or_else(|| sqlx::Error::ColumnNotFound(column.to_owned()))
    }

    pub(super) fn optional_text(&self, column: &str) -> sqlx::Result<Option<String>> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text.clone())),
            other => Err(unexpected(column, other)),
        }
    }

    pub(super) fn optional_integer(&self, column: &str) -> sqlx::Result<Option<i64>> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Integer(number) => Ok(Some(*number)),
            other => Err(unexpected(column, other)),
        }
    }

    pub(super) fn float(&self, column: &str) -> sqlx::Result<f64> {
        match self.value(column)? {
            Value::Real(number) => Ok(*number),
            other => Err(unexpected(column, other)),
        }
    }

    pub(super) fn bytes(&self, column: &str) -> sqlx::Result<&[u8]> {
        match self.value(column)? {
            Value::Blob(bytes) => Ok(bytes),
            other => Err(unexpected(column, other)),
        }
    }
}

/// Returns the error for a missing value.
pub(super) fn null_in(column: &str) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: "the value is null".into() }
}

fn unexpected(column: &str, value: &Value) -> sqlx::Error {
    let source = format!("unexpected type {}", value.data_type()).into();
    sqlx::Error::ColumnDecode { index: column.to_owned(), source }
}

fn affected(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn bind<'v>(statement: &mut CachedStatement<'_>, values: impl Iterator<Item = SqlValue<'v>>) -> sqlx::Result<()> {
    for (index, value) in values.take(statement.parameter_count()).enumerate() {
        statement.raw_bind_parameter(index + 1, Bound(value)).map_err(to_sqlx_error)?;
    }
    Ok(())
}

struct Bound<'v>(SqlValue<'v>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            SqlValue::Text(text) | SqlValue::OptionalText(Some(text)) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            SqlValue::Integer(number) | SqlValue::OptionalInteger(Some(number)) => ToSqlOutput::Borrowed(ValueRef::Integer(number)),
            SqlValue::OptionalText(None) | SqlValue::OptionalInteger(None) => ToSqlOutput::Borrowed(ValueRef::Null),
            SqlValue::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            SqlValue::Vector(numbers) => ToSqlOutput::Owned(Value::Blob(vector_bytes(numbers))),
        })
    }
}

impl fmt::Debug for LocalSqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSqlite").field("statements", &self.statements.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use convengine_core::turn::{ConversationRow, HistoryRow};

    use super::*;
    use crate::call_log::CallLogColumns;
    use crate::commit::write;
    use crate::database::Pool;
    use crate::load::load_conversation;
    use crate::sqlite_error::is_sqlite_error;
    use crate::testing;
    use crate::turn_rows::{TurnRow, TurnRows};

    const ID: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0009";

    /// The rows of turns `from..=to`, the first of which is a reset.
    fn turns(from: u32, to: u32) -> TurnRows {
        let mut rows = TurnRows::default();
        let conversation = ConversationRow {
            conversation_id: ID.to_owned(),
            status: "RUNNING".to_owned(),
            intent_code: "A".to_owned(),
            state_code: "B".to_owned(),
            context: Arc::default(),
            last_user_text: None,
            last_assistant: None,
            params: Arc::default(),
            created_at: 1,
            updated_at: 1,
        };
        rows.add_conversation(&conversation);
        for number in from..=to {
            rows.add_turn(&TurnRow {
                turn_id: &format!("t{number}"),
                conversation_id: ID,
                number,
                status: "closed",
                journal: b"j",
                reset: number == 1,
                created_at: number.into(),
                ..TurnRow::default()
            });
            let exchange = HistoryRow { user_input: format!("{number}"), assistant_output: "{}".to_owned(), created_at: number.into() };
            rows.add_history(ID, &exchange);
        }
        rows
    }

    #[tokio::test]
    async fn loading_is_prepared_once_and_reads_no_more_of_a_long_conversation() {
        let mut database = testing::sqlite().await;
        let Pool::Sqlite(_, readers) = &database.pool else { panic!("an SQLite file") };
        let mut steps = Vec::new();
        let mut last = 0;
        for (from, to) in [(1, 20), (21, 500)] {
            write(&mut database.connection, &turns(from, to), CallLogColumns::Plain).await.expect("turns");
            for _ in 0..3 {
                let loaded = load_conversation(&database.pool, ID, 4, None).await.expect("a conversation");
                assert_eq!((loaded.session.turns, loaded.session.history.len(), loaded.session.turns_since_reset), (to, 4, to));
            }
            let (recompiled, steps_so_far) = readers.idle().as_mut().expect("open")[0].counters();
            assert_eq!(recompiled, 0);
            steps.push(steps_so_far - last);
            last = steps_so_far;
        }
        assert!(steps[1] <= steps[0] * 101 / 100, "steps after 20 and after 500 turns: {steps:?}");
    }

    #[tokio::test]
    async fn errors_have_the_codes_and_texts_of_the_other_driver() {
        let mut database = testing::sqlite().await;
        let mut local = crate::open_writer(&database.config).await.expect("a connection");
        write(&mut local, &turns(1, 1), CallLogColumns::Plain).await.expect("a turn");
        let mut again = TurnRows::default();
        again.add_turn(&TurnRow {
            turn_id: "other",
            conversation_id: ID,
            number: 1,
            status: "closed",
            journal: b"j",
            ..TurnRow::default()
        });
        let mut errors = Vec::new();
        for connection in [&mut local, &mut database.connection] {
            let error = write(connection, &again, CallLogColumns::Plain).await.expect_err("the number is taken");
            let error = error.into_database_error().expect("of the database");
            assert!(error.is_unique_violation() && is_sqlite_error(&*error));
            errors.push((error.message().to_owned(), error.code().map(Cow::into_owned), error.to_string()));
        }
        assert_eq!(errors[0], errors[1]);
    }

    #[test]
    fn parameters_are_numbered() {
        assert_eq!(number_parameters("select $2, '$[0]', $1"), "select ?2, '$[0]', ?1");
    }
}
