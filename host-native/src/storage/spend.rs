//! `cv_spend`: model cost per day.

use super::database::{Connection, Pool, SqlValue, Statement};

/// Returns the cost between two days, both inclusive, in millionths of a currency unit.
///
/// # Errors
/// Returns any database error.
pub async fn sum_between(pool: &Pool, first: &str, last: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "select coalesce(sum(micros), 0) as micros from cv_spend where day >= $1 and day <= $2",
        "select coalesce(sum(micros), 0)::bigint as micros from cv_spend where day collate \"C\" >= $1 and day collate \"C\" <= $2",
    );
    let row = pool.fetch_optional(&sql, &[SqlValue::Text(first), SqlValue::Text(last)]).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(u64::try_from(row.integer("micros")?).unwrap_or(0))
}

/// Adds the cost of turns. `rows` is a JSON array of `[day, micros]`.
pub(super) async fn add(connection: &mut Connection, rows: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "insert into cv_spend (day, micros)
         select value->>0, sum(value->>1) from json_each($1) where true group by value->>0
         on conflict (day) do update set micros = micros + excluded.micros",
        "insert into cv_spend (day, micros)
         select r->>0, sum((r->>1)::bigint)::bigint from json_array_elements($1::json) r group by r->>0 order by r->>0
         on conflict (day) do update set micros = cv_spend.micros + excluded.micros",
    );
    connection.execute(&sql, &[SqlValue::Text(rows)]).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::call_log::CallLogColumns;
    use crate::storage::commit::write;
    use crate::storage::testing::each_database;
    use crate::storage::turn_rows::TurnRows;

    #[tokio::test]
    async fn spend_is_summed_per_day() {
        for mut database in each_database().await {
            let mut rows = TurnRows::default();
            for (day, micros) in [("2026-01-31", 5), ("2026-02-01", 7), ("2026-01-31", 2)] {
                rows.add_spend(day, micros);
            }
            for _ in 0..2 {
                write(&mut database.connection, &rows, CallLogColumns::Plain).await.expect("rows");
            }
            let spent = async |first: &str, last: &str| sum_between(&database.pool, first, last).await.expect("an answer");
            assert_eq!(spent("2026-01-31", "2026-01-31").await, 14);
            assert_eq!(spent("2026-02-01", "2026-02-31").await, 14);
            assert_eq!(spent("2026-01-01", "2026-02-31").await, 28);
            assert_eq!(spent("2026-03-01", "2026-03-31").await, 0);
        }
    }
}
