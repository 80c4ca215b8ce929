//! `cs_run_key`: the keys of triggers and webhooks, so that a repeated one finds the run that the first one started.

use convengine_core::turn::Millis;

use crate::casts::with_casts;
use crate::database::Pool;
use crate::statement::{SqlValue, Statement};

/// How long a key is valid, in milliseconds.
pub const KEY_TTL_MS: Millis = 24 * 60 * 60 * 1000;

/// A key that was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedKey {
    /// The run.
    pub run: String,
    /// The hash of its input.
    pub fingerprint: String,
}

/// Returns the run of a key.
pub async fn find(pool: &Pool, chain: &str, scope: &str, key: &str, now: Millis) -> sqlx::Result<Option<UsedKey>> {
    let sql = with_casts!(
        "select run_id::text as run_id, fingerprint from cs_run_key where chain = $1 and scope = $2 and key = $3 and created_at >= $4"
    );
    let values = [SqlValue::Text(chain), SqlValue::Text(scope), SqlValue::Text(key), SqlValue::Integer(now - KEY_TTL_MS)];
    let row = pool.fetch_optional(&sql, &values).await?;
    row.map(|row| Ok(UsedKey { run: row.text("run_id")?, fingerprint: row.text("fingerprint")? })).transpose()
}

/// Stores the key of an accepted webhook of a run. Returns whether it is new.
pub async fn insert(pool: &Pool, chain: &str, scope: &str, key: &str, run: &str, now: Millis) -> sqlx::Result<bool> {
    let sql = with_casts!(
        "insert into cs_run_key (chain, scope, key, fingerprint, run_id, created_at) values ($1, $2, $3, '', $4::uuid, $5)
         on conflict (chain, scope, key) do update set run_id = excluded.run_id, created_at = excluded.created_at
         where cs_run_key.created_at < $6"
    );
    let values = [
        SqlValue::Text(chain),
        SqlValue::Text(scope),
        SqlValue::Text(key),
        SqlValue::Text(run),
        SqlValue::Integer(now),
        SqlValue::Integer(now - KEY_TTL_MS),
    ];
    Ok(pool.execute(&sql, &values).await? > 0)
}

/// Deletes the keys that are no longer valid.
pub async fn delete_expired(pool: &Pool, now: Millis) -> sqlx::Result<()> {
    let sql = Statement::portable("delete from cs_run_key where created_at < $1");
    pool.execute(&sql, &[SqlValue::Integer(now - KEY_TTL_MS)]).await.map(|_| ())
}
