//! A writer task: writes batches, and the rows of a batch that fails one by one. Rows that take long are written separately, on PostgreSQL,
//! where several transactions run at once.

use std::future::Future;
use std::time::{Duration, Instant};

use convengine_host_base::meter::Meter;
use convengine_storage::call_log::CallLogColumns;
use convengine_storage::checkpoint::Checkpointer;
use convengine_storage::commit::{fit_one_statement, is_stored, write, write_at_once};
use convengine_storage::turn_rows::TurnRows;
use convengine_storage::{self as storage, Connection, DatabaseConfig};
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

use super::error::{is_busy, is_connection_error, is_lock_timeout, is_statement_timeout, to_commit_error};
use super::parked::{PARK_TIMEOUT, Parked};
use super::queue::{QueuedRows, RowReceiver};
use super::{CommitError, CommitResult};

/// The timeout for writing a batch or connecting, so that an unreachable server does not block all turns.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long turns wait for the database to come back.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long further rows are refused without an attempt after some were.
const GIVEN_UP_FOR: Duration = Duration::from_secs(1);
/// The pause between two attempts to reach it.
const RECONNECT_DELAY: Duration = Duration::from_millis(200);
/// How many turns that take long a writer has written separately at once, each on a connection of its own.
const MAX_SLOW_WRITES: usize = 2;

/// Writes what is queued until the queue is closed and empty.
pub(super) async fn run_writer(
    connection: Option<Connection>,
    database: DatabaseConfig,
    meter: Meter,
    mut waiting: RowReceiver,
    checkpointer: Option<Checkpointer>,
) {
    let mut writer = BatchWriter::new(database, meter);
    writer.attach(connection).await;
    let mut batch = Vec::new();
    let mut is_open = true;
    while is_open || writer.parked.next_attempt().is_some() || !writer.slow_writes.is_empty() {
        let next_attempt = writer.parked.next_attempt();
        tokio::select! {
            received = waiting.receive(&mut batch), if is_open => is_open = received,
            Some(written) = writer.slow_writes.join_next(), if !writer.slow_writes.is_empty() => {
                if let Ok((queued, written)) = written {
                    writer.finish_slow_write(queued, written);
                }
            }
            () = sleep_until(next_attempt.unwrap_or_else(tokio::time::Instant::now)), if next_attempt.is_some() => {
                writer.retry_next_parked().await;
            }
        }
        if !batch.is_empty() {
            writer.write_batch(&mut batch).await;
            if let Some(checkpointer) = &checkpointer {
                checkpointer.check_log();
            }
        }
    }
    let Some(connection) = writer.connection else { return };
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "cannot close the database connection cleanly");
    }
}

/// The state of the writer task.
struct BatchWriter {
    database: DatabaseConfig,
    connection: Option<Connection>,
    call_log: CallLogColumns,
    /// When the database became unreachable, or another program began to write for long.
    lost_since: Option<Instant>,
    /// When rows were last refused because the database stays unreachable, with the reason.
    given_up: Option<(Instant, String)>,
    meter: Meter,
    parked: Parked,
    /// Writes rows that take long.
    slow_writes: JoinSet<(QueuedRows, Written)>,
}

/// What became of the rows of one turn.
#[derive(Debug)]
enum Written {
    /// They are written, or never will be.
    Done(CommitResult),
    /// Another transaction holds a lock on a row.
    Locked,
    /// Writing them takes longer than others should wait.
    Slow,
}

/// Why a batch was not written.
enum BatchError {
    /// The database returned an error.
    Commit(CommitError),
    /// The connection was lost; the outcome of the commit is unknown.
    ConnectionLost(String),
    /// Another program writes to the file.
    Busy(String),
    /// Another transaction holds a lock on a row.
    Locked,
    /// A statement took too long.
    Slow,
}

/// How long a write may wait for locks, and take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// As the connection is set up.
    Normal,
    /// Hardly at all, because a lock was held before, or a batch took long.
    Brief,
    /// As long as the database can take, because nothing else waits for it.
    Long,
}

impl BatchWriter {
    fn new(database: DatabaseConfig, meter: Meter) -> BatchWriter {
        let parked = Parked::default();
        BatchWriter {
            database,
            connection: None,
            call_log: CallLogColumns::Plain,
            lost_since: None,
            given_up: None,
            meter,
            parked,
            slow_writes: JoinSet::new(),
        }
    }

