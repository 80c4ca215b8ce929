//! `cs_resume_token`: the hashes of tokens that resume a wait of a run.

use convengine_core::turn::Millis;

use crate::casts::with_casts;
use crate::database::Pool;
use crate::statement::SqlValue;

/// The wait that a token is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenWait {
    /// The run.
    pub run: String,
    /// The path of the step.
    pub path: String,
    /// The attempt of the step.
    pub attempt: i64,
}

/// Stores the hash of a token.
pub async fn insert(pool: &Pool, hash: &str, wait: &TokenWait, at: Millis) -> sqlx::Result<()> {
    let sql = with_casts!("insert into cs_resume_token (token_hash, run_id, path, attempt, created_at) values ($1, $2::uuid, $3, $4, $5)");
    let values = [
        SqlValue::Text(hash),
        SqlValue::Text(&wait.run),
        SqlValue::Text(&wait.path),
        SqlValue::Integer(wait.attempt),
        SqlValue::Integer(at),
    ];
    pool.execute(&sql, &values).await.map(|_| ())
}

/// Deletes the tokens of a wait.
pub async fn delete(pool: &Pool, wait: &TokenWait) -> sqlx::Result<()> {
    let sql = with_casts!("delete from cs_resume_token where run_id = $1::uuid and path = $2 and attempt = $3");
    let values = [SqlValue::Text(&wait.run), SqlValue::Text(&wait.path), SqlValue::Integer(wait.attempt)];
    pool.execute(&sql, &values).await.map(|_| ())
}

/// Returns the wait of a token.
pub async fn find(pool: &Pool, hash: &str) -> sqlx::Result<Option<TokenWait>> {
    let sql = with_casts!("select run_id::text as run_id, path, attempt from cs_resume_token where token_hash = $1");
    let row = pool.fetch_optional(&sql, &[SqlValue::Text(hash)]).await?;
    row.map(|row| Ok(TokenWait { run: row.text("run_id")?, path: row.text("path")?, attempt: row.integer("attempt")? })).transpose()
}
