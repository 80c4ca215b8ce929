//! Loads the secrets of the database into memory, where they are resolved and redacted.

use tokio::sync::Mutex;

use crate::secrets::Secrets;
use crate::store::Pool;
use crate::store::assistant::secret::{self, Secret};

/// The minimum length of a value before its prefix is shown.
const SHOWN_FROM: usize = 8;

/// The number of leading characters that are shown.
const SHOWN: usize = 3;

/// Keeps the in-memory secrets in sync with the database.
#[derive(Debug, Default)]
pub struct Vault {
    /// The names and times seen last. Locked while values are read, so that a stale read cannot overwrite a newer one.
    seen: Mutex<Vec<Secret>>,
}

impl Vault {
    /// Reloads the secrets if they have changed.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn follow(&self, pool: &Pool, secrets: &Secrets) -> sqlx::Result<()> {
        let mut seen = self.seen.lock().await;
        let now = secret::all(pool).await?;
        if now != *seen {
            secrets.store(secret::values(pool).await?);
            *seen = now;
        }
        Ok(())
    }

    /// Reloads the secrets after a change by this process.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn refresh(&self, pool: &Pool, secrets: &Secrets) -> sqlx::Result<()> {
        let mut seen = self.seen.lock().await;
        let now = secret::all(pool).await?;
        secrets.store(secret::values(pool).await?);
        *seen = now;
        Ok(())
    }
}

/// Returns the leading characters of a value that may be displayed.
pub fn prefix(value: &str) -> String {
    let shown = if value.chars().count() < SHOWN_FROM { 0 } else { SHOWN };
    value.chars().take(shown).collect()
}

/// Returns whether a text is a valid secret name.
pub fn is_name(text: &str) -> bool {
    let rest = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_';
    text.len() <= 64 && text.starts_with(|it: char| it.is_ascii_uppercase()) && text.chars().all(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::each;

    #[test]
    fn little_of_a_value_is_shown_and_of_a_short_one_nothing() {
        assert_eq!([prefix("sk-live-1"), prefix("1234567"), prefix("äöüßäöüß")], ["sk-", "", "äöü"]);
        assert!(is_name("A") && is_name("CRM_KEY_2") && is_name(&"A".repeat(64)));
        for name in ["", "crm", "Crm", "2A", "_A", "A-B", "A B", "Ä", "A\0", &"A".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[tokio::test]
    async fn what_another_process_keeps_is_known_here() {
        for database in each().await {
            let (pool, vault, secrets) = (&database.pool, Vault::default(), Secrets::default());
            let secret = |updated_at| Secret { name: "CRM".to_owned(), prefix: String::new(), updated_at };
            secret::insert(pool, &secret(1), "first").await.expect("kept");
            vault.follow(pool, &secrets).await.expect("read");
            assert_eq!(secrets.value("CRM").as_deref(), Some("first"));
            secret::replace(pool, &secret(2), "second").await.expect("kept");
            vault.follow(pool, &secrets).await.expect("read");
            assert_eq!(secrets.value("CRM").as_deref(), Some("second"));
            // A change with the same timestamp is not detected; the process that made it refreshes.
            secret::replace(pool, &secret(2), "third").await.expect("kept");
            vault.follow(pool, &secrets).await.expect("read");
            assert_eq!(secrets.value("CRM").as_deref(), Some("second"));
            vault.refresh(pool, &secrets).await.expect("read");
            assert_eq!(secrets.value("CRM").as_deref(), Some("third"));
            secret::delete(pool, "CRM", 3).await.expect("gone");
            vault.follow(pool, &secrets).await.expect("read");
            assert_eq!(
                (secrets.value("CRM"), secrets.scrub("first second third").into_owned()),
                (None, "[secret:CRM] [secret:CRM] [secret:CRM]".to_owned())
            );
        }
    }
}
