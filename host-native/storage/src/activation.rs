//! `cv_activation`: the history of active configurations.

use convengine_core::turn::Millis;

use super::database::{Connection, Pool};
use super::database_row::DatabaseRow;
use super::statement::{SqlValue, Statement};

/// One change of the active configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activation {
    /// The sequence number.
    pub number: i64,
    /// The snapshot hash.
    pub hash: String,
    /// SHA-256 of the configuration rows, without settings.
    pub rows_hash: String,
    /// `found`, `start`, `refresh`, `import`, `activate` or `rollback`.
    pub cause: String,
    /// For a rollback, the number of the activation whose rows it restored.
    pub restores: Option<i64>,
}

/// Locks the configuration rows against other writers until the transaction ends.
pub async fn lock_configuration(connection: &mut Connection) -> sqlx::Result<()> {
    let sql = Statement::per_dialect("select 1", "select pg_advisory_xact_lock(726174653)");
    connection.fetch_all(&sql, &[]).await.map(|_| ())
}

/// Inserts an activation.
pub async fn insert(connection: &mut Connection, activation: &Activation, at: Millis) -> sqlx::Result<()> {
    let sql = Statement::per_dialect(
        "insert into cv_activation (hash, rows_hash, how, restores, at) values ($1, $2, $3, nullif($4, 0), $5)",
        "insert into cv_activation (hash, rows_hash, how, restores, at) values ($1, $2, $3, nullif($4::bigint, 0), to_timestamp($5 / 1000.0))",
    );
    let values = [
        SqlValue::Text(&activation.hash),
        SqlValue::Text(&activation.rows_hash),
        SqlValue::Text(&activation.cause),
        SqlValue::Integer(activation.restores.unwrap_or(0)),
        SqlValue::Integer(at),
    ];
    connection.execute(&sql, &values).await.map(|_| ())
}

const NEWEST: Statement =
    Statement::portable("select number, hash, rows_hash, how, restores from cv_activation order by number desc limit 1");

/// Returns the newest activation.
pub async fn find_newest(connection: &mut Connection) -> sqlx::Result<Option<Activation>> {
    connection.fetch_optional(&NEWEST, &[]).await?.as_ref().map(activation_from_row).transpose()
}

/// Returns the newest activation over the reader pool, for polling.
pub async fn find_newest_in_pool(pool: &Pool) -> sqlx::Result<Option<Activation>> {
    pool.fetch_optional(&NEWEST, &[]).await?.as_ref().map(activation_from_row).transpose()
}

/// Returns the newest activation before `number` whose rows differ from `rows`.
pub async fn find_previous(connection: &mut Connection, number: i64, rows: &str) -> sqlx::Result<Option<Activation>> {
    let sql = Statement::portable(
        "select number, hash, rows_hash, how, restores from cv_activation where number < $1 and rows_hash <> $2
         order by number desc limit 1",
    );
    connection.fetch_optional(&sql, &[SqlValue::Integer(number), SqlValue::Text(rows)]).await?.as_ref().map(activation_from_row).transpose()
}

fn activation_from_row(row: &DatabaseRow) -> sqlx::Result<Activation> {
    Ok(Activation {
        number: row.integer("number")?,
        hash: row.text("hash")?,
        rows_hash: row.text("rows_hash")?,
        cause: row.text("how")?,
        restores: row.optional_integer("restores")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::each_database;

    #[tokio::test]
    async fn the_previous_activation_has_different_rows() {
        for mut database in each_database().await {
            let connection = &mut database.connection;
            connection.begin().await.expect("a transaction");
            lock_configuration(connection).await.expect("a lock");
            assert_eq!(find_newest(connection).await.expect("none"), None);
            for (hash, restores) in [("a", None), ("b", None), ("b", Some(1))] {
                let (hash, how) = (hash.to_owned(), "import".to_owned());
                let activation = Activation { number: 0, rows_hash: format!("rows of {hash}"), hash, cause: how, restores };
                insert(connection, &activation, 1_767_323_045_678).await.expect("stored");
            }
            connection.commit().await.expect("committed");
            let last = find_newest_in_pool(&database.pool).await.expect("an answer").expect("the third");
            assert_eq!((last.number, last.hash.as_str(), last.restores), (3, "b", Some(1)));
            let connection = &mut database.connection;
            assert_eq!(find_newest(connection).await.expect("an answer").as_ref(), Some(&last));
            let earlier = find_previous(connection, last.number, &last.rows_hash).await.expect("an answer").expect("the first");
            assert_eq!((earlier.number, earlier.hash.as_str()), (1, "a"));
            assert_eq!(find_previous(connection, 1, "rows of b").await.expect("an answer"), None);
        }
    }
}
