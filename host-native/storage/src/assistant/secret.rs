//! `cs_secret`: the secrets that assistants reference by name, sealed by `convengine_content::secret_store`.

use std::collections::BTreeSet;

use convengine_core::turn::Millis;

use crate::database::Pool;
use crate::database_row::DatabaseRow;
use crate::statement::{SqlValue, Statement};

/// A secret without its value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Secret {
    /// Its name.
    pub name: String,
    /// When the value was last set.
    pub updated_at: Millis,
}

/// The value of a secret as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredValue {
    /// The name of the secret.
    pub name: String,
    /// The sealed value, or the plain one without a key id.
    pub value: String,
    /// The id of the key that sealed it; absent for a value that was stored before there was a key.
    pub key_id: Option<String>,
}

/// Inserts a secret that does not exist or was deleted. Returns whether it was inserted.
pub async fn insert(pool: &Pool, sealed: &StoredValue, at: Millis) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "insert into cs_secret (name, value, prefix, updated_at, key_id) values ($1, $2, '', $3, $4) on conflict (name) do update set
           value = excluded.value, prefix = '', updated_at = excluded.updated_at, key_id = excluded.key_id, revoked_at = null
         where cs_secret.revoked_at is not null",
    );
    Ok(pool.execute(&sql, &value_parameters(sealed, at)).await? > 0)
}

/// Replaces the value of a secret. Returns whether the secret exists.
pub async fn replace(pool: &Pool, sealed: &StoredValue, at: Millis) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "update cs_secret set value = $2, prefix = '', updated_at = $3, key_id = $4 where name = $1 and revoked_at is null",
    );
    Ok(pool.execute(&sql, &value_parameters(sealed, at)).await? > 0)
}

fn value_parameters(sealed: &StoredValue, at: Millis) -> [SqlValue<'_>; 4] {
    let StoredValue { name, value, key_id } = sealed;
    [SqlValue::Text(name), SqlValue::Text(value), SqlValue::Integer(at), SqlValue::OptionalText(key_id.as_deref())]
}

/// Replaces a stored value by another seal of the same secret. Returns whether it was still stored.
pub async fn reseal(pool: &Pool, stored: &StoredValue, sealed: &str, key_id: &str) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "update cs_secret set value = $3, prefix = '', key_id = $4 where name = $1 and value = $2 and revoked_at is null",
    );
    let values = [SqlValue::Text(&stored.name), SqlValue::Text(&stored.value), SqlValue::Text(sealed), SqlValue::Text(key_id)];
    Ok(pool.execute(&sql, &values).await? > 0)
}

/// Clears the prefixes of values, which earlier versions stored.
pub async fn clear_prefixes(pool: &Pool) -> sqlx::Result<u64> {
    pool.execute(&Statement::portable("update cs_secret set prefix = '' where prefix <> ''"), &[]).await
}

/// Removes earlier versions of rows from the files of the database, as far as it permits.
pub async fn purge_replaced_rows(pool: &Pool) -> sqlx::Result<()> {
    // SQLite has overwritten the rows in its pages (`secure_delete`), but its log may still hold the old pages.
    let sql = Statement::per_dialect("pragma wal_checkpoint(truncate)", "vacuum (full) cs_secret");
    pool.fetch_all(&sql, &[]).await.map(|_| ())
}

/// Deletes the value of a secret and keeps its name as revoked. Returns whether the secret existed.
pub async fn delete(pool: &Pool, name: &str, now: Millis) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "update cs_secret set value = '', prefix = '', key_id = null, revoked_at = $2 where name = $1 and revoked_at is null",
    );
    Ok(pool.execute(&sql, &[SqlValue::Text(name), SqlValue::Integer(now)]).await? > 0)
}

/// Returns all secrets, ordered by name, without their values.
pub async fn list(pool: &Pool) -> sqlx::Result<Vec<Secret>> {
    let sql = Statement::per_dialect(
        "select name, updated_at from cs_secret where revoked_at is null order by name",
        "select name, updated_at from cs_secret where revoked_at is null order by name collate \"C\"",
    );
    let secret = |row: &DatabaseRow| Ok(Secret { name: row.text("name")?, updated_at: row.integer("updated_at")? });
    pool.fetch_all(&sql, &[]).await?.iter().map(secret).collect()
}

