//! `cs_secret`: the secrets that assistants reference by name.

use std::collections::{BTreeMap, BTreeSet};

use convengine_core::turn::Millis;

use crate::storage::database::{DatabaseRow, Pool, SqlValue, Statement};

/// A secret without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its name.
    pub name: String,
    /// The leading characters that may be displayed.
    pub prefix: String,
    /// When the value was last set.
    pub updated_at: Millis,
}

/// Inserts a secret that does not exist or was deleted. Returns whether it was inserted.
///
/// # Errors
/// Returns any database error.
pub async fn insert(pool: &Pool, secret: &Secret, value: &str) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "insert into cs_secret (name, value, prefix, updated_at) values ($1, $2, $3, $4) on conflict (name) do update set
           value = excluded.value, prefix = excluded.prefix, updated_at = excluded.updated_at, revoked_at = null
         where cs_secret.revoked_at is not null",
    );
    let values =
        [SqlValue::Text(&secret.name), SqlValue::Text(value), SqlValue::Text(&secret.prefix), SqlValue::Integer(secret.updated_at)];
    Ok(pool.execute(&sql, &values).await? > 0)
}

/// Replaces the value of a secret. Returns whether the secret exists.
///
/// # Errors
/// Returns any database error.
pub async fn replace(pool: &Pool, secret: &Secret, value: &str) -> sqlx::Result<bool> {
    let sql = Statement::portable("update cs_secret set value = $2, prefix = $3, updated_at = $4 where name = $1 and revoked_at is null");
    let values =
        [SqlValue::Text(&secret.name), SqlValue::Text(value), SqlValue::Text(&secret.prefix), SqlValue::Integer(secret.updated_at)];
    Ok(pool.execute(&sql, &values).await? > 0)
}

/// Deletes the value of a secret and keeps its name as revoked. Returns whether the secret existed.
///
/// # Errors
/// Returns any database error.
pub async fn delete(pool: &Pool, name: &str, now: Millis) -> sqlx::Result<bool> {
    let sql = Statement::portable("update cs_secret set value = '', prefix = '', revoked_at = $2 where name = $1 and revoked_at is null");
    Ok(pool.execute(&sql, &[SqlValue::Text(name), SqlValue::Integer(now)]).await? > 0)
}

/// Returns all secrets, ordered by name, without their values.
///
/// # Errors
/// Returns any database error.
pub async fn list(pool: &Pool) -> sqlx::Result<Vec<Secret>> {
    let sql = Statement::per_dialect(
        "select name, prefix, updated_at from cs_secret where revoked_at is null order by name",
        "select name, prefix, updated_at from cs_secret where revoked_at is null order by name collate \"C\"",
    );
    let secret =
        |it: &DatabaseRow| Ok(Secret { name: it.text("name")?, prefix: it.text("prefix")?, updated_at: it.integer("updated_at")? });
    pool.fetch_all(&sql, &[]).await?.iter().map(secret).collect()
}

/// Returns all values by name.
///
/// # Errors
/// Returns any database error.
pub async fn load_values(pool: &Pool) -> sqlx::Result<BTreeMap<String, String>> {
    let sql = Statement::portable("select name, value from cs_secret where revoked_at is null");
    pool.fetch_all(&sql, &[]).await?.iter().map(|it| Ok((it.text("name")?, it.text("value")?))).collect()
}

/// Returns the names of deleted secrets.
///
/// # Errors
/// Returns any database error.
pub async fn list_revoked(pool: &Pool) -> sqlx::Result<BTreeSet<String>> {
    let sql = Statement::portable("select name from cs_secret where revoked_at is not null");
    pool.fetch_all(&sql, &[]).await?.iter().map(|it| it.text("name")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::testing::each_database;

    #[tokio::test]
    async fn secrets_are_stored_replaced_and_deleted() {
        let secret = |name: &str, updated_at| Secret { name: name.to_owned(), prefix: "sk-".to_owned(), updated_at };
        for database in each_database().await {
            let pool = &database.pool;
            assert!(!replace(pool, &secret("CRM", 1), "one").await.expect("an answer"));
            assert!(insert(pool, &secret("CRM", 1), "one").await.expect("an answer"));
            assert!(!insert(pool, &secret("CRM", 2), "two").await.expect("an answer"), "it exists");
            assert!(replace(pool, &secret("CRM", 2), "t\"wo'").await.expect("an answer"));
            assert!(insert(pool, &secret("API", 3), "three").await.expect("an answer"));
            assert_eq!(list(pool).await.expect("secrets"), [secret("API", 3), secret("CRM", 2)]);
            let expected = [("API", "three"), ("CRM", "t\"wo'")].map(|it| (it.0.to_owned(), it.1.to_owned()));
            assert_eq!(load_values(pool).await.expect("values"), BTreeMap::from(expected));
            assert!(delete(pool, "CRM", 4).await.expect("an answer") && !delete(pool, "CRM", 5).await.expect("an answer"));
            assert!(!delete(pool, "NONE", 5).await.expect("an answer"));
            assert_eq!(list(pool).await.expect("secrets"), [secret("API", 3)]);
            assert_eq!(load_values(pool).await.expect("values").into_keys().collect::<Vec<_>>(), ["API"]);
            assert_eq!(list_revoked(pool).await.expect("names"), BTreeSet::from(["CRM".to_owned()]));
            let left =
                Statement::portable("select name from cs_secret where name = 'CRM' and value = '' and prefix = '' and revoked_at = 4");
            assert_eq!(pool.fetch_all(&left, &[]).await.expect("rows").len(), 1, "the value is erased");
            assert!(!replace(pool, &secret("CRM", 6), "four").await.expect("an answer"), "it was deleted");
            assert!(insert(pool, &secret("CRM", 6), "four").await.expect("an answer"), "a deleted secret can be created again");
            assert_eq!(list(pool).await.expect("secrets"), [secret("API", 3), secret("CRM", 6)]);
            assert_eq!(
                (load_values(pool).await.expect("values")["CRM"].as_str(), list_revoked(pool).await.expect("names").len()),
                ("four", 0)
            );
        }
    }
}
