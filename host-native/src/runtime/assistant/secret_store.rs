//! Loads the secrets of the database into memory, where they are resolved and redacted.

use tokio::sync::Mutex;

use crate::config::secrets::Secrets;
use crate::storage::Pool;
use crate::storage::assistant::secret::{self, Secret};

/// The minimum length of a value before its prefix is shown.
const MIN_LENGTH_FOR_PREFIX: usize = 8;

/// The number of leading characters that are shown.
const PREFIX_LENGTH: usize = 3;

/// Keeps the in-memory secrets in sync with the database.
#[derive(Debug, Default)]
pub struct SecretStore {
    /// The names and times seen last. Locked while values are read, so that a stale read cannot overwrite a newer one.
    last_seen: Mutex<Vec<Secret>>,
}

impl SecretStore {
    /// Reloads the secrets if they have changed.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn refresh_if_changed(&self, pool: &Pool, secrets: &Secrets) -> sqlx::Result<()> {
        let mut seen = self.last_seen.lock().await;
        let now = secret::list(pool).await?;
        if now != *seen {
            secrets.replace_stored(secret::load_values(pool).await?);
            *seen = now;
        }
        Ok(())
    }

    /// Reloads the secrets after a change by this process.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn refresh(&self, pool: &Pool, secrets: &Secrets) -> sqlx::Result<()> {
        let mut seen = self.last_seen.lock().await;
        let now = secret::list(pool).await?;
        secrets.replace_stored(secret::load_values(pool).await?);
        *seen = now;
        Ok(())
    }
}

/// Returns the leading characters of a value that may be displayed.
pub fn visible_prefix(value: &str) -> String {
    let shown = if value.chars().count() < MIN_LENGTH_FOR_PREFIX { 0 } else { PREFIX_LENGTH };
    value.chars().take(shown).collect()
}

/// Returns whether a text is a valid secret name.
pub fn is_secret_name(text: &str) -> bool {
    let rest = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_';
    text.len() <= 64 && text.starts_with(|it: char| it.is_ascii_uppercase()) && text.chars().all(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::testing::each_database;

    #[test]
    fn only_a_prefix_of_a_long_value_is_visible() {
        assert_eq!([visible_prefix("sk-live-1"), visible_prefix("1234567"), visible_prefix("äöüßäöüß")], ["sk-", "", "äöü"]);
        assert!(is_secret_name("A") && is_secret_name("CRM_KEY_2") && is_secret_name(&"A".repeat(64)));
        for name in ["", "crm", "Crm", "2A", "_A", "A-B", "A B", "Ä", "A\0", &"A".repeat(65)] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[tokio::test]
    async fn secrets_changed_by_another_process_are_reloaded() {
        for database in each_database().await {
            let (pool, vault, secrets) = (&database.pool, SecretStore::default(), Secrets::default());
            let secret = |updated_at| Secret { name: "CRM".to_owned(), prefix: String::new(), updated_at };
            secret::insert(pool, &secret(1), "first").await.expect("kept");
            vault.refresh_if_changed(pool, &secrets).await.expect("read");
            assert_eq!(secrets.get("CRM").as_deref(), Some("first"));
            secret::replace(pool, &secret(2), "second").await.expect("kept");
            vault.refresh_if_changed(pool, &secrets).await.expect("read");
            assert_eq!(secrets.get("CRM").as_deref(), Some("second"));
            // A change with the same timestamp is not detected; the process that made it refreshes.
            secret::replace(pool, &secret(2), "third").await.expect("kept");
            vault.refresh_if_changed(pool, &secrets).await.expect("read");
            assert_eq!(secrets.get("CRM").as_deref(), Some("second"));
            vault.refresh(pool, &secrets).await.expect("read");
            assert_eq!(secrets.get("CRM").as_deref(), Some("third"));
            secret::delete(pool, "CRM", 3).await.expect("gone");
            vault.refresh_if_changed(pool, &secrets).await.expect("read");
            assert_eq!(
                (secrets.get("CRM"), secrets.scrub("first second third").into_owned()),
                (None, "[secret:CRM] [secret:CRM] [secret:CRM]".to_owned())
            );
        }
    }
}
