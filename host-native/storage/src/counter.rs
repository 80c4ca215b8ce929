//! `cs_counter`: what of a quota or a spend cap is used in a day or month. Each change is one conditional update of one row, so that several
//! processes share a limit without a lock.

use convengine_core::turn::Millis;

use super::database::{Connection, Pool};
use super::statement::{SqlValue, Statement};

/// A counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterKey {
    /// The workspace that owns the limit.
    pub workspace: String,
    /// `session`, `llm`, `spend.day` or `spend.month`.
    pub kind: &'static str,
    /// The document of a budget; empty otherwise.
    pub reference: String,
    /// The start of the day or month.
    pub period: Millis,
}

/// An amount to be added if the limit allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Increment {
    /// The amount.
    pub amount: i64,
    /// How much of the amount must fit below the limit; with 0, the last increment may exceed it.
    pub fitting: i64,
    /// The limit.
    pub limit: i64,
}

impl CounterKey {
    fn values(&self) -> [SqlValue<'_>; 4] {
        let (workspace, reference) = (SqlValue::Text(&self.workspace), SqlValue::Text(&self.reference));
        [workspace, SqlValue::Text(self.kind), reference, SqlValue::Integer(self.period)]
    }
}

/// Adds an amount unless the limit is reached; returns whether it did. A counter that does not exist yet starts with `used_before`.
pub async fn reserve(
    pool: &Pool,
    key: &CounterKey,
    increment: Increment,
    used_before: impl Future<Output = sqlx::Result<i64>>,
) -> sqlx::Result<bool> {
    if add_below(pool, key, increment).await? {
        return Ok(true);
    }
    // Another process may just have created it.
    if find(pool, key).await?.is_none() {
        create(pool, key, used_before.await?).await?;
    }
    add_below(pool, key, increment).await
}

async fn add_below(pool: &Pool, key: &CounterKey, increment: Increment) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "update cs_counter set used = used + $5
         where workspace_id = $1 and kind = $2 and ref = $3 and period = $4 and used < $7 and used + $6 <= $7",
    );
    let Increment { amount, fitting, limit } = increment;
    let more = [SqlValue::Integer(amount), SqlValue::Integer(fitting), SqlValue::Integer(limit)];
    Ok(pool.execute(&sql, &[&key.values()[..], &more].concat()).await? > 0)
}

async fn create(pool: &Pool, key: &CounterKey, used: i64) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "insert into cs_counter (workspace_id, kind, ref, period, used) values ($1, $2, $3, $4, $5)
         on conflict (workspace_id, kind, ref, period) do nothing",
    );
    pool.execute(&sql, &[&key.values()[..], &[SqlValue::Integer(used)]].concat()).await.map(|_| ())
}

/// Corrects a counter, for example when the real cost of a call is known.
pub async fn adjust(pool: &Pool, key: &CounterKey, difference: i64) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "update cs_counter set used = case when used + $5 < 0 then 0 else used + $5 end
         where workspace_id = $1 and kind = $2 and ref = $3 and period = $4",
    );
    pool.execute(&sql, &[&key.values()[..], &[SqlValue::Integer(difference)]].concat()).await.map(|_| ())
}

/// Makes a counter that exists include what was used while nothing was counted.
pub async fn raise(pool: &Pool, key: &CounterKey, used: i64) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "update cs_counter set used = $5 where workspace_id = $1 and kind = $2 and ref = $3 and period = $4 and used < $5",
    );
    pool.execute(&sql, &[&key.values()[..], &[SqlValue::Integer(used)]].concat()).await.map(|_| ())
}

/// Deletes the counters of days and months that began before a time. Returns their number.
pub async fn delete_before(connection: &mut Connection, before: Millis) -> sqlx::Result<u64> {
    connection.execute(&Statement::portable("delete from cs_counter where period < $1"), &[SqlValue::Integer(before)]).await
}

/// Returns what is used; `None` when nothing was counted yet.
pub async fn find(pool: &Pool, key: &CounterKey) -> sqlx::Result<Option<i64>> {
    let sql = Statement::portable("select used from cs_counter where workspace_id = $1 and kind = $2 and ref = $3 and period = $4");
    pool.fetch_optional(&sql, &key.values()).await?.map(|it| it.integer("used")).transpose()
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;
    use crate::testing::each_database;

    fn key(period: Millis) -> CounterKey {
        CounterKey { workspace: "default".to_owned(), kind: "llm", reference: "desk".to_owned(), period }
    }

    #[tokio::test]
    async fn processes_that_reserve_at_once_do_not_exceed_the_limit() {
        for mut database in each_database().await {
            let (pool, key) = (&database.pool, &key(1));
            let increment = Increment { amount: 10, fitting: 10, limit: 105 };
            let new = &CounterKey { period: 2, ..key.clone() };
            let first = join_all((0..10).map(|_| reserve(pool, new, increment, async { Ok(0) }))).await;
            assert!(first.into_iter().all(|it| it.expect("an answer")), "all fit, also beside the one that creates the counter");
            let reserved = join_all((0..20).map(|_| reserve(pool, key, increment, async { Ok(35) }))).await;
            assert_eq!(reserved.into_iter().filter(|answer| *answer.as_ref().expect("an answer")).count(), 7, "35 were used before");
            assert_eq!(find(pool, key).await.expect("an answer"), Some(105));
            adjust(pool, key, -7).await.expect("corrected");
            assert!(!reserve(pool, key, increment, async { Ok(0) }).await.expect("an answer"), "98 and 10 do not fit");
            let last = Increment { fitting: 0, ..increment };
            assert!(reserve(pool, key, last, async { Ok(0) }).await.expect("an answer"), "the last one may exceed the limit");
            assert!(!reserve(pool, key, last, async { Ok(0) }).await.expect("an answer"));
            adjust(pool, key, -500).await.expect("corrected");
            assert_eq!(find(pool, key).await.expect("an answer"), Some(0));
            for (used, found) in [(40, 40), (30, 40)] {
                raise(pool, key, used).await.expect("raised");
                assert_eq!(find(pool, key).await.expect("an answer"), Some(found));
            }
            raise(pool, &CounterKey { period: 3, ..key.clone() }, 5).await.expect("none is created");
            assert_eq!(delete_before(&mut database.connection, 2).await.expect("an answer"), 1);
            assert_eq!((find(pool, key).await.expect("none"), find(pool, new).await.expect("some")), (None, Some(100)));
        }
    }
}
