//! The secrets of the database on their way to where they are used and struck out.

use tokio::sync::Mutex;

use crate::secrets::Secrets;
use crate::store::Pool;
use crate::store::assistant::secret::{self, Secret};

/// Characters that a value has at least before any of them is shown.
const SHOWN_FROM: usize = 8;

/// Characters of a value that are shown.
const SHOWN: usize = 3;

/// Keeps what is known of the secrets of a database in step with it.
#[derive(Debug, Default)]
pub struct Vault {
    /// The names and times that were seen last. Whoever reads the values holds it, so that the newest reading stays.
    seen: Mutex<Vec<Secret>>,
}

impl Vault {
    /// Reads the secrets again when they are others than those that were seen last.
    ///
    /// # Errors
    /// What the database says.
    pub async fn follow(&self, pool: &Pool, secrets: &Secrets) -> sqlx::Result<()> {
        let mut seen = self.seen.lock().await;
        let now = secret::all(pool).await?;
        if now != *seen {
            secrets.store(secret::values(pool).await?);
            *seen = now;
        }
        Ok(())
    }

    /// Reads the secrets again, of which at least one was changed.
    ///
    /// # Errors
    /// What the database says.
    pub async fn refresh(&self, pool: &Pool, secrets: &Secrets) -> sqlx::Result<()> {
        let mut seen = self.seen.lock().await;
        let now = secret::all(pool).await?;
        secrets.store(secret::values(pool).await?);
        *seen = now;
        Ok(())
    }
}

/// What of a value may be shown: never much of it.
pub fn prefix(value: &str) -> String {
    let shown = if value.chars().count() < SHOWN_FROM { 0 } else { SHOWN };
    value.chars().take(shown).collect()
}

/// Whether a secret can have this name.
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
            // At the same moment by the clock: who has changed it reads it again.
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
