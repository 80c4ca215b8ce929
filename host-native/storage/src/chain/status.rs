//! `cs_chain`: whether chains are live, and when their schedules are due.

use convengine_core::turn::Millis;

use crate::database::Pool;
use crate::database_row::DatabaseRow;
use crate::statement::{SqlValue, Statement};

/// The status of a published chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainStatus {
    /// Its slug.
    pub slug: String,
    /// Whether it takes no triggers.
    pub is_paused: bool,
    /// The next time of its schedule.
    pub next_run_at: Option<Millis>,
}

/// A live chain whose schedule is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueSchedule {
    /// The slug of the chain.
    pub slug: String,
    /// The planned time.
    pub planned: Millis,
    /// How often its run could not be started because of an error, since one was.
    pub failures: u32,
    /// How often it had to wait for another run, since one was started.
    pub waits: u32,
}

/// Why the run of a due schedule was not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Postponement {
    /// An error.
    Failure,
    /// Another run of the chain is unfinished.
    Wait,
}

/// The number of schedules in a state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScheduleCounts {
    /// Those that are due, whether they are tried, fail or wait.
    pub due: i64,
    /// Those whose last attempts have failed.
    pub failing: i64,
}

/// Returns the status of a chain; `None` when it is not published.
pub async fn find(pool: &Pool, slug: &str) -> sqlx::Result<Option<ChainStatus>> {
    let sql = Statement::portable("select slug, status, next_run_at from cs_chain where slug = $1");
    pool.load_row(&sql, &[SqlValue::Text(slug)]).await?.as_ref().map(status_from_row).transpose()
}

/// Returns the status of all chains.
pub async fn list(pool: &Pool) -> sqlx::Result<Vec<ChainStatus>> {
    let sql = Statement::portable("select slug, status, next_run_at from cs_chain");
    pool.fetch_all(&sql, &[]).await?.iter().map(status_from_row).collect()
}

/// Returns live chains whose schedule is due and is to be tried now.
pub async fn list_due(pool: &Pool, now: Millis) -> sqlx::Result<Vec<DueSchedule>> {
    let sql = Statement::per_dialect(
        "select slug, next_run_at, failures, waits from cs_chain where status = 'live' and next_run_at <= $1
           and (claimed_until is null or claimed_until < cast(unixepoch('subsec') * 1000 as integer))",
        "select slug, next_run_at, failures, waits from cs_chain where status = 'live' and next_run_at <= $1
           and (claimed_until is null or claimed_until < extract(epoch from now()) * 1000)",
    );
    let rows = pool.fetch_all(&sql, &[SqlValue::Integer(now)]).await?;
    let count = |row: &DatabaseRow, name: &str| row.integer(name).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    let due = |row: &DatabaseRow| {
        Ok(DueSchedule {
            slug: row.text("slug")?,
            planned: row.integer("next_run_at")?,
            failures: count(row, "failures")?,
            waits: count(row, "waits")?,
        })
    };
    rows.iter().map(due).collect()
}

/// How late a schedule that waits for nothing counts as failing, in milliseconds: nobody starts it.
const FAILING_AFTER_MS: Millis = 60_000;

/// Counts the schedules of live chains that are due, and those that fail or that nobody starts.
pub async fn count_late(pool: &Pool, now: Millis) -> sqlx::Result<ScheduleCounts> {
    let sql = Statement::portable(
        "select count(*) as due, count(case when failures > 0 or (waits = 0 and next_run_at <= $2) then 1 end) as failing from cs_chain
         where status = 'live' and next_run_at <= $1",
    );
    let row = pool
        .fetch_optional(&sql, &[SqlValue::Integer(now), SqlValue::Integer(now - FAILING_AFTER_MS)])
        .await?
        .ok_or(sqlx::Error::RowNotFound)?;
    Ok(ScheduleCounts { due: row.integer("due")?, failing: row.integer("failing")? })
}

/// Returns when the next schedule is due.
pub async fn find_next_due(pool: &Pool) -> sqlx::Result<Option<Millis>> {
    let sql = Statement::portable("select min(next_run_at) as due from cs_chain where status = 'live'");
    pool.fetch_optional(&sql, &[]).await?.map_or(Ok(None), |it| it.optional_integer("due"))
}

/// Stores the status of a chain and the next time of its schedule, whose attempts count anew.
pub async fn save(pool: &Pool, status: &ChainStatus, at: Millis) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "insert into cs_chain (slug, status, next_run_at, updated_at) values ($1, $2, $3, $4) on conflict (slug) do update set
           status = excluded.status, next_run_at = excluded.next_run_at, updated_at = excluded.updated_at, claimed_until = null,
           failures = 0, waits = 0",
    );
    let name = if status.is_paused { "paused" } else { "live" };
    let values = [SqlValue::Text(&status.slug), SqlValue::Text(name), SqlValue::OptionalInteger(status.next_run_at), SqlValue::Integer(at)];
    pool.execute(&sql, &values).await.map(|_| ())
}

/// Claims a due schedule for 5 seconds. Returns `false` when another process has claimed it or moved it on.
pub async fn claim(pool: &Pool, slug: &str, planned: Millis) -> sqlx::Result<bool> {
    let sql = Statement::per_dialect(
        "update cs_chain set claimed_until = cast(unixepoch('subsec') * 1000 as integer) + 5000
         where slug = $1 and next_run_at = $2
           and (claimed_until is null or claimed_until < cast(unixepoch('subsec') * 1000 as integer))",
        "update cs_chain set claimed_until = (extract(epoch from now()) * 1000)::bigint + 5000
         where slug = (select slug from cs_chain where slug = $1 and next_run_at = $2
           and (claimed_until is null or claimed_until < extract(epoch from now()) * 1000) for update skip locked)",
    );
    Ok(pool.execute(&sql, &[SqlValue::Text(slug), SqlValue::Integer(planned)]).await? > 0)
}

