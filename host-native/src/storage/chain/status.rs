//! `cs_chain`: whether chains are live, and when their schedules are due.

use convengine_core::turn::Millis;

use crate::storage::database::{DatabaseRow, Pool, SqlValue, Statement};

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

/// Returns the status of a chain; `None` when it is not published.
///
/// # Errors
/// Returns any database error.
pub async fn find(pool: &Pool, slug: &str) -> sqlx::Result<Option<ChainStatus>> {
    let sql = Statement::portable("select slug, status, next_run_at from cs_chain where slug = $1");
    pool.fetch_optional(&sql, &[SqlValue::Text(slug)]).await?.as_ref().map(status_from_row).transpose()
}

/// Returns the status of all chains.
///
/// # Errors
/// Returns any database error.
pub async fn list(pool: &Pool) -> sqlx::Result<Vec<ChainStatus>> {
    let sql = Statement::portable("select slug, status, next_run_at from cs_chain");
    pool.fetch_all(&sql, &[]).await?.iter().map(status_from_row).collect()
}

/// Returns live chains whose schedule is due.
///
/// # Errors
/// Returns any database error.
pub async fn list_due(pool: &Pool, now: Millis) -> sqlx::Result<Vec<ChainStatus>> {
    let sql = Statement::portable("select slug, status, next_run_at from cs_chain where status = 'live' and next_run_at <= $1");
    pool.fetch_all(&sql, &[SqlValue::Integer(now)]).await?.iter().map(status_from_row).collect()
}

/// Returns when the next schedule is due.
///
/// # Errors
/// Returns any database error.
pub async fn find_next_due(pool: &Pool) -> sqlx::Result<Option<Millis>> {
    let sql = Statement::portable("select min(next_run_at) as due from cs_chain where status = 'live'");
    pool.fetch_optional(&sql, &[]).await?.map_or(Ok(None), |it| it.optional_integer("due"))
}

/// Stores the status of a chain and the next time of its schedule.
///
/// # Errors
/// Returns any database error.
pub async fn save(pool: &Pool, status: &ChainStatus, at: Millis) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "insert into cs_chain (slug, status, next_run_at, updated_at) values ($1, $2, $3, $4) on conflict (slug) do update set
           status = excluded.status, next_run_at = excluded.next_run_at, updated_at = excluded.updated_at",
    );
    let name = if status.is_paused { "paused" } else { "live" };
    let values = [SqlValue::Text(&status.slug), SqlValue::Text(name), SqlValue::OptionalInteger(status.next_run_at), SqlValue::Integer(at)];
    pool.execute(&sql, &values).await.map(|_| ())
}

/// Moves the schedule of a chain from one time to the next, unless another process has done so.
///
/// # Errors
/// Returns any database error.
pub async fn advance(pool: &Pool, slug: &str, from: Millis, to: Option<Millis>) -> sqlx::Result<()> {
    let sql = Statement::portable("update cs_chain set next_run_at = $3 where slug = $1 and next_run_at = $2");
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
