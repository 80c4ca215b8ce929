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

/// Claims a due schedule for 5 seconds. Returns `false` when another process has claimed it or moved it on.
///
/// # Errors
/// Returns any database error.
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

/// Releases a claimed schedule that stays due.
///
/// # Errors
/// Returns any database error.
pub async fn release(pool: &Pool, slug: &str) -> sqlx::Result<()> {
    let sql = Statement::portable("update cs_chain set claimed_until = null where slug = $1");
    pool.execute(&sql, &[SqlValue::Text(slug)]).await.map(|_| ())
}

/// Moves the schedule of a chain from one time to the next and releases it, unless another process has done so.
///
/// # Errors
/// Returns any database error.
pub async fn advance(pool: &Pool, slug: &str, from: Millis, to: Option<Millis>) -> sqlx::Result<()> {
    let sql = Statement::portable("update cs_chain set next_run_at = $3, claimed_until = null where slug = $1 and next_run_at = $2");
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
    use super::*;
    use crate::storage::testing::each_database;

    #[tokio::test]
    async fn a_due_schedule_is_claimed_once_until_it_moves_on() {
        for database in each_database().await {
            let pool = &database.pool;
            let chain = ChainStatus { slug: "daily".to_owned(), is_paused: false, next_run_at: Some(5) };
            save(pool, &chain, 1).await.expect("saved");
            let claim = async |planned| claim(pool, "daily", planned).await.expect("an answer");
            assert_eq!([claim(4).await, claim(5).await, claim(5).await], [false, true, false]);
            release(pool, "daily").await.expect("released");
            assert!(claim(5).await);
            advance(pool, "daily", 5, Some(9)).await.expect("moved on");
            assert_eq!([claim(5).await, claim(9).await], [false, true]);
        }
    }
}