    /// Gives the writer its first connection.
    async fn attach(&mut self, connection: Option<Connection>) {
        let Some(mut connection) = connection else { return };
        self.call_log = CallLogColumns::detect(&mut connection).await;
        if let Err(error) = storage::set_up_writer(&mut connection).await {
            tracing::warn!(%error, "cannot set the writer's database timeouts");
        }
        self.connection = Some(connection);
    }

    async fn write_batch(&mut self, batch: &mut Vec<QueuedRows>) {
        for queued in batch.extract_if(.., |it| self.parked.contains(&it.conversation)).collect::<Vec<_>>() {
            self.parked.push(queued);
        }
        if batch.is_empty() {
            return;
        }
        let mut merged = TurnRows::default();
        batch.iter().for_each(|it| merged.extend(&it.rows));
        match self.write_and_record(&merged, batch.len(), Limit::Normal).await {
            Ok(()) => batch.drain(..).for_each(|queued| _ = queued.answer.send(Ok(()))),
            Err(BatchError::Commit(error)) if batch.len() == 1 => {
                batch.drain(..).for_each(|queued| _ = queued.answer.send(Err(error.clone())));
            }
            Err(BatchError::Locked) if batch.len() == 1 => batch.drain(..).for_each(|it| self.park(it)),
            Err(BatchError::Slow) if batch.len() == 1 => batch.drain(..).for_each(|it| self.write_separately(it)),
            // Retry individually, so that one conflict or lock does not fail the whole batch, and one that takes long does not delay it.
            Err(
                error @ (BatchError::Commit(_)
                | BatchError::ConnectionLost(_)
                | BatchError::Busy(_)
                | BatchError::Locked
                | BatchError::Slow),
            ) => {
                let mut limit = if matches!(error, BatchError::Slow) { Limit::Brief } else { Limit::Normal };
                for queued in batch.drain(..) {
                    if self.parked.contains(&queued.conversation) {
                        self.parked.push(queued);
                        continue;
                    }
                    match self.write_single(&queued.rows, limit).await {
                        Written::Done(result) => _ = queued.answer.send(result),
                        Written::Locked => {
                            // Another transaction may have locked them all.
                            limit = Limit::Brief;
                            self.park(queued);
                        }
                        Written::Slow => {
                            limit = Limit::Brief;
                            self.write_separately(queued);
                        }
                    }
                }
            }
        }
    }

    fn park(&mut self, queued: QueuedRows) {
        tracing::warn!(conversation = queued.conversation, "another transaction has locked a conversation; its turns wait");
        self.parked.push(queued);
    }

    /// Has another task write rows that take long, while those of other conversations go on. At most a few do so at once.
    fn write_separately(&mut self, queued: QueuedRows) {
        if self.slow_writes.len() >= MAX_SLOW_WRITES {
            self.parked.push(queued);
            return;
        }
        tracing::warn!(conversation = queued.conversation, "slow write; later turns of the conversation wait");
        self.parked.hold(&queued.conversation);
        let mut writer = BatchWriter::new(self.database.clone(), self.meter.clone());
        self.slow_writes.spawn(async move {
            let written = writer.write_long(&queued.rows).await;
            (queued, written)
        });
    }

    /// Answers rows that were written separately, or parks them.
    fn finish_slow_write(&mut self, queued: QueuedRows, written: Written) {
        let unfinished = match written {
            Written::Done(result) => Some((queued, result)),
            Written::Locked | Written::Slow => self.parked.put_back(queued).map(|queued| (queued, Err(still_blocked()))),
        };
        self.answer_parked(unfinished);
    }

    /// Tries the rows of one parked conversation again. Queued rows are written between two attempts, so that many locks do not delay them.
    async fn retry_next_parked(&mut self) {
        let Some(queued) = self.parked.take_due() else { return };
        let ended = match self.write_single(&queued.rows, Limit::Brief).await {
            Written::Done(result) => Some((queued, result)),
            Written::Slow if self.slow_writes.len() < MAX_SLOW_WRITES => {
                self.write_separately(queued);
                None
            }
            Written::Locked | Written::Slow => self.parked.put_back(queued).map(|queued| (queued, Err(still_blocked()))),
        };
        self.answer_parked(ended);
    }

    /// Answers the first rows of a parked conversation, if they have ended, and goes on with the next ones.
    fn answer_parked(&mut self, ended: Option<(QueuedRows, CommitResult)>) {
        if let Some((queued, result)) = ended {
            self.parked.advance(&queued.conversation);
            let _ = queued.answer.send(result);
        }
    }

