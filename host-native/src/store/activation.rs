//! `cv_activation`: the history of active configurations.

use convengine_core::turn::Millis;

use super::database::{Connection, Pool, Row, Statement, Value};

/// One change of the active configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activation {
    /// The sequence number.
    pub number: i64,
    /// The snapshot hash.
    pub hash: String,
    /// SHA-256 of the configuration rows, without settings.
    pub rows: String,
    /// `found`, `start`, `refresh`, `import`, `activate` or `rollback`.
    pub how: String,
    /// For a rollback, the number of the activation whose rows it restored.
    pub restores: Option<i64>,
}

/// Locks the configuration rows against other writers until the transaction ends.
///
/// # Errors
/// Returns any database error.
pub async fn lock(connection: &mut Connection) -> sqlx::Result<()> {
    let sql = Statement::of("select 1", "select pg_advisory_xact_lock(726174653)");
    connection.all(&sql, &[]).await.map(|_| ())
}

/// Inserts an activation.
///
/// # Errors
/// Returns any database error.
pub async fn insert(connection: &mut Connection, activation: &Activation, at: Millis) -> sqlx::Result<()> {
    let sql = Statement::of(
        "insert into cv_activation (hash, rows_hash, how, restores, at) values ($1, $2, $3, nullif($4, 0), $5)",
        "insert into cv_activation (hash, rows_hash, how, restores, at) values ($1, $2, $3, nullif($4::bigint, 0), to_timestamp($5 / 1000.0))",
    );
    let values = [
        Value::Text(&activation.hash),
        Value::Text(&activation.rows),
        Value::Text(&activation.how),
        Value::Int(activation.restores.unwrap_or(0)),
        Value::Int(at),
    ];
    connection.run(&sql, &values).await.map(|_| ())
}

const NEWEST: Statement = Statement::both("select number, hash, rows_hash, how, restores from cv_activation order by number desc limit 1");

/// Returns the newest activation.
///
/// # Errors
/// Returns any database error.
pub async fn newest(connection: &mut Connection) -> sqlx::Result<Option<Activation>> {
    connection.first(&NEWEST, &[]).await?.as_ref().map(found).transpose()
}

/// Returns the newest activation over the reader pool, for polling.
///
/// # Errors
/// Returns any database error.
pub async fn newest_of(pool: &Pool) -> sqlx::Result<Option<Activation>> {
    pool.first(&NEWEST, &[]).await?.as_ref().map(found).transpose()
}

/// Returns the newest activation before `number` whose rows differ from `rows`.
///
/// # Errors
/// Returns any database error.
pub async fn before(connection: &mut Connection, number: i64, rows: &str) -> sqlx::Result<Option<Activation>> {
    let sql = Statement::both(
        "select number, hash, rows_hash, how, restores from cv_activation where number < $1 and rows_hash <> $2
         order by number desc limit 1",
    );
    connection.first(&sql, &[Value::Int(number), Value::Text(rows)]).await?.as_ref().map(found).transpose()
}

fn found(row: &Row) -> sqlx::Result<Activation> {
    Ok(Activation {
        number: row.int("number")?,
        hash: row.text("hash")?,
        rows: row.text("rows_hash")?,
        how: row.text("how")?,
        restores: row.maybe_int("restores")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::each;

    #[tokio::test]
    async fn the_one_before_has_other_rows() {
        for mut database in each().await {
            let connection = &mut database.connection;
            connection.begin().await.expect("a transaction");
            lock(connection).await.expect("a lock");
            assert_eq!(newest(connection).await.expect("none"), None);
            for (hash, restores) in [("a", None), ("b", None), ("b", Some(1))] {
                let (hash, how) = (hash.to_owned(), "import".to_owned());
                let activation = Activation { number: 0, rows: format!("rows of {hash}"), hash, how, restores };
                insert(connection, &activation, 1_767_323_045_678).await.expect("stored");
            }
            connection.commit().await.expect("committed");
            let last = newest_of(&database.pool).await.expect("an answer").expect("the third");
            assert_eq!((last.number, last.hash.as_str(), last.restores), (3, "b", Some(1)));
            let connection = &mut database.connection;
            assert_eq!(newest(connection).await.expect("an answer").as_ref(), Some(&last));
            let earlier = before(connection, last.number, &last.rows).await.expect("an answer").expect("the first");
            assert_eq!((earlier.number, earlier.hash.as_str()), (1, "a"));
            assert_eq!(before(connection, 1, "rows of b").await.expect("an answer"), None);
        }
    }
}