/// Releases a claimed schedule that stays due, to be tried again after a pause in milliseconds, and counts the attempt.
pub async fn postpone(pool: &Pool, slug: &str, planned: Millis, reason: Postponement, pause: Millis) -> sqlx::Result<()> {
    let sql = Statement::per_dialect(
        "update cs_chain set claimed_until = cast(unixepoch('subsec') * 1000 as integer) + $3, failures = failures + $4, waits = waits + $5
         where slug = $1 and next_run_at = $2",
        "update cs_chain set claimed_until = (extract(epoch from now()) * 1000)::bigint + $3, failures = failures + $4, waits = waits + $5
         where slug = $1 and next_run_at = $2",
    );
    let (failures, waits) = match reason {
        Postponement::Failure => (1, 0),
        Postponement::Wait => (0, 1),
    };
    let values =
        [SqlValue::Text(slug), SqlValue::Integer(planned), SqlValue::Integer(pause), SqlValue::Integer(failures), SqlValue::Integer(waits)];
    pool.execute(&sql, &values).await.map(|_| ())
}

/// Moves the schedule of a chain from one time to the next and releases it, unless another process has done so. Its attempts count anew.
pub async fn advance(pool: &Pool, slug: &str, from: Millis, to: Option<Millis>) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "update cs_chain set next_run_at = $3, claimed_until = null, failures = 0, waits = 0 where slug = $1 and next_run_at = $2",
    );
    let values = [SqlValue::Text(slug), SqlValue::Integer(from), SqlValue::OptionalInteger(to)];
    pool.execute(&sql, &values).await.map(|_| ())
}

fn status_from_row(row: &DatabaseRow) -> sqlx::Result<ChainStatus> {
    Ok(ChainStatus {
        slug: row.text("slug")?,
        is_paused: row.text("status")? == "paused",
        next_run_at: row.optional_integer("next_run_at")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::call_log::CallLogColumns;
    use crate::commit::write;
    use crate::testing::{Database, each_database};
    use crate::turn_rows::{SessionRow, TurnRows};

    /// Stores a chain whose schedule is due at 5.
    async fn save_due(database: &Database) {
        let chain = ChainStatus { slug: "daily".to_owned(), is_paused: false, next_run_at: Some(5) };
        save(&database.pool, &chain, 1).await.expect("saved");
    }

    async fn attempts(database: &Database) -> Vec<(u32, u32)> {
        list_due(&database.pool, 9).await.expect("schedules").iter().map(|it| (it.failures, it.waits)).collect()
    }

    #[tokio::test]
    async fn a_due_schedule_is_claimed_once_until_it_moves_on() {
        for database in each_database().await {
            let pool = &database.pool;
            save_due(&database).await;
            let claim = async |planned| claim(pool, "daily", planned).await.expect("an answer");
            assert_eq!([claim(4).await, claim(5).await, claim(5).await], [false, true, false]);
            postpone(pool, "daily", 5, Postponement::Wait, -1).await.expect("released");
            assert!(claim(5).await);
            advance(pool, "daily", 5, Some(9)).await.expect("moved on");
            assert_eq!([claim(5).await, claim(9).await], [false, true]);
        }
    }

    #[tokio::test]
    async fn a_postponed_schedule_is_not_due_until_its_pause_ends() {
        for database in each_database().await {
            let pool = &database.pool;
            save_due(&database).await;
            assert_eq!(attempts(&database).await, [(0, 0)]);
            let counts = async || count_late(pool, 9).await.expect("counts");
            assert_eq!(counts().await, ScheduleCounts { due: 1, failing: 0 });
            postpone(pool, "daily", 5, Postponement::Failure, -1).await.expect("postponed");
            postpone(pool, "daily", 5, Postponement::Wait, -1).await.expect("postponed");
            assert_eq!((attempts(&database).await, counts().await), (vec![(1, 1)], ScheduleCounts { due: 1, failing: 1 }));
            postpone(pool, "daily", 5, Postponement::Failure, 60_000).await.expect("postponed");
            assert!(attempts(&database).await.is_empty(), "no process claims it");
            assert_eq!(counts().await, ScheduleCounts { due: 1, failing: 1 });
            advance(pool, "daily", 5, Some(8)).await.expect("moved on");
            assert_eq!((attempts(&database).await, counts().await), (vec![(0, 0)], ScheduleCounts { due: 1, failing: 0 }));
        }
    }

    #[tokio::test]
    async fn the_end_of_a_run_ends_the_wait_of_its_chain() {
        let run = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69";
        for mut database in each_database().await {
            save_due(&database).await;
            postpone(&database.pool, "daily", 5, Postponement::Wait, 60_000).await.expect("postponed");
            for (status, due) in [("running", vec![]), ("succeeded", vec![(0, 1)])] {
                let state = json!({"chain": "daily", "status": status});
                let mut rows = TurnRows::default();
                let row = SessionRow {
                    session: run,
                    assistant: "chain:daily",
                    deployment: None,
                    version: Some(1),
                    snapshot: "sha256:a",
                    state: &state,
                    at: 7,
                };
                rows.add_run(&row);
                write(&mut database.connection, &rows, CallLogColumns::Plain).await.expect("written");
                assert_eq!(attempts(&database).await, due, "{status}");
            }
        }
    }
}