    /// Writes the rows of one turn however long it takes, within the time that a turn waits for the database.
    async fn write_long(&mut self, rows: &TurnRows) -> Written {
        let since = Instant::now();
        let written = loop {
            let written = self.write_single(rows, Limit::Long).await;
            if !matches!(written, Written::Slow) || since.elapsed() > PARK_TIMEOUT {
                break written;
            }
        };
        if let Some(connection) = self.connection.take()
            && let Err(error) = connection.close().await
        {
            tracing::debug!(%error, "cannot close the database connection cleanly");
        }
        written
    }

    /// Writes the rows of one turn, reconnecting when the connection is lost, and again while another program writes.
    async fn write_single(&mut self, rows: &TurnRows, limit: Limit) -> Written {
        // One attempt for all that waits: where the database swallows packets, each takes long.
        if let Some((at, reason)) = &self.given_up
            && at.elapsed() < GIVEN_UP_FOR
        {
            return Written::Done(Err(CommitError::Unavailable(reason.clone())));
        }
        loop {
            match self.write_and_record(rows, 1, limit).await {
                Ok(()) => return Written::Done(Ok(())),
                Err(BatchError::Locked) => return Written::Locked,
                Err(BatchError::Slow) => return Written::Slow,
                Err(BatchError::Commit(CommitError::Unavailable(reason))) => return Written::Done(Err(CommitError::Unavailable(reason))),
                // A conflict may be this turn's own row, written before the connection was lost.
                Err(BatchError::Commit(error)) => return Written::Done(if self.has_rows(rows).await { Ok(()) } else { Err(error) }),
                Err(BatchError::ConnectionLost(reason) | BatchError::Busy(reason)) => {
                    let since = *self.lost_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > RECONNECT_TIMEOUT {
                        self.given_up = Some((Instant::now(), reason.clone()));
                        return Written::Done(Err(CommitError::Unavailable(reason)));
                    }
                    sleep(RECONNECT_DELAY).await;
                }
            }
        }
    }

    async fn has_rows(&mut self, rows: &TurnRows) -> bool {
        match &mut self.connection {
            Some(connection) => is_stored(connection, rows).await.unwrap_or(false),
            None => false,
        }
    }

    async fn write_and_record(&mut self, rows: &TurnRows, parts: usize, limit: Limit) -> Result<(), BatchError> {
        let started_at = Instant::now();
        let result = self.write_once(rows, limit).await;
        let outcome = match &result {
            Ok(()) => "ok",
            Err(BatchError::ConnectionLost(_)) => "lost",
            Err(BatchError::Locked | BatchError::Busy(_)) => "locked",
            Err(BatchError::Slow) => "slow",
            Err(BatchError::Commit(error)) => error.label(),
        };
        self.meter.record_commit(outcome, parts, started_at);
        result
    }

    async fn write_once(&mut self, rows: &TurnRows, limit: Limit) -> Result<(), BatchError> {
        if self.connection.is_none() {
            let connecting = with_timeout(async {
                let mut connection = storage::open_writer(&self.database).await?;
                storage::set_up_writer(&mut connection).await?;
                let log = CallLogColumns::detect(&mut connection).await;
                Ok((connection, log))
            });
            let (connection, log) = connecting.await.map_err(|error| BatchError::ConnectionLost(error.to_string()))?;
            (self.connection, self.call_log) = (Some(connection), log);
        }
        let Some(connection) = &mut self.connection else { return Err(BatchError::ConnectionLost("no connection".to_owned())) };
        let written = with_timeout(write_in_transaction(connection, rows, self.call_log, limit)).await;
        let written = if written.is_ok() && rows.durable { self.database.flush_wal().map_err(sqlx::Error::Io) } else { written };
        let Err(error) = written else {
            self.lost_since = None;
            return Ok(());
        };
        if is_connection_error(&error) {
            tracing::error!(%error, "lost the database connection");
            self.connection = None;
            return Err(BatchError::ConnectionLost(error.to_string()));
        }
        if is_busy(&error) {
            tracing::error!(%error, "another program writes to the database");
            return Err(BatchError::Busy(error.to_string()));
        }
        self.lost_since = None;
        if is_lock_timeout(&error) {
            return Err(BatchError::Locked);
        }
        if is_statement_timeout(&error) {
            return Err(BatchError::Slow);
        }
        Err(BatchError::Commit(to_commit_error(error)))
    }
}

fn still_blocked() -> CommitError {
    CommitError::Unavailable("another transaction holds a lock on the conversation, or the write timed out".to_owned())
}

