//! API keys, stored as hashes.

use convengine_core::turn::Millis;

use super::casts::with_casts;
use super::database::Pool;
use super::database_row::DatabaseRow;
use super::statement::{SqlValue, Statement};

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
    /// Whether requests name the user that they are made for.
    pub owner_claim: bool,
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
    pub fn is_valid_at(&self, at: Millis) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|it| it > at)
    }

    fn from_row(row: &DatabaseRow) -> sqlx::Result<ApiKey> {
        Ok(ApiKey {
            key_id: row.text("key_id")?,
            name: row.text("name")?,
            hash: row.text("hash")?,
            scopes: row.text("scopes")?,
            owner_claim: row.boolean("owner_claim")?,
            created_at: row.integer("created_at")?,
            expires_at: row.optional_integer("expires_at")?,
            revoked_at: row.optional_integer("revoked_at")?,
            last_used_at: row.optional_integer("last_used_at")?,
        })
    }
}

/// Inserts a new key.
pub async fn insert(pool: &Pool, key: &ApiKey) -> sqlx::Result<()> {
    let sql = with_casts!(
        "insert into cv_api_key (key_id, name, hash, scopes, created_at, expires_at, owner_claim)
         values ($1, $2, $3, $4, $5, nullif($6, 0), $7::bigint <> 0)"
    );
    let values = [
        SqlValue::Text(&key.key_id),
        SqlValue::Text(&key.name),
        SqlValue::Text(&key.hash),
        SqlValue::Text(&key.scopes),
        SqlValue::Integer(key.created_at),
        SqlValue::Integer(key.expires_at.unwrap_or(0)),
        SqlValue::Integer(key.owner_claim.into()),
    ];
    pool.execute(&sql, &values).await.map(|_| ())
}

/// Returns the key with an id.
pub async fn find(pool: &Pool, id: &str) -> sqlx::Result<Option<ApiKey>> {
    let sql = Statement::portable("select * from cv_api_key where key_id = $1");
    pool.fetch_optional(&sql, &[SqlValue::Text(id)]).await?.as_ref().map(ApiKey::from_row).transpose()
}

/// Returns whether there is an API key, active or not, or a deployment.
pub async fn has_credentials(pool: &Pool) -> sqlx::Result<bool> {
    let sql = Statement::portable("select key_id from cv_api_key union all select token_hash from cs_deployment limit 1");
    Ok(pool.load_row(&sql, &[]).await?.is_some())
}

/// Replaces the hash of a key unless it has changed meanwhile.
pub async fn replace_hash(pool: &Pool, id: &str, old: &str, new: &str) -> sqlx::Result<()> {
    let sql = Statement::portable("update cv_api_key set hash = $3 where key_id = $1 and hash = $2");
    pool.execute(&sql, &[SqlValue::Text(id), SqlValue::Text(old), SqlValue::Text(new)]).await.map(|_| ())
}

/// Returns all keys, oldest first.
pub async fn list(pool: &Pool) -> sqlx::Result<Vec<ApiKey>> {
    let sql = Statement::portable("select * from cv_api_key order by created_at, key_id");
    pool.fetch_all(&sql, &[]).await?.iter().map(ApiKey::from_row).collect()
}

/// Revokes a key. Returns whether an active key was found.
pub async fn revoke(pool: &Pool, id: &str, at: Millis) -> sqlx::Result<bool> {
    let sql = Statement::portable("update cv_api_key set revoked_at = $2 where key_id = $1 and revoked_at is null");
    Ok(pool.execute(&sql, &[SqlValue::Text(id), SqlValue::Integer(at)]).await? > 0)
}

/// Records that a key was used.
pub async fn record_use(pool: &Pool, id: &str, at: Millis) -> sqlx::Result<()> {
    let sql = Statement::portable("update cv_api_key set last_used_at = $2 where key_id = $1");
    pool.execute(&sql, &[SqlValue::Text(id), SqlValue::Integer(at)]).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::each_database;

    #[tokio::test]
    async fn keys_are_stored_found_used_and_revoked() {
        let key = |id: &str, created_at, expires_at| ApiKey {
            key_id: id.to_owned(),
            name: "it's".to_owned(),
            hash: "h".to_owned(),
            scopes: "converse read".to_owned(),
            owner_claim: id == "b",
            created_at,
            expires_at,
            revoked_at: None,
            last_used_at: None,
        };
        for database in each_database().await {
            let pool = &database.pool;
            assert!(!has_credentials(pool).await.expect("an answer"));
            for key in [key("b", 1, Some(50)), key("a", 2, None)] {
                insert(pool, &key).await.expect("a key");
            }
            assert!(insert(pool, &key("a", 3, None)).await.is_err(), "key ids are unique");
            assert_eq!(find(pool, "b").await.expect("an answer"), Some(key("b", 1, Some(50))));
            assert_eq!(find(pool, "c").await.expect("an answer"), None);
            assert!(has_credentials(pool).await.expect("an answer"));
            for (old, stored) in [("x", "h"), ("h", "new")] {
                replace_hash(pool, "b", old, "new").await.expect("an answer");
                assert_eq!(find(pool, "b").await.expect("an answer").map(|it| it.hash).as_deref(), Some(stored));
            }
            record_use(pool, "b", 7).await.expect("an answer");
            assert!(revoke(pool, "a", 9).await.expect("an answer") && !revoke(pool, "a", 10).await.expect("an answer"));
            let all = list(pool).await.expect("keys");
            assert_eq!(
                all.iter().map(|it| (it.key_id.as_str(), it.revoked_at, it.last_used_at)).collect::<Vec<_>>(),
                [("b", None, Some(7)), ("a", Some(9), None)]
            );
            assert!(all[0].is_valid_at(49) && !all[0].is_valid_at(50) && !all[1].is_valid_at(0));
        }
    }
}
