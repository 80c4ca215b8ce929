//! API keys, stored as hashes.

use convengine_core::turn::Millis;

use super::database::{Pool, Row, Statement, Value};

/// A stored API key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// The public part of the key.
    pub key_id: String,
    /// The display name.
    pub name: String,
    /// The hash of the full key.
    pub hash: String,
    /// Scope names, separated by spaces.
    pub scopes: String,
    /// Creation time.
    pub created_at: Millis,
    /// Expiry time; absent for a key that is valid until revoked.
    pub expires_at: Option<Millis>,
    /// Revocation time.
    pub revoked_at: Option<Millis>,
    /// The last time a request used the key.
    pub last_used_at: Option<Millis>,
}

impl ApiKey {
    /// Returns whether the key is valid at a time.
    pub fn counts(&self, at: Millis) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|it| it > at)
    }

    fn of(row: &Row) -> sqlx::Result<ApiKey> {
        Ok(ApiKey {
            key_id: row.text("key_id")?,
            name: row.text("name")?,
            hash: row.text("hash")?,
            scopes: row.text("scopes")?,
            created_at: row.int("created_at")?,
            expires_at: row.maybe_int("expires_at")?,
            revoked_at: row.maybe_int("revoked_at")?,
            last_used_at: row.maybe_int("last_used_at")?,
        })
    }
}

/// Inserts a new key.
///
/// # Errors
/// Returns any database error.
pub async fn insert(pool: &Pool, key: &ApiKey) -> sqlx::Result<()> {
    let sql = Statement::both(
        "insert into cv_api_key (key_id, name, hash, scopes, created_at, expires_at) values ($1, $2, $3, $4, $5, nullif($6, 0))",
    );
    let values = [
        Value::Text(&key.key_id),
        Value::Text(&key.name),
        Value::Text(&key.hash),
        Value::Text(&key.scopes),
        Value::Int(key.created_at),
        Value::Int(key.expires_at.unwrap_or(0)),
    ];
    pool.run(&sql, &values).await.map(|_| ())
}

/// Returns the key with an id.
///
/// # Errors
/// Returns any database error.
pub async fn find(pool: &Pool, id: &str) -> sqlx::Result<Option<ApiKey>> {
    let sql = Statement::both("select * from cv_api_key where key_id = $1");
    pool.first(&sql, &[Value::Text(id)]).await?.as_ref().map(ApiKey::of).transpose()
}

/// Returns all keys, oldest first.
///
/// # Errors
/// Returns any database error.
pub async fn all(pool: &Pool) -> sqlx::Result<Vec<ApiKey>> {
    let sql = Statement::both("select * from cv_api_key order by created_at, key_id");
    pool.all(&sql, &[]).await?.iter().map(ApiKey::of).collect()
}

/// Revokes a key. Returns whether an active key was found.
///
/// # Errors
/// Returns any database error.
pub async fn revoke(pool: &Pool, id: &str, at: Millis) -> sqlx::Result<bool> {
    let sql = Statement::both("update cv_api_key set revoked_at = $2 where key_id = $1 and revoked_at is null");
    Ok(pool.run(&sql, &[Value::Text(id), Value::Int(at)]).await? > 0)
}

/// Records that a key was used.
///
/// # Errors
/// Returns any database error.
pub async fn note_used(pool: &Pool, id: &str, at: Millis) -> sqlx::Result<()> {
    let sql = Statement::both("update cv_api_key set last_used_at = $2 where key_id = $1");
    pool.run(&sql, &[Value::Text(id), Value::Int(at)]).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::each;

    #[tokio::test]
    async fn keys_are_kept_found_used_and_revoked() {
        let key = |id: &str, created_at, expires_at| ApiKey {
            key_id: id.to_owned(),
            name: "it's".to_owned(),
            hash: "h".to_owned(),
            scopes: "converse read".to_owned(),
            created_at,
            expires_at,
            revoked_at: None,
            last_used_at: None,
        };
        for database in each().await {
            let pool = &database.pool;
            for key in [key("b", 1, Some(50)), key("a", 2, None)] {
                insert(pool, &key).await.expect("a key");
            }
            assert!(insert(pool, &key("a", 3, None)).await.is_err(), "key ids are unique");
            assert_eq!(find(pool, "b").await.expect("an answer"), Some(key("b", 1, Some(50))));
            assert_eq!(find(pool, "c").await.expect("an answer"), None);
            note_used(pool, "b", 7).await.expect("an answer");
            assert!(revoke(pool, "a", 9).await.expect("an answer") && !revoke(pool, "a", 10).await.expect("an answer"));
            let all = all(pool).await.expect("keys");
            assert_eq!(
                all.iter().map(|it| (it.key_id.as_str(), it.revoked_at, it.last_used_at)).collect::<Vec<_>>(),
                [("b", None, Some(7)), ("a", Some(9), None)]
            );
            assert!(all[0].counts(49) && !all[0].counts(50) && !all[1].counts(0));
        }
    }
}
