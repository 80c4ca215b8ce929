//! `cv_phrase_vector`: the embeddings of phrases, by the classifier that has learned them and the model, in batches.

use super::database::{Connection, Pool};
use super::database_row::DatabaseRow;
use super::statement::{SqlValue as Sql, Statement};

/// The vectors of consecutive phrases.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorBatch {
    /// The position of the first phrase.
    pub first: i64,
    /// The vectors, all of the same length.
    pub vectors: Vec<Vec<f32>>,
}

/// Returns the batches of a classifier in order.
pub async fn load(pool: &Pool, hash: &str, model: &str) -> sqlx::Result<Vec<VectorBatch>> {
    let sql = Statement::portable("select first, count, vectors from cv_phrase_vector where hash = $1 and model = $2 order by first");
    let batch = |row: &DatabaseRow| {
        let numbers = row.vector("vectors")?;
        let count = usize::try_from(row.integer("count")?).unwrap_or(0);
        let length = numbers.len().checked_div(count).unwrap_or(0).max(1);
        Ok(VectorBatch { first: row.integer("first")?, vectors: numbers.chunks_exact(length).map(<[f32]>::to_vec).collect() })
    };
    pool.fetch_all(&sql, &[Sql::Text(hash), Sql::Text(model)]).await?.iter().map(batch).collect()
}

/// Returns the positions of the batches of a classifier.
pub async fn list_stored(pool: &Pool, hash: &str, model: &str) -> sqlx::Result<Vec<i64>> {
    let sql = Statement::portable("select first from cv_phrase_vector where hash = $1 and model = $2");
    pool.fetch_all(&sql, &[Sql::Text(hash), Sql::Text(model)]).await?.iter().map(|it| it.integer("first")).collect()
}

/// Stores a batch.
pub async fn put(connection: &mut Connection, hash: &str, model: &str, batch: &VectorBatch) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "insert into cv_phrase_vector (hash, model, first, count, vectors) values ($1, $2, $3, $4, $5)
         on conflict (hash, model, first) do update set count = excluded.count, vectors = excluded.vectors",
    );
    let numbers: Vec<f32> = batch.vectors.iter().flatten().copied().collect();
    let count = i64::try_from(batch.vectors.len()).unwrap_or(i64::MAX);
    let values = [Sql::Text(hash), Sql::Text(model), Sql::Integer(batch.first), Sql::Integer(count), Sql::Vector(&numbers)];
    connection.execute(&sql, &values).await.map(|_| ())
}

/// Deletes the vectors of classifiers that are gone.
pub async fn delete_orphans(connection: &mut Connection) -> sqlx::Result<u64> {
    let sql = Statement::portable("delete from cv_phrase_vector where hash not in (select hash from cv_classifier)");
    connection.execute(&sql, &[]).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier;
    use crate::testing::each_database;

    #[tokio::test]
    async fn vectors_are_stored_in_batches_and_deleted_with_their_classifier() {
        for mut database in each_database().await {
            let (connection, pool) = (&mut database.connection, &database.pool);
            let batch = |first, vectors: &[[f32; 2]]| VectorBatch { first, vectors: vectors.iter().map(|it| it.to_vec()).collect() };
            let batches = [batch(0, &[[1.0, -0.5], [0.25, f32::MIN_POSITIVE]]), batch(2, &[[3.0, 4.0]])];
            for batch in batches.iter().rev() {
                put(connection, "a", "m", batch).await.expect("stored");
            }
            put(connection, "a", "m", &batches[1]).await.expect("stored again");
            put(connection, "b", "m", &batches[0]).await.expect("stored");
            assert_eq!(load(pool, "a", "m").await.expect("vectors"), batches);
            assert_eq!(load(pool, "a", "other").await.expect("vectors"), []);
            assert_eq!(list_stored(pool, "b", "m").await.expect("positions"), [0]);
            classifier::store(connection, "a", &[1], 1, 0).await.expect("stored");
            assert_eq!(delete_orphans(connection).await.expect("an answer"), 1);
            assert_eq!(list_stored(pool, "b", "m").await.expect("positions"), [0; 0]);
            assert_eq!(load(pool, "a", "m").await.expect("vectors").len(), 2);
        }
    }
}