/// Returns all values as they are stored.
pub async fn list_values(pool: &Pool) -> sqlx::Result<Vec<StoredValue>> {
    let sql = Statement::portable("select name, value, key_id from cs_secret where revoked_at is null");
    let stored =
        |row: &DatabaseRow| Ok(StoredValue { name: row.text("name")?, value: row.text("value")?, key_id: row.optional_text("key_id")? });
    pool.fetch_all(&sql, &[]).await?.iter().map(stored).collect()
}

/// Returns the names of deleted secrets.
pub async fn list_revoked(pool: &Pool) -> sqlx::Result<BTreeSet<String>> {
    let sql = Statement::portable("select name from cs_secret where revoked_at is not null");
    pool.fetch_all(&sql, &[]).await?.iter().map(|it| it.text("name")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::each_database;

    #[tokio::test]
    async fn secrets_are_stored_replaced_and_deleted() {
        let sealed = |name: &str, value: &str, key: Option<&str>| StoredValue {
            name: name.to_owned(),
            value: value.to_owned(),
            key_id: key.map(str::to_owned),
        };
        let secret = |name: &str, updated_at| Secret { name: name.to_owned(), updated_at };
        for database in each_database().await {
            let pool = &database.pool;
            let values = async || {
                let mut all = list_values(pool).await.expect("values");
                all.sort_by(|one, other| one.name.cmp(&other.name));
                all
            };
            let (one, two, three) = (sealed("CRM", "one", None), sealed("CRM", "t\"wo'", Some("k")), sealed("API", "three", Some("k")));
            assert!(!replace(pool, &one, 1).await.expect("an answer"));
            assert!(insert(pool, &one, 1).await.expect("an answer"));
            assert!(!insert(pool, &two, 2).await.expect("an answer"), "it exists");
            assert!(replace(pool, &two, 2).await.expect("an answer"));
            assert!(insert(pool, &three, 3).await.expect("an answer"));
            assert_eq!(list(pool).await.expect("secrets"), [secret("API", 3), secret("CRM", 2)]);
            assert_eq!(values().await, [three.clone(), two.clone()]);
            assert!(!reseal(pool, &one, "other", "k2").await.expect("an answer"), "the value was replaced");
            assert!(reseal(pool, &two, "other", "k2").await.expect("an answer"));
            assert_eq!(values().await, [three.clone(), sealed("CRM", "other", Some("k2"))]);
            assert_eq!(list(pool).await.expect("secrets")[1], secret("CRM", 2), "the same secret");
            assert!(delete(pool, "CRM", 4).await.expect("an answer") && !delete(pool, "CRM", 5).await.expect("an answer"));
            assert!(!delete(pool, "NONE", 5).await.expect("an answer"));
            assert_eq!(list(pool).await.expect("secrets"), [secret("API", 3)]);
            assert_eq!(values().await, std::slice::from_ref(&three));
            assert_eq!(list_revoked(pool).await.expect("names"), BTreeSet::from(["CRM".to_owned()]));
            let left = Statement::portable("select name from cs_secret where name = 'CRM' and value = '' and key_id is null");
            assert_eq!(pool.fetch_all(&left, &[]).await.expect("rows").len(), 1, "the value is erased");
            assert!(!replace(pool, &one, 6).await.expect("an answer"), "it was deleted");
            assert!(insert(pool, &one, 6).await.expect("an answer"), "a deleted secret can be created again");
            assert_eq!(list(pool).await.expect("secrets"), [secret("API", 3), secret("CRM", 6)]);
            assert_eq!((values().await, list_revoked(pool).await.expect("names").len()), (vec![three, one], 0));
            assert_eq!(clear_prefixes(pool).await.expect("an answer"), 0);
            purge_replaced_rows(pool).await.expect("purged");
        }
    }
}