/// Limits work to [`WRITE_TIMEOUT`]. The connection must be discarded after a timeout.
async fn with_timeout<T>(work: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    let late = |_| sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the database did not answer in time"));
    tokio::time::timeout(WRITE_TIMEOUT, work).await.unwrap_or_else(|elapsed| Err(late(elapsed)))
}

async fn write_in_transaction(connection: &mut Connection, rows: &TurnRows, log: CallLogColumns, limit: Limit) -> sqlx::Result<()> {
    if limit == Limit::Normal && fit_one_statement(connection, rows) {
        return write_at_once(connection, rows, log).await;
    }
    connection.begin().await?;
    let work = async {
        match limit {
            Limit::Normal => {}
            Limit::Brief => storage::set_brief_timeouts(connection).await?,
            Limit::Long => storage::set_long_timeout(connection).await?,
        }
        write(connection, rows, log).await
    };
    let written = match work.await {
        Ok(()) => connection.commit().await,
        Err(error) => Err(error),
    };
    if written.as_ref().is_err_and(|it| !is_connection_error(it)) {
        // A failed commit leaves the transaction open; if it is already closed, the rollback fails harmlessly.
        if let Err(error) = connection.rollback().await {
            tracing::debug!(%error, "nothing to roll back");
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;

    use convengine_storage::in_memory;
    use convengine_storage::statement::Statement;
    use convengine_storage::testing::{lock_turn, postgres};
    use convengine_storage::turn_rows::TurnRow;

    use crate::writer::Writer;

    fn turn_rows(conversation: &str, turn: &str) -> TurnRows {
        turn_rows_with_number(conversation, turn, 1)
    }

    fn turn_rows_with_number(conversation: &str, turn: &str, number: u32) -> TurnRows {
        let mut rows = TurnRows::default();
        rows.add_turn(&TurnRow {
            turn_id: turn,
            conversation_id: conversation,
            number,
            status: "closed",
            protocol: 1,
            engine: "test",
            config_hash: "c",
            journal: b"\x00\xff",
            state_hash: "s",
            created_at: 1,
            closed_at: 2,
            total_ms: 1,
            owner: "me",
            ..TurnRow::default()
        });
        rows
    }

    /// Returns a batch of turns of conversations, and the answers that they will get.
    fn batch_of(turns: &[(&str, &str)]) -> (Vec<QueuedRows>, Vec<impl Future<Output = CommitResult> + use<>>) {
        let queue = |&(conversation, turn): &(&str, &str)| {
            let (queued, answered) = QueuedRows::new(conversation, turn_rows(conversation, turn), &Meter::default());
            (queued, async move { answered.await.expect("an answer") })
        };
        turns.iter().map(queue).unzip()
    }

    #[tokio::test]
    async fn turns_wait_while_another_program_writes_and_are_refused_together_when_it_does_not_end() {
        let mut database = storage::testing::sqlite().await;
        let mut other = storage::open(&database.config, false).await.expect("another program");
        sqlx::query("pragma busy_timeout = 20").execute(database.connection.sqlite()).await.expect("a short wait");
        let mut writer = BatchWriter::new(database.config.clone(), Meter::default());
        writer.attach(Some(database.connection)).await;
        sqlx::query("begin immediate").execute(other.sqlite()).await.expect("a lock");
        let (mut batch, answers) = batch_of(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let release = async {
            sleep(Duration::from_secs(1)).await;
            sqlx::query("rollback").execute(other.sqlite()).await.expect("no lock");
        };
        tokio::join!(writer.write_batch(&mut batch), release);
        assert_eq!(join_all(answers).await, [Ok(()), Ok(()), Ok(())]);

        sqlx::query("begin immediate").execute(other.sqlite()).await.expect("a lock");
        writer.lost_since = Instant::now().checked_sub(RECONNECT_TIMEOUT);
        let (mut batch, answers) = batch_of(&[("d", "4"), ("e", "5"), ("f", "6")]);
        let since = Instant::now();
        writer.write_batch(&mut batch).await;
        assert!(join_all(answers).await.iter().all(|answer| matches!(answer, Err(CommitError::Unavailable(_)))));
        assert!(since.elapsed() < Duration::from_secs(1), "one attempt for all: {:?}", since.elapsed());
        sqlx::query("rollback").execute(other.sqlite()).await.expect("no lock");
        let (mut batch, answers) = batch_of(&[("g", "7")]);
        sleep(GIVEN_UP_FOR).await;
        writer.write_batch(&mut batch).await;
        assert_eq!(join_all(answers).await, [Ok(())]);
    }

    #[tokio::test]
    async fn only_the_loser_of_a_race_is_rejected() {
        let connection = in_memory().await.expect("a database");
        let mut writer = BatchWriter::new(DatabaseConfig { url: String::new(), full_sync: false }, Meter::default());
        writer.attach(Some(connection)).await;
        let mut batch = Vec::new();
        let mut answers = Vec::new();
        for (conversation, turn) in [("a", "1"), ("b", "2"), ("a", "3")] {
            let (queued, answered) = QueuedRows::new(conversation, turn_rows(conversation, turn), &Meter::default());
            batch.push(queued);
            answers.push(answered);
        }
        writer.write_batch(&mut batch).await;
        let mut found = Vec::new();
        for answer in answers {
            found.push(answer.await.expect("an answer"));
        }
        assert_eq!(found, [Ok(()), Ok(()), Err(CommitError::Conflict)]);
        let mut connection = writer.connection.expect("it is in memory");
        let stored: Vec<u8> =
            sqlx::query_scalar("select journal from ce_turn where turn_id = '2'").fetch_one(connection.sqlite()).await.expect("a row");
        assert_eq!(stored, b"\x00\xff");
    }

    #[tokio::test]
    async fn a_lock_of_a_stranger_stops_one_conversation() {
        let mut database = postgres().await;
        let ids: Vec<String> = (1..=5).map(|it| format!("11111111-0000-4000-8000-{it:012}")).collect();
        let mut first = TurnRows::default();
        ids.iter().for_each(|id| first.extend(&turn_rows(id, id)));
        write(&mut database.connection, &first, CallLogColumns::Plain).await.expect("the first turns");
        let mut other_transaction = lock_turn(&database.config, &ids[0]).await;

        let (writer, task) = Writer::start(database.connection, &database.config, &Meter::default());
        let next = |conversation: &String, number: u32| {
            let id = format!("2111111{number}{}", &conversation[8..]);
            turn_rows_with_number(conversation, &id, number)
        };
        let mut locked = Vec::new();
        for number in [2, 3] {
            locked.push(writer.enqueue(&ids[0], next(&ids[0], number)).await.expect("queued"));
        }
        let others = ids[1..].iter().map(|id| writer.commit(id, next(id, 2)));
        assert!(join_all(others).await.iter().all(Result::is_ok), "the other conversations go on");
        assert!(locked.iter_mut().all(|answer| answer.try_recv().is_err()), "the locked one waits");
        other_transaction.rollback().await.expect("an end");
        for answer in locked {
            assert_eq!(answer.await.expect("an answer"), Ok(()), "in order: a turn needs the one before it");
        }
        drop(writer);
        task.await.expect("the end of the writers");
    }
    #[tokio::test]
    async fn a_turn_that_takes_long_to_write_delays_its_conversation_alone() {
        let database = postgres().await;
        let ids: Vec<String> = (1..=9).map(|it| format!("11111111-0000-4000-8000-{it:012}")).collect();
        // A trigger that takes 3 s for one conversation, as an index or a disk may.
        for sql in [
            "create function rest() returns trigger language plpgsql as $$ begin
               if new.conversation_id = '11111111-0000-4000-8000-000000000001' and new.number = 1 then perform pg_sleep(3); end if;
               return new; end $$",
            "create trigger rest before insert on ce_turn for each row execute function rest()",
        ] {
            database.pool.execute_for_test(&Statement::portable(sql), &[]).await.expect("a trigger");
        }
        let (writer, task) = Writer::start(database.connection, &database.config, &Meter::default());
        let next = |id: &String, number: u32| turn_rows_with_number(id, &format!("2111111{number}{}", &id[8..]), number);
        let started = Instant::now();
        let mut slow = Vec::new();
        for number in [1, 2] {
            slow.push(writer.enqueue(&ids[0], next(&ids[0], number)).await.expect("queued"));
        }
        // Eight conversations on four writers: some share the writer of the slow one.
        let others = ids[1..].iter().map(|id| writer.commit(id, next(id, 1)));
        assert!(join_all(others).await.iter().all(Result::is_ok), "the other conversations go on");
        assert!(slow.iter_mut().all(|answer| answer.try_recv().is_err()), "the slow one takes 3 s, and the turn after it waits for it");
        for answer in slow {
            assert_eq!(answer.await.expect("an answer"), Ok(()));
        }
        assert!(started.elapsed() >= Duration::from_secs(3));
        drop(writer);
        task.await.expect("the end of the writers");
    }
}
