//! `cv_spend`: model cost per day.

use super::database::Pool;
use super::statement::{SqlValue, Statement};

/// Returns the cost between two days, both inclusive, in millionths of a currency unit.
pub async fn sum_between(pool: &Pool, first: &str, last: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "select coalesce(sum(micros), 0) as micros from cv_spend where day >= $1 and day <= $2",
        "select coalesce(sum(micros), 0)::bigint as micros from cv_spend where day collate \"C\" >= $1 and day collate \"C\" <= $2",
    );
    let row = pool.fetch_optional(&sql, &[SqlValue::Text(first), SqlValue::Text(last)]).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(u64::try_from(row.integer("micros")?).unwrap_or(0))
}

/// Adds the cost of a call to a day.
pub async fn add(pool: &Pool, day: &str, micros: i64) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "insert into cv_spend (day, micros) values ($1, $2) on conflict (day) do update set micros = cv_spend.micros + excluded.micros",
    );
    pool.execute(&sql, &[SqlValue::Text(day), SqlValue::Integer(micros)]).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::each_database;

    #[tokio::test]
    async fn spend_is_summed_per_day() {
        for database in each_database().await {
            for (day, micros) in [("2026-01-31", 5), ("2026-02-01", 7), ("2026-01-31", 2)] {
                add(&database.pool, day, micros).await.expect("added");
            }
            let spent = async |first: &str, last: &str| sum_between(&database.pool, first, last).await.expect("an answer");
            assert_eq!(spent("2026-01-31", "2026-01-31").await, 7);
            assert_eq!(spent("2026-02-01", "2026-02-31").await, 7);
            assert_eq!(spent("2026-01-01", "2026-02-31").await, 14);
            assert_eq!(spent("2026-03-01", "2026-03-31").await, 0);
        }
    }
}
